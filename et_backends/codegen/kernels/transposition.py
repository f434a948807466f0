"""Transposition of blocks of 16 by 16 elements, in registers.

A block is a cache line by a cache line of f32, so that lines are read and written whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import SSAValue

from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of

__all__ = ["BLOCK", "Place", "transpose_block", "transposed"]

BLOCK: Final = 16

Place: TypeAlias = Callable[[Index, Index], Sequence[Index]]
"""The indices of an element in a buffer, from its row and its column in the source."""


def transposed(b: LoopBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """The columns of a square block, whose rows are vector registers.

    Rows half the block apart are interleaved, as many times as their number has bits.
    """
    size = len(rows)
    half = size // 2
    masks = [
        DenseArrayBase.from_list(i64, [one for place in part for one in (place, size + place)])
        for part in (range(half), range(half, size))
    ]
    found = list(rows)
    for _ in range(size.bit_length() - 1):
        found = [
            b.value(vector.ShuffleOp(one, other, mask, result_type=vector_of(size)))
            for one, other in zip(found[:half], found[half:], strict=True)
            for mask in masks
        ]
    return found


def transpose_block(
    b: LoopBuilder,
    lanes: int,
    source: tuple[SSAValue, Place],
    target: tuple[SSAValue, Place],
    at: tuple[Index, Index],
    size: tuple[int, int],
    *,
    pad: bool = False,
    loaded: Callable[[Index, SSAValue], SSAValue] | None = None,
) -> None:
    """Copy a block of up to 16 by 16 elements; columns of the source follow each other in it, rows in the target.

    `at` and `size` are rows and columns of the source. With `pad`, columns of the source become 16 elements in the
    target, those of rows that there are not zero. `loaded` makes of a vector of a row what is transposed.
    """
    rows, columns = size
    zero = b.splat(0.0, vector_of(lanes))
    for left in range(0, columns, lanes):
        width = min(columns - left, lanes)
        column = b.add(at[1], left)
        for top in range(0, BLOCK if pad else rows, lanes):
            found: list[SSAValue] = []
            for row in range(top, top + lanes):
                if row >= rows:
                    found.append(zero)
                    continue
                here = source[1](b.add(at[0], row), column)
                mask = None if width == lanes else b.mask(width, lanes)
                value = b.load_row(source[0], here, mask, lanes)
                found.append(value if loaded is None else loaded(b.add(at[0], row), value))
            if top < rows:
                found = transposed(b, found)
            row = b.add(at[0], top)
            count = lanes if pad else min(rows - top, lanes)
            for number, value in enumerate(found[:width]):
                there = target[1](row, b.add(column, number))
                if count == lanes:
                    b.store(value, target[0], there)
                else:
                    b.masked_store(value, target[0], there, b.mask(count, lanes))
