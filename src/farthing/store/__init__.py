"""Where studies are kept."""

from farthing.store.interface import Pulse, Store, StudyRecord
from farthing.store.memory import MemoryStore
from farthing.store.opening import open_store

__all__ = ["MemoryStore", "Pulse", "Store", "StudyRecord", "open_store"]
