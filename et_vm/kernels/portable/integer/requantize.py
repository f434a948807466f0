"""Requantization: exact sums of integers to integers of 8 bits, the last step of all arithmetic on quantized tensors.

A sum `s` stands for the real number `(s + a) * f + o`, in steps of the result, where `f` and `o` have double precision
and `a` is an integer. The result is `clamp(round(…) + zero_point, least, most)`: one multiplication and one addition in
double precision, rounded half to even. It does not depend on the machine, nor on the order of the sums.

numpy multiplies a block by a number, or by an array of its own shape, two to three times as fast as by a row or a
column: long rows are done one by one, and coefficients that several blocks share are spread over a block once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from et_vm.kernels.portable.steps import copy
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array

__all__ = ["BLOCK", "EXACT", "Coefficients", "Grid", "reach", "requantized", "sum_type"]

EXACT = 1 << 24
"""Integers up to this are exact in float32, and so are all sums of products that stay below it, in any order."""
BLOCK = 1 << 15
"""Elements requantized at a time: 256 KB in double precision, which stay in the L2 cache."""
LONG_ROW = 1 << 13
"""Elements of a row from which it is a block of its own."""
LEAST_ROW = 1 << 6
"""Elements of a row of a block, at least, where there are as many."""
SHARED = 3
"""Blocks from which spreading their coefficients is worth its time."""
_PASSES = 8


class Grid(NamedTuple):
    """The integers of a result: its scale and zero point, and the limits that it is clamped to."""

    scale: float
    zero_point: int
    least: int
    most: int


class Coefficients(NamedTuple):
    """The numbers by which sums become results, of double precision, each [channels] or [1]."""

    factors: Array
    offsets: Array | None = None
    addends: Array | None = None

    def part(self, start: int, end: int) -> Coefficients:
        """Those of some channels; one for all stays."""
        factors, offsets, addends = (one if one is None or len(one) == 1 else one[start:end] for one in self)
        assert factors is not None
        return Coefficients(factors, offsets, addends)


def reach(zero_point: int) -> int:
    """The largest magnitude of an i8 less its zero point."""
    return max(128 + zero_point, 127 - zero_point)


def sum_type(largest: int) -> type[np.floating]:
    """The float type that adds products of integers exactly, where no sum of magnitudes is above `largest`."""
    return np.float32 if largest < EXACT else np.float64


def requantized(
    ctx: PrepareContext, sums: Array, out: Array, grid: Grid, coefficients: Coefficients, axis: int
) -> list[Step]:
    """Calls that store sums on a grid into `out`: matrices with the channels along `axis`.

    Scratch: a block of integers, one in double precision, and one of each coefficient.
    """
    ctx.work(_PASSES * sums.size)
    if all(one is None or len(one) == 1 for one in coefficients):
        sums, out = sums.reshape(1, -1) if out.flags.c_contiguous else sums, _row(out)
    rows, columns = sums.shape
    size = min(BLOCK, sums.size)
    wide, narrow = ctx.scratch(size, np.float64), ctx.scratch(size, np.int16)
    height, width = _block(rows, columns, axis)
    calls: list[Step] = []
    spread = [None if one is None else ctx.scratch(height * width, np.float64) for one in coefficients]
    shared = rows * columns // (height * width) // (-(-rows // height) if axis == 0 else -(-columns // width))
    last: tuple[int, ...] = ()
    for start, begin in _places(rows, columns, height, width, axis):
        part = (slice(start, start + height), slice(begin, begin + width))
        given, target = sums[part], out[part]
        chosen = part[axis]
        numbers = coefficients.part(chosen.start, chosen.stop)
        arrays: list[Array | None] = []
        key = (chosen.start, *given.shape)
        for one, room in zip(numbers, spread, strict=True):
            if one is None or room is None:
                arrays.append(None)
                continue
            array = one.reshape((-1, 1) if axis == 0 else (1, -1))
            if one.size == 1:
                arrays.append(one.reshape(()))
            elif shared < SHARED:
                arrays.append(array)
            else:
                whole = room[: given.size].reshape(given.shape)
                if key != last:
                    calls.append(copy(np.broadcast_to(array, given.shape), whole))
                arrays.append(whole)
        last = key
        blocks = (buffer[: given.size].reshape(given.shape) for buffer in (wide, narrow))
        calls.append((_requantize, (*blocks, grid, given, target, *arrays)))
    return calls


def _row(array: Array) -> Array:
    return array.reshape(1, -1) if array.flags.c_contiguous else array


def _block(rows: int, columns: int, axis: int) -> tuple[int, int]:
    """The rows and columns of a block."""
    if axis == 0 and columns >= LONG_ROW:
        return 1, min(columns, BLOCK)
    width = min(columns, max(LEAST_ROW, BLOCK // rows)) if axis == 0 else min(columns, BLOCK)
    return min(rows, max(1, BLOCK // width)), width


def _places(rows: int, columns: int, height: int, width: int, axis: int) -> list[tuple[int, int]]:
    """The first elements of blocks; those that share coefficients follow one another."""
    down, across = range(0, rows, height), range(0, columns, width)
    if axis == 0:
        return [(start, begin) for start in down for begin in across]
    return [(start, begin) for begin in across for start in down]


def _requantize(
    wide: Array,
    narrow: Array,
    grid: Grid,
    sums: Array,
    out: Array,
    factors: Array,
    offsets: Array | None,
    addends: Array | None,
) -> None:
    np.copyto(wide, sums)
    if addends is not None:
        np.add(wide, addends, wide)
    np.multiply(wide, factors, wide)
    if offsets is not None:
        np.add(wide, offsets, wide)
    on_grid(wide, narrow, grid, out)


def on_grid(wide: Array, narrow: Array, grid: Grid, out: Array) -> None:
    """Store real numbers in steps of a grid as its integers; `wide` and `narrow` (i16), of one shape, are scratch."""
    np.rint(wide, wide)
    np.clip(wide, grid.least - grid.zero_point, grid.most - grid.zero_point, out=wide)
    np.copyto(narrow, wide, casting="unsafe")
    np.add(narrow, grid.zero_point, narrow)
    np.copyto(out, narrow, casting="unsafe")
