"""The target of a compilation: named, unknown, or chosen by the backends, before anything is exported."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import Command

from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_ir.targets.lookup import TARGETS

UNREADABLE = "raise AssertionError('the factory was called')\n"
"""A file of a factory that must not be imported, so that nothing is exported."""


@pytest.fixture
def factory() -> str:
    Path("unreadable.py").write_text(UNREADABLE)
    return "unreadable.py:net"


def test_help_names_every_target(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10000")
    listed = command("et-compile", "--help").out
    line = next(line for line in listed.splitlines() if line.lstrip().startswith("--target NAME"))
    assert [name for name in (*TARGETS, *FREESTANDING_TARGETS) if f" {name}" not in line] == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cortex-m4f", "; for Cortex-M4 give cortex-m4"),
        ("cortex-m3", "; for Cortex-M3 give cortex-m0plus"),  # not cortex-m33, whose code it does not run
        ("stm32f4", "; for STM32F4 give cortex-m4"),
        ("stock", ", did you mean 'stock-1.5'?"),
        ("riscv64", ", did you mean 'riscv64gc'?"),
        ("native", "; 'native' is a backend: --backend native"),
        ("gpu", "x86-64"),
    ],
)
def test_unknown_targets(command: Command, factory: str, name: str, hint: str) -> None:
    ran = command("et-compile", factory, "-o", "net.pte", "--target", name)
    assert ran.code == 2
    assert f"argument --target: unknown target '{name}', expected one of {', '.join(TARGETS)}" in ran.err
    assert ", ".join(FREESTANDING_TARGETS) in ran.err
    assert ran.err.rstrip().endswith(hint)


@pytest.mark.parametrize("backend", ["nested", "xnnpack,nested", "vulkan"])
def test_runtime_that_has_the_backends(command: Command, backend: str) -> None:
    ran = command("et-compile", "relu.mlir", "-o", "net.pte", "--backend", backend)
    assert ran.code == 0
    name = backend.rpartition(",")[2]
    note = f"et-compile: note: --target is et-vm: stock-1.5, the default, does not have the backend {name}\n"
    assert ran.err.startswith(note)
    assert ran.err.count("note:") == 1
    assert command("et-vm", "validate", "net.pte").code == 0
    again = command("et-compile", "relu.mlir", "-o", "again.pte", "--backend", backend, "--target", "et-vm")
    assert again.code == 0
    assert "note:" not in again.err
    assert Path("again.pte").read_bytes() == Path("net.pte").read_bytes()


@pytest.mark.parametrize(
    ("line", "command_name"),
    [
        (("et-bisect", "relu.mlir", "--backend", "nested"), "et-bisect"),
        (("et-vm", "report", "relu.mlir", "--compile", "--backend nested", "-o", "page.html"), ""),
        (("et-compile", "relu.mlir", "--backend", "nested", "-o", "net.pte"), "et-compile"),
    ],
)
def test_notes_name_the_command(command: Command, line: tuple[str, ...], command_name: str) -> None:
    err = command(*line).err
    if command_name:
        assert f"{command_name}: note: --target is et-vm: " in err
    else:
        assert "note:" not in err  # a report compiles without a word


@pytest.mark.parametrize("line", [("--backend", "xnnpack"), ("--backend", "nested", "-q"), ()])
def test_no_note(command: Command, line: tuple[str, ...]) -> None:
    ran = command("et-compile", "relu.mlir", "-o", "net.pte", *line)
    assert ran.code == 0
    assert "note:" not in ran.err


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        (
            ("--backend", "nested", "--target", "stock-1.5"),
            "--backend nested: 'stock-1.5' has no backend NestedProgramBackend, it has: OpenvinoBackend",
            "compile for a target that has it: et-vm or et-vm-aten",
        ),
        (
            ("--backend", "ethos-u:target=ethos-u85-256"),
            "--backend ethos-u: 'stock-1.5' has no backend EthosUBackend",
            "if your runtime has it, declare it with --extra-backends EthosUBackend",
        ),
    ],
)
def test_missing_backend(
    command: Command, factory: str, line: tuple[str, ...], message: str, fix: str
) -> None:
    ran = command("et-compile", factory, "-o", "net.pte", *line)
    assert ran.code == 4
    assert ran.err.startswith(f"et-compile: error: {message}")
    assert f"\n  fix: {fix}" in ran.err


def test_declared_backend(command: Command) -> None:
    """The default target stays where the user's runtime has what it lacks."""
    line = ("--backend", "nested", "--extra-backends", "NestedProgramBackend", "--print-pipeline")
    ran = command("et-compile", "relu.mlir", "-o", "net.pte", *line)
    assert ran.code == 0
    assert 'link-check{backends="NestedProgramBackend"}' in ran.out
    assert "note:" not in ran.err
