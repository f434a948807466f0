"""Read-only mappings and atomic replacement of files."""

from __future__ import annotations

import errno
import mmap
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from et_schema.errors import Error, InvalidFile, access_failed

_BUFFER: Final = 1 << 22
"""Bytes that are written at once. Memory that caches a file is contiguous where it was written together, and
weights that are read from contiguous memory are read faster: a file written in pieces of 4 kB has half the rate."""

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


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Generator[BinaryIO, None, None]:
    """Open a temporary file beside `path` for writing; it replaces `path` when the block ends.

    If the block raises (`KeyboardInterrupt` included) the temporary file is removed and `path` is as it
    was. A link is followed: its target is replaced, with its permissions kept. What is no regular file, such
    as `/dev/null` or a pipe, is written in place. Raises `OSError` when the directory cannot be written.
    """
    target = Path(os.path.realpath(path))
    exists = target.exists()
    if exists and not target.is_file():
        try:
            with target.open("wb") as stream:
                yield stream
        except OSError as error:
            _name(error, path)
            raise
        return
    temporary = _temporary(target)
    try:
        with temporary.open("xb", _BUFFER) as stream:
            yield stream
        if exists:
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            if error.filename == str(temporary):
                # The caller has never heard of the temporary file.
                error.filename = os.fspath(path)
            _name(error, path)
        raise


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
    return target.with_name(f".{target.name[:_NAME]}.{secrets.token_hex(4)}.tmp")


def _name(error: OSError, path: str | os.PathLike[str]) -> None:
    """Give an error of a full disk the path of the file: the system's calls that write know only a descriptor."""
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        error.filename = os.fspath(path)
