"""Commands and calls that may execute delegates: those that are not interpreted run with `--native` alone.

The machine code of a delegate is of illegal instructions: a process that runs it is killed. Shaders and models for
OpenVINO and VGF are good ones.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.models import language_model, tokenizer_files
from support.command_line import Command
from support.native_blobs import HEADER, SECTION, SETS, here
from support.vm_programs import Build

from et_backends.native.compiler.backend import NativeBackend
from et_backends.native.format import read_native, serialize_native
from et_schema.backend_packages import backend_packages
from et_schema.distribution import NAME
from et_schema.errors import Error
from et_schema.program import BackendDelegate, BackendDelegateDataReference, BackendDelegateInlineData
from et_schema.pte import read_pte, serialize_pte
from et_tools.level_runs import LevelRunner
from et_tools.reading import read_text_module
from et_tools.vm_verbs import VERBS
from et_vm.backend import NativeRefused
from et_vm.devtools.bundled import BundledProgram
from et_vm.llm import LanguageModel, Session, TextLLMRunner
from et_vm.program import Program
from et_vm.runtime import Runtime

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
    "train": ("et-vm", "train", "x.pte", "--method", "forward", "--data", "x.npz", "--save", "out.ptd"),
    "compare": ("et-vm", "compare", "x.pte", "x.pte"),
    "compare of texts": ("et-vm", "compare", "x.mlir", "x.mlir"),
    "bundle": ("et-vm", "bundle", "x.pte", "-o", "made.bpte"),
    "verify": ("et-vm", "verify", "x.bpte"),
    "report": ("et-vm", "report", "x.pte", "--measure", "1", "-o", "report.html"),
    "check-passes": ("et-compile", "x.mlir", "-q", "--target", "et-vm", "--check-passes", "-o", "again.pte"),
    "bisect": ("et-bisect", "x.mlir", "-q", "--target", "et-vm"),
    "generate": ("et-vm", "generate", "lm.pte", "--prompt", "a", "--max-new-tokens", "1"),
    "generate with a draft": (
        *("et-vm", "generate", "good.pte", "--prompt", "a", "--max-new-tokens", "1"),
        *("--tokenizer", "lm.tokenizer/tokenizer.json", "--draft", "lm.pte"),
    ),
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
    "compile and measure": (
        *("et-compile", "x.mlir", "-q", "--target", "et-vm", "--backend", "native,xnnpack", "--tune"),
        *("--choose", "fastest", "-o", "again.pte"),
    ),
    "opt": ("et-opt", "x.mlir", "-o", "out.mlir"),
    "reduce": ("et-reduce", "x.mlir", "-q", "--keep", "true", "-o", "out.mlir"),
    "plan": ("et-plan", "x.pte", "-o", "layout.csv"),
    "build": ("et-vm", "build", "--target", "host", "--ops", "x.pte", "--cc", "false", "-o", "built"),
}
"""Commands that do not execute programs, though some of them execute what they compile."""

CALLS: dict[str, Callable[[], object]] = {
    "runtime": lambda: Runtime.get().load_program("x.pte").load_method("forward"),
    "runtime with tracers": lambda: (
        Runtime.get()
        .load_program("x.pte", enable_etdump=True, debug_buffer_size=1 << 20)
        .load_method("forward")
    ),
    "program": lambda: Program.load("x.pte").load_method("forward"),
    "bundle": lambda: BundledProgram.load("x.bpte").program.load_method("forward"),
    "text runner": lambda: TextLLMRunner("lm.pte", "lm.tokenizer/tokenizer.json").generate("a"),
    "session": lambda: Session(LanguageModel(Runtime.get().load_program("lm.pte"))),
    "levels": lambda: LevelRunner().run(
        read_text_module("planned.mlir", None), [np.ones((1, 32, 32, 32), np.float32)]
    ),
}
"""Functions of Python, none of which is told `allow_native`."""

BACKENDS: dict[str, tuple[str, str]] = {
    "native": (f"native:for={SETS[here()]}", "machine code, which can do whatever this process can"),
    "vulkan": ("vulkan", "shaders, which a driver compiles and runs outside et-vm's checks"),
    "openvino": ("openvino", "a model for OpenVINO, which runs outside et-vm's checks"),
    "vgf": ("vgf", "graphs that a Vulkan driver compiles and runs outside et-vm's checks"),
}
"""The value of `--backend`, and what the file holds, by the extra of a backend's package."""

RUNNABLE = {name: line for name, line in COMMANDS.items() if "generate" not in line} | {
    "validate": READERS["validate"]
}
"""Commands whose program has the constants that the machine code of its delegate takes."""
INTERPRETED = {"CoreMLBackend", "NestedProgramBackend", "TOSABackend", "VulkanBackend", "XnnpackBackend"}
"""Backends whose blobs the VM interprets, with checks of its own."""
REFUSED = {"NativeBackend", "OpenvinoBackend", "SpirvBackend", "VgfBackend"}
"""Backends whose blobs leave the checks of the VM, by their ids in files."""

_COMPILED: dict[str, dict[str, bytes]] = {}


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


