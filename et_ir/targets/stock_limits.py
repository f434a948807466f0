"""Limits of the stock runtime's kernels beyond refused element types.

Convolutions have one or two dimensions, gradients are of those with two that are not transposed, and of the kernels
that take complex tensors some do only a part of what the operator does, those of the executorch 1.5.1 wheel more of it
than those of 1.4.1. For 1.5.1, `test/conformance/test_stock_limits.py` runs calls within and beyond the limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import layout_of
from et_ir.dialects.edge.promotion import operands_of
from et_ir.dialects.schema import DYNAMIC
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.tensors import is_tensor, tensor_type
from et_ops.dtypes import F16, F32, F64, real_of

__all__ = ["limits", "may_be_one"]


def limits(op: EdgeOp, *, since_1_5: bool) -> Iterator[str]:
    """Limits that a call violates, in kernels of 1.5.1 or of 1.4.1: sentences that begin with the kernel."""
    if isinstance(op, edge.ConvolutionOp):
        rank = tensor_type(op.operands[0]).get_num_dims()
        if rank > 4:
            yield f"takes a 3-d or 4-d 'input', not rank {rank}"
    if isinstance(op, edge.ConvolutionBackwardOp):
        rank = tensor_type(op.input).get_num_dims()
        if rank != 4:
            yield f"takes a 4-d 'input', not rank {rank}"
        if op.arg("transposed"):
            yield "does not take transposed convolutions"
    limit = _complex_limit(op, since_1_5)
    if limit is not None:
        yield limit


def may_be_one(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape has one element for some of the sizes that are not known."""
    return prod(size for size in shape if size != DYNAMIC) == 1


def _complex_limit(op: EdgeOp, since_1_5: bool) -> str | None:
    """Limits of a kernel on complex tensors, apart from types that it refuses altogether."""
    values = (*op.operands, *op.results)
    if not any(is_tensor(value.type) and dtype_of(value.type.element_type).is_complex for value in values):
        return None
    match op:
        case edge.MulTensorOp():
            # It takes an operand of one element for a number, which is real.
            shapes = {tensor_type(value).get_shape() for value in values}
            if any(map(may_be_one, shapes)) or not (since_1_5 or len(shapes) == 1):
                equal = "" if since_1_5 else "of equal shapes "
                return f"multiplies complex tensors {equal}with more than one element only"
        case edge.UnderscoreFftR2cOp():
            return None if op.arg("onesided") else "computes only half of the transform"
        case edge.DimOrderOpsUnderscoreToDimOrderCopyOp():
            given, made = [
                dtype_of(tensor_type(value).element_type) for value in (op.operands[0], op.results[0])
            ]
            # What is real may become complex, and what is complex get another layout, without another change.
            taken = given in (made, real_of(made)) and made.is_complex
            if since_1_5 and given.is_complex != made.is_complex:
                taken = (made if given.is_complex else given) in (F16, F32, F64)
            return None if taken else "does not convert complex numbers"
        case edge.DimOrderOpsUnderscoreCloneDimOrderOp():
            same = layout_of(tensor_type(op.operands[0])) == layout_of(tensor_type(op.results[0]))
            return None if since_1_5 and same else "does not copy complex numbers"
        case edge.IndexTensorOp():
            indices = [tensor_type(index) for _, index in operands_of(op, "indices")]
            if since_1_5 and len(indices) == 1 and indices[0].get_num_dims() == 1:
                return None
            return "does not take complex tensors with all forms of indices"
        case edge.RandnOp() | edge.RandOp():
            return "does not draw complex numbers"
        case _:
            pass
    return None
