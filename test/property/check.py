"""Invariants of random programs.

Levels verify and are text, the file is reproducible, and it computes what torch does.

The checks stand in the order of their stages, which a failure names.
"""

from __future__ import annotations

import io
import re
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.export import Dim, export
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from et_ir import raise_program
from et_ir.diagnostics import PassReport
from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.observer import Observer
from et_ir.driver.pipelines import (
    aten_passes,
    backend_passes,
    core_aten_passes,
    edge_passes,
    executorch_passes,
)
from et_ir.driver.stages import run_passes
from et_ir.emit import EmitOptions, disassemble, write
from et_ir.frontend import import_program
from et_ir.text import data_attributes, parse_module, print_module
from et_ir.verification import verify_module
from et_schema.backend_packages import backend_packages
from et_schema.errors import ExecutorchError
from et_schema.pte import read_pte
from et_tools.reading import compiler_context
from et_tools.vm_blobs import blob_problems
from et_vm.runtime import Runtime
from property.build import build, caller_buffers, initial
from property.delegated import compile_delegated, compile_for, compile_native
from property.eager import Run, Unsteady, draw_inputs, eager_runs, model
from property.programs import Extent, Program
from property.source import python

__all__ = ["Checks", "Failure", "check"]

RUNS: Final = 3
"""Of a program that has been loaded once: state goes on from one to the next. The first two are of different sizes."""

TOLERANCE: Final = 1e-4
"""Of results, in absolute terms and of the larger number. That in 64 bits they differ less has been checked."""

_NOT_RAISED: Final = re.compile(r"\[raise_c[45]\]")

PLANNED: Final = ExecutorchBackendConfig(check_plan=True)
CALLERS: Final = replace(PLANNED, alloc_graph_input=False, alloc_graph_output=False)


class Failure(Exception):
    """A program that is not treated as it has to be, and in which stage."""

    def __init__(self, stage: str, message: str):
        super().__init__(f"{stage}: {message}")
        self.kind = stage, message.partition(":")[0]


@dataclass(frozen=True)
class Checks:
    """The checks beyond the VM's portable kernels computing the right results with dead memory poisoned."""

    portable: bool = True
    """Whether it is compiled for these kernels at all, and run by them."""
    again: bool = False
    """Whether it is compiled again, from the text, to the same file."""
    raised: bool = False
    """Whether its file is raised and compiled again."""
    every_pass: bool = False
    """Whether the module is verified after each pass, not only at each level."""
    aten: bool = False
    """Whether it is run with torch's kernels."""
    callers: bool = False
    """Whether it is compiled with inputs and outputs in the caller's memory, its buffers among the inputs."""
    stock: Any = None
    """The stock runtime, if it is run there."""
    delegated: int | None = None
    """The seed by which parts of it are delegated, to run in programs of their own; None for none."""
    native: str | None = None
    """The instruction set for which what the native backend takes of it is compiled; None for none."""
    backend: str | None = None
    """The backend that gets what it takes of it, as `--backend` names it; None for none."""
    freestanding: str | None = None
    """The processor for which it is compiled to an object, as is the quantized program of its seed; None for none."""
    exported: bool = False
    """Whether it is exported by torch, too, and what that gives compiled and run."""


def check(program: Program, checks: Checks) -> str:
    """Check a program; what came of it in a word. Raises `Failure`, and what torch raises for what is no program."""
    try:
        runs = eager_runs(program, RUNS)
    except Unsteady:
        return "unsteady"
    with _stage("build"):
        module = build(program)
        verify_module(module)
        text = _text(module)
    with _stage("text of aten"):
        again = parse_module(compiler_context(), text)
        verify_module(again)
        _same_text(_text(again), text)
    if checks.portable:
        data = _compile(module, checks)
        with _stage("compiled again, from text"):
            if checks.again and _compile(again, Checks()) != data:
                raise Failure("compiled again, from text", "the file is another")
        _translate(module, data)
        _run_all(program, runs, data, checks, "")
        if checks.raised:
            _run_raised(program, runs, data)
    if checks.callers:
        data = _compile(build(program, callers_state=True), Checks(), CALLERS)
        with _stage("in the caller's memory, run poisoned"):
            _run_callers(program, runs, data)
    if checks.delegated is not None:
        with _stage("delegated"):
            data = compile_delegated(build(program), Random(checks.delegated))
        for kernels in ("portable", "aten") if checks.aten else ("portable",):
            with _stage(f"delegated, run with {kernels} kernels, poisoned"):
                _run(program, runs, data, kernels, poison=True, reset=False)
    if checks.native is not None:
        with _stage("native"):
            data = compile_native(build(program), checks.native)
        for threads in (1, 2):
            with _stage(f"native, run with {threads} threads, poisoned"):
                _run(program, runs, data, "portable", poison=True, reset=False, threads=threads)
    if checks.backend is not None:
        with _stage(f"backend {checks.backend}"):
            data = compile_for(build(program), checks.backend)
        if _has_runtimes(data):
            with _stage(f"backend {checks.backend}, run poisoned"):
                _run(program, runs, data, "portable", poison=True, reset=False)
        else:
            with _stage(f"backend {checks.backend}, blobs"):
                for problem in blob_problems(memoryview(data), None):
                    raise problem
    outcome = "with n" if program.sizes else "fixed sizes"
    if checks.freestanding is not None:
        outcome = f"{outcome}, {_freestanding(program, runs, checks.freestanding)}"
    if not checks.exported:
        return outcome
    return f"{outcome}, {_export(program, runs, checks)}"


