"""Memory orders of dimensions, and their changes by reshapes.

An order names the dimensions of a tensor from the outermost to the innermost, as `dim_order` does: `(0, 2, 3, 1)` is
an image with its channels last. A permutation of dimensions is another order of the same memory, and moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, TypeVar

__all__ = ["NHWC", "Order", "in_order", "permuted_order", "reshaped_order", "step", "straight"]

Order = tuple[int, ...]
_T = TypeVar("_T")

NHWC: Final[Order] = (0, 2, 3, 1)


def straight(rank: int) -> Order:
    """The order of a contiguous tensor."""
    return tuple(range(rank))


def in_order(sizes: Sequence[_T], order: Order) -> list[_T]:
    """The sizes of a tensor as they follow each other in memory."""
    return [sizes[dim] for dim in order]


def step(have: Order, want: Order) -> Order:
    """The permutation that takes memory in one order to memory in another."""
    return tuple(have.index(dim) for dim in want)


def permuted_order(order: Order, dims: Sequence[int]) -> Order:
    """The order in which the result of a permutation has its dimensions, if memory stays as it is.

    Dimension `k` of the result is dimension `dims[k]` of what is permuted.
    """
    place = {dim: k for k, dim in enumerate(dims)}
    return tuple(place[dim] for dim in order)


def reshaped_order(order: Order, before: Sequence[int], after: Sequence[int]) -> Order | None:
    """The order in which the result of a change of shape has its dimensions, if memory stays as it is.

    Shapes are taken apart into the smallest groups of neighbors with as many elements before as after. Where the
    order keeps each group together and straight, groups move as they are, and dimensions of size one stand anywhere.
    `None` where elements have to move, or where more than one size of a shape is unknown (negative).
    """
    sizes = _known(before, after)
    if sizes is None:
        return None
    before, after = sizes
    groups = _groups(before, after)
    of_dim = {dim: group for group in groups for dim in group[0]}
    moving = [dim for dim in order if before[dim] != 1]
    found: list[int] = []
    while moving:
        dims, made = of_dim[moving[0]]
        if moving[: len(dims)] != dims:
            return None
        found.extend(made)
        del moving[: len(dims)]
    for dim, size in enumerate(after):
        if size == 1:
            found.insert(found.index(dim - 1) + 1 if dim else 0, dim)
    return tuple(found)


_UNKNOWN: Final = 2**61 - 1
"""A prime that stands for an unknown size: no product of others is a multiple of it."""


def _known(before: Sequence[int], after: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """The shapes with numbers for what is unknown, which tell apart what may differ."""
    left = [_UNKNOWN if size < 0 else size for size in before]
    if left.count(_UNKNOWN) > 1 or sum(size < 0 for size in after) > 1:
        return None
    static = prod(size for size in after if size >= 0)
    right = [prod(left) // max(static, 1) if size < 0 else size for size in after]
    return (left, right) if prod(left) == prod(right) != 0 else None


def _groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Neighboring dimensions before and after that hold the same elements; those of size one are in none."""
    rest = [dim for dim, size in enumerate(after) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    left = right = 1
    for dim, size in enumerate(before):
        if size == 1:
            continue
        if left == right:
            groups.append(([], []))
            left = right = 1
        groups[-1][0].append(dim)
        left *= size
        while rest and right < left:
            right *= after[rest[0]]
            groups[-1][1].append(rest.pop(0))
    return groups
