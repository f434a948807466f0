"""Pooling that kernels lack, or do in f32: sums over windows, divided by how many elements each has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod
from typing import Final

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.passes.to_executorch.legalize.lines import Lines, is_plain
from et_ir.rewriting import op_type_rewrite_pattern
from et_ops.inference.shapes import spatial

__all__ = ["PATTERNS", "known_numbers", "window_line"]


def known_numbers(values: Sequence[object], count: int) -> tuple[int, ...] | None:
    """An argument for each of some dimensions, if all are known."""
    numbers = [value for value in values if isinstance(value, int)]
    return spatial(numbers, count) if len(numbers) == len(values) else None


def _line(b: Lines, numbers: Sequence[int], element: Attribute, shape: Sequence[int]) -> SSAValue:
    """Numbers that are known, of which neighbors are mostly equal, in a shape that broadcasts."""
    runs = [b.full([len(list(run))], number, element) for number, run in groupby(numbers)]
    return b.view(runs[0] if len(runs) == 1 else b(edge.CatOp, runs, 0), shape)


class VolumeAverage(RewritePattern):
    """`avg_pool3d`: sums over height and width by `avg_pool2d` with the divisor 1, then over depth, then divided by the
    product of what a window has of each dimension, which is constant. Integers are exact, and lose what is behind the
    point; floats are rounded in another order, those of half precision in f32. 7 calls, some more for integers.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AvgPool3dOp, rewriter: PatternRewriter) -> None:
        value = op.self
        kernel, padding = known_numbers(op.kernel_size, 3), known_numbers(op.padding, 3)
        stride = known_numbers(op.stride or op.kernel_size, 3)
        if not (kernel and padding and stride) or not is_plain(value, op.results[0]):
            return
        b = Lines(rewriter, 0)
        kind = b.dtype(value)
        narrow = kind.is_float and kind.bits == 16
        *batch, channels, depth, height, width = b.shape(value)
        *_, deep, high, wide = b.shape(op.results[0])

        def summed(x: SSAValue, *dims: int) -> SSAValue:
            arguments = [
                tuple(otherwise if dim < 0 else values[dim] for dim in dims)
                for values, otherwise in ((kernel, 1), (stride, 1), (padding, 0))
            ]
            return b(edge.AvgPool2dOp, x, *arguments, op.ceil_mode, True, 1)

        rows = b.view(b.to(value, f32) if narrow else value, (prod(batch), channels * depth, height, width))
        columns = b.view(summed(rows, 1, 2), (prod(batch), channels, depth, high * wide))
        total = b.view(summed(columns, 0, -1), b.shape(op.results[0]))
        element = attr_of(b.dtype(total))
        divisor = op.divisor_override
        if divisor is not None:
            if divisor < 0:
                total = b(edge.NegOp, total)
            counts = b.full((1,), abs(divisor), element)
        else:
            lines: list[SSAValue] = []
            for dim, (size, count) in enumerate(zip((depth, height, width), (deep, high, wide), strict=True)):
                shape = [count if at == dim else 1 for at in range(3)]
                sizes = _window_sizes(
                    size,
                    count,
                    kernel[dim],
                    stride[dim],
                    padding[dim],
                    with_padding=bool(op.count_include_pad),
                )
                lines.append(_line(b, sizes, element, shape))
            plane = b(edge.MulTensorOp, lines[1], lines[2])
            counts = b(edge.MulTensorOp, lines[0], plane)
        if kind.is_float:
            rewriter.replace(op, [], [b.to(b(edge.DivTensorOp, total, counts), attr_of(kind))])
            return
        # Rounding down is exact for integers of any size; what is negative is rounded up.
        least = b(edge.FloorDivideOp, b(edge.AbsOp, total), counts)
        below = b(edge.LtScalarOp, total, 0)
        rewriter.replace(op, edge.WhereSelfOp.make(below, b(edge.NegOp, least), least))


def _window_sizes(
    size: int, count: int, kernel: int, stride: int, padding: int, *, with_padding: bool
) -> list[int]:
    """Element count of each window, as torch defines it."""
    found: list[int] = []
    for at in range(count):
        start = at * stride - padding
        end = min(start + kernel, size + padding)
        found.append(end - start if with_padding else max(min(end, size) - max(start, 0), 1))
    return found


def window_line(
    b: Lines,
    size: int,
    count: int,
    kernel: int,
    stride: int,
    padding: int,
    element: Attribute,
    dim: int,
    *,
    with_padding: bool,
) -> SSAValue:
    """The element count of each window of one of an image's two dimensions, in a shape that broadcasts."""
    sizes = _window_sizes(size, count, kernel, stride, padding, with_padding=with_padding)
    return _line(b, sizes, element, [count if at == dim else 1 for at in range(2)])


class AdaptiveAverageInDouble(RewritePattern):
    """`_adaptive_avg_pool2d` of f64, which the kernel computes in f32: windows are laid out side by side, filled up
    with zeros, summed, and divided; first rows, then columns. 7 calls for each, over as many elements as windows have.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.UnderscoreAdaptiveAvgPool2dOp, rewriter: PatternRewriter) -> None:
        value = op.self
        if tensor_type(value).element_type != f64 or not is_plain(value, op.results[0]):
            return
        rank = tensor_type(value).get_num_dims()
        sizes = tensor_type(op.results[0]).get_shape()
        for dim in (rank - 2, rank - 1):
            value = _averaged(Lines(rewriter, dim), value, sizes[dim])
        rewriter.replace(op, [], [value])


def _averaged(b: Lines, value: SSAValue, count: int) -> SSAValue:
    """Means over the windows of one dimension."""
    size = b.length(value)
    starts = [at * size // count for at in range(count)]
    ends = [-(-(at + 1) * size // count) for at in range(count)]
    longest = max(end - start for start, end in zip(starts, ends, strict=True))
    first = _line(b, starts, i64, [count, 1])
    place = b(edge.AddTensorOp, first, b.places_of(longest))
    inside = b(edge.LtTensorOp, place, _line(b, ends, i64, [count, 1]))
    index = b.view(b(edge.ClampOp, place, None, size - 1), (count * longest,))
    laid_out = b(edge.IndexSelectOp, value, b.dim, index)
    shape = b.shape(value)
    before, after = shape[: b.dim], shape[b.dim + 1 :]
    windows = b.view(laid_out, (*before, count, longest, *after))
    outside = b.view(b(edge.LogicalNotOp, inside), (count, longest, *(1 for _ in after)))
    kept = b(edge.MaskedFillScalarOp, windows, outside, 0.0)
    total = b(edge.SumDimIntListOp, kept, [b.dim + 1])
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    return b(edge.DivTensorOp, total, _line(b, lengths, f64, [count, *(1 for _ in after)]))


PATTERNS: Final = (VolumeAverage, AdaptiveAverageInDouble)
