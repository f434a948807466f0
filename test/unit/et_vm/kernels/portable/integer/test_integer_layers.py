"""Products and convolutions of integers give the rounded formula, whatever the method and the layout."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.integer_calls import integers, rounded, run

from et_schema.errors import Trap
from et_vm.kernels.portable.integer import integer_layers, requantize
from et_vm.values import Array

GRID = (0.05, -7, -128, 127)


def expected(sums: Array, scale: float, scales: Array, bias: Array | None, grid: Any, axis: int) -> Array:
    """The formula for each element, in Python's floats."""
    out = np.empty(sums.shape, np.int8)
    step, zero_point, least, most = grid
    for at in np.ndindex(*sums.shape):
        channel = at[axis]
        factor = float(scales[channel if len(scales) > 1 else 0]) * scale / step
        total = int(sums[at])
        if bias is not None and bias.dtype == np.int32:
            real = float(total + int(bias[channel])) * factor
        else:
            real = total * factor
            if bias is not None:
                real += float(bias[channel]) / step
        out[at] = rounded(real, zero_point, least, most)
    return out


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requantize, "BLOCK", 8)
    monkeypatch.setattr(requantize, "LEAST_ROW", 2)
    monkeypatch.setattr(requantize, "LONG_ROW", 30)
    monkeypatch.setattr(integer_layers, "WEIGHTS", 64)
    monkeypatch.setattr(integer_layers, "PLACES", 40)


def biases(rng: np.random.Generator, count: int) -> list[Array | None]:
    real = rng.normal(size=count).astype(np.float32)
    return [None, real, rng.integers(-(2**20), 2**20, count).astype(np.int32)]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("shape", [(5, 24), (2, 3, 24), (24,), (1, 24)])
@pytest.mark.parametrize("constant", [False, True])
def test_linear(shape: tuple[int, ...], constant: bool) -> None:
    rng = np.random.default_rng(len(shape))
    x, weight = integers(rng, *shape), integers(rng, 7, 24, least=-127)
    for bias, channels, zero_point in itertools.product(biases(rng, 7), (7, 1), (-128, 3, 127)):
        scales = (rng.random(channels) / 1000 + 1e-4).astype(np.float32)
        sums = (x.astype(np.int64) - zero_point) @ weight.astype(np.int64).T
        found = run(
            "integer::linear.out",
            x,
            0.02,
            zero_point,
            weight,
            scales,
            bias,
            *GRID,
            shape=sums.shape,
            constant=constant,
        )
        assert np.array_equal(found, expected(sums, 0.02, scales, bias, GRID, sums.ndim - 1))


@pytest.mark.parametrize("columns", [1 << 9, 1 << 12, 1 << 16])
@pytest.mark.parametrize("constant", [False, True])
def test_long_sums_are_exact(columns: int, constant: bool) -> None:
    """Products of which all are as large as they can be, and one that only an exact sum tells."""
    x = np.full((2, columns), -128, np.int8)
    weight = np.full((2, columns), 127, np.int8)
    x[1, 0], weight[1] = -127, -127
    scales = np.array([1.0])
    total = 255 * 127 * columns
    # The middle of the range: a sum that is off by one is a step away.
    for zero_point, offset in ((127, total), (127, -total)):
        bias = np.full(2, offset, np.int64).clip(-(2**31), 2**31 - 1).astype(np.int32)
        sums = (x.astype(np.int64) - zero_point) @ weight.astype(np.int64).T
        found = run(
            "integer::linear.out", x, 1.0, zero_point, weight, scales, bias, 1.0, 0, -128, 127,
            shape=(2, 2), constant=constant,
        )  # fmt: skip
        assert np.array_equal(found, np.clip(sums + bias, -128, 127))


CONVOLUTIONS = {
    "1x1": ((2, 6, 5, 7), (4, 6, 1, 1), 1, 0, 1, 1),
    "1x1 strided": ((1, 6, 5, 7), (4, 6, 1, 1), 2, 0, 1, 1),
    "1x1 in groups": ((1, 6, 5, 7), (4, 3, 1, 1), 1, 0, 1, 2),
    "3x3": ((2, 3, 6, 5), (4, 3, 3, 3), 1, 1, 1, 1),
    "3x3 strided": ((1, 3, 7, 6), (4, 3, 3, 3), 2, 1, 1, 1),
    "3x3 dilated": ((1, 3, 7, 6), (4, 3, 3, 3), 1, 2, 2, 1),
    "3x3 in groups": ((1, 4, 5, 5), (6, 2, 3, 3), 1, 1, 1, 2),
    "depthwise": ((2, 5, 6, 5), (5, 1, 3, 3), 1, 1, 1, 5),
    "depthwise strided": ((1, 5, 7, 6), (5, 1, 3, 3), 2, 1, 1, 5),
    "depthwise, multiplied": ((1, 3, 5, 5), (6, 1, 3, 3), 1, 1, 1, 3),
    "1-d": ((2, 3, 9), (4, 3, 3), 2, 1, 1, 1),
    "3-d": ((1, 2, 4, 5, 3), (3, 2, 2, 3, 3), 1, 1, 1, 1),
}


