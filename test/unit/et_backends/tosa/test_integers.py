"""Integer kernels of TOSA are exact: blocks, sums in float32 and wrapped results, against 64-bit integers."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from et_backends.tosa.format.graph import (
    Conv2dAttribute,
    DepthwiseConv2dAttribute,
    DType,
    Op,
    RescaleAttribute,
    RoundingMode,
)
from et_backends.tosa.format.operators import ATTRIBUTES, TosaType
from et_backends.tosa.runtime.program import MAKERS
from et_backends.tosa.runtime.sites import Site
from et_backends.tosa.runtime.windows import _parts_of, _Span, _sums, _sums_with
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


@pytest.mark.parametrize("shift", [30, 31, 32, 33, 38])
@pytest.mark.parametrize("constant", [(), (1, 2, 3, 4)])
def test_rounding_twice(shift: int, constant: tuple[int, ...]) -> None:
    """As `apply_scale_32` does, in Python's integers."""
    x = np.arange(-600, 600, dtype=np.int32)
    attribute = RescaleAttribute(True, RoundingMode.DOUBLE_ROUND, False, False, False)
    for multiplier in (2**30, 2**30 + 12345):
        rest = np.array([multiplier], np.int32), np.array([shift], np.int8), *[np.zeros(1, np.int32)] * 2
        made = run(Op.RESCALE, attribute, [x, *rest], TosaType(x.shape, DType.INT32), constant)
        for value, result in zip(x.tolist(), made.tolist(), strict=True):
            second = 0 if shift <= 31 else 2**30 if value >= 0 else -(2**30)
            assert result == (value * multiplier + 2 ** (shift - 1) + second) >> shift


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("shift", [30, 31, 40, 43, 44])
@pytest.mark.parametrize("end", [-128, 5, 127])
def test_rescales_by_constants(unsigned: bool, shift: int, end: int) -> None:
    """Also of numbers that are halfway between two, by scales of one and of several channels."""
    random = np.random.default_rng(4)
    multiplier = np.array([2**30, 2**31 - 1, 2**30 + 12345], np.int32)
    near = (np.arange(-260, 261)[:, None] * (1 << (shift - 30)) // 2) + np.arange(-2, 3)
    x = np.concatenate([near.reshape(-1), random.integers(-(2**31), 2**31, 999)]).clip(-(2**31), 2**31 - 1)
    x = np.repeat(x[:, None], 3, axis=1).astype(np.int32)
    shifts = np.full(3, shift, np.int8)
    zero = np.array([end + 128 if unsigned else end % 256], np.uint8).view(np.int8)
    zeros = np.array([0], np.int32), zero
    for width in (1, 3):
        attribute = RescaleAttribute(True, RoundingMode.SINGLE_ROUND, width == 3, False, unsigned)
        arrays = [x, multiplier[:width], shifts[:width], *zeros]
        made = run(Op.RESCALE, attribute, arrays, TosaType(x.shape, DType.INT8), (1, 2, 3, 4))
        other = run(Op.RESCALE, attribute, arrays, TosaType(x.shape, DType.INT8))
        np.testing.assert_array_equal(made, other)
        if not unsigned:
            np.testing.assert_array_equal(made, rescaled(x, *arrays[1:3], 0, end))


@pytest.mark.parametrize("kind", [np.int8, np.int32])
@pytest.mark.parametrize("unsigned", [False, True])
def test_rescales_of_bytes(kind: Any, unsigned: bool) -> None:
    x = np.arange(256, dtype=np.uint8).view(np.int8).reshape(2, 128)[:, ::-1]
    arrays = [
        x,
        np.array([2**30 + 77], np.int32),
        np.array([29], np.int8),
        np.array([3], np.int8),
        np.array([0], kind),
    ]
    attribute = RescaleAttribute(True, RoundingMode.SINGLE_ROUND, False, unsigned, False)
    output = TosaType(x.shape, DType.INT8 if kind is np.int8 else DType.INT32)
    made = run(Op.RESCALE, attribute, arrays, output, (1, 2, 3, 4))
    assert made.dtype == kind
    np.testing.assert_array_equal(made, run(Op.RESCALE, attribute, arrays, output))


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
    any_, positive = _Span(-255, 255), _Span(0, 255)
    small, large = np.full((1000, 2), 65), np.full((1000, 2), 66)
    assert _sums_with(bytes_, small, any_) == np.float32
    assert _sums_with(bytes_, large, any_) == np.float64
    assert _sums_with(bytes_, -large, any_) == np.float64
    # Where one factor has no negative numbers, those of either sign of the other are sums on their own.
    mixed = np.concatenate([small, -small])
    assert _sums_with(bytes_, mixed, any_) == np.float64
    assert _sums_with(bytes_, mixed, positive) == np.float32
    assert _sums_with(words, small, any_) == np.float64
    assert _sums_with(TosaType((1,), DType.FP32), small * np.inf, any_) == np.float32


def test_parts_of_sums() -> None:
    """As few as have sums that float32 holds, of which four are no slower than float64."""
    bytes_, any_ = TosaType((1,), DType.INT8), _Span(-255, 255)
    for terms, count in ((518, 1), (520, 2), (1500, 3), (2000, 4)):
        parts, kind = _parts_of(np.full((terms, 2), 127), bytes_, any_)
        assert (len(parts), kind) == (count, np.float32)
        assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    parts, kind = _parts_of(np.full((3000, 2), 127), bytes_, any_)
    assert (parts, kind) == ([slice(0, 3000)], np.float64)


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
    made, one, other = (
        run(Op.CONV2D, attribute, [x, weight, bias, *zeros], output, constant)
        for constant in ((1, 3, 4), (1, 4), ())
    )
    centre = np.einsum("yxc,oyxc->o", x[0].astype(np.int64) - zero, weight.astype(np.int64)) + bias
    np.testing.assert_array_equal(made[0, 1, 1], centre.astype(np.int32))
    np.testing.assert_array_equal(made, other)
    np.testing.assert_array_equal(one, other)


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


@pytest.mark.parametrize("channels", [3, 260])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_lines_of_depthwise_convolutions(channels: int, stride: int, dilation: int, multiplier: int) -> None:
    """Strides and dilations of rows and columns are not the same."""
    random = np.random.default_rng(3)
    rows, columns = (2 * stride + 2 * dilation + 1, 3 * (stride + 1) + dilation + 1)
    x = random.integers(-128, 128, (2, rows, columns, channels)).astype(np.int8)
    weight = random.integers(-127, 128, (3, 2, channels, multiplier)).astype(np.int8)
    bias = random.integers(-1000, 1000, channels * multiplier).astype(np.int32)
    zeros = np.array([-5], np.int8), np.array([0], np.int8)
    attribute = DepthwiseConv2dAttribute(
        pad=[0, 0, 0, 0], stride=[stride, stride + 1], dilation=[dilation, dilation], acc_type=DType.INT32
    )
    wide = np.repeat(x.astype(np.int64) + 5, multiplier, axis=3)
    exact = bias.astype(np.int64)
    for y in range(3):
        for z in range(2):
            under = wide[:, y * dilation :: stride, z * dilation :: stride + 1][:, :3, :4]
            exact = exact + under * weight[y, z].reshape(-1)
    output = TosaType(exact.shape, DType.INT32)
    assert output.shape == (2, 3, 4, channels * multiplier)
    for constant in ((1, 3, 4), ()):
        made = run(Op.DEPTHWISE_CONV2D, attribute, [x, weight, bias, *zeros], output, constant)
        np.testing.assert_array_equal(made, exact)


@pytest.mark.parametrize("width", [30_000, 29_989])
def test_depthwise_convolutions_of_signals(width: int) -> None:
    """Filters that are repeated along a row take bounded memory, also where its width is a prime number."""
    random = np.random.default_rng(5)
    x = random.integers(-128, 128, (1, 1, width + 8, 8)).astype(np.int8)
    weight = random.integers(-127, 128, (1, 9, 8, 1)).astype(np.int8)
    zeros = np.array([5], np.int8), np.array([0], np.int8)
    arrays = [x, weight, np.zeros(8, np.int32), *zeros]
    types = [TosaType(array.shape, DTYPES[array.dtype.name]) for array in arrays]
    attribute = DepthwiseConv2dAttribute(
        pad=[0, 0, 0, 0], stride=[1, 1], dilation=[1, 1], acc_type=DType.INT32
    )
    output = TosaType((1, 1, width, 8), DType.INT32)
    tracemalloc.start()
    kernel = MAKERS[Op.DEPTHWISE_CONV2D](Site(attribute, types, output, [None, *arrays[1:]]))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 5 << 20
    exact = sum((x[:, :, z : z + width].astype(np.int64) - 5) * weight[0, z, :, 0] for z in range(9))
    np.testing.assert_array_equal(kernel(*arrays), exact)


def test_products_with_constants() -> None:
    a = np.full((1, 2, 1000), -128, np.int8)
    b = np.full((1, 1000, 3), 127, np.int8)
    zeros = np.array([127], np.int8), np.array([-128], np.int8)
    output = TosaType((1, 2, 3), DType.INT32)
    for constant in ((), (1, 3), (1, 2, 3)):
        made = run(Op.MATMUL, ATTRIBUTES[Op.MATMUL](), [a, b, *zeros], output, constant)
        assert set(made.reshape(-1).tolist()) == {-255 * 255 * 1000}


def test_negations_without_dimensions() -> None:
    zeros = np.array([0], np.int32), np.array([0], np.int32)
    x = np.array(-(2**31) + 1, np.int32)
    made = run(Op.NEGATE, ATTRIBUTES[Op.NEGATE](), [x, *zeros], TosaType((), DType.INT32))
    assert made.shape == ()
    assert made == 2**31 - 1
