"""Binary elementwise operators with broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, cast

from xdsl.ir import SSAValue

from et_backends.xnnpack.compiler.constants import is_constant
from et_backends.xnnpack.compiler.prelu import find_prelu
from et_backends.xnnpack.compiler.rules.rule import Rule, shape_of
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNAdd,
    XNNDiv,
    XNNMaximum,
    XNNMinimum,
    XNNMultiply,
    XNNPReLU,
    XNNStaticReshape,
    XNNSubtract,
)
from et_ir.analysis.dim_orders import Order, straight
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["RULES", "common_order", "operand"]

_Node = Callable[..., Any]
_BOUNDED: Final = (XNNAdd, XNNSubtract, XNNMultiply, XNNDiv)
"""Nodes that bound their output."""


def common_order(t: Translation, values: Sequence[SSAValue], rank: int) -> Order:
    """The order in which the fewest elements have to be moved to have all values in it."""
    moving = [value for value in values if not is_constant(value) and prod(t.sizes(value)) != 1]
    candidates: dict[Order, None] = {}
    for value in moving:
        if len(shape_of(value)) == rank:
            candidates.update(dict.fromkeys(t.orders(value)))
    # Of orders that cost the same one that is not straight is taken: convolutions come in groups.
    candidates.pop(straight(rank), None)
    candidates[straight(rank)] = None

    def cost(order: Order) -> int:
        return sum(prod(t.sizes(v)) for v in moving if _partial(v, order) not in t.orders(v))

    return min(candidates, key=cost)


def _partial(value: SSAValue, order: Order) -> Order:
    """The order of a value that is broadcast from the right, where the result is in an order."""
    missing = len(order) - len(shape_of(value))
    return tuple(dim - missing for dim in order if dim >= missing)


def operand(t: Translation, value: SSAValue, order: Order) -> int:
    """The operand of a node that broadcasts a value to results in an order."""
    rank = len(shape_of(value))
    missing = len(order) - rank
    if is_constant(value):
        array = t.array(value)
        if array.size == 1:
            return t.constant(array.reshape(1), value)
        return t.constant(array.reshape([1] * missing + list(array.shape)).transpose(order), value)
    source = t.read(value, _partial(value, order))
    if not missing or order == straight(len(order)):
        return source
    sizes = (*[1] * missing, *shape_of(value))
    most = (*[1] * missing, *t.sizes(value))
    made = t.temporary(value, [most[dim] for dim in order])
    shape = [max(sizes[dim], 0) for dim in order]
    t.node(XNNStaticReshape(num_dims=len(shape), new_shape=shape, input_id=source, output_id=made))
    return made


def _binary(node: _Node, *, reverse: bool = False) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> None:
        x = op.operands[0]
        other = cast("SSAValue | int | float", op.arg("other"))
        tensors = [x, other] if isinstance(other, SSAValue) else [x]
        if node in _BOUNDED:
            value, clamp = t.activated(op)
        else:
            value, clamp = op.result, None
        order = common_order(t, tensors, len(shape_of(op.result)))
        first = operand(t, x, order)
        second = operand(t, other, order) if isinstance(other, SSAValue) else t.scalar(float(other), x)
        if reverse:
            first, second = second, first
        made = t.write(value, order)
        t.node(node(input1_id=first, input2_id=second, output_id=made), op, clamp=clamp)

    return Rule(lower, _refuse)


def _refuse(op: SchemaOp) -> Diagnostic | None:
    alpha = op.arg("alpha") if "alpha" in op.schema().by_name else 1
    if alpha != 1:
        return Diagnostic("alpha is not 1", str(alpha))
    for value in op.operands:
        if not is_tensor(value.type):
            return Diagnostic("a number is known at run time only", str(value.type))
    if (
        sum(size < 0 for value in op.operands for size in shape_of(value))
        and len({len(shape_of(value)) for value in op.operands if not is_constant(value)}) > 1
    ):
        return Diagnostic("broadcasts an operand with dynamic sizes", str(op.operand_types[-1]))
    return None


def _expand(t: Translation, op: SchemaOp) -> None:
    """A broadcast multiplies with ones, which have only the dimensions that are broadcast."""
    x, result = op.operands[0], op.result
    before, after = shape_of(x), shape_of(result)
    if before == after:
        t.alias(result, x, {order: order for order in t.orders(x)})
        return
    padded = (*[1] * (len(after) - len(before)), *before)
    order = common_order(t, [x], len(after))
    shape = [after[dim] if padded[dim] != after[dim] else 1 for dim in order]
    ones = t.ones(shape, x)
    first = operand(t, x, order)
    t.node(XNNMultiply(input1_id=first, input2_id=ones, output_id=t.write(result, order)), op)


def _refuse_expand(op: SchemaOp) -> Diagnostic | None:
    before, after = shape_of(op.operands[0]), shape_of(op.result)
    if before != after and min((*before, *after)) < 0:
        return Diagnostic("broadcasts to dynamic sizes", str(op.result.type))
    return None


def _prelu(t: Translation, op: SchemaOp) -> None:
    """The selection that is the end of a `prelu`; the ops before it are part of the node."""
    found = find_prelu(op)
    assert found is not None
    order = t.order(found.x)
    source = t.read(found.x, order)
    slope = operand(t, found.slope, order)
    node = XNNPReLU(input1_id=source, input2_id=slope, output_id=t.write(op.result, order))
    t.node(node, *found.ops)


def _refuse_where(op: SchemaOp) -> Diagnostic | None:
    if find_prelu(op) is None:
        return Diagnostic("XNNPACK has no such node", "where.self")
    return None


RULES: Final = {
    "add.Scalar": _binary(XNNAdd),
    "add.Tensor": _binary(XNNAdd),
    "div.Scalar": _binary(XNNDiv),
    "div.Tensor": _binary(XNNDiv),
    "expand_copy": Rule(_expand, _refuse_expand),
    "maximum": _binary(XNNMaximum),
    "minimum": _binary(XNNMinimum),
    "mul.Scalar": _binary(XNNMultiply),
    "mul.Tensor": _binary(XNNMultiply),
    "rsub.Scalar": _binary(XNNSubtract, reverse=True),
    "sub.Scalar": _binary(XNNSubtract),
    "sub.Tensor": _binary(XNNSubtract),
    "where.self": Rule(_prelu, _refuse_where),
}
