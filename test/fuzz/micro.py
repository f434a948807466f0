"""Damaged programs on the runtime in C, between pages that nothing may touch, beside et_vm: `python -m fuzz.micro`.

A file that et_vm refuses is refused with the same code, and what et_vm loads is loaded. Executions that both finish
have the same outputs. A program that accesses other memory, or comes to undefined behaviour, ends the process.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from support import guarded_memory
from support.guarded_memory import guarded_bytes
from support.vm_programs import BOUND, Build, combine

from et_schema.errors import Error, ExecutorchError
from et_schema.program import JumpFalseCall
from et_schema.pte import read_pte
from et_schema.scalar_type import ScalarType
from et_vm.kernels.prims import PRIMS
from et_vm.micro.host import HostLibrary, compile_library
from et_vm.micro.kernels import KERNELS
from et_vm.micro.selection import Selection
from et_vm.micro.sources import CORE, KERNEL_SOURCES, WITHOUT, runtime_sources
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.run.validation import validate
from fuzz import corpus
from fuzz.mutations import mutated_bytes, mutated_program, mutated_values
from fuzz.program_files import INSTRUCTION_LIMIT, MEMORY_LIMIT
from fuzz.targets import Violation

__all__ = ["complete_library", "programs", "run_seed"]

I8 = ScalarType.CHAR


def complete_library(folder: Path) -> Path:
    """The runtime with all its kernels, which ends the process at undefined behaviour."""
    operators = [kernel.operator for kernel in KERNELS]
    prims = [name for name in PRIMS if name.partition("::")[2] not in WITHOUT]
    for name, text in runtime_sources(Selection(dict.fromkeys([*operators, *prims]))).items():
        (folder / name).write_text(text)
    return compile_library(folder, [*CORE, "et_selected.c", *KERNEL_SOURCES], checked=True)


def _floats(build: Build) -> None:
    """Most of the kernels of floats."""
    rng = np.random.default_rng(0)
    one, zero, no, none = build.scalar(1), build.scalar(0), build.scalar(False), build.scalar(None)
    image, padded = build.tensor(1, 2, 4, 4), build.tensor(1, 2, 6, 6)
    weight = build.constant(rng.random((3, 2, 3, 3), np.float32))
    bias = build.constant(rng.random(3, np.float32))
    made, pooled = build.tensor(1, 3, 2, 2), build.tensor(1, 3)
    ones, flat = build.ints(1, 1, 1, 1), build.tensor(3, 4)
    build.call("aten::constant_pad_nd.out", image, ones, build.scalar(0.5), padded, padded)
    step, edge = build.ints(2, 2), build.ints(0, 0)
    args = (build.ints(1, 1), no, build.ints(0, 0), one)
    build.call("aten::convolution.out", padded, weight, bias, step, edge, *args, made, made)
    build.call("aten::relu.out", made, made, made)
    build.call("aten::mean.out", made, build.ints(2, 3), no, none, pooled, pooled)
    build.call("aten::view_copy.out", made, build.ints(3, -1), flat, flat)
    turned, product, joined = build.tensor(4, 3), build.tensor(4, 4), build.tensor(8, 4)
    build.call("aten::permute_copy.out", flat, build.ints(1, 0), turned, turned)
    build.call("aten::mm.out", turned, flat, product, product)
    build.call("aten::_softmax.out", product, one, no, product, product)
    build.call("aten::cat.out", build.tensors(product, product), zero, joined, joined)
    part, spread = build.tensor(2, 4), build.tensor(2, 2)
    build.call("aten::slice_copy.Tensor_out", joined, zero, one, build.scalar(5), build.scalar(2), part, part)
    build.call("aten::as_strided_copy.out", part, build.ints(2, 2), build.ints(4, 2), one, spread, spread)
    build.call("aten::add.out", spread, build.constant(np.ones(2, np.float32)), one, spread, spread)
    build.call("aten::mul.Scalar_out", spread, build.scalar(0.5), spread, spread)
    build.inputs(image)
    build.outputs(spread, pooled)


def _integers(build: Build) -> None:
    """The kernels of quantized numbers."""
    rng = np.random.default_rng(1)
    low, high, zero, scale = build.scalar(-128), build.scalar(127), build.scalar(-3), build.scalar(0.05)
    kind, no, none, one = build.scalar(1), build.scalar(False), build.scalar(None), build.scalar(1)
    x, q = build.tensor(1, 2, 4, 4), build.tensor(1, 2, 4, 4, dtype=I8)
    weight = build.constant(rng.integers(-128, 128, (3, 2, 3, 3), np.int8))
    scales = build.constant(rng.random(3, np.float32))
    made, pooled = build.tensor(1, 3, 4, 4, dtype=I8), build.tensor(1, 3, 2, 2, dtype=I8)
    grid = (scale, zero, low, high)
    build.call("quantized_decomposed::quantize_per_tensor.out", x, scale, zero, low, high, kind, q, q)
    window = (build.ints(1, 1), build.ints(1, 1), build.ints(1, 1), one)
    bias = build.constant(np.array([1, -2, 3], np.int32))
    build.call("integer::convolution.out", q, scale, zero, weight, scales, bias, *window, *grid, made, made)
    pool = (build.ints(2, 2), build.ints(), build.ints(0, 0), build.ints(1, 1), no)
    build.call("integer::max_pool2d.out", made, *pool, pooled, pooled)
    build.call("integer::add.out", pooled, scale, zero, pooled, scale, zero, *grid, pooled, pooled)
    matrix = build.constant(rng.integers(-128, 128, (4, 2), np.int8))
    last, out = build.tensor(1, 3, 2, 4, dtype=I8), build.tensor(1, 3, 2, 4)
    single = build.constant(np.array([0.01], np.float32))
    build.call("integer::linear.out", pooled, scale, zero, matrix, single, none, *grid, last, last)
    args = (last, scale, zero, low, high, kind, none, out, out)
    build.call("quantized_decomposed::dequantize_per_tensor.out", *args)
    build.inputs(x)
    build.outputs(out)


def _loop(build: Build) -> None:
    """Jumps, arithmetic on registers, views, moves and sizes that are known when it runs."""
    x, out = build.tensor(2, 6, dynamism=BOUND), build.tensor(12, dynamism=BOUND)
    view = build.tensor(12, planned=False, dynamism=BOUND)
    n, total, more, one = build.scalar(None), build.scalar(0), build.scalar(None), build.scalar(1)
    alpha = build.scalar(1)
    build.call("aten::sym_size.int", x, build.scalar(0), n)
    build.call("executorch_prim::et_view.default", x, build.ints(-1), view)
    start = build.call("executorch_prim::add.Scalar", total, one, total)
    build.call("aten::add.out", view, view, alpha, out, out)
    build.call("executorch_prim::ge.Scalar", total, n, more)
    build.jump_false(more, start)
    build.call("aten::relu.out", out, out, out)
    build.inputs(x)
    build.outputs(out, total)


def _straight(build: Build) -> None:
    """Moves and frees without jumps, and state."""
    x, y = build.tensor(4), build.tensor(4)
    state = build.state(np.arange(4, dtype=np.float32), name="seen")
    moved, one = build.tensor(4, planned=False), build.scalar(1)
    build.call("aten::add.out", x, state, one, y, y)
    build.move(y, moved)
    build.call("aten::mul.out", moved, y, y, y)
    build.call("aten::add.out", state, x, one, state, state)
    build.free(build.tensor(4))
    build.inputs(x)
    build.outputs(y)


def _made(make: Any, name: str = "forward") -> Build:
    build = Build(name)
    make(build)
    return build


@cache
def programs() -> dict[str, bytes]:
    """Good files by name: those of kernels in C, and the ones that are mutated for et_vm."""
    own = {make.__name__[1:]: _made(make).file() for make in (_floats, _integers, _loop, _straight)}
    own["pair"] = combine(_made(_floats, "first"), _made(_loop, "second"))
    # Twice as often as the others, whose kernels are those of tests.
    return {**own, **{f"again {name}": file for name, file in own.items()}, **corpus.programs()}


def make_case(seed: int) -> tuple[str, bytes]:
    """The name of a good file and what is left of it."""
    random = Random(seed)
    base = random.choice(list(programs()))
    content = (mutated_bytes, mutated_program, mutated_values)[seed % 3](programs()[base], random)
    return base, mutated_bytes(content, random) if seed % 16 == 0 else content


NOT_CHECKED = ("named_data", "et_ir.", "guard")
"""Places of faults that concern what the runtime in C does not read."""


LIMITS = (
    *("segments out of order", "methods", "chains", "initial contents", "tensor that grows", "alignment"),
    *("outputs of a call", "name of an operator"),
)
"""What it says then."""


def _not_of_memory(error: ExecutorchError) -> bool:
    place = error.where or ""
    if "UTF-8" in error.message or "expands to more" in error.message:
        return True
    return any(word in place or word in error.message for word in NOT_CHECKED)


def run_seed(seed: int, library: HostLibrary) -> str:
    """The outcome of a case. Raises Violation where it is none that is allowed."""
    _, content = make_case(seed)
    expected: ExecutorchError | None = None
    theirs: Program | None = None
    try:
        theirs = Program.load(content, platform=Platform(memory_limit=MEMORY_LIMIT, work_limit=50_000_000))
    except ExecutorchError as error:
        expected = error
    ours = None
    found: ExecutorchError | None = None
    try:
        ours = library.load(content, memory_limit=MEMORY_LIMIT)
    except ExecutorchError as error:
        found = error
    if theirs is None:
        assert expected is not None
        if _not_of_memory(expected):
            return "not looked at"
        if ours is not None:
            # Of what registers hold where they are used, methods are told, and those with jumps when they run.
            found = next(_loading_errors(ours), None)
            if _jumps(content):
                return "left to the execution"
        if found is None:
            raise Violation(f"et_vm says {expected}, the runtime in C loads it")
        beyond = found.code == Error.NotSupported and _beyond(found)
        # All methods are checked before what their registers hold is followed in one of them.
        if found.code != expected.code and not beyond and found.code not in _codes(content):
            raise Violation(f"et_vm says {expected}, the runtime in C {found}")
        return f"refused {found.code.name}"
    if ours is None:
        assert found is not None
        if found.code == Error.NotSupported and _beyond(found):
            return "beyond a limit"
        raise Violation(f"et_vm loads it, the runtime in C says {found}")
    outcomes = {_run_method(ours, theirs, name) for name in theirs.method_names}
    return ", ".join(sorted(outcomes))


def _jumps(content: bytes) -> bool:
    """Whether some method has jumps, where uses of registers are checked when they run."""
    chains = [chain for plan in read_pte(content).program.execution_plan for chain in plan.chains]
    return any(isinstance(one.instr_args, JumpFalseCall) for chain in chains for one in chain.instructions)


def _codes(content: bytes) -> set[Error]:
    """The codes of all problems that et_vm finds in a file."""
    return {problem.code for problem in validate(memoryview(content)).problems}


def _beyond(error: ExecutorchError) -> bool:
    """Whether a file is refused for a limit that the runtime in C has, and et_vm has not."""
    return any(word in error.message for word in LIMITS)


def _loading_errors(ours: Any) -> Iterator[ExecutorchError]:
    for name in ours.names:
        try:
            ours.load_method(name)
        except ExecutorchError as error:
            yield error


def _run_method(ours: Any, theirs: Program, name: str) -> str:
    try:
        method = ours.load_method(name, instruction_limit=INSTRUCTION_LIMIT)
    except ExecutorchError as error:
        found: ExecutorchError | None = error
    else:
        found = None
    meta = theirs.method_meta(name)
    inputs: list[object] = []
    for at in range(meta.num_inputs()):
        if meta.input_tag(at) != "Tensor":
            inputs.append(meta.input_value(at))
            continue
        info = meta.input_tensor_meta(at)
        if info.nbytes() > MEMORY_LIMIT:
            return "too large"
        inputs.append(np.ones(info.sizes(), _dtype(info.dtype())))
    results: list[list[Any]] = []
    expected: ExecutorchError | None = None
    try:
        reference = theirs.load_method(name, instruction_limit=INSTRUCTION_LIMIT)
        results = [reference.execute(inputs) for _ in range(2)]
    except ExecutorchError as error:
        expected = error
    if found is None:
        try:
            outputs = [method.execute(inputs) for _ in range(2)]
        except ExecutorchError as error:
            found = error
        else:
            if expected is not None:
                return "ran where et_vm does not"
            for one, other in zip(outputs, results, strict=True):
                _compare(name, one, other)
            return "both ran"
    if expected is None:
        return f"only et_vm ran: {found}"
    if expected.code == found.code:
        return f"both failed: {found.code.name}"
    return "both failed, with other codes"


def _dtype(kind: int) -> Any:
    from et_schema.scalar_type import numpy_dtype

    return numpy_dtype(ScalarType(kind))


def _compare(name: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            good = one.shape == other.shape and one.dtype == other.dtype
            relative, absolute = (1e-4, 1e-5) if one.dtype.kind == "f" else (0, 0)
            with np.errstate(all="ignore"):
                good = good and np.allclose(one, other, relative, absolute, equal_nan=True)
            if not good:
                raise Violation(f"{name}: {one} is not {other}")
        elif isinstance(other, int | float) and one != other and not math.isnan(other):
            raise Violation(f"{name}: {one} is not {other}")


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.micro", description=__doc__)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--library", type=Path, help="a library that was compiled before")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        path = args.library or complete_library(Path(folder))
        library = HostLibrary(
            path,
            place=lambda content: _placed(content),
            allocate=lambda size: guarded_bytes(size, 16),
        )
        outcomes: Counter[str] = Counter()
        violations: list[str] = []
        for seed in range(args.first, args.first + args.count):
            # Read where a crash is reported.
            print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
            try:
                outcomes[run_seed(seed, library)] += 1
            except Violation as violation:
                violations.append(f"seed {seed}: {violation}")
            guarded_memory._MAPS.clear()
    print(file=sys.stderr)
    for text in violations[:20]:
        print(text)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:>9,}  {outcome}")
    print(f"{len(violations):>9,}  violations")
    return 1 if violations else 0


def _placed(content: bytes) -> Any:
    """A file that ends where a page begins which nothing may touch: at most 15 bytes behind its end."""
    memory = guarded_bytes(len(content), 16)
    memory[:] = np.frombuffer(content, np.uint8)
    return memory


if __name__ == "__main__":
    sys.exit(main())
