"""Byte copies: instructions that leave bytes as they are.

`view_copy`, `squeeze_copy`, `unsqueeze_copy`, a slice or selection along the outermost dimension, a permutation that
moves only dimensions of size 1, a clone to the same layout, `copy_`: the result has bytes of the argument. So have
those that show them as elements of another type, `view_copy.dtype` and the conversions between complex numbers and
their parts.
The parts of a split, and of a concatenation, lie one behind the other if all dimensions outside of the one they are
along have size 1. Passes that let registers share memory make such a copy a view, or compute its source in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, cast

from xdsl.ir import Operation, SSAValue

from et_ir.analysis.aliasing import Extent, extent_of, has_exact_size, root_of, size_of
from et_ir.dialects.executorch import KernelCallOp, ListKind, ListValue
from et_ir.dialects.executorch.arguments import Argument
from et_ir.dialects.executorch.layout import Tensor, dim_order, is_contiguous, nbytes
from et_ops.conventions import COPY

__all__ = ["CAT", "CLONE", "REINTERPRETATIONS", "ByteCopy", "copies_of", "is_copy"]

CAT: Final = "aten::cat.out"
CLONE: Final = "dim_order_ops::_clone_dim_order.out"

Start = Callable[[list[Argument], Tensor, Tensor], int | None]
"""Byte offset of the result in the argument, given the call's arguments and both types; `None` if they
are not all there.
"""


@dataclass(frozen=True, slots=True)
class ByteCopy:
    """Bytes of a storage that an instruction makes those of another."""

    target: Extent
    source: Extent
    resizes: bool = False
    """Whether the call says at run time what the sizes of its result are."""


def is_copy(op: Operation) -> bool:
    """Whether the operator of an instruction copies bytes for some arguments."""
    return type(op) is KernelCallOp and op.key in _COPIES


def copies_of(op: Operation) -> Sequence[ByteCopy]:
    """The copies of bytes that an instruction is made up of; none for one that does anything else."""
    if type(op) is not KernelCallOp or (key := op.key) not in _COPIES:
        return ()
    if key == COPY:
        target, source = op.inputs
        return _whole(target, source) if target.type == source.type else ()
    if key == CAT:
        return _concatenation(op)
    if key in _SPLITS:
        return _split(op)
    arguments, outs = op.arguments, op.outs
    source = arguments[0] if arguments else None
    if len(outs) != 1 or op.list_out is not None or not isinstance(source, SSAValue):
        return ()
    target = outs[0]
    if key == CLONE and target.type == source.type:
        return _whole(target, source)
    whole, part = cast(Tensor, source.type), cast(Tensor, target.type)
    if whole.element_type != part.element_type and key not in REINTERPRETATIONS:
        return ()
    if not has_exact_size(target, source, root_of(source)):
        return _whole(target, source, resizes=True) if _may_resize(key, whole, part) else ()
    first = _STARTS[key](arguments, whole, part)
    if first is None:
        return ()
    there, here = extent_of(source), extent_of(target)
    first += there.first
    return (ByteCopy(here, Extent(there.root, first, first + here.end - here.first)),)


def _whole(target: SSAValue, source: SSAValue, *, resizes: bool = False) -> Sequence[ByteCopy]:
    return (ByteCopy(extent_of(target), extent_of(source), resizes),)


def _may_resize(key: str, whole: Tensor, part: Tensor) -> bool:
    """Whether bytes stay where they are whatever the sizes are at run time."""
    return key in _RESHAPES and is_contiguous(whole) and is_contiguous(part) and nbytes(part) <= nbytes(whole)


# -- splits and concatenations


def _concatenation(op: KernelCallOp) -> Sequence[ByteCopy]:
    items, dim, *_ = (*op.arguments, 0)
    if not isinstance(items, ListValue) or not isinstance(dim, int) or len(op.outs) != 1:
        return ()
    whole = cast(Tensor, op.outs[0].type)
    rank, order, shape = whole.get_num_dims(), dim_order(whole), whole.get_shape()
    if not rank or any(shape[outer] != 1 for outer in order[: order.index(dim % rank)]):
        return ()
    place = extent_of(op.outs[0])
    copies: list[ByteCopy] = []
    first = place.first
    for item in items.items:
        if not isinstance(item, SSAValue) or not has_exact_size(root_of(item)):
            return ()
        type = cast(Tensor, item.type)
        if type.element_type != whole.element_type or type.get_num_dims() != rank or dim_order(type) != order:
            return ()
        end = first + nbytes(type)
        copies.append(ByteCopy(Extent(place.root, first, end), extent_of(item)))
        first = end
    return copies if first == place.end else ()


def _split(op: KernelCallOp) -> Sequence[ByteCopy]:
    base = op.inputs[0]
    whole = extent_of(base)
    sizes = [size_of(out) for out in op.outs]
    starts = list(accumulate(sizes, initial=whole.first))
    outer = _split_dimension(op, cast(Tensor, base.type))
    if outer is None or starts[-1] != whole.end or not has_exact_size(base, whole.root, *op.outs):
        return ()
    if not all(is_contiguous(cast(Tensor, out.type)) for out in op.outs):
        return ()
    return [
        ByteCopy(extent_of(out), Extent(whole.root, first, first + size))
        for out, first, size in zip(op.outs, starts, sizes, strict=False)
    ]


# -- where the bytes of a kernel's result start in its argument


def _same_bytes(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """Another shape over the same elements in the same order."""
    same = is_contiguous(whole) and is_contiguous(part) and nbytes(whole) == nbytes(part)
    return 0 if same else None


def _same_layout(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """A copy in the same shape and memory layout."""
    return 0 if whole == part else None


def _permutation(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """A permutation that keeps the order in memory of all dimensions but those of size 1."""
    dims = arguments[1] if len(arguments) > 1 else None
    if not isinstance(dims, ListValue):
        return None
    order = [item for item in dims.items if isinstance(item, int)]
    rank = whole.get_num_dims()
    if sorted(dim % rank for dim in order) != list(range(rank)):
        return None
    # The argument's dimensions in the order in which the result has them in memory.
    walked = [order[dim] % rank for dim in dim_order(part)]
    shape = whole.get_shape()
    return (
        0 if [d for d in walked if shape[d] != 1] == [d for d in dim_order(whole) if shape[d] != 1] else None
    )


def _transposition(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """Two dimensions that change places."""
    rank = whole.get_num_dims()
    first, second = (arguments[1:3] if len(arguments) > 2 else (0, 1)) if rank > 1 else (0, 0)
    if not isinstance(first, int) or not isinstance(second, int):
        return None
    order = list(range(rank))
    if rank:
        order[first % rank], order[second % rank] = order[second % rank], order[first % rank]
    return _permutation([None, _ints(order)], whole, part)


def _ints(items: list[int]) -> ListValue:
    return ListValue(ListKind.INTS, tuple(items))


def _leading(arguments: list[Argument], whole: Tensor, part: Tensor, index: Argument) -> int | None:
    """A part along a dimension that has only dimensions of size 1 before it."""
    dim = arguments[1] if len(arguments) > 1 else None
    shape = whole.get_shape()
    if not isinstance(dim, int) or not isinstance(index, int) or not shape:
        return None
    dim %= len(shape)
    if not (is_contiguous(whole) and is_contiguous(part)) or any(size != 1 for size in shape[:dim]):
        return None
    size = shape[dim]
    index = max(index + size, 0) if index < 0 else min(index, size)
    return index * (nbytes(whole) // size) if size else 0


def _selection(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """One index of a dimension."""
    return _leading(arguments, whole, part, arguments[2] if len(arguments) > 2 else None)


def _slice(arguments: list[Argument], whole: Tensor, part: Tensor) -> int | None:
    """A range of a dimension, without gaps."""
    if whole == part:
        return 0
    if len(arguments) < 5 or arguments[4] != 1:
        return None
    return _leading(arguments, whole, part, 0 if arguments[2] is None else arguments[2])


def _split_dimension(op: KernelCallOp, whole: Tensor) -> int | None:
    """The dimension that a split is along if only dimensions of size 1 stand before it, `None` otherwise."""
    at = _SPLITS[op.key]
    dim = op.arguments[at] if at < len(op.arguments) else None
    shape = whole.get_shape()
    if not isinstance(dim, int) or not shape or not is_contiguous(whole):
        return None
    dim %= len(shape)
    return dim if all(size == 1 for size in shape[:dim]) else None


_STARTS: Final[dict[str, Start]] = {
    "aten::alias_copy.out": _same_layout,
    "aten::clone.out": _same_layout,
    "aten::detach_copy.out": _same_layout,
    "aten::expand_copy.out": _same_bytes,
    "aten::lift_fresh_copy.out": _same_layout,
    "aten::permute_copy.out": _permutation,
    "aten::select_copy.int_out": _selection,
    "aten::slice_copy.Tensor_out": _slice,
    "aten::squeeze_copy.dim_out": _same_bytes,
    "aten::squeeze_copy.dims_out": _same_bytes,
    "aten::squeeze_copy.out": _same_bytes,
    "aten::t_copy.out": _transposition,
    "aten::transpose_copy.int_out": _transposition,
    "aten::unsqueeze_copy.out": _same_bytes,
    "aten::view_as_complex_copy.out": _same_bytes,
    "aten::view_as_real_copy.out": _same_bytes,
    "aten::view_copy.dtype_out": _same_bytes,
    "aten::view_copy.out": _same_bytes,
    "dim_order_ops::_clone_dim_order.out": _same_layout,
    "dim_order_ops::_to_dim_order_copy.out": _same_layout,
}
"""Kernels whose result may be their first argument's memory."""

REINTERPRETATIONS: Final = frozenset(
    {"aten::view_as_complex_copy.out", "aten::view_as_real_copy.out", "aten::view_copy.dtype_out"}
)
"""Kernels whose result has the bytes of the argument as elements of another type."""

_SPLITS: Final[dict[str, int]] = {
    "aten::split_copy.Tensor_out": 2,
    "aten::split_with_sizes_copy.out": 2,
    "aten::unbind_copy.int_out": 1,
}
"""Kernels that split their first argument in order, and the position of the dimension."""

_RESHAPES: Final = frozenset({"aten::view_copy.out"})
"""View kernels that take the result's sizes, as a view at run time does."""

_COPIES: Final = frozenset({COPY, CAT, *_STARTS, *_SPLITS})
