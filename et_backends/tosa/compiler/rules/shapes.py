"""Rules of operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, axis
from et_backends.tosa.format.graph import DType, Op
from et_ir.analysis.dim_orders import straight
from et_ir.dialects.schema import SchemaOp
from et_ops.library import rearranging_copies

__all__ = ["RULES"]


def _reshaped(t: Legalizer, op: SchemaOp) -> SSAValue:
    return t.reshape(op.arg("self"), t.shape_of(op.results[0]))


def _permuted(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    rank = len(t.shape_of(x))
    return t.transpose(x, [axis(int(dim), rank) for dim in op.arg("dims")])


def _swapped(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    rank = len(t.shape_of(x))
    order = list(straight(rank))
    a, b = axis(int(op.arg("dim0")), rank), axis(int(op.arg("dim1")), rank)
    order[a], order[b] = order[b], order[a]
    return t.transpose(x, order)


def _turned(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    return t.transpose(x, (1, 0) if len(t.shape_of(x)) == 2 else straight(len(t.shape_of(x))))


def _expanded(t: Legalizer, op: SchemaOp) -> SSAValue:
    return t.broadcast(op.arg("self"), t.shape_of(op.results[0]))


def _repeated(t: Legalizer, op: SchemaOp) -> SSAValue:
    times = [int(one) for one in op.arg("repeats")]
    x = t.ranked(op.arg("self"), len(times))
    return t.emit(Op.TILE, x, t.shape(times))


def _joined(t: Legalizer, op: SchemaOp) -> SSAValue:
    tensors: Sequence[SSAValue] = op.arg("tensors")
    rank = len(t.shape_of(tensors[0]))
    if len({t.dtype(one) for one in tensors}) != 1:
        raise CannotLegalize("operands of several element types")
    return t.emit(Op.CONCAT, *tensors, axis=axis(int(op.arg("dim")), rank))


def _stacked(t: Legalizer, op: SchemaOp) -> SSAValue:
    tensors: Sequence[SSAValue] = op.arg("tensors")
    shape = t.shape_of(tensors[0])
    dim = axis(int(op.arg("dim")), len(shape) + 1)
    one = (*shape[:dim], 1, *shape[dim:])
    return t.emit(Op.CONCAT, *(t.reshape(value, one) for value in tensors), axis=dim)


def _sliced(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    shape = t.shape_of(x)
    dim = axis(int(op.arg("dim")), len(shape))
    start, step = op.arg("start") or 0, int(op.arg("step"))
    if isinstance(start, SSAValue):
        raise CannotLegalize("a start that is known at run time only")
    start = min(max(axis(int(start), shape[dim]), 0), shape[dim])
    count = t.shape_of(op.results[0])[dim]
    if step == 1:
        return t.part(x, dim, start, count)
    # Every `step`th element is the first of a row of `step`.
    taken = min(shape[dim] - start, count * step)
    rows = t.part(x, dim, start, taken)
    amounts = [0] * (2 * len(shape))
    amounts[2 * dim + 1] = count * step - taken
    rows = t.reshape(t.pad(rows, amounts), (*shape[:dim], count, step, *shape[dim + 1 :]))
    return t.reshape(t.part(rows, dim + 1, 0, 1), t.shape_of(op.results[0]))


def _selected(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    shape = t.shape_of(x)
    dim, index = axis(int(op.arg("dim")), len(shape)), op.arg("index")
    if isinstance(index, SSAValue):
        raise CannotLegalize("an index that is known at run time only")
    part = t.part(x, dim, axis(int(index), shape[dim]), 1)
    return t.reshape(part, t.shape_of(op.results[0]))


def _split(t: Legalizer, op: SchemaOp) -> list[SSAValue]:
    x: SSAValue = op.arg("self")
    shape = t.shape_of(x)
    dim = axis(int(op.arg("dim")), len(shape))
    made: list[SSAValue] = []
    start = 0
    for result in op.results:
        wanted = t.shape_of(result)
        size = wanted[dim] if len(wanted) == len(shape) else 1
        made.append(t.reshape(t.part(x, dim, start, size), wanted))
        start += size
    return made


def _padded(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    rank = len(t.shape_of(x))
    given = [int(one) for one in op.arg("pad")]
    if min(given, default=0) < 0:
        raise CannotLegalize(f"negative padding {given}")
    if t.dtype(x) is DType.BOOL:
        raise CannotLegalize("element type BOOL")
    amounts = [0] * (2 * rank)
    for number in range(len(given) // 2):
        dim = rank - 1 - number
        amounts[2 * dim : 2 * dim + 2] = given[2 * number : 2 * number + 2]
    return t.pad(x, amounts, op.arg("value"))


def _flipped(t: Legalizer, op: SchemaOp) -> SSAValue:
    made = t.operand(op.arg("self"))
    rank = len(t.shape_of(made))
    for dim in op.arg("dims"):
        made = t.emit(Op.REVERSE, made, axis=axis(int(dim), rank))
    return made


def _pixel_shuffled(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    factor = int(op.arg("upscale_factor"))
    *batch, channels, height, width = t.shape_of(x)
    count = int(np.prod(batch, dtype=np.int64)) * (channels // factor**2)
    apart = t.reshape(x, (count, factor, factor, height, width))
    return t.reshape(t.transpose(apart, (0, 3, 1, 4, 2)), t.shape_of(op.results[0]))


def _indices(t: Legalizer, value: SSAValue, limit: int) -> SSAValue:
    """Indices as 32-bit integers; of 64 bits they are constants."""
    array = t.constant(value)
    if array is not None:
        if array.size and (array.min() < -limit or array.max() >= limit):
            raise CannotLegalize("an index is out of range")
        return t.const(np.where(array < 0, array + limit, array).astype(np.int32), DType.INT32, "indices")
    if t.dtype(value) is not DType.INT32:
        raise CannotLegalize(f"indices of type {t.dtype(value).name}")
    return value


def _rows(t: Legalizer, table: SSAValue, indices: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The rows of a table of any rank, by their numbers."""
    rows = t.shape_of(table)[0]
    width = int(np.prod(t.shape_of(table)[1:], dtype=np.int64))
    numbers = _indices(t, indices, rows)
    count = int(np.prod(t.shape_of(indices), dtype=np.int64))
    made = t.emit(Op.GATHER, t.reshape(table, (1, rows, width)), t.reshape(numbers, (1, count)))
    return t.reshape(made, shape)


def _embedded(t: Legalizer, op: SchemaOp) -> SSAValue:
    return _rows(t, op.arg("weight"), op.arg("indices"), t.shape_of(op.results[0]))


def _index_selected(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    shape = t.shape_of(x)
    dim = axis(int(op.arg("dim")), len(shape))
    order = [dim, *(other for other in range(len(shape)) if other != dim)]
    wanted = t.shape_of(op.results[0])
    made = _rows(t, t.transpose(x, order), op.arg("index"), [wanted[other] for other in order])
    return t.transpose(made, [order.index(other) for other in range(len(shape))])


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(rearranging_copies(reshaping=True), _reshaped),
    "cat": _joined,
    "constant_pad_nd": _padded,
    "embedding": _embedded,
    "expand_copy": _expanded,
    "flip": _flipped,
    "index_select": _index_selected,
    "permute_copy": _permuted,
    "pixel_shuffle": _pixel_shuffled,
    "repeat": _repeated,
    "select_copy.int": _selected,
    "slice_copy.Tensor": _sliced,
    "split_copy.Tensor": _split,
    "split_with_sizes_copy": _split,
    "stack": _stacked,
    "t_copy": _turned,
    "transpose_copy.int": _swapped,
    "unbind_copy.int": _split,
}
