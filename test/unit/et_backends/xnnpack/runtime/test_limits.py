"""Memory and work of graphs, counted before it is taken."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from support.cost import memory_of
from support.random_xnnpack import random_xnnpack
from support.xnnpack_graphs import Build, D, tensor

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.blob import read_xnnpack
from et_backends.xnnpack.format.graph import PerChannelQuant, PerTensorQuant
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime import XnnpackBackend
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import Platform
from et_vm.values import Tensor
from et_vm.work import WorkMeter

LIMIT = 32 << 20
OBJECTS = 4 << 20
"""Bytes of tables, tensors and steps that are not counted, for the graphs here."""


def shared_constants() -> Build:
    """150 values of 1 MB, which are 4 MB each in float32."""
    build = Build()
    build.constant(np.zeros((1024, 1024), np.int8), D.qint8, PerTensorQuant(0.5, 0))
    first = build.graph.xvalues[0].xvalue_union.tensor_value.constant_buffer_idx
    for _ in range(150):
        build._value((1024, 1024), D.qint8, PerTensorQuant(0.5, 0), constant=first)
    return build


def shared_filters() -> Build:
    """Scales of rows, which each filter has a copy of."""
    build = Build()
    data = build.data(bytes(1 << 16))
    scales = build.data(np.ones(1 << 16, np.float32).tobytes())
    x = build.input(1, 1)
    for _ in range(300):
        quantized = PerChannelQuant([], 0, scales, 1 << 16)
        weight = build._value((1 << 16, 1), D.qcint8, quantized, constant=data).id_out
        y = build.value(1, 1 << 16)
        build.node(schema.XNNFullyConnected(x, weight, NO_VALUE, y, 0))
    return build


def wide_depthwise() -> Build:
    """Taps that are repeated along a row of a million pixels."""
    build = Build()
    size = 1 << 20
    x, y = build.input(1, 1, size, 1), build.value(1, 1, size, 1)
    weight, bias = build.constant(np.ones((1, 1, 33, 1), np.float32)), build.constant(np.ones(1, np.float32))
    ids = {"input1_id": x, "filter_id": weight, "bias_id": bias, "output_id": y}
    geometry = schema.XNNDepthwiseConv2d(0, 16, 0, 16, 1, 33, 1, 1, 1, 1, 1, 1, 1, 0, 0, **ids)
    build.node(geometry)
    return build


def long_pool() -> Build:
    """A window of half a million elements."""
    build = Build()
    size = 1 << 19
    x, y = build.input(1, size, 1, 1), build.value(1, 2, 1, 1)
    node = schema.XNNMaxPooling2d(0, 0, 0, 0, size - 1, 1, 1, 1, 1, 1, x, y, 0)
    build.node(node)
    return build


def divisors() -> Build:
    """As many divisors as elements."""
    build = Build()
    size = 1 << 20
    x, y = build.input(1, size, 1, 1), build.value(1, size, 1, 1)
    build.node(schema.XNNAvgPooling2d(1, 0, 1, 0, 3, 1, 1, 1, 1, 1, x, y, 0))
    return build


GRAPHS = {
    one.__name__: one for one in (shared_constants, shared_filters, wide_depthwise, long_pool, divisors)
}


def load(blob: bytes, platform: Platform, meter: WorkMeter | None = None) -> object:
    context = BackendInitContext(platform, None, "forward", {}, meter=meter)
    return XnnpackBackend().init(context, memoryview(blob), [])


@pytest.mark.parametrize("graph", GRAPHS)
def test_memory(graph: str) -> None:
    blob = GRAPHS[graph]().blob()

    def run() -> None:
        with pytest.raises(ExecutorchError, match="are left of a limit of") as caught:
            load(blob, Platform(memory_limit=LIMIT))
        assert caught.value.code == Error.MemoryAllocationFailed

    assert memory_of(run) < LIMIT + OBJECTS


@pytest.mark.parametrize("graph", [shared_constants, long_pool])
def test_work_of_loading(graph: Callable[[], Build]) -> None:
    blob = graph().blob()
    with pytest.raises(ExecutorchError, match="units of work") as caught:
        load(blob, Platform(), WorkMeter(10**8))
    assert caught.value.code == Error.OutOfResources


@pytest.mark.sweep
@pytest.mark.parametrize("first", range(0, 1000, 10))
def test_memory_of_random_graphs(first: int) -> None:
    limit = 8 << 20
    for seed in range(first, first + 10):
        blob = random_xnnpack(Random(seed), nodes=8, elements=500_000)
        sizes = read_xnnpack(blob).graph.xvalues[0].xvalue_union.dims
        args = [tensor(np.ones(shape, np.float32)) for shape in (sizes, (1, 1, 1, 1))]

        def run(blob: bytes = blob, args: list[Tensor] = args) -> None:
            platform = Platform(memory_limit=limit)
            try:
                handle = load(blob, platform)
                with np.errstate(all="ignore"):
                    context = BackendExecuteContext(platform, None, "forward")
                    XnnpackBackend().execute(context, handle, args)
            except ExecutorchError as error:
                if error.code == Error.Internal:
                    raise

        assert memory_of(run) < limit + OBJECTS
