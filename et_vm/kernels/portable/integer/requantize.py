"""Requantization: exact sums of integers to integers of 8 bits, the last step of all arithmetic on quantized tensors.

A sum `s` stands for the real number `s * f + o`, in steps of the result, where `f` and `o` are of double precision. The
result is `clamp(round(s * f + o) + zero_point, least, most)`: one multiplication and one addition in double precision,
rounded half to even. It does not depend on the machine, nor on the order of the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array

__all__ = ["EXACT", "Grid", "reach", "requantized", "sum_type"]

EXACT = 1 << 24
"""Integers up to this are exact in float32, and so are all sums of products that stay below it, in any order."""
BLOCK = 1 << 15
"""Elements requantized at a time: 256 KB in double precision, which stay in the L2 cache."""
_PASSES = 6


class Grid(NamedTuple):
    """The integers of a result: its scale and zero point, and the limits that it is clamped to."""

    scale: float
    zero_point: int
    least: int
    most: int


def reach(zero_point: int) -> int:
    """The largest magnitude of an i8 less its zero point."""
    return max(128 + zero_point, 127 - zero_point)


def sum_type(largest: int) -> type[np.floating]:
    """The float type that adds products of integers exactly, where no sum of magnitudes is above `largest`."""
    return np.float32 if largest < EXACT else np.float64


def requantized(
    ctx: PrepareContext,
    sums: Array,
    out: Array,
    grid: Grid,
    factors: Array,
    offsets: Array | None = None,
    addends: Array | None = None,
) -> list[Step]:
    """Calls that store `(sums + addends) * factors + offsets` on a grid into `out`, of the shape of `sums`.

    `factors`, `offsets` and `addends` are f64, of the rank of `sums`, and broadcast to it. Scratch: `BLOCK` numbers of
    double precision.
    """
    buffer = ctx.scratch(min(BLOCK, sums.size), np.float64)
    ctx.work(_PASSES * sums.size)
    calls: list[Step] = []
    _split(calls, buffer, grid, [sums, out, factors, offsets, addends], 0)
    return calls


def _split(calls: list[Step], buffer: Array, grid: Grid, arrays: Sequence[Array | None], axis: int) -> None:
    sums, out = arrays[:2]
    assert sums is not None
    assert out is not None
    if sums.size <= len(buffer):
        wide = buffer[: sums.size].reshape(sums.shape)
        calls.append((_requantize, (wide, grid, *arrays)))
        return
    rest = sums.size // sums.shape[axis]
    count = max(1, len(buffer) // rest)
    before = (slice(None),) * axis
    for start in range(0, sums.shape[axis], count):
        here = (*before, slice(start, start + count))
        parts = [
            one if one is None or one.shape[axis] == 1 < sums.shape[axis] else one[here] for one in arrays
        ]
        _split(calls, buffer, grid, parts, axis + 1)


def _requantize(
    wide: Array,
    grid: Grid,
    sums: Array,
    out: Array,
    factors: Array,
    offsets: Array | None,
    addends: Array | None,
) -> None:
    if addends is None:
        np.multiply(sums, factors, wide)
    else:
        np.add(sums, addends, wide)
        np.multiply(wide, factors, wide)
    if offsets is not None:
        np.add(wide, offsets, wide)
    np.rint(wide, wide)
    least, most = grid.least - grid.zero_point, grid.most - grid.zero_point
    np.maximum(wide, least, out=wide)
    np.minimum(wide, most, out=wide)
    np.add(wide, grid.zero_point, out=out, casting="unsafe")
