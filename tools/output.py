"""Output destinations of the commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from et_tools.exit_codes import UsageError

__all__ = ["check_output", "check_output_folder", "is_same_file", "write_file", "write_stdout"]


def check_output(name: str) -> None:
    """Raise `UsageError` if the file `name` (`-`: standard output) cannot be written: before the work, not after."""
    if name == "-":
        return
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name}: is a folder")
    if path.exists() and not path.is_file():
        return  # a device or a pipe
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise UsageError(f"{name}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{name}: the folder {folder} is not writable")
    _check_writable(name, path)


def _check_writable(name: str, path: Path) -> None:
    from et_schema.files import check_writable

    try:
        check_writable(path)
    except OSError as error:
        raise UsageError(f"{name}: cannot be written: {error.strerror}") from None


def is_same_file(one: str, other: str | None) -> bool:
    """Whether two names are of one file; standard input and output are none."""
    return other is not None and "-" not in (one, other) and os.path.realpath(one) == os.path.realpath(other)


def check_output_folder(name: str) -> None:
    """Raise `UsageError` if the folder `name` cannot be made or written into: before the work, not after."""
    if not name:
        raise UsageError("empty name for the output folder")
    folder = Path(os.path.realpath(name))
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise UsageError(f"{name}: {folder} is a file, not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{name}: the folder {folder} is not writable")
    _check_writable(name, folder / "file")


def write_stdout(data: str | bytes) -> None:
    """Write text or bytes to standard output."""
    if isinstance(data, str):
        sys.stdout.write(data)
    else:
        sys.stdout.buffer.write(data)


def write_file(name: str, text: str) -> None:
    """Write text to the file `name` (`-`: standard output), which has all of it or is as before; or to a device."""
    from et_schema.files import atomic_writer

    if name == "-":
        write_stdout(text)
        return
    with atomic_writer(name) as stream:
        stream.write(text.encode())
