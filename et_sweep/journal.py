"""The journal of a sweep: a line for each result, appended whole, so that an interrupted sweep goes on."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any, Final

__all__ = ["FORMAT", "Journal", "JournalError"]

FORMAT: Final = 1
"""Version of the format; other versions are refused."""


class JournalError(ValueError):
    """A results folder that a sweep cannot go on in: the message says why and what to do."""


class Journal:
    """Results by kind and digest in `journal.jsonl` of a folder. One process has it open at a time.

    Raises `JournalError` for a folder of another matrix or version, or that another process works in, and `OSError`.
    """

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "journal.jsonl"
        self.damaged = 0
        """Lines that could not be read."""
        self._results: dict[tuple[str, str], dict[str, Any]] = {}
        self._descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._open(folder, name)
        except BaseException:
            self.close()
            raise

    def _open(self, folder: Path, name: str) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(f"{folder}: another et-sweep works in this folder") from None
        data = self.file.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):  # a line that was being written when the process was killed
            os.ftruncate(self._descriptor, len(whole))
        head, *lines = whole.splitlines() or [b""]
        if not head:
            self._append({"sweep": name, "format": FORMAT})
            return
        found = _parsed(head)
        if found is None or "sweep" not in found:
            raise JournalError(f"{self.file} is no journal of a sweep: give another folder with -o")
        if found.get("format") != FORMAT:
            raise JournalError(
                f"{folder} has results in format {found.get('format')}, not {FORMAT}: give another folder with -o"
            )
        if found["sweep"] != name:
            raise JournalError(
                f"{folder} has results of the matrix {found['sweep']!r}, not {name!r}: give another folder with -o"
            )
        for line in lines:
            entry = _parsed(line)
            if entry is None or not {"kind", "digest", "columns"} <= entry.keys():
                self.damaged += 1
                continue
            self._results[entry["kind"], entry["digest"]] = entry["columns"]

    def get(self, kind: str, digest: str) -> dict[str, Any] | None:
        """The columns of a result, or None if there is none yet."""
        return self._results.get((kind, digest))

    def add(self, kind: str, digest: str, columns: dict[str, Any]) -> None:
        """Keep a result. Raises `OSError` if it cannot be written; the file then has none of it."""
        self._append({"kind": kind, "digest": digest, "columns": columns})
        self._results[kind, digest] = columns

    def _append(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        size = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])  # says why there was less
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            error.filename = str(self.file)
            raise

    def close(self) -> None:
        """Let another process open it."""
        os.close(self._descriptor)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
