"""Fusion of attention: softmax(q kᵀ) v as one kernel, which never writes the matrix of scores to memory."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import KernelOp, YieldOp
from et_backends.codegen.kernels.attention_operands import Attention, match_attention
from et_backends.codegen.passes.infer_view_sizes import erase_unread, infer_view_sizes
from et_ir.dialects.schema import SchemaOp

__all__ = ["FuseAttentionPass"]


@dataclass(frozen=True)
class FuseAttentionPass(ModulePass):
    """Make kernels of products around a softmax.

    It is recognized as decompositions leave it, whoever made them: two `bmm`, the softmax of the first, views, and
    pointwise ops, such as a scale or the addition of a mask, before the softmax. The number of queries may be known at
    run time only.

    Before:

    ```mlir
    %0 = edge.bmm %q, %k : (tensor<8x64x32xf32>, tensor<8x32x64xf32>) -> tensor<8x64x64xf32>
    %1 = edge._softmax %0 {dim = -1, half_to_float = false} : tensor<8x64x64xf32>
    %2 = edge.bmm %1, %v : (tensor<8x64x64xf32>, tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
    ```

    After:

    ```mlir
    %2 = native.kernel "attention"(%q, %k, %v) : (…) -> tensor<8x64x32xf32> { … }
    ```
    """

    name = "fuse-attention"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, FuncOp) and not function.is_declaration:
                infer_view_sizes(function.body.block)
                for inner in list(function.body.block.ops):
                    found = match_attention(inner) if isinstance(inner, SchemaOp) else None
                    if found is not None:
                        _outline(found)


def _outline(found: Attention) -> None:
    """Copies of the ops in a kernel; what nothing else reads is erased."""
    last = found.ops[-1]
    inputs = found.inputs
    block = Block(arg_types=[value.type for value in inputs])
    copies: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in found.ops:
        copy = op.clone(copies)
        copy.location = op.location
        block.add_op(copy)
    block.add_op(YieldOp([copies[found.result]]))
    kernel = KernelOp("attention", inputs, [found.result.type], Region(block))
    kernel.location = last.location
    parent = last.parent
    assert parent is not None
    parent.insert_op_before(kernel, last)
    kernel.outputs[0].name_hint = found.result.name_hint
    found.result.replace_all_uses_with(kernel.outputs[0])
    erase_unread(found.ops)
