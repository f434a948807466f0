"""Constants in place of tensors without elements, which no kernel computes.

What is computed of them alone, such as their sum, is constant then, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter

from et_ir.data import Blob
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp, Globals, OverwriteOp, StoreOp
from et_ir.dialects.schema.tensors import is_static, is_tensor, tensor_type
from et_ir.passes.common.constant_fold import ConstantFoldPass
from et_ir.passes.common.dce import DcePass
from et_ir.passes.to_executorch.legalize.empty import ProductOverNothing
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["FoldEmptyTensorsPass"]


@dataclass(frozen=True)
class FoldEmptyTensorsPass(ModulePass):
    """Replace tensors without elements by constants.

    Updates of state and of inputs without elements are erased, and an update of no elements is its first operand.

    Before:

    ```mlir
    %1 = edge.slice_copy.Tensor %0 {dim = 0, start = 4} : (tensor<4x3xf32>) -> tensor<0x3xf32>
    %2 = edge.sum.dim_IntList %1 {dim = [0]} : (tensor<0x3xf32>) -> tensor<3xf32>
    ```

    After:

    ```mlir
    %2 = program.get @sum : tensor<3xf32>
    ```
    """

    name = "fold-empty-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = rewrite(op, [ProductOverNothing(), UpdateOfNothing()])
        for method in list(op.body.block.ops):
            if isinstance(method, FuncOp):
                changed = _replace(method.body.block, Globals(op)) or changed
        if changed:
            ConstantFoldPass().apply(ctx, op)
            DcePass().apply(ctx, op)


class UpdateOfNothing(RewritePattern):
    """An operator that gives its first operand with other elements in no places."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: edge.IndexPutOp
        | edge.IndexReduceOp
        | edge.ScatterAddOp
        | edge.ScatterReduceOp
        | edge.ScatterReduceTwoOp
        | edge.ScatterSrcOp
        | edge.ScatterValueOp
        | edge.ScatterValueReduceOp
        | edge.SliceScatterOp,
        rewriter: PatternRewriter,
    ) -> None:
        if op.operands[0].type == op.results[0].type and any(_is_empty(x.type) for x in op.operands[1:]):
            rewriter.replace(op, [], [op.operands[0]])


def _replace(block: Block, symbols: Globals) -> bool:
    """Whether a method, or a region in it, had empty tensors that are used or written."""
    made: dict[Attribute, str] = {}
    writes = False
    values: list[SSAValue] = list(block.args)
    for op in block.walk():
        values += op.results
        values += (argument for region in op.regions for one in region.blocks for argument in one.args)
        if isinstance(op, StoreOp | OverwriteOp) and _is_empty(op.value.type):
            Rewriter.erase_op(op)
            writes = True
    for value in values:
        if not value.uses or not _is_empty(value.type) or isinstance(value.owner, GetOp):
            continue
        if value.type not in made:
            made[value.type] = symbols.add_constant("empty", tensor_type(value), Blob.of("empty", b"")).key
        for use in list(value.uses):
            get = GetOp(made[value.type], value.type)
            get.location = use.operation.location
            Rewriter.insert_op(get, InsertPoint.before(use.operation))
            use.operation.operands[use.index] = get.result
    return writes or bool(made)


def _is_empty(type: Attribute) -> bool:
    return is_tensor(type) and is_static(type) and 0 in type.get_shape()
