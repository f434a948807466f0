"""Interrupted writes: existing files stay intact after a system limit or SIGKILL."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

# 300 kB of weights, and as many results: more than a file may have.
LARGE = """
import torch
from torch import nn


def large():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 4000), nn.ReLU()), (torch.ones(16, 16),)
"""
LIMIT = 100_000

COMMANDS = {
    "compile": ("et-compile", "large.py:large", "-q", "-o", "out.pte"),
    "compile to text": ("et-compile", "large.py:large", "-q", "--emit", "edge", "-o", "out.mlir"),
    "compile with data": (
        *("et-compile", "large.py:large", "-q", "-o", "out.pte"),
        *("--external-constants", "out.ptd"),
    ),
    "text to file": ("et-translate", "--mlir-to-pte", "plan.mlir", "-o", "out.pte"),
    "file to text": ("et-translate", "--pte-to-mlir", "net.pte", "-o", "out.mlir"),
    "opt": ("et-opt", "plan.mlir", "-o", "out.mlir"),
    "run": ("et-vm", "run", "net.pte", "--input", "x.npy", "--output-dir", "out"),
}


def files() -> dict[Path, bytes]:
    """Those of the test, without what Python and a killed command leave beside them."""
    return {
        path: path.read_bytes()
        for path in Path.cwd().rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".tmp"
    }


@pytest.fixture
def before(command: Command) -> dict[Path, bytes]:
    """The commands' input files, and existing files at their output paths."""
    sys.modules.pop("large", None)
    Path("large.py").write_text(LARGE)
    assert command("et-compile", "large.py:large", "-q", "-o", "net.pte").code == 0
    assert command("et-compile", "large.py:large", "-q", "--emit", "executorch", "-o", "plan.mlir").code == 0
    np.save("x.npy", np.ones((16, 16), np.float32))
    Path("out").mkdir()
    for name in ("out.pte", "out.mlir", "out/output_0.npy"):
        Path(name).write_bytes(b"what was there before")
    # Files that the commands do not name take the place of files of their kind alone.
    Path("out.ptd").write_bytes(b"\0\0\0\0FT01what was there before")
    Path("out.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    return files()


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Within, a write beyond `size` bytes fails like one on a full disk: what fits is written before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", COMMANDS)
def test_files_that_may_not_be_so_large(name: str, command: Command, before: dict[Path, bytes]) -> None:
    with largest_file(LIMIT):
        ran = command(*COMMANDS[name])
    assert (ran.code, "File too large" in ran.err) == (2, True), ran.err
    assert files() == before
    assert not list(Path.cwd().rglob("*.tmp"))
    # Without the limit it is the files that fail it.
    assert command(*COMMANDS[name]).code == 0
    assert files() != before


@pytest.mark.parametrize("name", COMMANDS)
def test_killed(name: str, command: Command, before: dict[Path, bytes]) -> None:
    """At the worst moment: all is written, and nothing has its name yet."""
    child = os.fork()
    if child == 0:

        def die(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        Path.replace = die  # type: ignore[method-assign]
        try:
            command(*COMMANDS[name])
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert files() == before


@pytest.mark.parametrize(
    "line",
    [line for name, line in COMMANDS.items() if name not in ("run", "compile with data")],
    ids=" ".join,
)
def test_a_full_device(line: tuple[str, ...], command: Command, before: dict[Path, bytes]) -> None:
    ran = command(*line[:-1], "/dev/full")
    assert (ran.code, "error: /dev/full: No space left on device" in ran.err) == (2, True)
    assert files() == before
