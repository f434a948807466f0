"""Memory and work of delegates: counted from shapes before a node is evaluated, and no less than it takes."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from fuzz.blobs import FORMATS
from support import limited_process
from support.cost import lines_of, memory_of
from support.random_delegates import CoremlBuild, TosaBuild, random_coreml, random_tosa
from support.vm_programs import Build

from et_backends.coreml.format.blob import read_coreml
from et_backends.coreml.format.mil import MilTypeName
from et_backends.coreml.runtime.program import CoremlProgram
from et_backends.coreml.runtime.sites import DTYPES
from et_backends.tosa.format.blob import read_tosa
from et_backends.tosa.format.graph import (
    AvgPool2dAttribute,
    Conv2dAttribute,
    DType,
    MaxPool2dAttribute,
    Op,
    ResizeAttribute,
    ResizeMode,
)
from et_backends.tosa.format.graph import TransposeConv2dAttribute as TransposedAttribute
from et_backends.tosa.format.operators import numpy_name
from et_backends.tosa.runtime.program import TosaProgram
from et_schema.errors import Error, ExecutorchError, InvalidFile, OutOfMemory
from et_schema.scalar_type import ScalarType
from et_tools.vm_blobs import blob_problems
from et_vm.backends.accounting import Accountant
from et_vm.platform import Platform
from et_vm.values import Array, array_bytes
from et_vm.work import WorkMeter

SLACK = 256 << 10
"""Bytes that a step takes beside its arrays: objects of Python, and buffers of a fixed size."""
RESIDENT = 32 << 20
"""Bytes that a process has resident beside what is counted: libraries, their buffers, and what they keep."""
NANOSECONDS = 30
"""Of a unit of work, on a machine that is busy."""
PROGRAM = 1 << 20
"""Bytes that a program takes beside its arrays."""
MOST_UNITS = 10**8
LIMIT = 8 << 20
GRAPHS = 5
"""Random graphs of a case."""


def tosa(random: Random, elements: int, accountant: Accountant) -> Callable[[], None]:
    """Loads a random program and runs it."""
    graph = read_tosa(random_tosa(random, operators=12, elements=elements))

    def run() -> None:
        program = TosaProgram(graph, accountant)
        program.run([np.ones(type.shape, numpy_name(type.dtype)) for _, type in program.inputs])

    return run


def coreml(random: Random, elements: int, accountant: Accountant) -> Callable[[], None]:
    """Loads a random program and runs it."""
    model = read_coreml(random_coreml(random, operators=12, elements=elements))

    def run() -> None:
        program = CoremlProgram(model, accountant)
        try:
            program.run([np.ones(type.shape, DTYPES[type.name]) for _, type in program.inputs])
        except ExecutorchError as error:
            # An operation makes other elements of its operands than numpy does.
            if error.code != Error.DelegateInvalidCompatibility:
                raise

    return run


BACKENDS = {"tosa": tosa, "coreml": coreml}


class Measuring(Accountant):
    """Compares what is counted with what is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.exceeded: list[str] = []

    def derive(self, nbytes: int, build: Callable[[], Any], temporaries: int = 0) -> Any:
        made = self._measured(build, nbytes + temporaries, build.__qualname__)
        if array_bytes(made) > nbytes:
            self.exceeded.append(f"{build.__qualname__} keeps {array_bytes(made)} bytes of {nbytes}")
        return made

    def evaluate(
        self, kernel: Callable[..., Any], operands: Sequence[Array], results: int, temporaries: int
    ) -> Any:
        self.steps += 1
        shapes = ", ".join(f"{one.dtype.name}{list(one.shape)}" for one in operands)
        name = getattr(kernel, "__qualname__", kernel)
        return self._measured(lambda: kernel(*operands), results + temporaries, f"{name}({shapes})")

    def _measured(self, function: Callable[[], Any], counted: int, what: str) -> Any:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        made = function()
        _, peak = tracemalloc.get_traced_memory()
        if peak - before > counted + SLACK:
            self.exceeded.append(f"{what} takes {peak - before:,} bytes, {counted:,} were counted")
        return made


