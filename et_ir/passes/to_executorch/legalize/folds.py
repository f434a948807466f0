"""Legalization of sliding blocks that are added up to images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.passes.to_executorch.legalize.lines import Lines, is_plain

__all__ = ["PATTERNS"]


class Col2im(RewritePattern):
    """The elements of blocks are added to zeros at their places, and a border is cut off; blocks that cover an image
    without a border side by side are moved only.
    """

    roots = (edge.Col2imOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, edge.Col2imOp)
        (blocks,), (result,) = op.operands, op.results
        if not is_plain(blocks, result):
            return
        b = Lines(rewriter, 0)
        *batch, channels, height, width = b.shape(result)
        windows, aparts, borders, steps = map(_two, (op.kernel_size, op.dilation, op.padding, op.stride))
        padded = height + 2 * borders[0], width + 2 * borders[1]
        counts = [
            (size - apart * (window - 1) - 1) // step + 1
            for size, window, apart, step in zip(padded, windows, aparts, steps, strict=True)
        ]
        images = batch[0] if batch else 1
        # By rows of a block and of blocks, then by columns.
        parts = b.view(blocks, (images, channels, *windows, *counts))
        parts = b(edge.PermuteCopyOp, parts, (0, 1, 2, 4, 3, 5))
        if windows == steps and borders == (0, 0) and aparts == (1, 1) and _covers(windows, counts, padded):
            parts = b(edge.PermuteCopyOp, parts, (0, 1, 3, 2, 5, 4))
            rewriter.replace(op, [], [b.view(parts, b.shape(result))])
            return
        places = [
            self._places(b, window, apart, count, step)
            for window, apart, count, step in zip(windows, aparts, counts, steps, strict=True)
        ]
        rows = b.view(places[0], (windows[0], counts[0], 1, 1))
        blank = b.full((images, channels, *padded), 0, attr_of(b.dtype(blocks)))
        total = b(edge.IndexPutOp, blank, (None, None, rows, places[1]), parts, True)
        for dim, (border, size) in enumerate(zip(borders, (height, width), strict=True), 2):
            total = Lines(rewriter, dim).part(total, border, border + size)
        rewriter.replace(op, [], [b.view(total, b.shape(result))])

    def _places(self, b: Lines, window: int, apart: int, count: int, step: int) -> SSAValue:
        """Where the elements of blocks are along a dimension, `[element, block]`."""
        inside = b.view(b(edge.MulScalarOp, b.places_of(window), apart), (window, 1))
        return b.to(b(edge.AddTensorOp, inside, b(edge.MulScalarOp, b.places_of(count), step)), i64)


def _two(values: Sequence[int]) -> tuple[int, int]:
    """A number for each dimension, of a list in which one may stand for both."""
    return values[0], values[-1]


def _covers(windows: Sequence[int], counts: Sequence[int], sizes: Sequence[int]) -> bool:
    return all(window * count == size for window, count, size in zip(windows, counts, sizes, strict=True))


PATTERNS: Final = (Col2im,)
