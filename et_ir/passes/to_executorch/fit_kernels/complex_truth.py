"""Comparisons of complex tensors, and what truth values they have, on their parts."""

from __future__ import annotations

from xdsl.ir import SSAValue

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.passes.to_executorch.fit_kernels.complex_parts import Parts, on_parts


@on_parts(edge.EqTensorOp)
def eq(b: Parts, op: edge.EqTensorOp) -> SSAValue:
    x, y = map(b.of, op.operands)
    return b(edge.LogicalAndOp, b(edge.EqTensorOp, x.real, y.real), b(edge.EqTensorOp, x.imag, y.imag))


@on_parts(edge.NeTensorOp)
def ne(b: Parts, op: edge.NeTensorOp) -> SSAValue:
    x, y = map(b.of, op.operands)
    return b(edge.LogicalOrOp, b(edge.NeTensorOp, x.real, y.real), b(edge.NeTensorOp, x.imag, y.imag))


@on_parts(edge.EqScalarOp)
def eq_number(b: Parts, op: edge.EqScalarOp) -> SSAValue:
    x = b.of(op.operands[0])
    return b(edge.LogicalAndOp, b(edge.EqScalarOp, x.real, op.arg("other")), b(edge.EqScalarOp, x.imag, 0))


@on_parts(edge.NeScalarOp)
def ne_number(b: Parts, op: edge.NeScalarOp) -> SSAValue:
    x = b.of(op.operands[0])
    return b(edge.LogicalOrOp, b(edge.NeScalarOp, x.real, op.arg("other")), b(edge.NeScalarOp, x.imag, 0))


@on_parts(edge.IsnanOp, edge.IsinfOp)
def either_is(b: Parts, op: EdgeOp) -> SSAValue:
    x = b.of(op.operands[0])
    return b(edge.LogicalOrOp, b(type(op), x.real), b(type(op), x.imag))


@on_parts(edge.LogicalNotOp)
def logical_not(b: Parts, op: edge.LogicalNotOp) -> SSAValue:
    return b(edge.LogicalNotOp, truth(b, op.operands[0]))


@on_parts(edge.LogicalAndOp, edge.LogicalOrOp, edge.LogicalXorOp)
def logical(b: Parts, op: EdgeOp) -> SSAValue:
    return b(type(op), *(truth(b, value) for value in op.operands))


def truth(b: Parts, value: SSAValue) -> SSAValue:
    """Whether elements are not zero."""
    x = b.of(value)
    return b(edge.LogicalOrOp, b(edge.NeScalarOp, x.real, 0), b(edge.NeScalarOp, x.imag, 0))


@on_parts(edge.AnyOp, edge.AnyDimOp, edge.AnyDimsOp)
def any_is(b: Parts, op: EdgeOp) -> SSAValue:
    arguments = {arg.name: op.arg(arg.name) for arg in op.schema().args}
    return b(type(op), **arguments | {"self": truth(b, op.operands[0])})
