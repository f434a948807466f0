"""Targets: programs, their data files and bundles, blobs of delegates, texts, and programs that are compiled again."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Final, cast

import numpy as np

from et_schema import reader
from et_schema.errors import Error, ExecutorchError
from et_schema.ptd import read_ptd
from et_schema.scalar_type import numpy_dtype
from et_vm.devtools.bundled import BundledProgram
from et_vm.kernels.portable.creation.random import seed
from et_vm.load.data_files import DataFiles
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.run.validation import validate
from et_vm.work import WorkMeter
from fuzz.blobs import damaged_blob, good_blobs, run_blob
from fuzz.corpus import backends, bundled, external_data, programs, registry
from fuzz.mutations import mutated_bytes, mutated_program, mutated_values
from fuzz.targets import Case, Target, Violation
from fuzz.texts import TEXTS, garbled

__all__ = ["INSTRUCTION_LIMIT", "MEMORY_LIMIT", "TARGETS"]

# What a program may ask for, here: small enough that what it asks for is no excuse for what a case takes.
MEMORY_LIMIT: Final = 4 << 20
WORK_LIMIT: Final = 100_000_000
INSTRUCTION_LIMIT: Final = 100


def _damage(base: str, data: bytes, random: Random) -> bytes:
    del base
    content = random.choice((mutated_bytes, mutated_program, mutated_values))(data, random)
    return mutated_bytes(content, random) if random.random() < 1 / 16 else content


def _damage_bytes(base: str, data: bytes, random: Random) -> bytes:
    del base
    return mutated_bytes(data, random)


def _run_program(case: Case, folder: Path) -> str:
    del folder
    found = validate(memoryview(case.content))
    problems = [(problem.code, problem.where, problem.message) for problem in found.problems]
    # The programs are small: in every other case, all that may be read as columns is.
    least = reader.LEAST_COLUMN
    reader.LEAST_COLUMN = 1 if case.seed % 2 else least
    try:
        program = Program.load(case.content, platform=_platform())
    except ExecutorchError as error:
        if (error.code, error.where, error.message) not in problems:
            raise Violation(f"loading says {error}, validate {found.problems}") from error
        if error.offset is None and len(case.content) >= 64:
            raise Violation(f"no byte: {error}") from error
        return error.code.name
    finally:
        reader.LEAST_COLUMN = least
    if any(problem.code != Error.OutOfResources for problem in found.problems):
        raise Violation(f"loaded, but validate finds {found.problems}")
    data = read_ptd(external_data()).named_data()
    outcome = _run_methods(program, data, poison=case.seed % 5 == 0)
    if outcome == "ran":
        # It needs no more without limits, where calls that are alike are prepared together.
        _compare(program, Program.load(case.content), data)
    return outcome


def _platform() -> Platform:
    return Platform(memory_limit=MEMORY_LIMIT, work_limit=WORK_LIMIT)


def _run_methods(program: Program, data: Mapping[str, memoryview], *, poison: bool = False) -> str:
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


def _compare(limited: Program, program: Program, data: Mapping[str, memoryview]) -> None:
    """Run methods with and without limits, and the latter twice."""
    for name in program.method_names:
        inputs = _inputs(program, name)
        results: list[list[object]] = []
        for one in (limited, program, program):
            seed(1)
            method = one.load_method(
                name,
                kernels=registry(),
                backends=backends(),
                external=data,
                instruction_limit=INSTRUCTION_LIMIT,
            )
            results.append(method.execute(inputs))
        for other in results[1:]:
            if _bytes(results[0]) != _bytes(other):
                raise Violation(f"{name}: {results[0]} with limits, {other} without")


def _bytes(value: object) -> object:
    if isinstance(value, list):
        return [_bytes(item) for item in cast("list[object]", value)]
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


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


def _run_data(case: Case, folder: Path) -> str:
    del folder
    data = DataFiles()
    try:
        data.add(case.content)
    except ExecutorchError as error:
        if error.code != Error.InvalidExternalData:
            raise Violation(f"not an error of external data: {error}") from error
        return error.code.name
    data.damaged()
    return _run_methods(Program.load(programs()["state"], platform=_platform()), data)


def _run_bundle(case: Case, folder: Path) -> str:
    del folder
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


def _run_blob(case: Case, folder: Path) -> str:
    del folder
    return run_blob(case.base, case.content, _platform(), WorkMeter(WORK_LIMIT))


def _run_text(case: Case, folder: Path) -> str:
    from et_tools.et_opt import main

    errors = io.StringIO()
    path = folder / "bad.mlir"
    path.write_bytes(case.content)
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        code = main(["-p", TEXTS[case.base].pipeline, str(path), "-o", str(folder / "out.mlir")])
    if code not in (0, 3, 4, 6) or (code and ": error: " not in errors.getvalue()):
        raise Violation(f"exit code {code}: {errors.getvalue()}")
    return f"exit {code}"


def _run_again(case: Case, folder: Path) -> str:
    """Compile the program of a damaged file, and translate what is a file of instructions there and back."""
    from et_tools.et_compile import main as compile_
    from et_tools.et_translate import main as translate

    errors = io.StringIO()
    path, text, output = folder / "bad.pte", folder / "bad.mlir", folder / "out.pte"
    path.write_bytes(case.content)
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        codes = [translate(["--pte-to-mlir", str(path), "-o", str(text)])]
        if codes[0] == 0:
            codes.append(translate(["--mlir-to-pte", str(text), "-o", str(output)]))
            codes.append(compile_([str(path), "-o", str(output), "-q", "-O0"]))
    if any(code not in (0, 3, 4, 6) for code in codes) or (any(codes) and "error: " not in errors.getvalue()):
        raise Violation(f"exit codes {codes}: {errors.getvalue()}")
    return f"exit {codes[-1]}"


TARGETS: Final = {
    "pte": Target(programs, _damage, _run_program, share=7000),
    "ptd": Target(lambda: {"weights": external_data()}, _damage_bytes, _run_data, share=400),
    "bpte": Target(lambda: {"bundle": bundled()}, _damage_bytes, _run_bundle, share=400),
    "blob": Target(
        good_blobs,
        # Each case damages a graph of its own.
        lambda base, _, random: damaged_blob(base, random),
        _run_blob,
        share=1000,
    ),
    "mlir": Target(
        lambda: {name: text.text.encode() for name, text in TEXTS.items()},
        lambda _, data, random: garbled(data.decode(), random).encode(),
        _run_text,
        share=300,
    ),
    "again": Target(programs, _damage, _run_again, share=75),
}
"""By name."""
