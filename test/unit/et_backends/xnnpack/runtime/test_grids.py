"""Quantized values: on their grid after each node, and read and written as integers at the ends."""

import math

import numpy as np
import pytest
from ml_dtypes import bfloat16
from support.xnnpack_graphs import Build, D

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.graph import (
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
)
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_schema.errors import InvalidFile

RNG = np.random.default_rng(1)
INTEGERS = RNG.integers(-128, 128, (3, 8)).astype(np.int8)


def real(integers, scale, zero):
    return (integers.astype(np.float32) - zero) * np.float32(scale)


def quantized(x, scale, zero, low=-128, high=127):
    return np.clip(np.rint(x / np.float32(scale)) + zero, low, high)


def test_numbers_are_put_on_the_grid_and_back():
    x = np.linspace(-3, 3, 101).astype(np.float32)
    build = Build()
    middle = build.value(101, datatype=D.qint8, parameters=PerTensorQuant(0.02, 5))
    build.node(schema.XNNConvert(build.input(101), middle))
    build.node(schema.XNNConvert(middle, build.output(101)))
    np.testing.assert_allclose(build.run(x), real(quantized(x, 0.02, 5), 0.02, 5), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_arguments_may_be_integers(dtype):
    kind, low = (D.qint8, -128) if dtype == np.int8 else (D.quint8, 0)
    x = RNG.integers(low, low + 256, (3, 8)).astype(dtype)
    build = Build()
    source = build.input(3, 8, datatype=kind, parameters=PerTensorQuant(0.05, 3))
    target = build.output(3, 8, datatype=kind, parameters=PerTensorQuant(0.1, 1))
    build.node(schema.XNNAdd(source, source, target))
    expected = quantized(2 * real(x, 0.05, 3), 0.1, 1, low, low + 255)
    assert np.abs(build.run(x, outputs=[dtype]).astype(int) - expected).max() <= 1


def test_limits_are_numbers_of_the_grid():
    build = Build()
    source = build.input(3, 8)
    target = build.output(3, 8, datatype=D.qint8, parameters=PerTensorQuant(0.3, 0))
    build.node(schema.XNNCopy(source, target), (0.0, 1.0))
    result = build.run(np.full((3, 8), 5, np.float32), outputs=[np.int8])
    # 1.0 is not on the grid; 0.9 is nearest.
    assert (result == 3).all()


@pytest.mark.parametrize("kind", [schema.XNNStaticTranspose, schema.XNNCopy])
def test_what_moves_on_one_grid_is_not_rounded_again(kind):
    grid = PerTensorQuant(0.1, 3)
    build = Build()
    sizes = (8, 3) if kind is schema.XNNStaticTranspose else (3, 8)
    source = build.input(3, 8, datatype=D.qint8, parameters=grid)
    target = build.output(*sizes, datatype=D.qint8, parameters=grid)
    more = {"num_dims": 2, "perm": [1, 0]} if kind is schema.XNNStaticTranspose else {}
    build.node(kind(input_id=source, output_id=target, **more))
    result = build.run(INTEGERS, outputs=[np.int8])
    assert (result == (INTEGERS.T if more else INTEGERS)).all()
    assert len(build.load()._plan.steps) <= 1


def fully_connected(weight, x, bias=NO_VALUE, outputs=4, build=None, input_parameters=None):
    build = build or Build()
    source = build.input(*x.shape)
    target = build.output(x.shape[0], outputs)
    if input_parameters is not None:
        rows = build.value(*x.shape, datatype=D.qdint8, parameters=input_parameters)
        build.node(schema.XNNConvert(source, rows))
        source = rows
    build.node(schema.XNNFullyConnected(source, weight, bias, target))
    return build.run(x)


def test_weights_by_channel_with_a_bias():
    build = Build()
    stored = RNG.integers(-127, 128, (4, 8)).astype(np.int8)
    scales = [0.1, 0.2, 0.3, 0.4]
    weight = build.constant(stored, D.qcint8, PerChannelQuant(scales, 0))
    bias = np.array([10, -20, 30, 40], np.int32)
    added = build.constant(bias, D.qcint32, PerChannelQuant([0.01] * 4, 0))
    x = RNG.standard_normal((2, 8)).astype(np.float32)
    expected = x @ (stored * np.array(scales, np.float32)[:, None]).T + bias * np.float32(0.01)
    np.testing.assert_allclose(fully_connected(weight, x, added, build=build), expected, atol=1e-4)


def test_weights_of_the_whole_tensor():
    build = Build()
    weight = build.constant(INTEGERS[:, :4], D.qint8, PerTensorQuant(0.5, 2))
    x = RNG.standard_normal((2, 4)).astype(np.float32)
    np.testing.assert_allclose(
        fully_connected(weight, x, outputs=3, build=build), x @ real(INTEGERS[:, :4], 0.5, 2).T, atol=1e-4
    )


def packed(integers):
    """Numbers from -8 to 7, two in a byte: the first in its low half."""
    raised = np.pad(integers + 8, ((0, 0), (0, integers.shape[1] % 2))).astype(np.uint8)
    return raised[:, ::2] | raised[:, 1::2] << 4


@pytest.mark.parametrize("columns", [8, 5])
def test_weights_of_4_bits_by_channel(columns):
    build = Build()
    stored = RNG.integers(-8, 8, (4, columns))
    scales = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    index = build.data(scales.tobytes())
    weight = build.constant(packed(stored), D.qcint4, PerChannelQuant([], 0, index, 4), dims=(4, columns))
    x = RNG.standard_normal((2, columns)).astype(np.float32)
    np.testing.assert_allclose(
        fully_connected(weight, x, build=build), x @ (stored * scales[:, None]).T, atol=1e-4
    )


def test_weights_of_4_bits_by_block():
    build = Build()
    stored = RNG.integers(-8, 8, (4, 8))
    scales = np.linspace(0.1, 0.8, 8).astype(bfloat16)
    index = build.data(scales.tobytes())
    parameters = PerChannelGroupQuant([], 0, 4, index, 8)
    weight = build.constant(packed(stored), D.qbint4, parameters, dims=(4, 8))
    blocks = stored.reshape(4, 2, 4) * scales.astype(np.float32).reshape(4, 2, 1)
    x = RNG.standard_normal((2, 8)).astype(np.float32)
    np.testing.assert_allclose(fully_connected(weight, x, build=build), x @ blocks.reshape(4, 8).T, atol=1e-4)


@pytest.mark.parametrize("shift", [0.0, 5.0, -5.0])
def test_rows_get_their_grids_as_they_come(shift):
    build = Build()
    weight = build.constant(np.eye(8, dtype=np.float32)[:4])
    x = RNG.standard_normal((5, 8)).astype(np.float32) + np.float32(shift)
    x[3] = 0
    result = fully_connected(weight, x, build=build, input_parameters=PerTokenDynamicQuant(1))
    spread = np.maximum(x.max(1), 0) - np.minimum(x.min(1), 0)
    assert (np.abs(result - x[:, :4]) <= spread[:, None] / 255 * 0.51 + 1e-6).all()
    assert (result[3] == 0).all()
    # The rows are rounded, each by its own scale.
    assert not np.array_equal(result, x[:, :4])


def test_scales_have_to_be_numbers():
    for scale in (0.0, -1.0, math.inf, math.nan):
        build = Build()
        target = build.output(3, datatype=D.qint8, parameters=PerTensorQuant(scale, 0))
        build.node(schema.XNNCopy(build.input(3), target))
        with pytest.raises(InvalidFile, match=r"a scale of .* at xvalues\[0\]\.quant_params"):
            build.load()
