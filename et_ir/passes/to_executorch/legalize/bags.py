"""Reductions over bags of embeddings, whose offsets are data: each row is scattered to the bag it is in."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.schema.dtypes import attr_of
from et_ir.passes.to_executorch.legalize.lines import Lines, is_plain
from et_ir.passes.to_executorch.legalize.scatters import combined
from et_ops.inference.indexing import bags_end

__all__ = ["PATTERNS"]

_COMPARISONS: Final = 1 << 24
"""As many indices times bags are worth counting how many bags begin before each."""
_SUM, _MEAN, _MAX = 0, 1, 2


class EmbeddingBag(RewritePattern):
    """An embedding bag of which only the first result is used. The bag of an index is how many bags begin up to it;
    what is padding goes to one behind the last. Sums and means are those of `scatter_add`, of half precision in f32, in
    the order of the indices as torch's; maxima are exact. 20 calls, one over bags times indices, and for maxima some
    for each doubling of their number.
    """

    roots = (edge.UnderscoreEmbeddingBagForwardOnlyOp, edge.UnderscoreEmbeddingBagOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, EdgeOp)
        if any(result.uses for result in op.results[1:]) or not is_plain(*op.operands, op.results[0]):
            return
        b = Lines(rewriter, 0)
        weight, indices, offsets = (op.arg(name) for name in ("weight", "indices", "offsets"))
        factors, mode = op.arg("per_sample_weights"), op.arg("mode")
        count, (bags, width) = b.length(indices), b.shape(op.results[0])
        if count * b.length(offsets) > _COMPARISONS or len(b.shape(indices)) != 1:
            return
        indices, offsets = b.to(indices, i64), b.to(offsets, i64)
        kind = b.dtype(weight)
        rows = b(edge.IndexSelectOp, weight, 0, indices)
        if kind.bits == 16 and mode != _MAX:
            rows = b.to(rows, f32)
        element = attr_of(b.dtype(rows))
        if factors is not None:
            rows = b(edge.MulTensorOp, rows, b.view(b.to(factors, element), (count, 1)))
        padding = op.arg("padding_idx")
        counted = bag = self._bags(b, indices, offsets, bags, padding)
        if op.arg("include_last_offset"):
            # Those behind the last offset are in the last bag where it does not end there, and counted as if they were.
            counted = self._bags(b, indices, b.part(offsets, 0, bags), bags, padding)
            bag = bag if bags_end(kind, mode, padding) else counted
        goals = b(edge.ExpandCopyOp, b.view(bag, (count, 1)), [count, width])
        blank = b.full((bags + 1, width), 0, element)
        if mode == _MAX:
            total = combined(b, blank, goals, rows, edge.MaximumOp, with_self=False)
        else:
            total = b(edge.ScatterAddOp, blank, 0, goals, rows)
        if mode == _MEAN:
            sizes = b.full((bags + 1,), 0, element)
            sizes = b(edge.ScatterAddOp, sizes, 0, counted, b.full((count,), 1, element))
            sizes = b.view(b(edge.ClampOp, sizes, 1.0), (bags + 1, 1))
            total = b(edge.DivTensorOp, total, sizes)
        found = b.to(b.part(total, 0, bags), attr_of(kind))
        unused = [b.full(b.shape(result), 0, attr_of(b.dtype(result))) for result in op.results[1:]]
        rewriter.replace(op, [], [found, *unused])

    def _bags(self, b: Lines, indices: SSAValue, offsets: SSAValue, bags: int, padding: int) -> SSAValue:
        """The bag of each index."""
        count, starts = b.length(indices), b.length(offsets)
        place = b.view(b.places_of(count), (count, 1))
        begun = b(edge.LeTensorOp, b.view(offsets, (1, starts)), place)
        bag = b(edge.SubScalarOp, b(edge.SumDimIntListOp, b.to(begun, i64), [1]), 1)
        if padding >= 0:
            bag = b(edge.MaskedFillScalarOp, bag, b(edge.EqScalarOp, indices, padding), bags)
        return bag


PATTERNS: Final = (EmbeddingBag,)
