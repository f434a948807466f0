"""Fusion of concatenations: images are joined where a convolution copies them into a border."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.kernels.windows import window_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["FuseConcatenationsPass"]


@dataclass(frozen=True)
class FuseConcatenationsPass(ModulePass):
    """Fuse concatenations with convolutions of them.

    A convolution that covers what is outside of its image reads a copy of it with a border around. The images that it
    is concatenated of are copied there, each to its channels, so that the concatenation is never in memory without the
    border.

    Before:

    ```mlir
    %0 = native.kernel "move"(%x, %y) : ... -> tensor<1x16x8x8xf32> { ... edge.cat ... }
    %1 = native.kernel "convolution"(%0, %w) : ... -> tensor<1x16x8x8xf32> { ... }
    ```

    After:

    ```mlir
    %1 = native.kernel "convolution"(%w, %x, %y) : ... -> tensor<1x16x8x8xf32> {
    ^bb0(%w_1: ..., %x_1: ..., %y_1: ...):
      %0 = native.kernel "move"(%x_1, %y_1) : ... -> tensor<1x16x8x8xf32> { ... edge.cat ... }
      %2 = edge.convolution %0, %w_1 ...
    ```
    """

    name = "fuse-concatenations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_FuseConcatenation()], recursive=False)


class _FuseConcatenation(RewritePattern):
    """Move the concatenation that a convolution reads into its kernel."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: KernelOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.parent_op(), FuncOp) or not _has_border(op):
            return
        image: SSAValue = anchor_of(op).arg("input")
        read = op.outside().get(image)
        if read is None or not image.has_one_use() or not read.has_one_use():
            return
        concatenation = read.owner
        if not isinstance(concatenation, KernelOp) or not _joins_channels(concatenation):
            return
        inputs = [value for value in op.inputs if value is not read]
        region = op.detach_region(op.body)
        block = region.block
        arguments = dict(zip(op.inputs, block.args, strict=True))
        parts = list(concatenation.inputs)
        for part in parts:
            if part not in arguments:
                inputs.append(part)
                arguments[part] = block.insert_arg(part.type, len(block.args))
                arguments[part].name_hint = part.name_hint
        concatenation.detach()
        concatenation.operands = [arguments[part] for part in parts]
        first = block.first_op
        assert first is not None
        block.insert_op_before(concatenation, first)
        image.replace_all_uses_with(concatenation.outputs[0])
        block.erase_arg(arguments[read])
        fused = KernelOp(op.form.data, inputs, op.result_types, region)
        fused.attributes = dict(op.attributes)
        fused.location = op.location
        rewriter.replace(op, fused)


def _has_border(kernel: KernelOp) -> bool:
    """Whether a kernel is a convolution that reads a copy of its image, with a border around."""
    return (
        kernel.form.data == "convolution"
        and kernel.has_fixed_sizes()
        and window_of(anchor_of(kernel)).needs_border
    )


def _joins_channels(kernel: KernelOp) -> bool:
    """Whether a kernel concatenates the channels of images."""
    if kernel.form.data != "move" or not kernel.has_fixed_sizes():
        return False
    op = anchor_of(kernel)
    rank = tensor_type(op.results[0]).get_num_dims()
    return operator_name(op) == "cat" and int(op.arg("dim")) % rank == 1
