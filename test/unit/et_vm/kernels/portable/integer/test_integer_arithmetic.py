"""Sums, products, means and lookups of integers give their formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.integer_calls import integers, rounded, run

from et_schema.errors import Trap
from et_vm.kernels.portable.integer import integer_arithmetic
from et_vm.values import Array

GRID = (0.037, 11, -120, 101)
PAIRS = [((3, 4), (3, 4)), ((2, 3, 5), (3, 1)), ((), ()), ((1,), (7,)), ((2, 3, 4, 5), (2, 3, 4, 5))]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_arithmetic, "BLOCK", 8)


def of_pairs(a: Array, b: Array, real: Callable[[int, int], float]) -> Array:
    a, b = np.broadcast_arrays(a, b)
    flat = [rounded(real(int(x), int(y)), *GRID[1:]) for x, y in zip(a.flat, b.flat, strict=True)]
    return np.array(flat, np.int8).reshape(a.shape)


@pytest.mark.parametrize("shapes", PAIRS)
@pytest.mark.parametrize("sign", [1, -1])
def test_add(shapes: tuple[tuple[int, ...], tuple[int, ...]], sign: int) -> None:
    rng = np.random.default_rng(1)
    a, b = (integers(rng, *shape) for shape in shapes)
    wanted = of_pairs(a, b, lambda x, y: (x - 5) * (0.02 / GRID[0]) + (y + 128) * (sign * 0.013 / GRID[0]))
    for last in {False, len(wanted.shape) == 4}:
        found = run(
            "integer::add.out", a, 0.02, 5, b, sign * 0.013, -128, *GRID, shape=wanted.shape, last=last
        )
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("shapes", PAIRS)
def test_mul(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(2)
    a, b = (integers(rng, *shape) for shape in shapes)
    wanted = of_pairs(a, b, lambda x, y: (x - 5) * (y + 3) * (0.02 * 0.013 / GRID[0]))
    found = run("integer::mul.out", a, 0.02, 5, b, 0.013, -3, *GRID, shape=wanted.shape)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(("dims", "keep"), [([-1], False), ([2, 3], True), ([0, 2], False), ([], False)])
def test_mean(dims: list[int], keep: bool) -> None:
    x = integers(np.random.default_rng(3), 2, 3, 4, 5)
    axes = tuple(dims) or None
    sums = (x.astype(np.int64) + 4).sum(axis=axes, keepdims=keep)
    count = x.size // sums.size
    flat = [rounded(int(s) * (0.09 / (GRID[0] * count)), *GRID[1:]) for s in np.ravel(sums)]
    found = run("integer::mean.dim_out", x, 0.09, -4, dims, keep, *GRID, shape=sums.shape)
    assert found.tolist() == np.array(flat).reshape(sums.shape).tolist()


@pytest.mark.parametrize("shape", [(5, 60), (), (2, 3, 4, 5)])
def test_lookup(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    x, table = integers(rng, *shape), integers(rng, 256)
    wanted = table[x.astype(np.int64) + 128]
    for last in {False, len(shape) == 4}:
        assert np.array_equal(run("integer::lookup.out", x, table, shape=shape, last=last), wanted)


def test_a_table_has_256_entries() -> None:
    with pytest.raises(Trap, match="argument 'table'"):
        run("integer::lookup.out", np.zeros(3, np.int8), np.zeros(255, np.int8), shape=(3,))
