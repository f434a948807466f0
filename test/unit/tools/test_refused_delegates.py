"""Commands that may execute delegates: machine code in a program runs with `--native` alone.

The code of the delegate is of illegal instructions: a process that runs it is killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Command
from support.native_blobs import HEADER, SECTION, SETS, here

from et_backends.native.compiler.backend import NativeBackend
from et_backends.native.format import read_native, serialize_native

MODEL = """
import torch

def images():
    torch.manual_seed(0)
    return torch.nn.Conv2d(32, 32, 3, padding=1), (torch.ones(1, 32, 32, 32),)
"""
"""A convolution whose filters the code transforms when it is loaded."""

ILLEGAL = {62: bytes([0x0F, 0x0B]), 183: bytes(4)}
"""An instruction that no processor executes: `ud2` of x86-64, `udf` of AArch64."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("et-vm", "run", "x.pte"),
    "run of a text": ("et-vm", "run", "x.mlir"),
    "run of instructions as text": ("et-vm", "run", "planned.mlir"),
    "debug": ("et-vm", "debug", "x.pte", "--command", "continue"),
    "profile": ("et-vm", "profile", "x.pte"),
    "compare": ("et-vm", "compare", "x.pte", "x.pte"),
    "compare of texts": ("et-vm", "compare", "x.mlir", "x.mlir"),
    "bundle": ("et-vm", "bundle", "x.pte", "-o", "made.bpte"),
    "verify": ("et-vm", "verify", "x.bpte"),
    "report": ("et-vm", "report", "x.pte", "--measure", "1", "-o", "report.html"),
    "check-passes": ("et-compile", "x.mlir", "-q", "--target", "et-vm", "--check-passes", "-o", "again.pte"),
    "bisect": ("et-bisect", "x.mlir", "-q", "--target", "et-vm"),
}

READERS: dict[str, tuple[str, ...]] = {
    "validate": ("et-vm", "validate", "x.pte", "--kernels", "portable"),
    "info": ("et-vm", "info", "x.pte", "--delegates"),
    "diff": ("et-vm", "diff", "x.pte", "x.pte"),
    "ops": ("et-vm", "ops", "x.pte"),
    "report": ("et-vm", "report", "x.pte", "-o", "report.html"),
    "to text": ("et-translate", "--pte-to-mlir", "x.pte", "-o", "out.mlir"),
    "to a program": ("et-translate", "--mlir-to-pte", "planned.mlir", "-o", "out.pte"),
    "compile": ("et-compile", "x.mlir", "-q", "--target", "et-vm", "-o", "again.pte"),
    "compile again": ("et-compile", "x.pte", "-q", "--target", "et-vm", "-o", "again.pte"),
    "opt": ("et-opt", "x.mlir", "-o", "out.mlir"),
}
"""Commands that do not execute programs."""


_COMPILED: dict[str, bytes] = {}


def _illegal(blob: bytes) -> bytes:
    """A blob whose sections of code are of illegal instructions."""
    program = read_native(memoryview(blob))
    assert program.derived
    for one in program.objects:
        raw = bytearray(one.code)
        _, _, machine, _, _, _, sections, *_, count, _ = HEADER.unpack_from(raw)
        for number in range(count):
            _, kind, flags, _, offset, size, *_ = SECTION.unpack_from(raw, sections + number * SECTION.size)
            if kind == 1 and flags & 4:
                raw[offset : offset + size] = (ILLEGAL[machine] * size)[:size]
        one.code = bytes(raw)
    return serialize_native(program)


@pytest.fixture
def files(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with such a delegate: a `.pte`, a bundle, and texts of two levels, compiled once."""
    for name, content in _COMPILED.items():
        Path(name).write_bytes(content)
    if _COMPILED:
        return
    preprocess = NativeBackend.preprocess

    def made(*arguments: Any) -> Any:
        found = preprocess(*arguments)
        assert isinstance(found.processed_bytes, bytes)
        return replace(found, processed_bytes=_illegal(found.processed_bytes))

    monkeypatch.setattr(NativeBackend, "preprocess", staticmethod(made))
    Path("images.py").write_text(MODEL)
    line = (
        "et-compile",
        "images.py:images",
        "-q",
        "--target",
        "et-vm",
        "--backend",
        f"native:for={SETS[here()]}",
    )
    assert command(*line, "-o", "x.pte", "--bundle", "x.bpte").code == 0
    assert command(*line, "--emit", "backend", "-o", "x.mlir").code == 0
    assert command(*line, "--emit", "executorch", "-o", "planned.mlir").code == 0
    for path in Path().iterdir():
        if path.name.partition(".")[0] in ("x", "planned"):
            _COMPILED[path.name] = path.read_bytes()


def _killed(line: tuple[str, ...]) -> bool:
    """Whether a process that carries out a command line is killed by its machine code."""
    command, *arguments = line
    code = f"import sys; from et_tools.{command.replace('-', '_')} import main; sys.exit(main({arguments!r}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return ran.returncode in (-signal.SIGILL, -signal.SIGSEGV)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_machine_code_is_refused(command: Command, line: tuple[str, ...]) -> None:
    ran = command(*line)
    assert "the file holds machine code, which can do whatever this process can" in ran.err
    assert "if you trust its source, allow it: --native" in ran.err
    assert ran.code == 2


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", READERS.values(), ids=READERS)
def test_commands_that_do_not_execute(command: Command, line: tuple[str, ...]) -> None:
    assert command(*line).code == 0


@pytest.mark.sweep
@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", [*COMMANDS.values(), READERS["validate"]], ids=[*COMMANDS, "validate"])
def test_machine_code_runs_where_it_is_allowed(line: tuple[str, ...]) -> None:
    """So that the tests above are of commands that would have run it."""
    assert _killed((*line, "--native"))
