"""A store of compiled results by content: a folder with one file for each.

A file is named by the hash of its key, and starts with the hash of all that follows: the key's parts and facts as a
line of JSON, then the contents. It appears complete, by renaming, and is never changed, so that processes, and
machines that share the folder, need no locks. What is damaged, truncated or of another key is reported, and compiled
again.

    with caching(Store("build/cache")):
        program = to_edge_transform_and_lower(exported, partitioner=make_partitioner("native")).to_executorch()
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, Final, NamedTuple, cast

from et_ir.data import Blob
from et_schema.errors import ExecutorchError
from et_schema.files import atomic_writer, map_file

__all__ = ["LIMIT", "Entry", "Key", "Lookup", "Statistics", "Store", "caching", "current_store"]

_LOG: Final = logging.getLogger(__name__)

LIMIT: Final = 5 << 30
"""Bytes that a store holds at most, unless it is told otherwise."""
_FOLDER: Final = "et-ir-1"
"""The folder of the entries within that of the store: another format has another, and neither reads the other's."""
_MAGIC: Final = b"et-ir entry 1 "
_HASH: Final = 64
_START: Final = len(_MAGIC) + _HASH + 1
_NAME: Final = re.compile(f"[0-9a-f]{{{_HASH}}}")
"""The name of an entry."""
_NEAR: Final = 200
"""Entries that are compared to say what is new in a key."""
_STALE: Final = 3600
"""Seconds after which a temporary file is one of a process that was killed."""


@dataclass(frozen=True)
class Key:
    """What a result depends on."""

    kind: str
    """The kind of result: `file`, `partition`, `code`."""
    parts: Mapping[str, str]
    """Texts, or hashes of long ones, by what they are of."""

    @cached_property
    def digest(self) -> str:
        """The name of the entry."""
        return sha256(json.dumps([self.kind, self.parts], sort_keys=True).encode()).hexdigest()


class Entry(NamedTuple):
    """A result that is kept."""

    facts: Mapping[str, Any]
    """Facts about it, as JSON has them."""
    contents: Sequence[memoryview]
    """Its bytes."""


class Lookup(NamedTuple):
    """A result that was looked for."""

    kind: str
    """The kind of result."""
    subject: str
    """What it is a result of, for messages."""
    outcome: str
    """`hit`, or why not."""


class Statistics(NamedTuple):
    """What a store holds, and how often something was found."""

    entries: Mapping[str, int]
    """Numbers of entries by kind."""
    sizes: Mapping[str, int]
    """Bytes of entries by kind."""
    hits: Mapping[str, int]
    """Numbers of results that were found, by kind."""
    misses: Mapping[str, int]
    """Numbers of results that were not found, by kind."""


