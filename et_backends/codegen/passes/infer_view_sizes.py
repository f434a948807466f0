"""Inference of the sizes of views."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block

from et_backends.codegen.kernels.pointwise_rules import operator_name
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["erase_unread", "infer_view_sizes"]


def infer_view_sizes(block: Block) -> None:
    """Have views make out a size that is known at run time only: it is read of the scores, otherwise."""
    for op in list(block.ops):
        if not isinstance(op, SchemaOp) or operator_name(op) != "view_copy" or len(op.operands) == 1:
            continue
        sizes = [max(size, -1) for size in tensor_type(op.results[0]).get_shape()]
        if sizes.count(-1) <= 1:
            made = OP_BY_NAME["view_copy"].make(
                op.operands[0], sizes, result_types=[op.results[0].type], location=op.location
            )
            block.insert_op_before(made, op)
            made.results[0].name_hint = op.results[0].name_hint
            op.results[0].replace_all_uses_with(made.results[0])
            block.erase_op(op)
    erase_unread(
        tuple(op for op in block.ops if isinstance(op, SchemaOp) and operator_name(op) == "sym_size.int")
    )


def erase_unread(ops: Sequence[SchemaOp]) -> None:
    """Erase ops whose results nothing reads, from the last."""
    for op in reversed(ops):
        parent = op.parent
        if parent is not None and not any(result.uses for result in op.results):
            parent.erase_op(op)
