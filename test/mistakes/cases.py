"""The mistakes: tables of the `.toml` files beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["AREAS", "Mistake", "mistakes"]

_HERE: Final = Path(__file__).parent

AREAS: Final = tuple(sorted(path.stem for path in _HERE.glob("*.toml")))
"""The files of mistakes."""

_KEYS: Final = frozenset({"line", "python", "code", "error", "says", "then", "files", "write", "stdin"})


@dataclass(frozen=True)
class Mistake:
    """A command line or a snippet of Python that fails, what its message says, and the next try, which succeeds.

    `code` is the exit code of a command, `error` the name of the exception's class in Python. Mistakes that are only
    warned of have code 0, or no `error`. `then` is like what it mends: a line, or a snippet. Where the mend is in a
    file, `write` has the files as they are for the next try, by name; without `then`, the same is tried again.
    `files` are those of the mistake alone.
    """

    area: str
    tried: str
    is_python: bool
    code: int
    error: str
    says: tuple[str, ...]
    then: str
    files: Mapping[str, str]
    write: Mapping[str, str]
    stdin: str

    @property
    def title(self) -> str:
        """What is tried, in one line."""
        return " ".join(self.tried.split())

    @classmethod
    def of(cls, area: str, table: Mapping[str, Any]) -> Mistake:
        """The mistake of a table. Raises ValueError for keys that are unknown or missing."""
        if unknown := table.keys() - _KEYS:
            raise ValueError(f"{area}.toml: unknown keys {', '.join(sorted(unknown))} in {dict(table)}")
        if ("line" in table) == ("python" in table):
            raise ValueError(f"{area}.toml: neither or both of line and python in {dict(table)}")
        is_python = "python" in table
        tried = str(table["python" if is_python else "line"]).strip()
        return cls(
            area,
            tried,
            is_python,
            int(table.get("code", 0)),
            str(table.get("error", "")),
            tuple(table.get("says", ())),
            str(table.get("then", tried)).strip(),
            dict(table.get("files", {})),
            dict(table.get("write", {})),
            str(table.get("stdin", "")),
        )


def mistakes(area: str) -> list[Mistake]:
    """The mistakes of a file."""
    tables = tomllib.loads((_HERE / f"{area}.toml").read_text(encoding="utf-8"))["mistake"]
    return [Mistake.of(area, table) for table in tables]
