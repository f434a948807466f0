"""Arithmetic on shapes whose sizes may be unknown: any negative size is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from et_ops.inference.meta import UNKNOWN, Mismatch
from et_ops.sizes import Undecided, exact_quotient, maximum, minimum, unequal

__all__ = [
    "Shape",
    "below",
    "broadcast",
    "ceil_div",
    "differ",
    "has_elements",
    "known",
    "numbers",
    "numel",
    "reduced",
    "reshaped",
    "sized",
    "sliced",
    "spatial",
    "spread",
    "unlike",
    "window",
    "with_size",
    "wrap_dim",
    "wrap_dims",
]

Shape = tuple[int, ...]

_MOST = 2**31 - 1


def known(*sizes: int) -> bool:
    """Whether all sizes are known."""
    return all(size >= 0 for size in sizes)


def differ(a: int, b: int) -> bool:
    """Whether two sizes are known not to be equal."""
    return a != b and known(a, b)


def unlike(a: Shape, b: Shape) -> bool:
    """Whether two shapes are known not to be equal."""
    return len(a) != len(b) or any(map(differ, a, b))


def below(a: int, b: int) -> bool:
    """Whether a size is known to be less than another, whatever the values of the symbols in them."""
    try:
        return a >= 0 and b >= 0 and a < b
    except Undecided:
        return False


def has_elements(shape: Iterable[int]) -> bool:
    """Whether a shape is known to have elements."""
    return all(below(0, size) for size in shape)


def numel(shape: Iterable[int]) -> int | None:
    """The number of elements, or `None` if a size is unknown (and none is zero)."""
    sizes = tuple(shape)
    if known(*sizes):
        return prod(sizes)
    return 0 if 0 in sizes else None


def wrap_dim(dim: int, rank: int) -> int:
    """A dimension counted from the front; rank 0 counts as 1. Raises `ValueError` if it is out of range."""
    bound = max(rank, 1)
    if not -bound <= dim < bound:
        raise ValueError(f"dimension {dim} is out of range for rank {rank}")
    return dim % bound


def wrap_dims(dims: Sequence[int] | None, rank: int, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """Dimensions counted from the front; `None`, and the empty list if so asked, stand for all."""
    if dims is None or (not dims and empty_is_all):
        return tuple(range(rank))
    found = tuple(wrap_dim(dim, rank) for dim in dims)
    if len(set(found)) != len(found):
        raise ValueError(f"dimensions {tuple(dims)} are not distinct")
    return found


def with_size(shape: Shape, dim: int, size: int) -> Shape:
    """The shape with one size replaced."""
    return (*shape[:dim], size, *shape[dim + 1 :])


def sized(size: Iterable[int], arg: str = "size") -> Shape:
    """Sizes given as an argument, as a shape. Raises `Mismatch` for a negative one but `UNKNOWN`."""
    shape = tuple(size)
    for item in shape:
        if item < 0 and item != UNKNOWN:
            raise Mismatch(arg, "non-negative sizes", list(shape))
    return shape


def _broadcast_sizes(a: int, b: int) -> int:
    # A symbolic size that meets 1 is the result, even if it may be 1 itself.
    if type(b) is int and b == 1:
        return a
    if type(a) is int and a == 1:
        return b
    if b in (a, 1):
        return a
    if a == 1:
        return b
    # An unknown size that meets a known one above 1 is that size or 1: the result is the known one.
    if a < 0:
        return b
    if b < 0:
        return a
    raise ValueError(f"sizes {a} and {b} do not broadcast")


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all shapes broadcast to. Raises `ValueError` if they do not."""
    result: Shape = ()
    for shape in shapes:
        if not shape:
            continue
        if not result:
            result = shape
            continue
        rank = max(len(shape), len(result))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + shape
        result = tuple(_broadcast_sizes(a, b) for a, b in zip(left, right, strict=True))
    return result