def _planted(program: bytes, backend_id: str, blob: bytes) -> bytes:
    """A program whose methods have one delegate more, which is initialized with them."""
    pte = read_pte(program)
    pte.program.backend_delegate_data.append(BackendDelegateInlineData(blob))
    place = BackendDelegateDataReference(index=len(pte.program.backend_delegate_data) - 1)
    for plan in pte.program.execution_plan:
        plan.delegates.append(BackendDelegate(backend_id, place))
    return serialize_pte(pte.program, [[bytes(segment)] for segment in pte.segments])


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """The package that the delegate is for."""
    return str(getattr(request, "param", "native"))


@pytest.fixture
def files(command: Command, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    """Programs with such a delegate, compiled once: a `.pte`, a bundle, texts of two levels, a language model."""
    tokenizer = Path("lm.tokenizer")
    tokenizer.mkdir()
    for name, content in tokenizer_files().items():
        (tokenizer / name).write_bytes(content)
    Path("good.pte").write_bytes(language_model())
    for name, content in _COMPILED.get(backend, {}).items():
        Path(name).write_bytes(content)
    if backend in _COMPILED:
        return
    if backend == "native":
        preprocess = NativeBackend.preprocess

        def made(*arguments: Any) -> Any:
            found = preprocess(*arguments)
            assert isinstance(found.processed_bytes, bytes)
            return replace(found, processed_bytes=_illegal(found.processed_bytes))

        monkeypatch.setattr(NativeBackend, "preprocess", staticmethod(made))
    Path("images.py").write_text(MODEL)
    line = ("et-compile", "images.py:images", "-q", "--target", "et-vm", "--backend", BACKENDS[backend][0])
    ran = command(*line, "-o", "x.pte", "--bundle", "x.bpte")
    if "is not installed" in ran.err and "CI" not in os.environ:
        pytest.skip(f"the extra '{backend}' is not installed")
    assert ran.code == 0
    assert command(*line, "--emit", "backend", "-o", "x.mlir").code == 0
    assert command(*line, "--emit", "executorch", "-o", "planned.mlir").code == 0
    pte = read_pte(Path("x.pte").read_bytes())
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    blob = bytes(pte.delegate_data(delegate.processed))
    Path("lm.pte").write_bytes(_planted(language_model(), delegate.id, blob))
    _COMPILED[backend] = {
        path.name: path.read_bytes()
        for path in Path().iterdir()
        if path.name.partition(".")[0] in ("x", "planned", "lm") and path.is_file()
    }


def _killed(line: tuple[str, ...]) -> bool:
    """Whether a process that carries out a command line is killed by its machine code."""
    command, *arguments = line
    code = f"import sys; from et_tools.{command.replace('-', '_')} import main; sys.exit(main({arguments!r}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return ran.returncode in (-signal.SIGILL, -signal.SIGSEGV)


def test_all_commands_and_backends() -> None:
    lines = [*COMMANDS.values(), *READERS.values()]
    assert {line[1] for line in lines if line[0] == "et-vm"} == {verb.name for verb in VERBS}
    scripts = {one.name for one in distribution(NAME).entry_points if one.group == "console_scripts"}
    # Sweeps run what they compile, of models that are code.
    assert {line[0] for line in lines} | {"et-sweep"} == scripts
    assert set(backend_packages().places("runtime")) == INTERPRETED | REFUSED


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("backend", BACKENDS, indirect=True)
@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_delegates_are_refused(command: Command, line: tuple[str, ...], backend: str) -> None:
    ran = command(*line)
    assert f"the file holds {BACKENDS[backend][1]}" in ran.err
    assert "if you trust its source, allow it: --native" in ran.err
    assert ran.code == 2


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("backend", BACKENDS, indirect=True)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_delegates_are_refused_in_python(call: Callable[[], object], backend: str) -> None:
    with pytest.raises(NativeRefused, match=BACKENDS[backend][1]) as caught:
        call()
    assert caught.value.code is Error.NotSupported


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("backend", BACKENDS, indirect=True)
def test_delegates_of_nested_programs(command: Command) -> None:
    """Programs in delegates have no delegates, of whatever backend, with `--native` too."""
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    build.delegate("NestedProgramBackend", Path("lm.pte").read_bytes(), x, out)
    build.inputs(x)
    build.outputs(out)
    Path("around.pte").write_bytes(build.file())
    for line in (("run", "around.pte"), ("run", "around.pte", "--native")):
        ran = command("et-vm", *line)
        assert ran.code == 4
        assert "programs in delegates have no delegates" in ran.err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", READERS.values(), ids=READERS)
def test_commands_that_do_not_execute(command: Command, line: tuple[str, ...]) -> None:
    assert command(*line).code == (5 if "--cc" in line else 0)


@pytest.mark.sweep
@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("line", RUNNABLE.values(), ids=RUNNABLE)
def test_machine_code_runs_where_it_is_allowed(line: tuple[str, ...]) -> None:
    """So that the tests above are of commands that would have run it."""
    assert _killed((*line, "--native"))
