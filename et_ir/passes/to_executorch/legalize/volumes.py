"""A convolution in three dimensions is one in two: its first spatial dimension becomes images and channels.

Each output plane needs some input planes, one for each tap of the first dimension: they are laid out as channels of an
image. Transposed, each tap gives planes of its own, which are spread, moved and added.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.schema.tensors import is_static, tensor_type
from et_ir.rewriting import op_type_rewrite_pattern

__all__ = ["PATTERNS"]


def _triple(values: Sequence[object]) -> tuple[int, int, int] | None:
    """An argument for each of three dimensions, if all are known."""
    known = [value for value in values if isinstance(value, int)]
    if len(known) != len(values) or not known:
        return None
    first, second, third = known if len(known) == 3 else known[:1] * 3
    return first, second, third


class VolumeConvolution(RewritePattern):
    """A convolution of a tensor of five dimensions."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.ConvolutionOp, rewriter: PatternRewriter) -> None:
        image, weight, result = (tensor_type(v) for v in (op.operands[0], op.operands[1], op.results[0]))
        if image.get_num_dims() != 5 or not all(map(is_static, (image, weight, result))):
            return
        if any(dim_order_of(type) != contiguous(5) for type in (image, weight, result)):
            return
        stride, padding, dilation, more = map(
            _triple, (op.stride, op.padding, op.dilation, op.output_padding)
        )
        groups = op.groups
        if not (stride and padding and dilation and more) or not isinstance(groups, int):
            return
        build = _Builder(op, rewriter, stride, padding, dilation, more, groups)
        rewriter.replace(op, [], [build.transposed() if op.arg("transposed") else build.plain()])


class _Builder:
    """Inserts the ops that replace a convolution."""

    def __init__(
        self,
        op: edge.ConvolutionOp,
        rewriter: PatternRewriter,
        stride: tuple[int, int, int],
        padding: tuple[int, int, int],
        dilation: tuple[int, int, int],
        output_padding: tuple[int, int, int],
        groups: int,
    ):
        self.rewriter = rewriter
        self.image, self.weight = op.operands[0], op.operands[1]
        self.bias = op.operands[2] if len(op.operands) > 2 else None
        self.result: TensorType[Attribute] = tensor_type(op.results[0])
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.output_padding, self.groups = output_padding, groups

    def _type(self, shape: Sequence[int]) -> list[Attribute]:
        return [TensorType(self.result.element_type, shape)]

    def _add(self, op: EdgeOp) -> SSAValue:
        return self.rewriter.insert(op).results[0]

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return self._add(edge.ViewCopyOp.make(value, shape, result_types=self._type(shape)))

    def permuted(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        shape = tensor_type(value).get_shape()
        types = self._type([shape[dim] for dim in dims])
        return self._add(edge.PermuteCopyOp.make(value, dims, result_types=types))

    def padded(self, value: SSAValue, dim: int, before: int, after: int) -> SSAValue:
        if not before and not after:
            return value
        shape = list(tensor_type(value).get_shape())
        pads = [0] * (2 * (len(shape) - 1 - dim)) + [before, after]
        shape[dim] += before + after
        return self._add(edge.ConstantPadNdOp.make(value, pads, 0, result_types=self._type(shape)))

    def cropped(self, value: SSAValue, dim: int, start: int, end: int) -> SSAValue:
        shape = list(tensor_type(value).get_shape())
        shape[dim] = end - start
        return self._add(edge.SliceCopyTensorOp.make(value, dim, start, end, result_types=self._type(shape)))

    def convolved(
        self,
        image: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        shape: Sequence[int],
        *,
        transposed: bool,
    ) -> SSAValue:
        """A convolution of images by the last two dimensions' arguments."""
        op = edge.ConvolutionOp.make(
            image,
            weight,
            bias,
            self.stride[1:],
            self.padding[1:],
            self.dilation[1:],
            transposed,
            self.output_padding[1:] if transposed else [0, 0],
            self.groups,
            result_types=self._type(shape),
        )
        return self._add(op)

    def plain(self) -> SSAValue:
        batch, outputs, planes, *size = self.result.get_shape()
        padded = self.padded(self.image, 2, self.padding[0], self.padding[0])
        _, channels, depth, *image = tensor_type(padded).get_shape()
        out, inner, taps, *window = tensor_type(self.weight).get_shape()
        strides = list(accumulate((depth, *image)[::-1], lambda a, b: a * b, initial=1))[::-1]
        # (batch, planes, channels, taps, rows, columns)
        shape = [batch, planes, channels, taps, *image]
        steps = [
            channels * strides[0],
            self.stride[0] * strides[1],
            strides[0],
            self.dilation[0] * strides[1],
            *strides[2:],
        ]
        copy = self._add(edge.AsStridedCopyOp.make(padded, shape, steps, 0, result_types=self._type(shape)))
        images = self.view(copy, [batch * planes, channels * taps, *image])
        weight = self.view(self.weight, [out, inner * taps, *window])
        made = self.convolved(images, weight, self.bias, [batch * planes, outputs, *size], transposed=False)
        return self.permuted(self.view(made, [batch, planes, outputs, *size]), [0, 2, 1, 3, 4])

    def transposed(self) -> SSAValue:
        batch, outputs, planes, *size = self.result.get_shape()
        _, channels, depth, *image = tensor_type(self.image).get_shape()
        _, inner, taps, *window = tensor_type(self.weight).get_shape()
        images = self.view(self.permuted(self.image, [0, 2, 1, 3, 4]), [batch * depth, channels, *image])
        weight = self.view(self.weight, [channels, inner * taps, *window])
        made = self.convolved(images, weight, None, [batch * depth, outputs * taps, *size], transposed=True)
        pixels = size[0] * size[1]
        # (batch, outputs, taps, depth, pixels)
        spread = self.permuted(self.view(made, [batch, depth, outputs, taps, pixels]), [0, 2, 3, 1, 4])
        step = self.stride[0]
        spread = self.padded(self.view(spread, [batch, outputs, taps, depth, 1, pixels]), 4, 0, step - 1)
        spread = self.view(spread, [batch, outputs, taps, depth * step, pixels])
        reach = self.dilation[0] * (taps - 1)
        length = max(depth * step + reach, self.padding[0] + planes)
        total: SSAValue | None = None
        for tap in range(taps):
            plane = self.view(self.cropped(spread, 2, tap, tap + 1), [batch, outputs, depth * step, pixels])
            before = tap * self.dilation[0]
            plane = self.padded(plane, 2, before, length - depth * step - before)
            if total is not None:
                plane = self._add(edge.AddTensorOp.make(total, plane, result_types=[plane.type]))
            total = plane
        assert total is not None
        total = self.cropped(total, 2, self.padding[0], self.padding[0] + planes)
        total = self.view(total, self.result.get_shape())
        if self.bias is None:
            return total
        bias = self.view(self.bias, [outputs, 1, 1, 1])
        return self._add(edge.AddTensorOp.make(total, bias, result_types=[self.result]))


PATTERNS: Final = (VolumeConvolution,)
