"""Files that are there completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Generator[BinaryIO, None, None]:
    """Open a temporary file beside ``path`` for writing; it replaces ``path`` when the block ends.

    If the block raises (``KeyboardInterrupt`` included) the temporary file is removed and ``path`` is as it
    was. A link is followed: its target is replaced. Raises ``OSError`` when the directory cannot be
    written.
    """
    target = Path(os.path.realpath(path))
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The replaced file's mode, or what ``open`` would give a new file; ``mkstemp`` makes private ones."""
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
