"""Suggestions for files that are not there."""

from __future__ import annotations

from pathlib import Path

from et_schema.diagnostics import did_you_mean

__all__ = ["compiling", "missing_file_hint"]

_MOST = 1000
"""Most files of a folder that are looked at."""


def missing_file_hint(file: str | bytes) -> str:
    """What to append to the message that a file is not there: the command that makes a program of a model, as
    et-compile names models, or a file of the same folder with a similar name; nothing where neither is meant.
    """
    if isinstance(file, bytes):
        return ""
    place, _, name = file.rpartition(":")
    if place.endswith(".py") or (place == "hf" and name):
        text = f"et-compile {file} --emit edge -o {Path(name).name}.mlir"
        return f"; compile it first: {compiling(file)}, or for text: {text}"
    several = file.split(",")
    if len(several) > 1 and all(Path(one).is_file() for one in several):
        return f"; one option for each file: {several[0]}, {several[1]}{', …' if several[2:] else ''}"
    folder = Path(file).parent
    try:
        there = [one for one, _ in zip(folder.iterdir(), range(_MOST), strict=False)]
    except OSError:
        return ""
    alike = [one for one in there if one.suffix == Path(file).suffix]
    return did_you_mean(file, sorted(str(one) for one in alike))


def compiling(file: str) -> str:
    """The command that compiles a model."""
    place, _, name = file.rpartition(":")
    if place:
        return f"et-compile {file} -o {Path(name).name}.pte"
    model = f"{file}:FACTORY" if file.endswith(".py") else file
    run = f", or run the text itself: et-vm run {file}" if file.endswith(".mlir") else ""
    return f"et-compile {model} -o {Path(file).stem}.pte{run}"