def reduced(shape: Shape, dims: Sequence[int], keepdim: bool) -> Shape:
    """The shape after reducing over dimensions counted from the front."""
    if keepdim:
        return tuple(1 if i in dims else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in dims)


def reshaped(shape: Shape, size: Sequence[int], arg: str = "size") -> Shape:
    """The shape of a view with sizes, those of `arg`, of which one may be -1 and some `UNKNOWN`.

    Raises `Mismatch` if the number of elements differs.
    """
    count = numel(shape)
    if size.count(-1) > 1:
        raise Mismatch(arg, "only one size of -1", list(size))
    if any(item < -1 and item != UNKNOWN for item in size):
        raise Mismatch(arg, "no negative size but one of -1", list(size))
    if UNKNOWN in size or count is None:
        return tuple(UNKNOWN if item == -1 else item for item in size)
    if -1 not in size:
        if unequal(prod(size), count):
            raise Mismatch(arg, f"a shape of {count} elements", list(size))
        return tuple(size)
    others = prod(item for item in size if item != -1)
    left = exact_quotient(count, others)
    if left is None:
        raise Mismatch(arg, f"a shape of {count} elements", list(size))
    return tuple(left if item == -1 else item for item in size)


def ceil_div(a: int, b: int) -> int:
    """Division rounded up."""
    return -(-a // b)


def sliced(size: int, start: int | None, end: int | None, step: int) -> int:
    """The size of a slice, its bounds clamped as Python does it."""
    start = 0 if start is None else start
    end = 2**63 - 1 if end is None else end
    if step == UNKNOWN:
        return UNKNOWN
    if step <= 0:
        raise ValueError("slice steps must be positive")
    if size < 0:
        return 0 if start == end and start != UNKNOWN else UNKNOWN
    if UNKNOWN in (start, end):
        return UNKNOWN
    first, last = (minimum(place + size if place < 0 else place, size) for place in (start, end))
    return maximum(0, ceil_div(maximum(0, last) - maximum(0, first), step))


def window(
    size: int, kernel: int, stride: int, padding: tuple[int, int], dilation: int, ceil_mode: bool
) -> int:
    """The number of positions of a sliding window, as convolution and pooling count them."""
    if not known(size, kernel, *padding) or UNKNOWN in (stride, dilation):
        return UNKNOWN
    span = size + sum(padding) - dilation * (kernel - 1) - 1
    count = (ceil_div(span, stride) if ceil_mode else span // stride) + 1
    if count < 1:
        raise ValueError(f"a window of {kernel} does not fit a padded size of {size + sum(padding)}")
    # The last window must start inside of the input or its left padding.
    if ceil_mode and (count - 1) * stride >= size + padding[0]:
        count -= 1
    return count


def spread(size: int, kernel: int, stride: int, padding: int, dilation: int, extra: int) -> int:
    """The size that a transposed convolution makes, whose `window` has `size` positions; `extra` is at the end."""
    if not known(size, kernel) or UNKNOWN in (stride, padding, dilation, extra):
        return UNKNOWN
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1


def spatial(values: Sequence[int], rank: int) -> tuple[int, ...]:
    """A per-dimension argument, which may have one item for all dimensions."""
    if len(values) == 1:
        return (values[0],) * rank
    if len(values) != rank:
        raise ValueError(f"expected {rank} values, got {len(values)}")
    return tuple(values)


def numbers(arg: str, values: Sequence[int], rank: int, least: int = 0) -> tuple[int, ...]:
    """The items of a per-dimension argument. Raises `Mismatch` for another count, and for what is known to be below
    `least` or above 2^31 - 1, the largest size: the strides of windows would overflow.
    """
    if len(values) not in (1, rank) or any(
        (n < 0 and n != UNKNOWN) or below(n, least) or below(_MOST, n) for n in values
    ):
        raise Mismatch(arg, f"{rank} numbers from {least} to {_MOST}", list(values))
    return spatial(values, rank)