@contextmanager
def _stage(name: str) -> Iterator[None]:
    """Whatever is raised is a failure of this stage."""
    try:
        yield
    except Failure:
        raise
    except Exception as error:
        lines = traceback.format_exception(error)
        raise Failure(name, f"{type(error).__name__}: {error}\n{''.join(lines[-4:-1])}") from error


# -- compiling


def _text(module: ModuleOp) -> str:
    stream = io.StringIO()
    print_module(module, stream)
    return stream.getvalue()


def _same_text(found: str, wanted: str) -> None:
    for one, other in zip(found.splitlines(), wanted.splitlines(), strict=False):
        if one != other:
            raise ValueError(f"the text becomes another:\n  {other}\n  {one}")
    if found != wanted:
        raise ValueError("the text becomes another")


def _compile(module: ModuleOp, checks: Checks, config: ExecutorchBackendConfig = PLANNED) -> bytes:
    """Lower a module in place, and the file of it."""
    for level, passes in (
        ("verify aten", aten_passes()),
        ("core-aten", core_aten_passes()),
        ("edge", edge_passes()),
        ("backend", backend_passes()),
        ("executorch", executorch_passes(config)),
    ):
        with _stage(level):
            run_passes(module, passes, _Verifier() if checks.every_pass else None)
            verify_module(module)
    with _stage("emit"):
        return _file(module)


class _Verifier(Observer):
    def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
        try:
            verify_module(module)
        except Exception as error:
            raise ValueError(f"after {one.name}: {error}") from error


def _file(module: ModuleOp) -> bytes:
    stream = io.BytesIO()
    write(module, stream, EmitOptions())
    return stream.getvalue()


def _translate(module: ModuleOp, data: bytes) -> None:
    """From the file to text and back; and the text that the compiler has."""
    with _stage("text of executorch"):
        text = _text(module)
        again = parse_module(compiler_context(), text)
        _same_text(_text(again), text)
    with _stage("file to text and back"):
        read = disassemble(read_pte(data))
        verify_module(read)
        text = _text(read)
        again = parse_module(compiler_context(), text)
        _same_text(_text(again), text)
        verify_module(again)
        _attach(again, read)
        if _file(again) != data:
            raise ValueError("the file becomes another")


def _attach(again: ModuleOp, read: ModuleOp) -> None:
    """Give the constants that a text does not print the data they had."""
    blobs = {attr.blob.sha256: attr.blob for _, attr in data_attributes(read)}
    for _, attr in data_attributes(again):
        if not attr.blob.is_resolved:
            attr.blob.resolve(blobs[attr.blob.sha256].view())


# -- running


def _run_all(program: Program, runs: Sequence[Run], data: bytes, checks: Checks, prefix: str) -> None:
    for kernels in ("portable", "aten") if checks.aten else ("portable",):
        with _stage(f"{prefix}run with {kernels} kernels, poisoned"):
            _run(program, runs, data, kernels, poison=True)
        with _stage(f"{prefix}run with {kernels} kernels"):
            # What sizes tell is not looked at again, from the third run at the same ones on.
            often = runs if program.buffers else [run for run in runs for _ in range(3)] + list(runs)
            _run(program, often, data, kernels, poison=False)
    if checks.stock is not None:
        with _stage(f"{prefix}run by stock"), tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "program.pte")
            path.write_bytes(data)
            for at, run in enumerate(runs):
                outputs = checks.stock.run_on(path, list(run.inputs))
                _compare(outputs, run.outputs, f"run {at}")


def _run_raised(program: Program, runs: Sequence[Run], data: bytes) -> None:
    """Compile a file again and run that; loops and sizes that have no form at the edge level are refused."""
    with _stage("its file, compiled again"):
        try:
            again = raise_program(data).to_executorch(PLANNED).buffer
        except PassReport as error:
            # A stack of a loop whose size is known at run time only may have no elements in a trial.
            if _NOT_RAISED.search(str(error)) or b"et_copy_index" in data:
                return
            raise
    with _stage("its file, compiled again, run poisoned"):
        _run(program, runs, again, "portable", poison=True, reset=False)


