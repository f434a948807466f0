"""Functions of weights computed a few rows at a time: their temporaries stay in the caches, and small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Final

import torch
from torch import Tensor
from torch._ops import OpOverload

from et_ir.data.mapped import release, returned_memory, temporary_memory

__all__ = ["by_rows", "new_floats", "new_stored", "release_memory", "rowwise", "slices_of_rows"]

ELEMENTS: Final = 1 << 18
"""About how many elements of a weight are computed at a time."""
_LARGE: Final = 1 << 20
"""Bytes of a tensor from which on it is not in the memory of the C library."""

_Allocate = Callable[[torch.dtype, Sequence[int]], Tensor]
_BY_CHANNEL: Final = (
    "quantized_decomposed::quantize_per_channel",
    "quantized_decomposed::dequantize_per_channel",
)
_BY_BLOCK: Final = "torchao::dequantize_affine"


def new_stored(dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """A tensor to keep, as integers of a weight; a large one is in a temporary file, which the system may write out."""
    return _new(dtype, shape, temporary_memory)


def new_floats(dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """A tensor for a weight in floats, which is needed shortly."""
    return _new(dtype, shape, returned_memory)


def _new(dtype: torch.dtype, shape: Sequence[int], allocate: Callable[[int], Any]) -> Tensor:
    size = prod(shape) * dtype.itemsize
    if size < _LARGE:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.frombuffer(allocate(size), dtype=dtype).view(tuple(shape))


def release_memory(tensor: Tensor) -> None:
    """Take the pages of such a tensor from those of the process, if it is in a file: they come back when it is read."""
    release(tensor.data_ptr())


def slices_of_rows(shape: Sequence[int], elements: int | None = None) -> Iterator[slice]:
    """Parts of the first dimension of a shape, of about so many elements."""
    step = max(1, (elements or ELEMENTS) // max(1, prod(shape[1:])))
    for start in range(0, shape[0], step):
        yield slice(start, start + step)


def by_rows(
    function: Callable[..., Tensor], tensors: Sequence[Tensor | None], allocate: _Allocate = new_floats
) -> Tensor:
    """`function(*tensors)`, of whose result each row depends on that row of each tensor alone."""
    first = tensors[0]
    assert first is not None
    result: Tensor | None = None
    for rows in slices_of_rows(first.shape):
        part = function(*(None if one is None else one[rows] for one in tensors))
        if result is None:
            result = allocate(part.dtype, (len(first), *part.shape[1:]))
        result[rows] = part
    if result is None:
        return function(*tensors)
    release_memory(result)
    return result


def rowwise(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], allocate: _Allocate = new_floats
) -> Tensor:
    """The result of an operator of the graph, a few rows at a time if it quantizes or restores rows."""
    places = _places_of_rows(target, args)
    if not places:
        return target(*args, **kwargs)

    def of_rows(*rows: Tensor | None) -> Tensor:
        given = list(args)
        for place, part in zip(places, rows, strict=True):
            given[place] = part
        return target(*given, **kwargs)

    return by_rows(of_rows, [args[place] for place in places], allocate)


def _places_of_rows(target: Any, args: tuple[Any, ...]) -> tuple[int, ...]:
    """The arguments whose rows belong together: integers or floats first; empty for what is not of rows."""
    name = target.name() if isinstance(target, OpOverload) else ""
    if name in _BY_CHANNEL:
        return (0, 1, 2) if args[3] == 0 else ()
    if name == _BY_BLOCK:
        _, block, scale = args[:3]
        return (0, 2, 3) if block[0] == 1 and scale.dim() == len(block) else ()
    return ()
