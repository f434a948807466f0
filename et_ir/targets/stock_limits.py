"""Limits of the stock runtime's kernels beyond the element types that they refuse.

Observed on the kernels of the executorch 1.4.1 wheel: convolutions have one or two dimensions, and of the kernels that
take complex tensors some do only a part of what the operator does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema import DYNAMIC
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ops.dtypes import real_of

__all__ = ["limits", "may_be_one"]


def limits(op: EdgeOp) -> Iterator[str]:
    """Limits that an op's kernel violates: sentences that begin with the kernel."""
    if isinstance(op, edge.ConvolutionOp):
        rank = tensor_type(op.operands[0]).get_num_dims()
        if rank > 4:
            yield f"takes a 3-d or 4-d 'input', not rank {rank}"
    limit = _complex_limit(op)
    if limit is not None:
        yield limit


def may_be_one(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape has one element for some of the sizes that are not known."""
    return prod(size for size in shape if size != DYNAMIC) == 1


def _complex_limit(op: EdgeOp) -> str | None:
    """Limits of a kernel on complex tensors, apart from types that it refuses altogether."""
    values = (*op.operands, *op.results)
    if not any(is_tensor(value.type) and dtype_of(value.type.element_type).is_complex for value in values):
        return None
    match op:
        case edge.MulTensorOp():
            # It takes an operand of one element for a number, which is real.
            shape = tensor_type(op.results[0]).get_shape()
            if may_be_one(shape) or any(tensor_type(value).get_shape() != shape for value in op.operands):
                return "multiplies complex tensors of equal shapes with more than one element only"
        case edge.UnderscoreFftR2cOp():
            return None if op.arg("onesided") else "computes only half of the transform"
        case edge.DimOrderOpsUnderscoreToDimOrderCopyOp():
            types = [dtype_of(tensor_type(value).element_type) for value in (op.operands[0], op.results[0])]
            # What is real may become complex, and what is complex get another layout, without another change.
            taken = types[0] in (types[1], real_of(types[1])) and types[1].is_complex
            return None if taken else "does not convert complex numbers"
        case edge.DimOrderOpsUnderscoreCloneDimOrderOp():
            return "does not copy complex numbers"
        case edge.IndexTensorOp():
            return "does not take complex tensors with all forms of indices"
        case edge.RandnOp() | edge.RandOp():
            return "does not draw complex numbers"
        case _:
            pass
    return None
