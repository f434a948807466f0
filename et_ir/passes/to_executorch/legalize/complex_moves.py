"""Complex tensors that are made, moved and converted, on their parts."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.dtypes import attr_of, dtype_of
from et_ir.dialects.schema.tensors import is_static, may_be_same_type, tensor_type
from et_ir.passes.to_executorch.legalize.complex_parts import Pair, Parts, is_complex, on_parts
from et_ops.dtypes import Category, real_of
from et_ops.facts import DECLARED

_WITH_NUMBER: Final = {"constant_pad_nd": "value", "masked_fill.Scalar": "value", "scatter.value": "value"}
"""Operators that put a real number somewhere, whose imaginary part is none, and the argument that says it."""


@on_parts(*(OP_BY_NAME[n] for n, facts in DECLARED.items() if facts.acts_on_parts and n in OP_BY_NAME))
def alike(b: Parts, op: EdgeOp) -> list[Pair]:
    return list(b.each(op))


@on_parts(*(OP_BY_NAME[name] for name in _WITH_NUMBER if name in OP_BY_NAME))
def with_number(b: Parts, op: EdgeOp) -> list[Pair]:
    return list(b.each(op, {_WITH_NUMBER[op.name.removeprefix("edge.")]: 0}))


@on_parts(edge.FullOp, edge.FullLikeOp)
def full(b: Parts, op: EdgeOp) -> Pair | SSAValue | None:
    number, type = op.arg("fill_value"), tensor_type(op.results[0])
    if not isinstance(number, int | float):
        return None
    if not is_complex(op.results[0]):
        return b.full(type.get_shape(), number, type.element_type)
    element = attr_of(real_of(dtype_of(type.element_type)))
    return Pair(b.full(type.get_shape(), number, element), b.full(type.get_shape(), 0, element))


@on_parts(edge.ViewAsRealCopyOp)
def view_as_real(b: Parts, op: edge.ViewAsRealCopyOp) -> SSAValue:
    shape = (*tensor_type(op.operands[0]).get_shape(), 1)
    return b(edge.CatOp, [b.view(part, shape) for part in b.of(op.operands[0])], len(shape) - 1)


@on_parts(edge.ViewAsComplexCopyOp)
def view_as_complex(b: Parts, op: edge.ViewAsComplexCopyOp) -> Pair:
    return Pair(b.select(op.operands[0], -1, 0), b.select(op.operands[0], -1, 1))


@on_parts(edge.ComplexOp)
def of_parts(b: Parts, op: edge.ComplexOp) -> Pair:
    shape = tensor_type(op.results[0]).get_shape()
    return Pair(*(b(edge.ExpandCopyOp, part, shape) for part in op.operands))


@on_parts(edge.DimOrderOpsUnderscoreToDimOrderCopyOp)
def convert(b: Parts, op: EdgeOp) -> Pair | SSAValue | None:
    """From real numbers through the type of the parts; to real ones by the real part."""
    source, result = op.operands[0], tensor_type(op.results[0])
    arguments = {arg.name: op.arg(arg.name) for arg in op.schema().args}
    to = dtype_of(result.element_type)
    if to.category is Category.BOOL:
        return None
    if not to.is_complex:
        return b(type(op), **arguments | {"self": b.of(source).real}, result_types=[result])
    real = TensorType[Attribute](attr_of(real_of(to)), result.get_shape(), result.encoding)
    if is_complex(source):
        return Pair(*(b.to(part, real.element_type) for part in b.of(source)))
    value = source
    if not may_be_same_type(source.type, real):
        value = b(type(op), **arguments | {"dtype": real.element_type}, result_types=[real])
    made = b(type(op), **arguments | {"self": value}, result_types=[result])
    if is_static(result) and dim_order_of(result) == contiguous(result.get_num_dims()):
        b.note(made, Pair(value, b.full_like(value, 0)))
    return made


@on_parts(edge.DimOrderOpsUnderscoreCloneDimOrderOp)
def clone(b: Parts, op: EdgeOp) -> SSAValue:
    """A conversion to the type that it has: there is a kernel for that one."""
    result, order = tensor_type(op.results[0]), op.arg("dim_order")
    copy = edge.DimOrderOpsUnderscoreToDimOrderCopyOp
    return b(copy, op.operands[0], dtype=result.element_type, dim_order=order, result_types=[result])
