"""Fixes in terms of the interface that they are read at: options where a command runs, else arguments in Python."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["command_wording", "count", "data_file", "in_words", "worded"]

_depth = [0]


@contextmanager
def command_wording() -> Generator[None]:
    """A context in which a command runs: `worded` gives the text for command lines."""
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1


def worded(*, python: str, command: str) -> str:
    """The one of two texts that says the same at the interface in use."""
    return command if _depth[0] else python


def data_file(*, more: bool = False) -> str:
    """The way to give a program its data file, and with `more`, several."""
    one = worded(python="load_program(…, data_path=…)", command="et-vm run --data FILE.ptd")
    several = worded(
        python="; several: load_program(…, external=et_vm.load.data_files.DataFiles.load(FILE, …))",
        command=", for each if there are several",
    )
    return f"{one}{several}" if more else one


def count(number: int, noun: str) -> str:
    """`1 input`, `2 inputs`, `1,000 inputs`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def in_words(count: int, noun: str) -> str:
    """A number of things: `1 op`, `2 ops`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")
