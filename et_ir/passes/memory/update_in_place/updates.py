"""Written regions of update operators.

The region is the part of a tensor that the results of their calls differ in.

`index_put`, `slice_scatter`, `select_scatter`, `scatter` and `scatter_add` give a copy of their first argument with a
part of it replaced. A part that lies in one piece is a range of bytes; any other is indices and values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Final, cast

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import SSAValue

from et_ir.analysis.aliasing import has_exact_size, root_of
from et_ir.dialects.executorch import AllocOp, InputOp, KernelCallOp, ListValue
from et_ir.dialects.executorch.arguments import Argument
from et_ir.dialects.executorch.layout import Tensor, is_contiguous, nbytes
from et_ir.passes.memory.copies_to_views import ALIGNMENT

__all__ = ["UPDATES", "Index", "IndexRange", "Put", "Update", "UpdatedBytes", "numel", "type_of", "update_of"]

Number = int | SSAValue
SMALL_PIECES: Final = 64
"""Bytes; `index_put_` copies piece by piece, so that many that are smaller take longer than a copy of the whole."""


@dataclass(frozen=True)
class IndexRange:
    """Indices `start`, `start + step` and so on, as many as `source` has elements along `dim`."""

    start: Number
    step: int
    source: SSAValue
    dim: int | None
    """`None` for one index."""


Index = SSAValue | IndexRange


@dataclass(frozen=True)
class UpdatedBytes:
    """Bytes from `first` on of the register that is updated become those of `source`."""

    first: int
    source: SSAValue


@dataclass(frozen=True)
class Put:
    """An update by `index_put_`; `whole` are the sizes of the values, if they are not those of the tensor as it is."""

    indices: tuple[Index | None, ...]
    values: SSAValue
    accumulate: bool = False
    sizes: tuple[int, ...] | None = None


Update = UpdatedBytes | Put


def update_of(op: KernelCallOp) -> Update | None:
    """The update of a call, `None` for one that is not to be made in place."""
    read = UPDATES.get(op.key)
    target = op.inputs[0] if op.inputs else None
    if read is None or target is None or op.arguments[0] is not target:
        return None
    if not all(
        is_contiguous(cast(Tensor, value.type)) for value in op.inputs if isinstance(value.type, TensorType)
    ):
        return None
    return read(op.arguments, target)


# -- reading calls


def _index_put(arguments: list[Argument], target: SSAValue) -> Update | None:
    _, indices, values, accumulate = arguments
    if not isinstance(indices, ListValue) or not isinstance(values, SSAValue):
        return None
    items = tuple(cast("SSAValue | None", item) for item in indices.items)
    if any(item is not None and type_of(item).element_type == i1 for item in items):
        return None
    return Put(items, values, bool(accumulate))


def _slice_scatter(arguments: list[Argument], target: SSAValue) -> Update | None:
    _, source, dim, start, _, step = arguments
    if not isinstance(source, SSAValue) or not isinstance(dim, int) or not isinstance(step, int):
        return None
    shape = type_of(target).get_shape()
    dim %= max(len(shape), 1)
    if type_of(source).get_shape() == shape and has_exact_size(source, target):
        return UpdatedBytes(0, source) if step == 1 and root_of(source) is source else None
    first = _first(start, shape[dim], target)
    if first is None:
        return None
    if step == 1 and isinstance(first, int) and (part := _leading(target, source, dim, first)):
        return part
    in_small_pieces = _bytes_behind(target, dim) < SMALL_PIECES and numel(source) * 8 > numel(target)
    if in_small_pieces and isinstance(root_of(target).owner, AllocOp):
        return None
    return Put((None,) * dim + (IndexRange(first, step, source, dim),), source)


def _select_scatter(arguments: list[Argument], target: SSAValue) -> Update | None:
    _, source, dim, index = arguments
    if not isinstance(source, SSAValue) or not isinstance(dim, int):
        return None
    shape = type_of(target).get_shape()
    dim %= max(len(shape), 1)
    first = _first(index, shape[dim], target)
    if first is None:
        return None
    if isinstance(first, int) and (part := _leading(target, source, dim, first)):
        return part
    if not has_exact_size(source, target):
        return None
    sizes = (*shape[:dim], 1, *shape[dim + 1 :])
    return Put((None,) * dim + (IndexRange(first, 1, source, None),), source, sizes=sizes)


def _scatter(accumulate: bool) -> Callable[[list[Argument], SSAValue], Update | None]:
    def read(arguments: list[Argument], target: SSAValue) -> Update | None:
        _, dim, index, source = arguments
        if not isinstance(source, SSAValue) or not isinstance(index, SSAValue) or not isinstance(dim, int):
            return None
        shape = type_of(index).get_shape()
        if (
            not has_exact_size(target, index, source)
            or type_of(source).get_shape() != shape
            or len(shape) != 1
        ):
            return None
        return Put((index,), source, accumulate)

    return read


UPDATES: Final[dict[str, Callable[[list[Argument], SSAValue], Update | None]]] = {
    "aten::index_put.out": _index_put,
    "aten::scatter.src_out": _scatter(accumulate=False),
    "aten::scatter_add.out": _scatter(accumulate=True),
    "aten::select_scatter.out": _select_scatter,
    "aten::slice_scatter.out": _slice_scatter,
}
"""Update operators, with what tells from a call's arguments, and the tensor that is updated, what is written."""


def _first(start: Argument, size: int, target: SSAValue) -> Number | None:
    """The first index of a slice, counted from the front as far as that is known."""
    if start is None:
        return 0
    if isinstance(start, SSAValue):
        return start
    if not isinstance(start, int):
        return None
    if start >= 0:
        return start
    return max(start + size, 0) if has_exact_size(target) else None


def _leading(target: SSAValue, source: SSAValue, dim: int, first: int) -> UpdatedBytes | None:
    """A part that lies in one piece, as there are only dimensions of size 1 before its own."""
    shape = type_of(target).get_shape()
    if not has_exact_size(target, source) or any(size != 1 for size in shape[:dim]):
        return None
    start = first * _bytes_behind(target, dim)
    # Of an input that lies in the caller's memory no part can be viewed.
    if start % ALIGNMENT or isinstance(root_of(target).owner, InputOp):
        return None
    return UpdatedBytes(start, source)


def _bytes_behind(target: SSAValue, dim: int) -> int:
    """Bytes from an index of a dimension to the next."""
    type = type_of(target)
    shape = type.get_shape()
    behind = TensorType(type.element_type, shape[dim + 1 :])
    return nbytes(behind)


# -- registers


def type_of(register: SSAValue) -> Tensor:
    """The type of a tensor's register."""
    return cast(Tensor, register.type)


def numel(register: SSAValue) -> int:
    """Upper bound of a tensor's element count."""
    return prod(type_of(register).get_shape())
