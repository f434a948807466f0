"""Tables of integers with a scale for each row."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from et_ir.analysis.quantization import DEQUANTIZE, Granularity, quantization_of
from et_ir.codegen.elements import element_of
from et_ir.codegen.kernels.pointwise_rules import operator_name
from et_ir.codegen.kernels.quantization_rules import i8
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["is_integer_table"]


def is_integer_table(op: Operation) -> bool:
    """Whether an op restores a table that embeddings alone read.

    It is a constant of i8 `[rows, columns]`, with constant f32 scales `[rows]` and no zero points but 0.
    """
    if not isinstance(op, DEQUANTIZE) or not isinstance(op.operands[0].owner, GetOp):
        return False
    users = [use.operation for use in op.results[0].uses]
    if not users or not all(
        isinstance(user, SchemaOp) and operator_name(user) == "embedding" for user in users
    ):
        return False
    stored, scales = op.operands[:2]
    if (
        element_of(stored) != i8
        or element_of(op.results[0]) != f32
        or tensor_type(stored).get_num_dims() != 2
    ):
        return False
    module = op.parent_op()
    while module is not None and not isinstance(module, ModuleOp):
        module = module.parent_op()
    if module is None:
        return False
    found = quantization_of(op, Globals(module))
    return (
        found.granularity is Granularity.CHANNEL
        and found.axis == 0
        and found.scales is not None
        and isinstance(scales.owner, GetOp)
        and element_of(scales) == f32
        and found.is_symmetric
    )