class Counting(Accountant):
    """Sums up the work."""

    work = 0

    def spend(self, work: int) -> None:
        self.work += work


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 1000, GRAPHS))
@pytest.mark.parametrize("backend", BACKENDS)
class TestRandomGraphs:
    def test_temporaries_of_each_step(self, backend: str, first: int) -> None:
        for seed in range(first, first + GRAPHS):
            accountant = Measuring()
            memory_of(BACKENDS[backend](Random(seed), 200_000, accountant))
            assert not accountant.exceeded
            assert accountant.steps

    def test_memory_under_a_limit(self, backend: str, first: int) -> None:
        """Also of what results that are views keep alive."""
        for seed in range(first, first + GRAPHS):
            platform = Platform(memory_limit=LIMIT)
            run = BACKENDS[backend](Random(seed), 1 << 20, Accountant(platform))
            assert memory_of(lambda run=run: _limited(run)) < LIMIT + PROGRAM
            gc.collect()
            platform.reserve(LIMIT // 2)

    def test_lines_of_python(self, backend: str, first: int) -> None:
        """Loops that numpy does not do."""
        for seed in range(first, first + GRAPHS):
            accountant = Counting()
            run = BACKENDS[backend](Random(seed), 20_000, accountant)
            assert lines_of(lambda run=run: _limited(run)) < accountant.work // 20 + 50_000


def _limited(run: Callable[[], None]) -> None:
    try:
        run()
    except ExecutorchError as error:
        if error.code != Error.MemoryAllocationFailed:
            raise


def image(build: TosaBuild, *sizes: int) -> str:
    return build.add(Op.TILE, build.constant(DType.INT8, np.ones((1, 1, 1, 1))), build.sizes(*sizes))


def zeros(build: TosaBuild) -> tuple[str, str]:
    zero = build.constant(DType.INT8, [0])
    return zero, zero


def tiled(build: TosaBuild) -> str:
    return image(build, 1, 1 << 16, 1 << 14, 1)


def padded(build: TosaBuild) -> str:
    sizes = build.sizes(*[1 << 10] * 6, 0, 0)
    return build.add(Op.PAD, image(build, 1, 1, 1, 1), sizes, build.constant(DType.INT8, [0]))


def resized(build: TosaBuild) -> str:
    sizes = build.sizes(1 << 14, 1, 1 << 14, 1), build.sizes(0, 0), build.sizes((1 << 14) - 1, (1 << 14) - 1)
    attribute = ResizeAttribute(ResizeMode.NEAREST)
    return build.add(Op.RESIZE, image(build, 1, 1, 1, 1), *sizes, attribute=attribute)


def broadcast(build: TosaBuild) -> str:
    rows, columns = image(build, 1, 1 << 16, 1, 1), image(build, 1, 1, 1 << 16, 1)
    return build.add(Op.MUL, rows, columns, build.constant(DType.INT8, [0]))


def pooled(build: TosaBuild) -> str:
    """One element, of nothing but padding."""
    attribute = AvgPool2dAttribute([1 << 15] * 2, [1, 1], [0, (1 << 15) - 1] * 2, DType.INT32)
    return build.add(Op.AVG_POOL2D, image(build, 1, 1, 1, 1), *zeros(build), attribute=attribute)


def long_pool(build: TosaBuild) -> str:
    """Windows of 4 million elements."""
    attribute = MaxPool2dAttribute([2048] * 2, [1, 1], [0, 2047] * 2)
    return build.add(Op.MAX_POOL2D, image(build, 1, 1, 1, 1), attribute=attribute)


def gathered_windows(build: TosaBuild) -> str:
    """500 x 500 windows of 400 x 400 elements."""
    bias = build.constant(DType.INT32, [0])
    attribute = Conv2dAttribute([0] * 4, [1, 1], [1, 1], acc_type=DType.INT32)
    operands = image(build, 1, 899, 899, 1), image(build, 1, 400, 400, 1), bias, *zeros(build)
    return build.add(Op.CONV2D, *operands, attribute=attribute)


def spread(build: TosaBuild) -> str:
    """An image with strides that its padding cuts away again."""
    bias = build.constant(DType.INT32, [0])
    attribute = TransposedAttribute([0, 1 - 4096] * 2, [1 << 14] * 2, acc_type=DType.INT32)
    operands = image(build, 1, 2, 2, 1), image(build, 1, 4096, 4096, 1), bias, *zeros(build)
    return build.add(Op.TRANSPOSE_CONV2D, *operands, attribute=attribute)


def views(build: TosaBuild) -> str:
    """A row of each of 40 images of 4 MB."""
    parts: list[str] = []
    for _ in range(40):
        whole = image(build, 1, 1 << 11, 1 << 11, 1)
        parts.append(build.add(Op.SLICE, whole, build.sizes(0, 0, 0, 0), build.sizes(1, 1, 1, 1)))
    return build.add(Op.CONCAT, *parts)


MEMORY = {
    one.__name__: one for one in (tiled, padded, resized, broadcast, pooled, gathered_windows, spread, views)
}
WORK = {one.__name__: one for one in (long_pool, pooled, spread, gathered_windows)}


def load(graph: Callable[[TosaBuild], str], accountant: Accountant) -> Callable[[], None]:
    build = TosaBuild()
    blob = build.blob(graph(build))
    assert len(blob) < 3000 or graph is views

    def run() -> None:
        TosaProgram(read_tosa(blob), accountant).run([])

    return run


@pytest.mark.parametrize("graph", MEMORY)
def test_memory_of_small_blobs(graph: str) -> None:
    limit = 64 << 20
    run = load(MEMORY[graph], Accountant(Platform(memory_limit=limit)))

    def refused() -> None:
        with pytest.raises(ExecutorchError, match="are left of a limit of") as caught:
            run()
        assert caught.value.code == Error.MemoryAllocationFailed

    assert memory_of(refused) < limit + PROGRAM


F32 = MilTypeName.FLOAT32


def coreml_image(build: CoremlBuild, *sizes: int) -> str:
    return build.add("tile", F32, x=build.constant(np.ones([1] * len(sizes))), reps=build.integers(*sizes))[0]


def coreml_broadcast(build: CoremlBuild) -> str:
    rows, columns = coreml_image(build, 1 << 16, 1), coreml_image(build, 1, 1 << 16)
    return build.add("add", F32, x=rows, y=columns)[0]


def coreml_gathered(build: CoremlBuild) -> str:
    """Rows that an index repeats."""
    indices = build.add(
        "tile", MilTypeName.INT32, x=build.constant([0], MilTypeName.INT32), reps=build.integers(1 << 16)
    )
    x = coreml_image(build, 1, 1 << 16)
    return build.add("gather", F32, x=x, indices=indices[0], axis=build.constant(0, MilTypeName.INT32))[0]


def coreml_windows(build: CoremlBuild) -> str:
    x, weight = coreml_image(build, 1, 1, 899, 899), coreml_image(build, 1, 1, 400, 400)
    given = {"x": x, "weight": weight, "pad_type": build.constant("valid")}
    return build.add("conv", F32, **given)[0]


def coreml_padding(build: CoremlBuild) -> str:
    """One element, of nothing but padding."""
    size = 1 << 15
    given = {
        "kernel_sizes": build.integers(size, size),
        "strides": build.integers(size, size),
        "pad": build.integers(0, size - 1, 0, size - 1),
        "pad_type": build.constant("custom"),
    }
    return build.add("max_pool", F32, x=coreml_image(build, 1, 1, 1, 1), **given)[0]


def coreml_spread(build: CoremlBuild) -> str:
    """An image with strides that its padding cuts away again."""
    size = 1 << 14
    given = {
        "strides": build.integers(size, size),
        "pad": build.integers(0, size, 0, size),
        "pad_type": build.constant("custom"),
    }
    x, weight = coreml_image(build, 1, 1, 2, 2), coreml_image(build, 1, 1, 8, 8)
    return build.add("conv_transpose", F32, x=x, weight=weight, **given)[0]


COREML = {
    one.__name__: one
    for one in (coreml_broadcast, coreml_gathered, coreml_windows, coreml_padding, coreml_spread)
}


def load_coreml(graph: Callable[[CoremlBuild], str], accountant: Accountant) -> Callable[[], None]:
    build = CoremlBuild()
    blob = build.blob(graph(build))
    assert len(blob) < 4000

    def run() -> None:
        CoremlProgram(read_coreml(blob), accountant).run([])

    return run


@pytest.mark.parametrize("graph", COREML)
def test_limits_of_small_blobs_for_coreml(graph: str) -> None:
    limit = 64 << 20
    run = load_coreml(COREML[graph], Accountant(Platform(memory_limit=limit)))

    def refused() -> None:
        with pytest.raises(ExecutorchError, match="are left of a limit of") as caught:
            run()
        assert caught.value.code == Error.MemoryAllocationFailed

    assert memory_of(refused) < limit + PROGRAM
    run = load_coreml(COREML[graph], Accountant(None, WorkMeter(MOST_UNITS)))
    with pytest.raises(ExecutorchError, match="units of work"):
        run()


def test_results_that_are_larger_than_the_program_says() -> None:
    """They are refused before they are made."""
    build = CoremlBuild()
    rows, columns = coreml_image(build, 1 << 16, 1), coreml_image(build, 1, 1 << 16)
    blob = build.blob(*build.add("add", F32, (1,), x=rows, y=columns))
    with pytest.raises(InvalidFile, match=r"add: the output is float32\[1\], and its sizes would be"):
        CoremlProgram(read_coreml(blob))


@pytest.mark.parametrize("graph", WORK)
def test_work_of_small_blobs(graph: str) -> None:
    run = load(WORK[graph], Accountant(None, WorkMeter(MOST_UNITS)))
    with pytest.raises(ExecutorchError, match="units of work") as caught:
        run()
    assert caught.value.code == Error.OutOfResources


def test_constants_that_operators_share() -> None:
    """Each operator has the filters in a form of its own."""
    build = TosaBuild()
    weight = build.constant(DType.INT8, np.ones((1, 512, 512)))
    x = build.constant(DType.INT8, np.ones((1, 1, 512)))
    for _ in range(100):
        build.add(Op.MATMUL, x, weight, *zeros(build))
    blob = build.blob(build.add(Op.MATMUL, x, weight, *zeros(build)))
    limit = 32 << 20

    def refused() -> None:
        with pytest.raises(OutOfMemory):
            TosaProgram(read_tosa(blob), Accountant(Platform(memory_limit=limit)))

    assert memory_of(refused) < limit + PROGRAM
    with pytest.raises(ExecutorchError, match="units of work"):
        TosaProgram(read_tosa(blob), Accountant(None, WorkMeter(MOST_UNITS)))


def test_validation_of_constants_that_operators_share() -> None:
    build = TosaBuild()
    weight = build.constant(DType.INT8, np.ones((1, 512, 512)))
    x = build.constant(DType.INT8, np.ones((1, 1, 512)))
    made = [build.add(Op.MATMUL, x, weight, *zeros(build)) for _ in range(100)]
    program = Build()
    out = program.tensor(1, 1, 512, dtype=ScalarType.INT)
    program.delegate("TOSABackend", build.blob(made[-1]), out)
    program.outputs(out)
    file = memoryview(program.file())
    found: list[ExecutorchError] = []
    assert memory_of(lambda: found.extend(blob_problems(file, None))) < 64 << 20
    assert [problem.code for problem in found] == [Error.OutOfResources]


def test_memory_is_given_back() -> None:
    platform = Platform(memory_limit=LIMIT)
    accountant = Accountant(platform)
    x: Array = np.ones(1 << 20, np.uint8)

    def incremented(x: Array) -> Array:
        return (x + 1)[:1]

    def shortened(x: Array) -> Array:
        return x[:2]

    view = accountant.evaluate(incremented, [x], 1, 1 << 20)
    with pytest.raises(OutOfMemory, match="7340032 are left"):
        platform.reserve(LIMIT)
    assert accountant.evaluate(shortened, [view], 2, 0) is not None
    del view
    # Nor is a view of an operand counted.
    kept = accountant.evaluate(shortened, [x], 2, 0)
    assert platform.reserve(LIMIT) is not None
    del kept


def programs(folder: Path) -> Iterator[Path]:
    """Programs of one delegate that gives an element of a graph."""
    for name, graph in MEMORY.items():
        build = TosaBuild()
        whole = graph(build)
        start, size = build.sizes(*[0] * 4), build.sizes(*[1] * 4)
        blob = build.blob(build.add(Op.SLICE, whole, start, size))
        yield _written(folder / f"{name}.pte", "tosa", blob)
    for name, graph in COREML.items():
        made = CoremlBuild()
        whole = graph(made)
        rank = len(made.types[whole].shape)
        begin, end = made.integers(*[0] * rank), made.integers(*[1] * rank)
        blob = made.blob(*made.add("slice_by_index", F32, x=whole, begin=begin, end=end))
        yield _written(folder / f"{name}.pte", "coreml", blob)


def _written(path: Path, backend: str, blob: bytes) -> Path:
    build, format = Build(), FORMATS[backend]
    inputs, outputs = (
        [build.tensor(*one.shape, dtype=one.dtype) for one in arguments]
        for arguments in format.arguments(blob)
    )
    build.delegate(format.backend().backend_id, blob, *inputs, *outputs)
    build.inputs(*inputs)
    build.outputs(*outputs)
    path.write_bytes(build.file())
    return path


def limited(limit: int, work: int, paths: Iterable[Path]) -> dict[str, tuple[str, int, float]]:
    """How each program ended in a process of its own, the bytes that it had resident, and the seconds that it took."""
    command = [sys.executable, limited_process.__file__, str(limit), str(work), *map(str, paths)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert not done.returncode, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: (outcome, int(nbytes), float(seconds)) for name, outcome, nbytes, seconds in lines}


def test_resident_memory(tmp_path: Path) -> None:
    limit = 64 << 20
    found = limited(limit, 10**14, programs(tmp_path))
    assert len(found) == len(MEMORY) + len(COREML)
    for name, (outcome, nbytes, seconds) in found.items():
        assert outcome == Error.MemoryAllocationFailed.name, name
        assert nbytes < limit + RESIDENT, name
        assert seconds < 2, name


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 400, GRAPHS))
@pytest.mark.parametrize("backend", BACKENDS)
def test_resident_memory_of_random_graphs(backend: str, first: int, tmp_path: Path) -> None:
    """And that a unit of work is some nanoseconds."""
    limit, work = 64 << 20, 3 * 10**8
    make = {"tosa": random_tosa, "coreml": random_coreml}[backend]
    paths: list[Path] = []
    for seed in range(first, first + GRAPHS):
        blob = make(Random(seed), operators=12, elements=1 << 23)
        paths.append(_written(tmp_path / f"{seed}.pte", backend, blob))
    for name, (_, nbytes, seconds) in limited(limit, work, paths).items():
        assert nbytes < limit + RESIDENT, name
        assert seconds < NANOSECONDS * 1e-9 * work, name
