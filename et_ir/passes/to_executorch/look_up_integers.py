"""Lookup of rows of integer tables before they are dequantized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from et_ir.analysis.integer_tables import is_integer_table
from et_ir.dialects.edge import OP_BY_NAME
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.dtypes import F32

__all__ = ["LookUpIntegersPass"]


@dataclass(frozen=True)
class LookUpIntegersPass(ModulePass):
    """Look up rows of integer tables, then restore them.

    Before:

    ```mlir
    %0 = edge.quantized_decomposed.dequantize_per_channel %table, %scales, none {axis = 0, …} : … -> tensor<9x8xf32>
    %1 = edge.embedding %0, %ids : (tensor<9x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
    ```

    After:

    ```mlir
    %0 = edge.embedding %table, %ids : (tensor<9x8xi8>, tensor<3xi64>) -> tensor<3x8xi8>
    %1 = edge.dim_order_ops._to_dim_order_copy %0 {dtype = f32} : (tensor<3x8xi8>) -> tensor<3x8xf32>
    %2 = edge.view_copy %scales {size = [9, 1]} : (tensor<9xf32>) -> tensor<9x1xf32>
    %3 = edge.embedding %2, %ids : (tensor<9x1xf32>, tensor<3xi64>) -> tensor<3x1xf32>
    %4 = edge.mul.Tensor %1, %3 : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
    ```
    """

    name = "look-up-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                for inner in list(function.body.block.ops):
                    if isinstance(inner, SchemaOp) and is_integer_table(inner):
                        _look_up(function.body.block, inner)


def _look_up(block: Block, table: SchemaOp) -> None:
    stored, scales = table.operands[:2]
    points = table.operands[2:]
    for use in list(table.results[0].uses):
        embedding = use.operation
        assert isinstance(embedding, SchemaOp)

        def make(name: str, *args: Any, at: SchemaOp = embedding, **options: Any) -> SSAValue:
            made = OP_BY_NAME[name].make(*args, location=at.location, **options)
            block.insert_op_before(made, at)
            return made.results[0]

        indices = embedding.arg("indices")
        rows = make("embedding", stored, indices)
        column = make("view_copy", scales, [tensor_type(stored).get_shape()[0], 1])
        rows = make("dim_order_ops._to_dim_order_copy", rows, dtype=F32)
        made = make("mul.Tensor", rows, make("embedding", column, indices))
        made.name_hint = embedding.results[0].name_hint
        embedding.results[0].replace_all_uses_with(made)
        block.erase_op(embedding)
    block.erase_op(table)
    for point in points:
        # Zeros, and what converts them.
        while isinstance(point.owner, SchemaOp) and not point.uses:
            unused = point.owner
            point = unused.operands[0]  # noqa: PLW2901
            block.erase_op(unused)
