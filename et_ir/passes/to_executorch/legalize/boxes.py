"""Legalization of non-maximum suppression.

A matrix says which boxes overlap others, and a loop over its rows which are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.control import build_scan
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.dialects.schema.tensors import sized_tensor, sizes_of, tensor_type
from et_ir.passes.to_executorch.legalize.lines import Lines, is_plain
from et_ops.dtypes import F32, I64

__all__ = ["PATTERNS"]


class Suppression(RewritePattern):
    """`nms` of a known number of boxes. By decreasing score, each box that has not been suppressed suppresses those
    after it that it overlaps: a matrix of pairs, and a loop over its rows. Five calls a box.
    """

    roots = (edge.TorchvisionNmsOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, edge.TorchvisionNmsOp)
        if not is_plain(op.dets, op.scores):
            return
        b = Lines(rewriter, 0)
        _, order = b.results(edge.SortStableOp, op.scores, True, 0, True)
        overlaps = _overlaps(b, b(edge.IndexSelectOp, op.dets, 0, order), op.iou_threshold)
        kept = _kept(b, overlaps)
        (count,) = sizes_of(op.result.type)
        place_type = sized_tensor(attr_of(I64), [count, 1])
        places = b(edge.NonzeroOp, kept, result_types=[place_type])
        flat = b(edge.ViewCopyOp, places, (-1,), result_types=[op.result.type])
        rewriter.replace(op, edge.IndexSelectOp.make(order, 0, flat, result_types=[op.result.type]))


def _overlaps(b: Lines, boxes: SSAValue, threshold: float) -> SSAValue:
    """Which boxes, in columns, come after others, in rows, and have more in common with them than is allowed."""
    count = b.shape(boxes)[0]
    rows = [b(edge.SliceCopyTensorOp, boxes, 1, at, at + 1) for at in range(4)]
    columns = [b.view(edges, (1, count)) for edges in rows]
    width, height = (
        _shared(b, *(of[at] for of in (rows, columns) for at in (axis, axis + 2))) for axis in (0, 1)
    )
    shared = b(edge.MulTensorOp, width, height)
    areas = b(
        edge.MulTensorOp,
        *(b(edge.SubTensorOp, rows[axis + 2], rows[axis]) for axis in (0, 1)),
    )
    both = b(edge.AddTensorOp, areas, b.view(areas, (1, count)))
    overlap = b(edge.DivTensorOp, shared, b(edge.SubTensorOp, both, shared))
    if b.dtype(boxes) is F32:
        threshold = _rounded_down(threshold)
    place = b.places_of(count)
    later = b(edge.LtTensorOp, b.view(place, (count, 1)), b.view(place, (1, count)))
    return b(edge.LogicalAndOp, b(edge.GtScalarOp, overlap, threshold), later)


def _shared(b: Lines, low: SSAValue, high: SSAValue, other_low: SSAValue, other_high: SSAValue) -> SSAValue:
    """What ranges on an axis have in common, at least 0."""
    start, end = b(edge.MaximumOp, low, other_low), b(edge.MinimumOp, high, other_high)
    length = b(edge.SubTensorOp, end, start)
    zero = b.full((1, 1), 0, tensor_type(length).element_type)
    return b(edge.MaximumOp, length, zero)


def _rounded_down(threshold: float) -> float:
    """The largest number of f32 that is not above one of f64: as a limit, both leave the same numbers of f32 above."""
    found = np.float32(threshold)
    return float(found if float(found) <= threshold else np.nextafter(found, np.float32(-np.inf)))


def _kept(b: Lines, overlaps: SSAValue) -> SSAValue:
    """The boxes that none before them suppresses which is kept itself."""
    count = b.shape(overlaps)[0]

    def body(states: Sequence[SSAValue], slices: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (alive,), (row, place) = states, slices
        suppressed = b(edge.LogicalAndOp, row, b(edge.IndexSelectOp, alive, 0, place))
        return [b(edge.LogicalAndOp, alive, b(edge.LogicalNotOp, suppressed))]

    places = b.view(b.places_of(count), (count, 1))
    loop = build_scan(b.rewriter, [b.full((count,), 1, i1)], [overlaps, places], [], body)
    return loop.carried[0]


PATTERNS: Final = (Suppression,)
