"""Integer kernels of TOSA are exact: blocks, sums in float32 and wrapped results, against 64-bit integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from et_schema.tosa_graph import (
    Conv2dAttribute,
    DepthwiseConv2dAttribute,
    DType,
    Op,
    RescaleAttribute,
    RoundingMode,
)
from et_schema.tosa_ops import ATTRIBUTES, TosaType
from et_vm.backends.tosa.program import MAKERS
from et_vm.backends.tosa.sites import Site
from et_vm.backends.tosa.windows import _sums
from et_vm.values import Array

DTYPES = {"int8": DType.INT8, "int16": DType.INT16, "int32": DType.INT32, "float32": DType.FP32}


def run(
    op: Op, attribute: Any, arrays: list[Array], output: TosaType, constant: tuple[int, ...] = ()
) -> Array:
    types = [TosaType(array.shape, DTYPES[array.dtype.name]) for array in arrays]
    constants = [array if at in constant else None for at, array in enumerate(arrays)]
    return MAKERS[op](Site(attribute, types, output, constants))(*arrays)


def rescaled(x: Array, multiplier: Array, shift: Array, start: int, end: int) -> Array:
    value = (x.astype(np.int64) - start) * multiplier + (np.int64(1) << (shift.astype(np.int64) - 1))
    made = (value >> shift.astype(np.int64)).astype(np.int32).astype(np.int64) + end
    return np.clip(made, -128, 127).astype(np.int8)


@pytest.mark.parametrize("shape", [(3, 7), (1, 40, 40, 33), (70_001, 1), (2, 40_000)])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("shift", [20, 31, 45])
def test_blocks_of_rescales(shape: tuple[int, ...], per_channel: bool, shift: int) -> None:
    random = np.random.default_rng(0)
    width = shape[-1] if per_channel else 1
    x = random.integers(-(2**31), 2**31, shape).astype(np.int32)
    multiplier = random.integers(2**30, 2**31, width).astype(np.int32)
    shifts = np.full(width, shift, np.int8)
    attribute = RescaleAttribute(True, RoundingMode.SINGLE_ROUND, per_channel, False, False)
    zeros = np.array([0], np.int32), np.array([-3], np.int8)
    made = run(Op.RESCALE, attribute, [x, multiplier, shifts, *zeros], TosaType(shape, DType.INT8))
    np.testing.assert_array_equal(made, rescaled(x, multiplier, shifts, 0, -3))


def test_a_rescale_of_a_view() -> None:
    x = np.arange(24, dtype=np.int32).reshape(4, 6)[:, ::2]
    one = (
        np.array([2**30], np.int32),
        np.array([31], np.int8),
        np.array([0], np.int32),
        np.array([0], np.int8),
    )
    attribute = RescaleAttribute(True, RoundingMode.SINGLE_ROUND, False, False, False)
    made = run(Op.RESCALE, attribute, [x, *one], TosaType(x.shape, DType.INT8))
    np.testing.assert_array_equal(made, (x + 1) >> 1)


def test_types_of_sums() -> None:
    """float32 where the filters bound all sums by 2**24: 65,793 is the sum of magnitudes that does it."""
    bytes_, words = TosaType((1,), DType.INT8), TosaType((1,), DType.INT16)
    assert _sums(bytes_, 258) == np.float32
    assert _sums(bytes_, 259) == np.float64
    small, large = np.full((2, 1000), 65), np.full((2, 1000), 66)
    assert _sums(bytes_, 1000, small, (1,)) == np.float32
    assert _sums(bytes_, 1000, large, (1,)) == np.float64
    assert _sums(bytes_, 1000, -large, (1,)) == np.float64
    assert _sums(words, 2, small, (1,)) == np.float64
    assert _sums(TosaType((1,), DType.FP32), 10_000) == np.float32


@pytest.mark.parametrize("most", [1, 20, 127])
@pytest.mark.parametrize("zero", [-128, 0, 127])
def test_convolutions_of_many_channels(most: int, zero: int) -> None:
    random = np.random.default_rng(1)
    x = random.choice([-128, 127], (1, 3, 3, 300)).astype(np.int8)
    weight = random.choice([-most, most], (4, 3, 3, 300)).astype(np.int8)
    bias = random.integers(-(2**31), 2**31, 4).astype(np.int32)
    zeros = np.array([zero], np.int8), np.array([0], np.int8)
    attribute = Conv2dAttribute(pad=[1, 1, 1, 1], stride=[1, 1], dilation=[1, 1], acc_type=DType.INT32)
    output = TosaType((1, 3, 3, 4), DType.INT32)
    made = run(Op.CONV2D, attribute, [x, weight, bias, *zeros], output, (1, 4))
    other = run(Op.CONV2D, attribute, [x, weight, bias, *zeros], output)
    centre = np.einsum("yxc,oyxc->o", x[0].astype(np.int64) - zero, weight.astype(np.int64)) + bias
    np.testing.assert_array_equal(made[0, 1, 1], centre.astype(np.int32))
    np.testing.assert_array_equal(made, other)


@pytest.mark.parametrize("size", [5, 90])
def test_blocks_of_depthwise_convolutions(size: int) -> None:
    random = np.random.default_rng(2)
    x = random.integers(-128, 128, (2, size, size, 9)).astype(np.int8)
    weight = random.integers(-127, 128, (3, 3, 9, 1)).astype(np.int8)
    bias = random.integers(-1000, 1000, 9).astype(np.int32)
    zeros = np.array([5], np.int8), np.array([0], np.int8)
    attribute = DepthwiseConv2dAttribute(
        pad=[1, 1, 1, 1], stride=[1, 1], dilation=[1, 1], acc_type=DType.INT32
    )
    made = run(
        Op.DEPTHWISE_CONV2D, attribute, [x, weight, bias, *zeros], TosaType(x.shape, DType.INT32), (1, 4)
    )
    padded = np.pad(x.astype(np.int64) - 5, ((0, 0), (1, 1), (1, 1), (0, 0)))
    exact = (
        sum(padded[:, y : y + size, z : z + size] * weight[y, z, :, 0] for y in range(3) for z in range(3))
        + bias
    )
    np.testing.assert_array_equal(made, exact)


def test_products_with_constants() -> None:
    a = np.full((1, 2, 1000), -128, np.int8)
    b = np.full((1, 1000, 3), 127, np.int8)
    zeros = np.array([127], np.int8), np.array([-128], np.int8)
    output = TosaType((1, 2, 3), DType.INT32)
    for constant in ((), (1, 3)):
        made = run(Op.MATMUL, ATTRIBUTES[Op.MATMUL](), [a, b, *zeros], output, constant)
        assert set(made.reshape(-1).tolist()) == {-255 * 255 * 1000}


def test_negations_without_dimensions() -> None:
    zeros = np.array([0], np.int32), np.array([0], np.int32)
    x = np.array(-(2**31) + 1, np.int32)
    made = run(Op.NEGATE, ATTRIBUTES[Op.NEGATE](), [x, *zeros], TosaType((), DType.INT32))
    assert made.shape == ()
    assert made == 2**31 - 1