class Store:
    """A folder of results, which is made when the first is kept.

    Of more than `limit` bytes, the results that were not used for the longest time are removed. What goes wrong with
    the folder is logged as a warning, and costs the result, not the compilation. Raises `NotADirectoryError` for a
    file in the place of the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], limit: int = LIMIT):
        self.folder = Path(folder)
        self.limit = limit
        self.lookups: list[Lookup] = []
        """Results that were looked for, in order."""
        self._entries = self.folder / _FOLDER
        self._failed: set[str] = set()
        """Kinds of results of which one could not be written."""
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"the cache {self.folder} is not a folder")
        if not self._entries.exists():  # else it was said
            for other in sorted(self.folder.glob("et-ir-*")):
                _LOG.warning("the cache %s is of another version, and is not used", other)

    def find(self, key: Key, subject: str, *, explain: bool = False) -> Entry | None:
        """The result of a key, None where there is none that can be used. `subject` is what it is a result of. With
        `explain`, a lookup without a result says what is new in the key.
        """
        path = self._path(key)
        try:
            entry = _read(path, key)
        except FileNotFoundError:
            entry = None
        except OSError as error:  # it may be whole all the same
            _LOG.warning("the entry %s of the cache cannot be read: %s", path, error)
            self._note(key, subject, "unreadable")
            return None
        except (ValueError, RecursionError) as error:
            _LOG.warning("the entry %s of the cache cannot be used, and is made again: %s", path, error)
            with suppress(OSError):
                path.unlink()
            self._note(key, subject, "damaged")
            return None
        if entry is None:
            self._note(key, subject, self._new_in(key) if explain else "new")
            return None
        with suppress(OSError):  # a folder that is read only
            os.utime(path)
        self._note(key, subject, "hit")
        return entry

    def keep(self, key: Key, facts: Mapping[str, Any], contents: Sequence[Blob | bytes | memoryview]) -> None:
        """Keep a result, and remove others beyond the limit. What cannot be written is reported, and
        ends the writing of results of its kind.
        """
        if key.kind in self._failed:
            return
        blobs = [one if isinstance(one, Blob) else Blob.of("", one) for one in contents]
        if sum(blob.nbytes for blob in blobs) > self.limit:
            _LOG.warning(
                "a result of more than %d bytes is larger than the cache: it is not kept", self.limit
            )
            return
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_writer(path) as stream:
                _write(stream, key, facts, blobs)
            self._remove_oldest(path)
        except OSError as error:
            self._failed.add(key.kind)
            _LOG.warning(
                "the cache %s cannot be written, results of the kind %s are not kept: %s",
                self.folder,
                key.kind,
                error,
            )

    def note(self, key: Key, subject: str) -> None:
        """Note that a result is computed whether it is kept or not, because its report is asked for."""
        outcome = "computed for its report, and kept" if self._path(key).exists() else self._new_in(key)
        self.lookups.append(Lookup(key.kind, subject, outcome))

    def skip(self, kind: str, subject: str, reason: str) -> None:
        """Note that a result is neither looked for nor kept."""
        self.lookups.append(Lookup(kind, subject, reason))

    def statistics(self) -> Statistics:
        """What the store holds. Raises `OSError` for a folder that cannot be read."""
        entries: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for path, status in self._all():
            header = _header(path)
            kind = "unreadable" if header is None else header[0]
            entries[kind] += 1
            sizes[kind] += status.st_size
        return Statistics(entries, sizes, self._counted("hits"), self._counted("misses"))

    def _path(self, key: Key) -> Path:
        return self._entries / key.digest[:2] / key.digest

    def _note(self, key: Key, subject: str, outcome: str) -> None:
        self.lookups.append(Lookup(key.kind, subject, outcome))
        # A byte for each, as appending is atomic.
        name = "hits" if outcome == "hit" else "misses"
        with suppress(OSError):
            self._entries.mkdir(parents=True, exist_ok=True)
            with (self._entries / f"{name}.{key.kind}").open("ab") as stream:
                stream.write(b".")

    def _counted(self, name: str) -> dict[str, int]:
        files = self._entries.glob(f"{name}.*")
        return {file.name.partition(".")[2]: file.stat().st_size for file in files}

    def _all(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files of entries."""
        if not self.folder.exists():
            return
        os.scandir(self.folder).close()  # raises what makes it unreadable
        yield from self._files(lambda name: _NAME.fullmatch(name) is not None)

    def _files(self, is_wanted: Callable[[str], bool]) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self._entries.glob("[0-9a-f][0-9a-f]/*"):
            with suppress(FileNotFoundError):
                status = path.lstat()
                if S_ISREG(status.st_mode) and is_wanted(path.name):
                    yield path, status

    def _remove_oldest(self, latest: Path) -> None:
        """Remove what was not used for the longest time until the rest is within the limit; never the latest."""
        for path, status in self._files(lambda name: name.endswith(".tmp")):
            if time.time() - status.st_mtime > _STALE:
                path.unlink(missing_ok=True)
        found = [(status.st_mtime, status.st_size, path) for path, status in self._all() if path != latest]
        total = sum(size for _, size, _ in found)
        with suppress(FileNotFoundError):  # another process has removed it
            total += latest.stat().st_size
        for _, size, path in sorted(found):
            if total <= self.limit:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _new_in(self, key: Key) -> str:
        """What is new in a key, compared with the entry that has most parts in common."""
        paths = sorted(self._all(), key=lambda one: -one[1].st_mtime)[:_NEAR]
        least: list[str] | None = None
        for path, _ in paths:
            header = _header(path)
            if header is None or header[0] != key.kind:
                continue
            names = [
                name
                for name in sorted({*key.parts, *header[1]})
                if key.parts.get(name) != header[1].get(name)
            ]
            if least is None or len(names) < len(least):
                least = names
        return f"new: {', '.join(least)}" if least else "new"


