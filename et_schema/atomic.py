"""Files that are there completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Generator[BinaryIO, None, None]:
    """Open a temporary file beside ``path`` for writing; it replaces ``path`` when the block ends.

    If the block raises (``KeyboardInterrupt`` included) the temporary file is removed and ``path`` is as it
    was. A link is followed: its target is replaced, with its permissions kept. What is no regular file, such
    as ``/dev/null`` or a pipe, is written in place. Raises ``OSError`` when the directory cannot be written.
    """
    target = Path(os.path.realpath(path))
    exists = target.exists()
    if exists and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            yield stream
        if exists:
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            # The caller has never heard of the temporary file.
            error.filename = os.fspath(path)
        raise
