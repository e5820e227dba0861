"""Where in a TOML document each key stands, which tomllib does not tell."""

from __future__ import annotations

import re
import tomllib

Key = tuple[str, ...]
"""A key within its tables, such as ("space", "lr", "log")."""

_TOKEN = re.compile(
    r""""{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|[A-Za-z0-9_-]+|[^\S\n]+|.""", re.DOTALL
)


def lines_of(text: str) -> dict[Key, int]:
    """The line on which each table and each key of a TOML document stands, for a document that tomllib has read."""
    lines: dict[Key, int] = {}
    table: Key = ()
    opened: list[tuple[str, Key]] = []  # brackets around, each with the table whose keys it holds, or the key whose values
    key: Key = ()
    parts: list[str] = []  # of a key, perhaps dotted, before its = or ]
    in_value, line = False, 1
    for token in _TOKEN.findall(text.replace("\r\n", "\n")):
        inside = opened[-1][0] if opened else ""
        if token == "=" and not in_value:
            base = opened[-1][1] if opened else table
            key = (*base, *parts)
            for end in range(len(base) + 1, len(key) + 1):
                lines.setdefault(key[:end], line)
            parts, in_value = [], True
        elif token == "[" and not in_value:
            opened.append(("header", ()))
        elif token == "]" and inside == "header":
            opened.pop()
            if parts:  # the second bracket of ]] closes nothing new
                table, parts = tuple(parts), []
                for end in range(1, len(table) + 1):
                    lines.setdefault(table[:end], line)
        elif token in ("[", "{"):
            opened.append((token, key))
            in_value = token == "["
        elif token in ("]", "}"):
            key, in_value = opened.pop()[1], True
        elif (token == "," and inside == "{") or (token == "\n" and not inside):
            parts, in_value = [], False
        elif not in_value and not token.isspace() and token[0] not in "#.":
            parts.append(next(iter(tomllib.loads(f"{token} = 0"))))
        line += token.count("\n")
    return lines
