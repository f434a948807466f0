"""The quantized kernels in C against those of et_vm, to the bit: shapes, windows, layouts, and results between two."""

from pathlib import Path

import numpy as np
import pytest
from support.micro_programs import runtime_of
from support.vm_programs import Build

from et_schema.scalar_type import ScalarType
from et_vm.micro.host import HostLibrary
from et_vm.micro.kernels import KERNELS
from et_vm.micro.selection import Selection
from et_vm.program import Program

CHAR = ScalarType.CHAR
LAST = (0, 2, 3, 1)
ORDERS = ((0, 1, 2, 3), LAST, (1, 0, 2, 3), (3, 2, 1, 0))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostLibrary:
    names = [one.operator for one in KERNELS if one.operator.startswith("integer::")]
    folder: Path = tmp_path_factory.mktemp("integers")
    return runtime_of(folder, Selection(dict.fromkeys(names)))


def compare(library: HostLibrary, build: Build, x: int, out: int, seed: int) -> None:
    """The result of both, of random numbers."""
    build.inputs(x)
    build.outputs(out)
    file = build.file()
    array = np.random.default_rng(seed).integers(-128, 128, build[x].sizes, np.int8)
    expected = Program.load(file).load_method("forward").execute([array])[0]
    found = library.load(file).load_method("forward").execute([array])[0]
    np.testing.assert_array_equal(found, expected)


def grid(build: Build, scale: float = 0.25, zero_point: int = 3) -> tuple[int, ...]:
    return tuple(build.scalar(number) for number in (scale, zero_point, -128, 127))


def filters(build: Build, shape: tuple[int, ...], order: tuple[int, ...], bias: type | None, halves: bool):
    """Weights, scales and a bias. With `halves`, every other sum is between two integers of the result."""
    rng = np.random.default_rng(1)
    weights = rng.integers(-128, 128, shape, np.int8)
    if halves:
        weights = np.sign(weights).astype(np.int8)
    stored = np.ascontiguousarray(weights.transpose(order))
    register = build.constant(stored)
    build[register].sizes = list(shape)
    build[register].dim_order = bytes(order)
    scales = np.full(shape[0], 0.125) if halves else rng.random(shape[0]) * 0.002
    numbers = build.constant(scales if halves else scales.astype(np.float32))
    added = build.scalar(None)
    if bias is not None:
        added = build.constant(
            (rng.integers(-999, 999, shape[0]) * (1 if bias is np.int32 else 0.1)).astype(bias)
        )
    return register, numbers, added


CONVOLUTIONS = [
    # channels, filters, kernel, stride, padding, dilation, groups
    (1, 5, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (3, 17, (3, 3), (2, 2), (1, 1), (1, 1), 1),
    (8, 33, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (12, 4, (3, 3), (1, 2), (2, 1), (2, 1), 1),
    (6, 6, (3, 3), (1, 1), (1, 1), (1, 1), 6),
    (4, 8, (3, 2), (1, 1), (0, 2), (1, 3), 2),
    (2, 3, (1, 5), (1, 1), (0, 4), (1, 1), 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_convolutions(library: HostLibrary, case, order):
    channels, count, kernel, stride, padding, dilation, groups = case
    for bias, halves in ((None, True), (np.int32, False), (np.float32, False)):
        build = Build()
        x = build.tensor(2, channels, 7, 9, dtype=CHAR, dim_order=LAST if order == LAST else None)
        numbers = filters(build, (count, channels // groups, *kernel), order, bias, halves)
        height, width = (
            (size + 2 * pad - apart * (taps - 1) - 1) // step + 1
            for size, pad, apart, taps, step in zip((7, 9), padding, dilation, kernel, stride, strict=True)
        )
        out = build.tensor(2, count, height, width, dtype=CHAR, dim_order=LAST if bias is None else None)
        window = (*(build.ints(*pair) for pair in (stride, padding, dilation)), build.scalar(groups))
        scale, zero_point = build.scalar(1.0 if halves else 0.05), build.scalar(-7)
        build.call(
            "integer::convolution.out", x, scale, zero_point, *numbers, *window, *grid(build), out, out
        )
        compare(library, build, x, out, 2)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize("shape", [(1, 5, 3), (7, 130, 33), (2, 1, 1)], ids=str)
def test_products(library: HostLibrary, order, shape):
    rows, columns, count = shape
    for bias, halves in ((None, True), (np.int32, False), (np.float32, False)):
        build = Build()
        x, out = build.tensor(rows, columns, dtype=CHAR), build.tensor(rows, count, dtype=CHAR)
        numbers = filters(build, (count, columns), order, bias, halves)
        scale, zero_point = build.scalar(1.0 if halves else 0.05), build.scalar(100)
        build.call("integer::linear.out", x, scale, zero_point, *numbers, *grid(build), out, out)
        compare(library, build, x, out, 3)


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 0.3, 1e9, 1e30])
def test_scales_far_from_one(library: HostLibrary, scale):
    build = Build()
    x, out = build.tensor(4, 9, dtype=CHAR), build.tensor(4, 6, dtype=CHAR)
    numbers = filters(build, (6, 9), (0, 1), np.float32, halves=False)
    build.call(
        "integer::linear.out", x, build.scalar(scale), build.scalar(1), *numbers, *grid(build), out, out
    )
    compare(library, build, x, out, 4)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("divisor", [None, 3])
@pytest.mark.parametrize("order", [None, LAST], ids=str)
def test_averages_of_windows(library: HostLibrary, include, divisor, order):
    build = Build()
    x = build.tensor(2, 3, 6, 7, dtype=CHAR, dim_order=order)
    out = build.tensor(2, 3, 4, 4, dtype=CHAR)
    geometry = (build.ints(3, 3), build.ints(2), build.ints(1, 1), build.scalar(True), build.scalar(include))
    arguments = (build.scalar(0.5), build.scalar(-4), *geometry, build.scalar(divisor))
    build.call("integer::avg_pool2d.out", x, *arguments, *grid(build), out, out)
    compare(library, build, x, out, 5)


@pytest.mark.parametrize(
    ("dims", "keep", "shape"),
    [
        ((2, 3), False, (2, 5)),
        ((2, 3), True, (2, 5, 1, 1)),
        ((1,), False, (2, 4, 3)),
        ((-1, 0), False, (5, 4)),
        ((), False, ()),
    ],
)
@pytest.mark.parametrize("order", [None, LAST], ids=str)
def test_means(library: HostLibrary, dims, keep, shape, order):
    build = Build()
    x, out = build.tensor(2, 5, 4, 3, dtype=CHAR, dim_order=order), build.tensor(*shape, dtype=CHAR)
    arguments = (build.scalar(0.5), build.scalar(9), build.ints(*dims), build.scalar(keep))
    build.call("integer::mean.dim_out", x, *arguments, *grid(build), out, out)
    compare(library, build, x, out, 6)


def test_tables(library: HostLibrary):
    build = Build()
    x, out = build.tensor(1, 3, 4, 5, dtype=CHAR, dim_order=LAST), build.tensor(1, 3, 4, 5, dtype=CHAR)
    table = build.constant(np.random.default_rng(7).integers(-128, 128, 256, np.int8))
    build.call("integer::lookup.out", x, table, out, out)
    compare(library, build, x, out, 8)
