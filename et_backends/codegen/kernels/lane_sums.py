"""Sums of the lanes of several vectors in one vector.

Vectors are halved together: a step adds one part of the lanes of two vectors to the other part, and keeps both sums in
one vector. That takes three instructions for each vector, where a vector by itself takes two for each halving.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import SSAValue

from et_backends.codegen.kernels.pointwise_rules import add
from et_backends.codegen.loop_builder import LoopBuilder, vector_of

__all__ = ["lane_sums"]

QUAD: Final = 4
"""Lanes within which the first two steps stay: instructions move elements of 32 bits within 128 at no delay."""


def lane_sums(
    b: LoopBuilder, lanes: int, visit: Callable[[int], Sequence[SSAValue]], start: int = 0, step: int = 0
) -> list[SSAValue]:
    """Vectors of f32 whose lane `n` is the sum of the lanes of a vector that `visit(n)` makes, one for each of these.

    Vectors are made when they are added, so that few are in registers. There are 4 lanes or a larger power of 2;
    `start` and `step` are the first vector and the number of those that are added here.
    """
    count = step or lanes
    if count == 1:
        return list(visit(start))
    half = count // 2
    first = lane_sums(b, lanes, visit, start, half)
    second = lane_sums(b, lanes, visit, start + half, half)
    parts = [DenseArrayBase.from_list(i64, part) for part in _halves(lanes, count)]
    made: list[SSAValue] = []
    for one, other in zip(first, second, strict=True):
        low, high = (
            b.value(vector.ShuffleOp(one, other, part, result_type=vector_of(lanes))) for part in parts
        )
        made.append(add(b, low, high))
    return made


def _halves(lanes: int, count: int) -> tuple[list[int], list[int]]:
    """The lanes of two vectors that are added to each other, where that leaves the sums of `count` vectors."""
    quads = range(0, lanes, QUAD)
    if count == 2:
        low = [at + quad for quad in quads for at in (0, lanes, 1, lanes + 1)]
        return low, [at + 2 for at in low]
    if count == QUAD:
        low = [at + quad for quad in quads for at in (0, 1, lanes, lanes + 1)]
        return low, [at + 2 for at in low]
    low = [quad + at for quad in range(0, 2 * lanes, 2 * QUAD) for at in range(QUAD)]
    return low, [at + QUAD for at in low]
