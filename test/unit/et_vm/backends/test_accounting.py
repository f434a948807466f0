"""Memory and work of delegates: counted from shapes before a node is evaluated, and no less than it takes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from support.cost import lines_of, memory_of
from support.random_delegates import TosaBuild, random_tosa

from et_schema.errors import Error, ExecutorchError, OutOfMemory
from et_schema.tosa import read_tosa
from et_schema.tosa_graph import (
    AvgPool2dAttribute,
    Conv2dAttribute,
    DType,
    MaxPool2dAttribute,
    Op,
    ResizeAttribute,
    ResizeMode,
)
from et_schema.tosa_graph import TransposeConv2dAttribute as TransposedAttribute
from et_schema.tosa_ops import numpy_name
from et_vm.backends.accounting import Accountant
from et_vm.backends.tosa.program import TosaProgram
from et_vm.platform import Platform
from et_vm.values import Array, array_bytes
from et_vm.work import WorkMeter

SLACK = 64 << 10
"""Bytes that a step takes beside its arrays: objects of Python, and buffers of a fixed size."""
PROGRAM = 1 << 20
"""Bytes that a program takes beside its arrays."""
MOST_UNITS = 10**8
LIMIT = 8 << 20


def tosa(random: Random, elements: int, accountant: Accountant) -> Callable[[], None]:
    """A random program, loaded when it is called, and run."""
    blob = random_tosa(random, operators=12, elements=elements)

    def run() -> None:
        program = TosaProgram(read_tosa(blob), accountant)
        program.run([np.ones(type.shape, numpy_name(type.dtype)) for _, type in program.inputs])

    return run


BACKENDS = {"tosa": tosa}


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
@pytest.mark.parametrize("first", range(0, 1000, 10))
@pytest.mark.parametrize("backend", BACKENDS)
class TestRandomGraphs:
    def test_temporaries_of_each_step(self, backend: str, first: int) -> None:
        for seed in range(first, first + 10):
            accountant = Measuring()
            memory_of(BACKENDS[backend](Random(seed), 200_000, accountant))
            assert not accountant.exceeded
            assert accountant.steps

    def test_memory_under_a_limit(self, backend: str, first: int) -> None:
        """Also of what results that are views keep alive."""
        for seed in range(first, first + 10):
            platform = Platform(memory_limit=LIMIT)
            run = BACKENDS[backend](Random(seed), 1 << 20, Accountant(platform))
            assert memory_of(lambda run=run: _limited(run)) < LIMIT + PROGRAM
            gc.collect()
            platform.reserve(LIMIT // 2)

    def test_lines_of_python(self, backend: str, first: int) -> None:
        """Loops that numpy does not do."""
        for seed in range(first, first + 10):
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
