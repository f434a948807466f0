"""Cases by seed: a damaged file, and the rules for its outcome.

A program either loads and runs, or a typed error says why not; and `validate` has a problem if, and only if, loading
it raises one, which is among its own. Anything else that is raised, too much time or too much memory is a violation.
"""

from __future__ import annotations

import io
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.ptd import read_ptd
from et_schema.scalar_type import numpy_dtype
from et_vm.devtools.bundled import BundledProgram
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.run.validation import validate
from et_vm.work import WorkMeter
from fuzz.blobs import FORMATS, damaged_blob, run_blob
from fuzz.corpus import backends, bundled, external_data, programs, registry
from fuzz.mutations import mutated_bytes, mutated_program, mutated_values
from fuzz.texts import TEXTS, garbled

# What a program may ask for, here: small enough that what it asks for is no excuse for what a case takes.
MEMORY_LIMIT = 4 << 20
WORK_LIMIT = 100_000_000
INSTRUCTION_LIMIT = 100

SECONDS = 5.0
"""Processor time of a case."""
BYTES = 64 << 20
"""Memory that a case may take in addition to the highest mark of those before it."""


class Violation(Exception):
    """A case that ended as none may."""


class _TimeUp(BaseException):
    pass


@dataclass(frozen=True)
class Case:
    """A damaged `content` of a `kind`: `pte`, `ptd`, `bpte` or `mlir`; of `again` a program that is compiled again, of
    `blob` what a delegate of the backend `base` is loaded of.
    """

    seed: int
    kind: str
    base: str
    content: bytes


def make_case(seed: int) -> Case:
    """The case of a seed: always the same."""
    random = Random(seed)
    if seed % 25 == 24:
        base = random.choice(list(TEXTS))
        return Case(seed, "mlir", base, garbled(TEXTS[base].text, random).encode())
    if seed % 20 == 13:
        return Case(seed, "bpte", "bundle", mutated_bytes(bundled(), random))
    if seed % 20 == 7:
        return Case(seed, "ptd", "weights", mutated_bytes(external_data(), random))
    if seed % 20 in (11, 17):
        backend = random.choice(list(FORMATS))
        return Case(seed, "blob", backend, damaged_blob(backend, random))
    kind = "again" if seed % 100 == 3 else "pte"
    base = random.choice(list(programs()))
    mutate = (mutated_bytes, mutated_program, mutated_values)[seed % 3]
    content = mutate(programs()[base], random)
    if seed % 16 == 0:
        content = mutated_bytes(content, random)
    return Case(seed, kind, base, content)


def run_case(case: Case) -> str:
    """The outcome of a case, in a word. Raises Violation."""
    high_mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    try:
        with _limited(SECONDS):
            outcome = _RUN[case.kind](case)
    except _TimeUp:
        raise Violation(f"still running after {SECONDS} s") from None
    except (Exception, SystemExit) as error:
        raise Violation(f"{type(error).__name__}: {error}") from error
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - high_mark) << 10
    # The first of these loads the compiler.
    if taken > BYTES and case.kind not in ("mlir", "again"):
        raise Violation(
            f"{taken:,} bytes for {len(case.content):,} bytes, in {time.process_time() - started:.2f} s"
        )
    return outcome


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        del number, frame
        raise _TimeUp

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _run_program(case: Case) -> str:
    found = validate(memoryview(case.content))
    problems = [(problem.code, problem.where, problem.message) for problem in found.problems]
    try:
        program = Program.load(case.content, platform=_platform())
    except ExecutorchError as error:
        if (error.code, error.where, error.message) not in problems:
            raise Violation(f"loading says {error}, validate {found.problems}") from error
        if error.offset is None and len(case.content) >= 64:
            raise Violation(f"no byte: {error}") from error
        return error.code.name
    if any(problem.code != Error.OutOfResources for problem in found.problems):
        raise Violation(f"loaded, but validate finds {found.problems}")
    return _run_methods(program, read_ptd(external_data()).named_data(), poison=case.seed % 5 == 0)