def _run(
    program: Program,
    runs: Sequence[Run],
    data: bytes,
    kernels: str,
    *,
    poison: bool,
    reset: bool = True,
    threads: int = 1,
) -> None:
    loaded = Runtime(threads=threads).load_program(
        data, kernels=kernels, poison=poison, instruction_limit=20_000, allow_native=True
    )
    method = loaded.load_method("forward")
    for at, run in enumerate(runs):
        outputs = method.execute([each.clone() for each in run.inputs])
        _compare(outputs, run.outputs, f"run {at}, n = {run.n}")
        state = method.state
        for buffer, wanted in zip(program.buffers, run.state, strict=True):
            if buffer.name in state:
                _compare([state[buffer.name]], [wanted], f"run {at}, {buffer.name} afterwards")
    if method.state and reset:  # which state that a delegate keeps does not know of
        method.state.reset()
        _compare(method.execute(list(runs[0].inputs)), runs[0].outputs, "after a reset")
    if program.sizes is not None:
        for n in (program.sizes[0] - 1, program.sizes[1] + 1):
            _must_refuse(program, method, n)


def _run_callers(program: Program, runs: Sequence[Run], data: bytes) -> None:
    """Run with state that the caller keeps: each execution leaves in it what the next one needs."""
    loaded = Runtime().load_program(data, poison=True, instruction_limit=20_000)
    method = loaded.load_method("forward")
    buffers = caller_buffers(program)
    state = [torch.from_numpy(initial(buffer)) for buffer in buffers]
    for at, run in enumerate(runs):
        outputs = method.execute([*(each.clone() for each in run.inputs), *state])
        _compare(outputs, run.outputs, f"run {at}, n = {run.n}")
        wanted = dict(zip(program.buffers, run.state, strict=True))
        _compare(state, [wanted[buffer] for buffer in buffers], f"run {at}, state of the caller afterwards")


def _has_runtimes(data: bytes) -> bool:
    """Whether et-vm runs all delegates of a file."""
    plans = read_pte(data).program.execution_plan
    return all(
        delegate.id in backend_packages().places("runtime") for plan in plans for delegate in plan.delegates
    )


def _must_refuse(program: Program, method: Any, n: int) -> None:
    try:
        method.execute(list(draw_inputs(program, n, Random(0))))
    except ExecutorchError:
        return
    raise ValueError(f"inputs with n = {n} are taken, the range is {program.sizes}")


def _compare(
    found: Sequence[Any], wanted: Sequence[Tensor], where: str, tolerance: float = TOLERANCE
) -> None:
    if len(found) != len(wanted):
        raise ValueError(f"{where}: {len(found)} results, not {len(wanted)}")
    for at, (each, right) in enumerate(zip(found, wanted, strict=True)):
        # A copy, as torch warns of arrays that are not writable: results that are constants.
        value = torch.as_tensor(each.copy() if isinstance(each, np.ndarray) else each)
        if value.dtype != right.dtype or value.shape != right.shape:
            raise ValueError(
                f"{where}: result {at} is {value.dtype} {list(value.shape)}, not {right.dtype} {list(right.shape)}"
            )
        if not torch.allclose(value.double(), right.double(), rtol=tolerance, atol=tolerance):
            raise ValueError(f"{where}: result {at} is\n{value}\nnot\n{right}")


# -- by an object for a processor


def _freestanding(program: Program, runs: Sequence[Run], target: str) -> str:
    """Run the object of a program, and that of the quantized program of its seed; in a word, whether there is one."""
    from property.freestanding import TOLERANCE as CLOSE
    from property.freestanding import run_object, run_quantized

    with _stage(f"quantized, {target}"):
        words = ["a quantized one"] if run_quantized(program.seed, target) else []
    with _stage(f"freestanding, {target}"):
        # The compiler refuses sizes known at run time only, as its own tests check.
        close = partial(_compare, tolerance=CLOSE)
        if program.sizes is None and run_object(
            build(program), runs, target, close, in_banks=program.seed % 4 == 0
        ):
            words.insert(0, "it")
    return f"{' and '.join(words)} on {target}" if words else "no object"


# -- by torch's export


def _export(program: Program, runs: Sequence[Run], checks: Checks) -> str:
    """Have torch export a program, compile and run that; in a word, whether torch does."""
    module = model(python(program), plain=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exported = export(module, runs[0].inputs, dynamic_shapes=_dynamic_shapes(program), strict=False)
        except Exception:  # of many kinds: what torch cannot trace is no concern of ours
            return "refused by torch"
    with _stage("import"):
        imported = import_program(exported)
        verify_module(imported)
    data = _compile(imported, checks)
    _run_all(program, runs, data, replace(checks, stock=None), "exported, ")
    return "exported"


def _dynamic_shapes(program: Program) -> Any:
    if program.sizes is None:
        return None
    dim = Dim("n", min=program.sizes[0], max=program.sizes[1])
    return {
        each.var.name: {at: dim for at, size in enumerate(each.var.type.shape) if size == Extent()}
        for each in program.inputs
    }
