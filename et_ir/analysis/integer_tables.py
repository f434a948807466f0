"""Tables of integers with a scale for each row."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.ir import Operation

from et_ir.analysis.quantization import DEQUANTIZE, Granularity, quantization_of
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
        isinstance(user, SchemaOp) and user.name.removeprefix("edge.") == "embedding" for user in users
    ):
        return False
    stored, scales = op.operands[:2]
    if (
        tensor_type(stored).element_type != i8
        or tensor_type(op.results[0]).element_type != f32
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
        and tensor_type(scales).element_type == f32
        and found.is_symmetric
    )
