"""The element type that the operands of an op are converted to."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Attribute, SSAValue

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.inference import meta_of, read_args
from et_ops.dtypes import DType, promote_categories
from et_ops.fact import Promotion
from et_ops.inference.pointwise import promoted

__all__ = ["computation_dtype", "operand_type", "operands_of"]


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


def operand_type(op: SchemaOp) -> Attribute | None:
    """The element type that an op converts its operands to, numbers too; `None` for operators that do not.

    Raises `ValueError` for an element type torch does not have.
    """
    promotion = op.operator.facts.promotion
    if promotion is not None:
        dtype = computation_dtype(op, promotion)
        return None if dtype is None else attr_of(dtype)
    arguments = op.info().schema.by_name
    if "self" not in arguments or "other" not in arguments:
        return None
    given = dict(zip(arguments, read_args(op), strict=True))
    return attr_of(promoted(given["self"], given["other"]))
