"""Where trials are kept."""

from farthing.store.interface import Store
from farthing.store.memory import MemoryStore

__all__ = ["MemoryStore", "Store"]
