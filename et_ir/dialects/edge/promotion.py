"""The element type that the operands of an op are converted to."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.inference import meta_of
from et_ops.dtypes import DType, promote_categories
from et_ops.fact import Promotion

__all__ = ["computation_dtype", "operands_of"]


def operands_of(op: SchemaOp, *names: str) -> Iterator[tuple[int, SSAValue]]:
    """The operands of the named tensor arguments with their positions; absent ones are left out."""
    start = 0
    for arg, values in zip(op.info().tensors, op.tensor_operands(), strict=True):
        items = values if isinstance(values, tuple) else (values,)
        for value in items:
            if value is None:
                continue
            if arg.name in names:
                yield start, value
            start += 1


def computation_dtype(op: SchemaOp, promotion: Promotion) -> DType | None:
    """The element type that the operands are converted to, `None` if the op has none of them.

    Numbers in tensor slots count as torch's wrapped numbers. Raises `ValueError` for an element type torch
    does not have.
    """
    found = [meta_of(value.type) for _, value in operands_of(op, *promotion.args)]
    tensors = [meta for meta in found if not meta.wrapped]
    if promotion.to_first and tensors:
        return tensors[0].dtype
    common = promote_categories(
        (meta.dtype for meta in tensors if meta.shape),
        (meta.dtype for meta in tensors if not meta.shape),
        (meta.dtype for meta in found if meta.wrapped),
    )
    if common is not None and common.is_integral:
        result = meta_of(op.results[0].type).dtype
        # True division and its like turn integers into floats first: 257 is none of i8's, -1 none of u8's.
        return result if result.is_float else common
    return common
