"""Convolutions of signals as those of images of one row.

For images there is machine code of any size, for signals only where their sizes are known.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_backends.codegen.forms import form_of_operator
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.program import GetOp, GlobalOp, Globals
from et_ir.dialects.schema.tensors import sized_tensor, sizes_of, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern, rewrite

__all__ = ["SignalsToImagesPass"]

_ROW = 2
"""The dimension of an image that a signal lacks."""


@dataclass(frozen=True)
class SignalsToImagesPass(ModulePass):
    """Convolve signals of any length as images.

    Before:

    ```mlir
    %w = program.get @w : tensor<8x4x3xf32>
    %1 = edge.convolution %0, %w, none {stride = [2], padding = [1], …} : … -> tensor<1x8x?xf32, #program.sizes<s0>>
    ```

    After:

    ```mlir
    %w = program.get @w_image : tensor<8x4x1x3xf32>
    %1 = edge.unsqueeze_copy %0 {dim = 2} : … -> tensor<1x4x1x?xf32, #program.sizes<2*s0>>
    %2 = edge.convolution %1, %w, none {stride = [1, 2], …} : … -> tensor<1x8x1x?xf32, #program.sizes<s0>>
    %3 = edge.squeeze_copy.dims %2 {dim = [2]} : … -> tensor<1x8x?xf32, #program.sizes<s0>>
    ```

    Those with constant filters.
    """

    name = "signals-to-images"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [_ToImage(Globals(op), {})])


@dataclass
class _ToImage(RewritePattern):
    symbols: Globals
    filters: dict[str, GlobalOp]
    """The filters of images, by the symbol of those of signals."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConvolutionOp, rewriter: PatternRewriter) -> None:
        signal, weight, result = op.arg("input"), op.arg("weight"), op.results[0]
        constant = self.symbols.constant_of(weight)
        if (
            constant is None
            or constant.value is None
            or tensor_type(weight).get_num_dims() != _ROW + 1
            or tensor_type(signal).has_static_shape()
            or op.arg("transposed")
            or form_of_operator(op) not in ("filter_convolution", "channel_convolution")
        ):
            return
        name = constant.key
        if name not in self.filters:
            made = self.symbols.add_constant(f"{name}_image", _with_row(weight), constant.value.blob)
            self.filters[name] = made
        read = GetOp(self.filters[name].key, self.filters[name].type)
        image = edge.UnsqueezeCopyOp.make(signal, _ROW, result_types=[_with_row(signal)])
        convolution = edge.ConvolutionOp.make(
            image.results[0],
            read.result,
            op.arg("bias"),
            (1, *op.arg("stride")),
            (0, *op.arg("padding")),
            (1, *op.arg("dilation")),
            False,
            (0, *op.arg("output_padding")),
            op.arg("groups"),
            result_types=[_with_row(result)],
        )
        back = edge.SqueezeCopyDimsOp.make(convolution.results[0], (_ROW,), result_types=[result.type])
        rewriter.replace(op, [read, image, convolution, back])


def _with_row(value: SSAValue) -> TensorType[Attribute]:
    """The type of a signal as an image of one row."""
    type = tensor_type(value)
    sizes = sizes_of(type)
    return sized_tensor(type.element_type, (*sizes[:_ROW], 1, *sizes[_ROW:]))