def _platform() -> Platform:
    return Platform(memory_limit=MEMORY_LIMIT, work_limit=WORK_LIMIT)


def _run_methods(program: Program, data: dict[str, memoryview], *, poison: bool = False) -> str:
    outcome = "ran"
    for name in program.method_names:
        try:
            method = program.load_method(
                name,
                kernels=registry(),
                backends=backends(),
                external=data,
                poison=poison,
                instruction_limit=INSTRUCTION_LIMIT,
            )
            inputs = _inputs(program, name)
            for _ in range(2):
                method.execute(inputs)
        except ExecutorchError as error:
            if error.code == Error.Internal and error.__cause__ is not None:
                # A kernel, or numpy under it, raised what no kernel should.
                raise Violation(f"untyped: {error}") from error
            outcome = type(error).__name__
    return outcome


def _inputs(program: Program, name: str) -> list[object]:
    meta = program.method_meta(name)
    inputs: list[object] = []
    for at in range(meta.num_inputs()):
        if meta.input_tag(at) != "Tensor":
            inputs.append(meta.input_value(at))
            continue
        info = meta.input_tensor_meta(at)
        if info.nbytes() > MEMORY_LIMIT:
            raise ExecutorchError(Error.MemoryAllocationFailed, "too large to make an input for")
        inputs.append(np.ones(info.sizes(), numpy_dtype(info.dtype())))
    return inputs


def _run_data(case: Case) -> str:
    try:
        data = read_ptd(case.content).named_data()
    except ExecutorchError as error:
        if error.code != Error.InvalidExternalData:
            raise Violation(f"not an error of external data: {error}") from error
        return error.code.name
    return _run_methods(Program.load(programs()["state"], platform=_platform()), data)


def _run_bundle(case: Case) -> str:
    try:
        bundle = BundledProgram(case.content, platform=_platform())
        for name, index in bundle.cases():
            method = bundle.program.load_method(name, kernels=registry(), instruction_limit=INSTRUCTION_LIMIT)
            bundle.verify(method, index)
    except ExecutorchError as error:
        if error.code == Error.Internal and error.__cause__ is not None:
            raise Violation(f"untyped: {error}") from error
        return type(error).__name__
    return "ran"


def _run_text(case: Case) -> str:
    from et_tools.et_opt import main

    errors = io.StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), redirect_stderr(errors):
        path = Path(folder, "bad.mlir")
        path.write_bytes(case.content)
        code = main(["-p", TEXTS[case.base].pipeline, str(path), "-o", str(Path(folder, "out.mlir"))])
    if code not in (0, 3, 4, 6) or (code and ": error: " not in errors.getvalue()):
        raise Violation(f"exit code {code}: {errors.getvalue()}")
    return f"exit {code}"


def _run_again(case: Case) -> str:
    """Compile the program of a damaged file, and translate what is a file of instructions there and back."""
    from et_tools.et_compile import main as compile_
    from et_tools.et_translate import main as translate

    errors = io.StringIO()
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), redirect_stderr(errors):
        path, text, output = Path(folder, "bad.pte"), Path(folder, "bad.mlir"), Path(folder, "out.pte")
        path.write_bytes(case.content)
        codes = [translate(["--pte-to-mlir", str(path), "-o", str(text)])]
        if codes[0] == 0:
            codes.append(translate(["--mlir-to-pte", str(text), "-o", str(output)]))
            codes.append(compile_([str(path), "-o", str(output), "-q", "-O0"]))
    if any(code not in (0, 3, 4, 6) for code in codes) or (any(codes) and "error: " not in errors.getvalue()):
        raise Violation(f"exit codes {codes}: {errors.getvalue()}")
    return f"exit {codes[-1]}"


def _run_blob(case: Case) -> str:
    return run_blob(case.base, case.content, _platform(), WorkMeter(WORK_LIMIT))


_RUN: Final = {
    "blob": _run_blob,
    "pte": _run_program,
    "ptd": _run_data,
    "bpte": _run_bundle,
    "mlir": _run_text,
    "again": _run_again,
}
