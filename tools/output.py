"""Output destinations of the commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from et_tools.exit_codes import UsageError

__all__ = [
    "check_output",
    "check_output_folder",
    "check_text_name",
    "check_text_output",
    "is_same_file",
    "store_of",
    "write_file",
    "write_stdout",
]


def check_output(name: str, inputs: Iterable[str | None] = ()) -> None:
    """Raise `UsageError` if the file `name` (`-`: standard output) cannot be written, or is one of the inputs: before
    the work, not after.
    """
    if name == "-":
        return
    if any(is_same_file(name, one) for one in inputs):
        raise UsageError(f"{name}: would overwrite an input")
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


def check_text_output(name: str, text: str, weights: str | None) -> None:
    """Raise as `check_output` does for a text and the store beside it that are made of another text: the output may
    take the place of the text, and then of its store, but not of the store alone.
    """
    from et_ir.text import store_path

    check_text_name(name)
    store = store_of(text, weights)
    check_output(name, [store])
    beside = str(store_path(Path(name)))
    if name == "-" or is_same_file(name, text) or not os.path.exists(beside):
        return
    if is_same_file(beside, store):
        raise UsageError(f"{name}: the weight store beside it would overwrite {store}, an input")


def check_text_name(name: str) -> None:
    """Raise `UsageError` for a text under the name of a program."""
    if name.endswith(".pte"):
        written = "et-compile and et-translate --mlir-to-pte write programs"
        raise UsageError(f"-o {name}: the output is text: give -o FILE.mlir; {written}")


def store_of(text: str, weights: str | None) -> str | None:
    """The weight store of a text: `weights`, or that beside it, whether it is there or not."""
    from et_ir.text import store_path

    if weights is not None or text == "-":
        return weights
    # A folder, such as `.`, has no name; reading it says what it is.
    return str(store_path(Path(text))) if Path(text).name else None


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
