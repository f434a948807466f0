"""Gradients of convolutions and average pools that kernels lack."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.legalize.lines import Lines, is_plain
from et_ir.passes.to_executorch.legalize.pools import known_numbers, window_line
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]


class ConvolutionGradient(RewritePattern):
    """`convolution_backward` of signals, which become images of one row, and of transposed convolutions: the gradient
    of the operand is a convolution with the same weights, and that of the weights is the one of a convolution whose
    operand is the gradient.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConvolutionBackwardOp, rewriter: PatternRewriter) -> None:
        gradient, value, weight = op.grad_output, op.input, op.weight
        rank = tensor_type(value).get_num_dims() - 2
        transposed = bool(op.arg("transposed"))
        settings = [known_numbers(one, rank) for one in (op.stride, op.padding, op.dilation)]
        stride, padding, dilation = settings
        groups = op.groups
        if rank not in (1, 2) or (rank == 2 and not transposed) or not is_plain(gradient, value, weight):
            return
        if not (stride and padding and dilation) or not isinstance(groups, int):
            return
        b = Lines(rewriter, 0)
        types = [tensor_type(result) for result in op.results]
        wanted = [bool(one) for one in op.output_mask]
        if rank == 1:
            gradient, value, weight = (
                b.view(one, (*b.shape(one)[:2], 1, b.shape(one)[2])) for one in (gradient, value, weight)
            )
            stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
        forms = (stride, padding, dilation, False, (0, 0), groups)
        empty = TensorType[Attribute](types[0].element_type, [0])
        made: list[SSAValue | None] = [None, None, None]
        if transposed:
            if wanted[0]:
                made[0] = b(edge.ConvolutionOp, gradient, weight, None, *forms)
            if wanted[1]:
                results = [empty, weight.type, empty]
                mask = (False, True, False)
                made[1] = b.results(
                    edge.ConvolutionBackwardOp,
                    value,
                    gradient,
                    weight,
                    None,
                    *forms,
                    mask,
                    result_types=results,
                )[1]
            if wanted[2]:
                made[2] = b(edge.SumDimIntListOp, gradient, (0, 2, 3))
        else:
            kinds = (value.type, weight.type, types[2])
            results = [kind if one else empty for kind, one in zip(kinds, wanted, strict=True)]
            sizes = None if op.bias_sizes is None else tuple(op.bias_sizes)
            made = list(
                b.results(
                    edge.ConvolutionBackwardOp,
                    gradient,
                    value,
                    weight,
                    sizes,
                    *forms,
                    tuple(wanted),
                    result_types=results,
                )
            )
        found = [
            b.view(one, type.get_shape())
            if one is not None and one_wanted
            else b.full((0,), 0, type.element_type)
            for one, type, one_wanted in zip(made, types, wanted, strict=True)
        ]
        rewriter.replace(op, [], found)


class AverageGradient(RewritePattern):
    """`avg_pool2d_backward`: each element of the gradient, divided by the size of its window, goes to all places of
    the window, which is a transposed convolution with ones. Windows that `ceil_mode` lets stand out stay.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AvgPool2dBackwardOp, rewriter: PatternRewriter) -> None:
        gradient, result = op.grad_output, op.results[0]
        kernel, padding = known_numbers(op.kernel_size, 2), known_numbers(op.padding, 2)
        stride = known_numbers(op.stride or op.kernel_size, 2)
        if not (kernel and padding and stride) or not is_plain(gradient, result):
            return
        b = Lines(rewriter, 0)
        *batch, height, width = b.shape(result)
        high, wide = b.shape(gradient)[-2:]
        more = [
            size - ((count - 1) * step - 2 * pad + length)
            for size, count, step, pad, length in zip(
                (height, width), (high, wide), stride, padding, kernel, strict=True
            )
        ]
        if any(not 0 <= rest < step for rest, step in zip(more, stride, strict=True)):
            return
        element = tensor_type(gradient).element_type
        divisor = op.divisor_override
        if divisor is not None:
            shares = b(edge.DivTensorOp, gradient, b.full((1,), float(divisor), element))
        else:
            shares = gradient
            with_padding = bool(op.count_include_pad)
            for dim, (size, count) in enumerate(((height, high), (width, wide))):
                line = window_line(
                    b,
                    size,
                    count,
                    kernel[dim],
                    stride[dim],
                    padding[dim],
                    element,
                    dim,
                    with_padding=with_padding,
                )
                shares = b(edge.DivTensorOp, shares, line)
        images = b.view(shares, (prod(batch), 1, high, wide))
        ones = b.full((1, 1, *kernel), 1.0, element)
        spread = b(edge.ConvolutionOp, images, ones, None, stride, padding, (1, 1), True, tuple(more), 1)
        rewriter.replace(op, [], [b.view(spread, b.shape(result))])


PATTERNS: Final[Sequence[type[RewritePattern]]] = (ConvolutionGradient, AverageGradient)
