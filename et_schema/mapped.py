"""Files as memory that is read where it lies."""

from __future__ import annotations

import mmap
import os

from et_schema.errors import Error, ExecutorchError, InvalidFile


def map_file(path: str | os.PathLike[str]) -> mmap.mmap:
    """Map a file; the map lives as long as views of it do.

    Raises ``InvalidFile`` for an empty one, which cannot be mapped, or ``ExecutorchError(AccessFailed)``.
    """
    try:
        with open(path, "rb") as stream:
            if os.fstat(stream.fileno()).st_size == 0:
                raise InvalidFile("the file is empty", code=Error.InvalidArgument)
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ExecutorchError(
            Error.AccessFailed, f"cannot read {os.fspath(path)}: {error.strerror}"
        ) from error