def convolved(x: Array, weight: Array, stride: int, padding: int, dilation: int, groups: int) -> Array:
    """Sums of products by the definition, one element at a time."""
    space = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * space)
    reach = [dilation * (size - 1) + 1 for size in weight.shape[2:]]
    places = [(size - far) // stride + 1 for size, far in zip(padded.shape[2:], reach, strict=True)]
    out = np.zeros((len(x), len(weight), *places), np.int64)
    depth, many = weight.shape[1], len(weight) // groups
    for sample, filter_, *place in np.ndindex(*out.shape):
        group = filter_ // many
        taps = [slice(at * stride, at * stride + far, dilation) for at, far in zip(place, reach, strict=True)]
        window = padded[(sample, slice(group * depth, (group + 1) * depth), *taps)]
        out[(sample, filter_, *place)] = int((window * weight[filter_]).sum())
    return out


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("name", "last"),
    [
        (name, last)
        for name, case in CONVOLUTIONS.items()
        for last in (False, True)
        if not last or len(case[0]) > 3
    ],
)
def test_convolution(name: str, last: bool) -> None:
    shape, filters, stride, padding, dilation, groups = CONVOLUTIONS[name]
    rng = np.random.default_rng(0)
    x, weight = integers(rng, *shape), integers(rng, *filters, least=-127)
    count, space = filters[0], len(shape) - 2
    for bias, channels, zero_point in zip(biases(rng, count), (count, 1, count), (-128, 0, 90), strict=True):
        scales = (rng.random(channels) / 1000 + 1e-4).astype(np.float32)
        image = x.astype(np.int64) - zero_point
        sums = convolved(image, weight.astype(np.int64), stride, padding, dilation, groups)
        numbers = ([stride] * space, [padding] * space, [dilation] * space, groups)
        found = run(
            "integer::convolution.out", x, 0.02, zero_point, weight, scales, bias, *numbers, *GRID,
            shape=sums.shape, last=last,
        )  # fmt: skip
        assert np.array_equal(found, expected(sums, 0.02, scales, bias, GRID, 1))


def test_wide_sums_of_a_convolution_are_exact() -> None:
    x = np.full((1, 1200, 2, 2), -128, np.int8)
    weight = np.full((1, 1200, 1, 1), 127, np.int8)
    weight[0, 0] = 126
    bias = np.array([255 * 127 * 1200 + 5], np.int32)
    for kernel in (1, 2):
        w = (
            np.tile(weight, (1, 1, kernel, kernel))
            if kernel == 1
            else np.pad(weight, [(0, 0)] * 2 + [(0, 1)] * 2)
        )
        found = run(
            "integer::convolution.out", x, 1.0, 127, w, np.array([1.0]), bias, [1, 1], [0, 0], [1, 1], 1,
            3.0, 0, -128, 127, shape=(1, 1, 3 - kernel, 3 - kernel),
        )  # fmt: skip
        assert (found == round((255 + 5) / 3)).all()


def test_ties_are_rounded_to_even() -> None:
    x = np.arange(-128, 128, dtype=np.int8).reshape(-1, 1)
    ones = np.ones((1, 1), np.int8)
    found = run("integer::linear.out", x, 0.5, 0, ones, np.ones(1), None, 1.0, 1, -128, 127, shape=(256, 1))
    assert found.ravel().tolist() == [round(n / 2) + 1 for n in range(-128, 128)]


def test_saturates() -> None:
    x = np.array([[127], [-128]], np.int8)
    found = run(
        "integer::linear.out", x, 1e3, 0, np.full((1, 1), 127, np.int8), np.array([1e3]), None, 1e-6, 5, -100, 90,
        shape=(2, 1),
    )  # fmt: skip
    assert found.ravel().tolist() == [90, -100]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({0: np.zeros((2, 3), np.float32)}, "argument 'input'"),
        ({2: 128}, "argument 'input_zero_point'"),
        ({1: 0.0}, "argument 'input_scale'"),
        ({3: np.zeros((4, 2), np.int8)}, "argument 'weight'"),
        ({4: np.ones(3, np.float32)}, "argument 'weight_scales'"),
        ({5: np.ones(3, np.float32)}, "argument 'bias'"),
        ({5: np.ones(4, np.float64)}, "argument 'bias'"),
        ({8: 4}, "argument 'out_quant_max'"),
    ],
)
def test_refusals(change: dict[int, Any], fault: str) -> None:
    given: list[Any] = [
        np.zeros((2, 3), np.int8), 1.0, 0, np.zeros((4, 3), np.int8), np.ones(4, np.float32), None, 1.0, 0, 5, 9
    ]  # fmt: skip
    for at, value in change.items():
        given[at if at != 8 else 9] = value
    with pytest.raises(Trap, match=fault):
        run("integer::linear.out", *given, shape=(2, 4))
