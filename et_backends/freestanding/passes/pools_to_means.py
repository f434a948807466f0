"""Average pools over whole images as means.

Kernels of means restore stored numbers as they read them; those of pools read floats, which take four times the memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.kernels.windows import window_of
from et_ir.analysis.quantization import DEQUANTIZE
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["PoolsToMeansPass"]


@dataclass(frozen=True)
class PoolsToMeansPass(ModulePass):
    """Replace average pools over whole images of bytes.

    Before:

    ```mlir
    %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = 3, …} : … -> tensor<1x8x5x5xf32>
    %2 = edge.avg_pool2d %1 {kernel_size = [5, 5]} : (tensor<1x8x5x5xf32>) -> tensor<1x8x1x1xf32>
    ```

    After:

    ```mlir
    %1 = edge.quantized_decomposed.dequantize_per_tensor %0 {scale = 0.5, zero_point = 3, …} : … -> tensor<1x8x5x5xf32>
    %2 = edge.mean.dim %1 {dim = [2, 3], keepdim = true} : (tensor<1x8x5x5xf32>) -> tensor<1x8x1x1xf32>
    ```
    """

    name = "pools-to-means"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_ToMean()])


class _ToMean(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AvgPool2dOp, rewriter: PatternRewriter) -> None:
        image = op.operands[0]
        type = tensor_type(image)
        if not isinstance(image.owner, DEQUANTIZE) or not type.has_static_shape() or type.get_num_dims() != 4:
            return
        window = window_of(op)
        size = (window.in_height, window.in_width)
        whole = (window.height, window.width) == size and (window.border_y, window.border_x) == (0, 0)
        if whole and op.arg("divisor_override") in (None, size[0] * size[1]):
            rewriter.replace(op, edge.MeanDimOp.make(image, [2, 3], True, result_types=[op.results[0].type]))