def _write(stream: BinaryIO, key: Key, facts: Mapping[str, Any], blobs: Sequence[Blob]) -> None:
    header = {
        "kind": key.kind,
        "parts": dict(key.parts),
        "facts": facts,
        "sizes": [blob.nbytes for blob in blobs],
    }
    stream.write(_MAGIC + b"0" * _HASH + b"\n")
    line = json.dumps(header).encode() + b"\n"
    digest = sha256(line)
    stream.write(line)
    for blob in blobs:
        view = blob.view()
        digest.update(view)
        stream.write(view)
    stream.seek(len(_MAGIC))
    stream.write(digest.hexdigest().encode())


def _read(path: Path, key: Key) -> Entry:
    """An entry. Raises `OSError`, `FileNotFoundError` among these, and `ValueError` for one that is not of the key."""
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        view = memoryview(map_file(path))
    except ExecutorchError as error:  # an empty one, or one that another process has removed
        if not path.exists():
            raise FileNotFoundError(path) from error
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from error
        raise ValueError(str(error)) from error
    if bytes(view[: len(_MAGIC)]) != _MAGIC or bytes(view[_START - 1 : _START]) != b"\n":
        raise ValueError("it is no entry of this version")
    rest = view[_START:]
    if bytes(view[len(_MAGIC) : _START - 1]) != sha256(rest).hexdigest().encode():
        raise ValueError("its content does not match its hash")
    kind, parts, facts, sizes, length = _decoded(bytes(rest[: _line_length(rest)]))
    if Key(kind, parts).digest != key.digest:
        raise ValueError("it is an entry of another key")
    contents: list[memoryview] = []
    start = length
    for size in sizes:
        contents.append(rest[start : start + size])
        start += size
    if start != len(rest):
        raise ValueError(f"it has {len(rest)} bytes, not {start}")
    return Entry(facts, contents)


def _line_length(rest: memoryview) -> int:
    """Bytes of the first line."""
    step, end = 1 << 16, 0
    while end < len(rest):
        found = bytes(rest[end : end + step]).find(b"\n")
        if found >= 0:
            return end + found + 1
        end += step
    raise ValueError("it has no header")


def _decoded(line: bytes) -> tuple[str, dict[str, str], dict[str, Any], list[int], int]:
    """The header. Raises `ValueError` for what is none."""
    header: Any = json.loads(line)
    try:
        kind, parts, facts, sizes = (header[name] for name in ("kind", "parts", "facts", "sizes"))
    except (TypeError, KeyError) as error:
        raise ValueError(f"its header has no {error}") from error
    if not (isinstance(kind, str) and isinstance(parts, dict) and isinstance(facts, dict)):
        raise ValueError("its header is none")
    if not (
        isinstance(sizes, list) and all(type(one) is int and one >= 0 for one in cast("list[Any]", sizes))
    ):
        raise ValueError("its header has no sizes")
    parts, facts = cast("dict[str, str]", parts), cast("dict[str, Any]", facts)
    return kind, parts, facts, cast("list[int]", sizes), len(line)


def _header(path: Path) -> tuple[str, dict[str, str]] | None:
    """Kind and parts of an entry, for reports; None where they cannot be read."""
    try:
        with path.open("rb") as stream:
            if not stream.read(_START).startswith(_MAGIC):
                return None
            return _decoded(stream.readline())[:2]
    except (OSError, ValueError, RecursionError):
        return None


_STORE: Final[ContextVar[Store | None]] = ContextVar("store", default=None)


@contextmanager
def caching(store: Store | None) -> Generator[None]:
    """Within, results are taken from a store, and kept there; None for neither."""
    token = _STORE.set(store)
    try:
        yield
    finally:
        _STORE.reset(token)


def current_store() -> Store | None:
    """The store that results are taken from and kept in, if there is one."""
    return _STORE.get()
