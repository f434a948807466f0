"""Damaged blobs: each loads and runs, or a typed error says why not. `test/fuzz` does this to whole programs."""

import math
from random import Random

import numpy as np
import pytest
from support.xnnpack_graphs import Build, D, tensor

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.graph import PerChannelQuant, PerTensorQuant, PerTokenDynamicQuant
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime import XnnpackBackend
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import Platform

CODES = {Error.DelegateInvalidCompatibility, Error.MemoryAllocationFailed}
LOADED = {"ran", Error.InvalidArgument.name, Error.NotSupported.name}


def blob() -> bytes:
    build = Build()
    x, y, z = build.input(1, 4, 4, 2), build.value(1, 2, 2, 4), build.value(4, 4)
    weight = build.constant(np.ones((4, 3, 3, 2), np.float32))
    ids = {"input1_id": x, "filter_id": weight, "bias_id": NO_VALUE, "output_id": y}
    build.node(schema.XNNConv2d(1, 1, 1, 1, 3, 3, 2, 2, 1, 1, 2, 4, 1, 0, 0, **ids), (0.0, math.inf))
    build.node(schema.XNNStaticReshape(2, [0, 4], y, z))
    grid = build.value(4, 4, datatype=D.qint8, parameters=PerTensorQuant(0.5, 1))
    rows = build.value(4, 4, datatype=D.qdint8, parameters=PerTokenDynamicQuant(1))
    build.node(schema.XNNConvert(z, grid))
    build.node(schema.XNNConvert(grid, rows))
    build.node(schema.XNNSoftmax(rows, build.output(4, 4)))
    return build.blob()


def attempt(damaged: bytes) -> str:
    platform = Platform(memory_limit=1 << 20)
    context = BackendInitContext(platform, None, "forward", {})
    try:
        handle = XnnpackBackend().init(context, memoryview(damaged), [])
    except ExecutorchError as error:
        return error.code.name
    args = [tensor(np.ones((1, 4, 4, 2), np.float32)), tensor(np.ones((4, 4), np.float32))]
    try:
        with np.errstate(all="ignore"):
            XnnpackBackend().execute(BackendExecuteContext(platform, None, "forward", 0), handle, args)
    except ExecutorchError as error:
        return error.code.name
    return "ran"


def test_the_blob_is_good():
    assert attempt(blob()) == "ran"


@pytest.mark.parametrize("seed", range(8))
def test_bytes_that_are_others(seed):
    good, random = blob(), Random(seed)
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(good)
        for _ in range(random.choice((1, 1, 2, 5))):
            damaged[random.randrange(len(damaged))] = random.choice(
                (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
            )
        outcomes.add(attempt(bytes(damaged)))
    assert "ran" in outcomes
    assert Error.DelegateInvalidCompatibility.name in outcomes
    assert outcomes <= LOADED | {code.name for code in CODES}


def test_blobs_that_are_cut_short():
    good = blob()
    for length in range(0, len(good), 7):
        assert attempt(good[:length]) == Error.DelegateInvalidCompatibility.name


@pytest.mark.parametrize("datatype", [D.qint8, D.qcint8, D.qcint4])
@pytest.mark.parametrize("dims", [(0, 3), (2, 0, 3), (3, 0)])
def test_quantized_constants_without_elements(dims, datatype):
    build = Build()
    x, y = build.input(1, dims[-1]), build.output(*dims)
    scales = PerTensorQuant(0.5, 1) if datatype is D.qint8 else PerChannelQuant([1.0] * dims[0], 0)
    weight = build.constant(np.zeros(0, np.int8), datatype, scales, dims)
    build.node(schema.XNNMultiply(x, weight, y))
    assert build.run(np.ones((1, dims[-1]), np.float32)).shape == dims
