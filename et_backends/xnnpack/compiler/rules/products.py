"""Products of matrices: with constants, which XNNPACK packs when the graph is loaded, and of two tensors."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation, SSAValue

from et_backends.xnnpack.compiler.constants import Array, is_constant
from et_backends.xnnpack.compiler.rules.rule import Rule, refuse_variable, shape_of
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNAdd,
    XNNBatchMatrixMultiply,
    XNNFullyConnected,
    XNNStaticReshape,
)
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_ir.analysis.dim_orders import Order, straight
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES", "rows_with_last"]

TRANSPOSE_SECOND: Final = 1
"""Of a product of two tensors: the second one has its columns outermost."""


def rows_with_last(t: Translation, x: SSAValue, last: int) -> Order:
    """An order of a value in which a dimension is innermost: the one it is in, if that is so."""
    for order in t.orders(x):
        if order[-1] == last:
            return order
    rank = len(shape_of(x))
    return (*(dim for dim in range(rank) if dim != last), last)


def _linear(t: Translation, op: SchemaOp) -> None:
    x: SSAValue = op.arg("input")
    _connect(t, op, x, t.array(op.arg("weight")), op.arg("weight"), op.arg("bias"))


def _connect(
    t: Translation, op: SchemaOp, x: SSAValue, weight: Array, like: SSAValue, bias: SSAValue | None
) -> None:
    """A fully connected layer; `weight` has a row for each output."""
    value, clamp = t.activated(op)
    order = rows_with_last(t, x, len(shape_of(x)) - 1)
    source = t.read(x, order, layer=op)
    filter_id = t.constant(weight, like)
    bias_id = NO_VALUE if bias is None else t.bias(op, bias, like)
    made = t.write(value, order)
    node = XNNFullyConnected(input1_id=source, filter_id=filter_id, bias_id=bias_id, output_id=made)
    t.node(node, op, clamp=clamp)


def _refuse_linear(op: SchemaOp) -> Diagnostic | None:
    variable = refuse_variable(op, "weight", "bias")
    if variable is not None:
        return variable
    if len(shape_of(op.arg("weight"))) != 2 or len(shape_of(op.arg("input"))) < 2:
        return Diagnostic("vector product", ", ".join(map(str, op.operand_types)))
    return None


def _mm(t: Translation, op: SchemaOp) -> None:
    x, weight = op.operands
    if is_constant(weight):
        _connect(t, op, x, t.array(weight).T, weight, None)
    else:
        # This node does not bound its output.
        _product_of_matrices(t, op, x, weight, t.write(op.result))


def _addmm(t: Translation, op: SchemaOp) -> None:
    bias, x, weight = op.operands
    if is_constant(weight) and _is_row(bias, weight):
        _connect(t, op, x, t.array(weight).T, weight, bias)
        return
    value, clamp = t.activated(op)
    sizes = t.sizes(op.result)
    product = t.temporary(x, sizes)
    if is_constant(weight):
        filter_id = t.constant(t.array(weight).T, weight)
        node = XNNFullyConnected(
            input1_id=t.read(x), filter_id=filter_id, bias_id=NO_VALUE, output_id=product
        )
        t.node(node, op)
    else:
        _product_of_matrices(t, op, x, weight, product)
    addend = t.read(bias)
    t.node(XNNAdd(input1_id=product, input2_id=addend, output_id=t.write(value)), op, clamp=clamp)


def _is_row(bias: SSAValue, weight: SSAValue) -> bool:
    outputs = shape_of(weight)[1]
    return is_constant(bias) and shape_of(bias) in ((outputs,), (1, outputs))


def _product_of_matrices(t: Translation, op: SchemaOp, x: SSAValue, other: SSAValue, made: int) -> None:
    product = t.temporary(x, (1, *t.sizes(op.result)))
    a, b = _batch_of_one(t, x), _batch_of_one(t, other)
    t.node(XNNBatchMatrixMultiply(input1_id=a, input2_id=b, output_id=product), op)
    _reshape(t, op, product, made, [max(size, 0) for size in shape_of(op.result)])


def _batch_of_one(t: Translation, x: SSAValue) -> int:
    """A matrix as XNNPACK multiplies them: in a batch."""
    made = t.temporary(x, (1, *t.sizes(x)))
    _reshape(t, None, t.read(x), made, [1, *(max(size, 0) for size in shape_of(x))])
    return made


def _reshape(t: Translation, op: SchemaOp | None, source: int, made: int, shape: list[int]) -> None:
    ops: tuple[Operation, ...] = () if op is None else (op,)
    node = XNNStaticReshape(num_dims=len(shape), new_shape=shape, input_id=source, output_id=made)
    t.node(node, *ops)


def _refuse_addmm(op: SchemaOp) -> Diagnostic | None:
    for name in ("alpha", "beta"):
        if op.arg(name) != 1:
            return Diagnostic(f"{name} is not 1", str(op.arg(name)))
    return _refuse_mm(op)


def _refuse_mm(op: SchemaOp) -> Diagnostic | None:
    weight = op.operands[-1]
    if is_constant(weight):
        return None
    if any(sum(size < 0 for size in shape_of(value)) > 1 for value in (*op.operands, op.results[0])):
        return Diagnostic("more than one dynamic size", str(op.operand_types[0]))
    return None


def _bmm(t: Translation, op: SchemaOp) -> None:
    x, other = op.operands
    first = t.read(x)
    turned = (0, 2, 1)
    # Where the dimension that is summed over is innermost, it stays so.
    if not is_constant(other) and straight(3) not in t.orders(other) and t.order(other)[-1] == 1:
        second, flags = t.read(other, turned), TRANSPOSE_SECOND
    else:
        second, flags = t.read(other), 0
    made = t.write(op.result)
    t.node(XNNBatchMatrixMultiply(input1_id=first, input2_id=second, output_id=made, flags=flags), op)


def _baddbmm(t: Translation, op: SchemaOp) -> None:
    bias, x, other = op.operands
    value, clamp = t.activated(op)
    product = t.temporary(x, t.sizes(op.result))
    node = XNNBatchMatrixMultiply(input1_id=t.read(x), input2_id=t.read(other), output_id=product)
    t.node(node, op)
    addend = t.read(bias)
    t.node(XNNAdd(input1_id=product, input2_id=addend, output_id=t.write(value)), op, clamp=clamp)


def _refuse_baddbmm(op: SchemaOp) -> Diagnostic | None:
    for name in ("alpha", "beta"):
        if op.arg(name) != 1:
            return Diagnostic(f"{name} is not 1", str(op.arg(name)))
    return None


RULES: Final = {
    "addmm": Rule(_addmm, _refuse_addmm),
    "baddbmm": Rule(_baddbmm, _refuse_baddbmm),
    "bmm": Rule(_bmm),
    "linear": Rule(_linear, _refuse_linear),
    "mm": Rule(_mm, _refuse_mm),
}
