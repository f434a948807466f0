"""Operators that give a tensor another shape, or part of it: views, permutations, slices, concatenations, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from xdsl.ir import SSAValue

from et_backends.xnnpack.compiler.constants import is_constant
from et_backends.xnnpack.compiler.rules.arithmetic import common_order, operand
from et_backends.xnnpack.compiler.rules.rule import Rule, axis, shape_of
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNConcatenate2,
    XNNConcatenate3,
    XNNConcatenate4,
    XNNConcatenate5,
    XNNStaticConstantPad,
    XNNStaticReshape,
    XNNStaticSlice,
)
from et_ir.analysis.dim_orders import Order, in_order, permuted_order, reshaped_order, straight
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES", "reshape"]


def reshape(t: Translation, op: SchemaOp, x: SSAValue, result: SSAValue) -> None:
    """Give a value another shape where it is, if its order allows."""
    before, after = shape_of(x), shape_of(result)
    for order in t.orders(x):
        kept = reshaped_order(order, before, after)
        if kept is not None:
            source = t.read(x, order)
            break
    else:
        order, kept = straight(len(before)), straight(len(after))
        source = t.read(x)
    if in_order(before, order) == in_order(after, kept):
        t.hold(result, source, kept)
        return
    shape = [max(size, 0) for size in in_order(after, kept)]
    made = t.write(result, kept)
    node = XNNStaticReshape(num_dims=len(shape), new_shape=shape, input_id=source, output_id=made)
    t.node(node, op)


def _view(t: Translation, op: SchemaOp) -> None:
    reshape(t, op, op.operands[0], op.result)


def _refuse_view(op: SchemaOp) -> Diagnostic | None:
    if sum(size < 0 for size in shape_of(op.results[0])) > 1:
        return Diagnostic("more than one dynamic size", str(op.results[0].type))
    return None


def _permute(t: Translation, op: SchemaOp) -> None:
    x = op.operands[0]
    rank = len(shape_of(x))
    if "dims" in op.schema().by_name:
        dims = [axis(dim, rank) for dim in op.arg("dims")]
    elif rank < 2:
        dims = list(range(rank))
    else:
        named = "dim0" in op.schema().by_name
        first, second = (axis(op.arg(n), rank) for n in ("dim0", "dim1")) if named else (0, 1)
        dims = list(range(rank))
        dims[first], dims[second] = second, first
    t.alias(op.result, x, {order: permuted_order(order, dims) for order in t.orders(x)})


def _slice(
    t: Translation, op: SchemaOp, x: SSAValue, result: SSAValue, dim: int, start: int, size: int
) -> None:
    """Some elements of a value along a dimension; the result may have lost the dimension."""
    order = t.order(x)
    sizes = [*shape_of(x)]
    sizes[dim] = size
    taken = in_order(sizes, order)
    offsets = [start if one == dim else 0 for one in order]
    source = t.read(x, order)
    dropped = len(shape_of(result)) < len(order)
    made = t.temporary(x, taken) if dropped else t.write(result, order)
    node = XNNStaticSlice(num_dims=len(order), offsets=offsets, sizes=taken, input_id=source, output_id=made)
    t.node(node, op)
    if dropped:
        kept: Order = tuple(one - (one > dim) for one in order if one != dim)
        shape = in_order(shape_of(result), kept)
        last = t.write(result, kept)
        t.node(XNNStaticReshape(num_dims=len(shape), new_shape=shape, input_id=made, output_id=last), op)


def _slice_copy(t: Translation, op: SchemaOp) -> None:
    x, result = op.operands[0], op.result
    dim = axis(op.arg("dim"), len(shape_of(x)))
    size = shape_of(x)[dim]
    start = op.arg("start") or 0
    start = min(max(start + size if start < 0 else start, 0), size)
    if shape_of(result) == shape_of(x):
        t.alias(result, x, {order: order for order in t.orders(x)})
        return
    _slice(t, op, x, result, dim, start, shape_of(result)[dim])


def _select(t: Translation, op: SchemaOp) -> None:
    x = op.operands[0]
    dim = axis(op.arg("dim"), len(shape_of(x)))
    _slice(t, op, x, op.result, dim, axis(op.arg("index"), shape_of(x)[dim]), 1)


def _parts(t: Translation, op: SchemaOp) -> None:
    x = op.operands[0]
    dim = axis(op.arg("dim"), len(shape_of(x)))
    start = 0
    for result in op.results:
        size = shape_of(result)[dim] if len(shape_of(result)) == len(shape_of(x)) else 1
        if result.uses:
            if shape_of(result) == shape_of(x):
                t.alias(result, x, {order: order for order in t.orders(x)})
            else:
                _slice(t, op, x, result, dim, start, size)
        start += size


def _refuse_slice(op: SchemaOp) -> Diagnostic | None:
    if "step" in op.schema().by_name and op.arg("step") != 1:
        return Diagnostic("a step", str(op.arg("step")))
    if any(size <= 0 for value in (op.operands[0], *op.results) for size in shape_of(value)):
        return Diagnostic("dynamic sizes", str(op.operand_types[0]))
    if any(isinstance(op.arg(n), SSAValue) for n in ("start", "index") if n in op.schema().by_name):
        return Diagnostic("an argument is known only at run time")
    return None


_CONCATENATIONS: Final[tuple[Any, ...]] = (
    XNNConcatenate2,
    XNNConcatenate3,
    XNNConcatenate4,
    XNNConcatenate5,
)


def _concatenate(t: Translation, op: SchemaOp) -> None:
    values: Sequence[SSAValue] = op.arg("tensors")
    rank = len(shape_of(op.result))
    dim = axis(op.arg("dim"), rank)
    if len(values) == 1:
        t.alias(op.result, values[0], {order: order for order in t.orders(values[0])})
        return
    order = common_order(t, values, rank)
    place = order.index(dim)
    parts = [(operand(t, value, order), t.sizes(value)[dim]) for value in values]
    sizes = list(t.sizes(op.result))
    while True:
        now, parts = parts[:5], parts[5:]
        total = sum(size for _, size in now)
        if parts:
            sizes[dim] = total
            made = t.temporary(op.result, in_order(sizes, order))
        else:
            made = t.write(op.result, order)
        kind = _CONCATENATIONS[len(now) - 2]
        inputs = {f"input{number}_id": one for number, (one, _) in enumerate(now, 1)}
        t.node(kind(axis=place, **inputs, output_id=made), op)
        if not parts:
            return
        parts.insert(0, (made, total))


def _refuse_concatenate(op: SchemaOp) -> Diagnostic | None:
    values = op.arg("tensors")
    if all(map(is_constant, values)):
        return Diagnostic("all operands are constant")
    rank = len(shape_of(op.results[0]))
    if any(len(shape_of(value)) != rank for value in values):
        return Diagnostic("ranks differ", ", ".join(map(str, op.operand_types)))
    return None


def _pad(t: Translation, op: SchemaOp) -> None:
    x = op.operands[0]
    order = t.order(x)
    given = op.arg("pad")
    rank = len(order)
    before, after = [0] * rank, [0] * rank
    for number in range(len(given) // 2):
        before[rank - 1 - number] = given[2 * number]
        after[rank - 1 - number] = given[2 * number + 1]
    source = t.read(x, order)
    node = XNNStaticConstantPad(
        pre_paddings=in_order(before, order),
        post_paddings=in_order(after, order),
        padding_value=float(op.arg("value")),
        input_id=source,
        output_id=t.write(op.result, order),
    )
    t.node(node, op)


def _refuse_pad(op: SchemaOp) -> Diagnostic | None:
    given = op.arg("pad")
    if any(isinstance(one, SSAValue) for one in given):
        return Diagnostic("an argument is known only at run time")
    if min(given, default=0) < 0:
        return Diagnostic("negative padding", str(given))
    return None


RULES: Final = {
    "cat": Rule(_concatenate, _refuse_concatenate),
    "constant_pad_nd": Rule(_pad, _refuse_pad),
    "permute_copy": Rule(_permute),
    "select_copy.int": Rule(_select, _refuse_slice),
    "slice_copy.Tensor": Rule(_slice_copy, _refuse_slice),
    "split_copy.Tensor": Rule(_parts, _refuse_slice),
    "split_with_sizes_copy": Rule(_parts, _refuse_slice),
    "squeeze_copy.dim": Rule(_view, _refuse_view),
    "squeeze_copy.dims": Rule(_view, _refuse_view),
    "t_copy": Rule(_permute),
    "transpose_copy.int": Rule(_permute),
    "unbind_copy.int": Rule(_parts, _refuse_slice),
    "unsqueeze_copy": Rule(_view, _refuse_view),
    "view_copy": Rule(_view, _refuse_view),
}
