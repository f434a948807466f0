"""Read-only mappings and atomic replacement of files."""

from __future__ import annotations

import errno
import io
import mmap
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from et_schema.errors import Error, InvalidFile, access_failed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = [
    "AtomicFiles",
    "atomic_files",
    "atomic_writer",
    "cache_file",
    "check_writable",
    "is_bare_name",
    "map_file",
]

_BUFFER: Final = 1 << 22
"""Bytes that are written at once. Memory that caches a file is contiguous where it was written together, and
weights that are read from contiguous memory are read faster: a file written in pieces of 4 kB has half the rate."""

_LONGEST: Final = 255
"""Bytes of a name at most, in the file systems that are common."""
_NAME: Final = 50
"""Characters of a file's name that a temporary file has: names have up to 255 bytes, characters up to 4."""


def map_file(path: str | os.PathLike[str]) -> mmap.mmap:
    """Map a file; the map lives as long as views of it do.

    Raises `InvalidFile` for an empty one, which cannot be mapped, or `ExecutorchError(AccessFailed)`.
    """
    try:
        with open(path, "rb") as stream:
            if os.fstat(stream.fileno()).st_size == 0:
                raise InvalidFile("the file is empty", code=Error.InvalidArgument)
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise access_failed(path, error) from error


class AtomicFiles:
    """Files that appear together, each under its name when all are complete; see `atomic_files`."""

    def __init__(self) -> None:
        self._pending: list[_Pending] = []

    def open(self, path: str | os.PathLike[str], replaces: Callable[[Path], bool] | None = None) -> BinaryIO:
        """Open a temporary file beside `path` for writing.

        A link is followed: its target is replaced, with its permissions kept. What is no regular file, such as
        `/dev/null` or a pipe, is written in place. With `replaces`, for names that the user has not written, a link is
        not followed, as it may lead anywhere, and what is no regular file, or one of which `replaces` is false, is not
        replaced. Raises
        `OSError` when the folder cannot be written, `FileExistsError` for what is not replaced.
        """
        if replaces is not None and os.path.islink(path):
            message = "is a link, and not followed: name another output, or remove it"
            raise FileExistsError(errno.EEXIST, message, os.fspath(path))
        target = Path(os.path.realpath(path))
        exists = target.exists()
        if exists and replaces is not None and not (target.is_file() and replaces(target)):
            message = "exists and was not written as such an output: it is not replaced"
            raise FileExistsError(errno.EEXIST, message, os.fspath(path))
        in_place = exists and not target.is_file()
        temporary = target if in_place else _temporary(target)
        raw = _NamedFile(temporary, "wb" if in_place else "xb", os.fspath(path))
        stream = io.BufferedWriter(raw, _BUFFER)
        self._pending.append(_Pending(stream, None if in_place else temporary, target))
        return stream

    def complete(self) -> None:
        """Write out all files, then give each its name, the first one last."""
        # Several files belong together: a mixture of old and new ones must not survive a loss of power, either.
        sync = sum(each.temporary is not None for each in self._pending) > 1
        for each in self._pending:
            each.stream.flush()
            if sync and each.temporary is not None:
                each.stream.raw.sync()
            each.stream.close()
        for each in reversed(self._pending):
            if each.temporary is not None:
                if each.target.exists():
                    each.temporary.chmod(each.target.stat().st_mode & 0o7777)
                each.temporary.replace(each.target)

    def discard(self) -> None:
        """Remove what is not complete."""
        for each in self._pending:
            # Closing writes what is left; on a full disk that fails as the write before did.
            with suppress(OSError):
                each.stream.close()
            if each.temporary is not None:
                each.temporary.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Pending:
    stream: io.BufferedWriter[_NamedFile]
    temporary: Path | None
    """None for what is written in place."""
    target: Path


class _NamedFile(io.FileIO):
    """A file whose errors have the name that the user knows, where the system's calls know only a descriptor."""

    def __init__(self, path: Path, mode: str, shown: str) -> None:
        self._shown = shown
        try:
            super().__init__(path, mode)
        except OSError as error:
            error.filename = shown
            raise

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._shown
            raise

    def sync(self) -> None:
        """Wait until the content is on the disk."""
        try:
            os.fsync(self.fileno())
        except OSError as error:
            error.filename = self._shown
            raise


@contextmanager
def atomic_files() -> Generator[AtomicFiles, None, None]:
    """Write files that belong together: all of them appear when the block ends, the one opened first last, so that
    who finds it finds the others, too.

    If the block raises (`KeyboardInterrupt` included), or the content of one cannot be written, the temporary files are
    removed and all files are as they were.
    """
    files = AtomicFiles()
    try:
        yield files
        files.complete()
    except BaseException:
        files.discard()
        raise


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Generator[BinaryIO, None, None]:
    """Open a temporary file beside `path` for writing; it replaces `path` when the block ends.

    One file of `atomic_files`.
    """
    try:
        with atomic_files() as files:
            yield files.open(path)
    except OSError as error:
        # Libraries write by the descriptor.
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = os.fspath(path)
        raise


def cache_file(name: str) -> Path:
    """A file of what this project keeps between runs: in `$XDG_CACHE_HOME`, or `~/.cache`.

    Raises `FileNotFoundError` where the user has no home folder, such as a number without a name in a container.
    """
    folder = os.environ.get("XDG_CACHE_HOME")
    try:
        parent = Path(folder) if folder else Path.home() / ".cache"
    except RuntimeError:
        raise FileNotFoundError(
            errno.ENOENT, "no home folder for a cache: set XDG_CACHE_HOME", name
        ) from None
    return parent / "executorch-ir" / name


def is_bare_name(name: str) -> bool:
    """Whether a name is that of a file in whatever folder: it leads to no other folder, prints as it is, and is not
    longer than names may be.
    """
    is_safe = name not in ("", ".", "..") and name.isprintable() and not set(name) & set("/\\:")
    return is_safe and len(name.encode()) <= _LONGEST


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `OSError` if `atomic_writer` could not write `path`: a temporary file is made beside it, and removed.

    Permissions do not tell: a superuser has them for folders of the kernel, in which nobody can make a file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        return
    temporary = _temporary(target)
    try:
        temporary.open("xb").close()
    except OSError as error:
        error.filename = os.fspath(path)
        raise
    temporary.unlink()


def _temporary(target: Path) -> Path:
    """A file beside another, whose name is no longer than names may be."""
    return target.with_name(f".{target.name[:_NAME]}.{os.urandom(4).hex()}.tmp")
