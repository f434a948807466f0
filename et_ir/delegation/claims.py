"""Partitioners made of rewrite patterns: each claims ops for a backend instead of replacing them.

    class TakeRelu(ClaimPattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: edge.ReluOp, rewriter: PatternRewriter):
            if op.result.type.element_type == f32:
                self.take(op)
            else:
                self.refuse(op, "element type", str(op.result.type))

    PatternPartitioner(DelegationSpec("Demo"), [GraphClaim(Graph("relu", Graph("add.Tensor"))), TakeRelu()])

Patterns are asked in their order, each about the ops of the class that it is annotated with, as in any pass; an op that
one has claimed is not asked about again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.delegation.capability import CapabilityPartitioner
from et_ir.delegation.graphs import Graph
from et_ir.delegation.refusals import Refusal
from et_ir.delegation.specs import DelegationSpec
from et_ir.delegation.support import OperatorSupport
from et_ir.dialects.counterparts import forms
from et_ir.rewriting import root_classes

__all__ = ["ClaimPattern", "GraphClaim", "PatternPartitioner"]


class _Claims(OperatorSupport):
    """Claims of patterns in one method."""

    def __init__(self) -> None:
        self.taken: set[Operation] = set()
        self.together: list[list[Operation]] = []
        self.refusals: dict[Operation, Refusal] = {}

    def refusal(self, op: Operation) -> Refusal | None:
        if op in self.taken:
            return None
        return self.refusals.get(op) or Refusal("matches no pattern of the backend", op.name)


class ClaimPattern(RewritePattern):
    """A pattern that claims ops. It must not change any."""

    _claims: _Claims

    def take(self, op: Operation, *others: Operation) -> None:
        """Claim ops; several go to the backend together or not at all. Those that are claimed already stay so, and
        then none of these is claimed.
        """
        ops = [*others, op]
        if not any(one in self._claims.taken for one in ops):
            self._claims.taken.update(ops)
            if others:
                self._claims.together.append(ops)

    def refuse(self, op: Operation, reason: str, detail: str = "") -> None:
        """Say why an op is not claimed, if no other pattern claims it."""
        self._claims.refusals[op] = Refusal(reason, detail)


class GraphClaim(ClaimPattern):
    """Claims the ops of a graph together."""

    def __init__(self, graph: Graph):
        self.graph: Final = graph
        self.roots = forms(graph.operator)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        found = self.graph.match(op)
        if found is not None:
            *others, last = found.ops
            self.take(last, *others)


class PatternPartitioner(CapabilityPartitioner):
    """Makes partitions of what patterns claim."""

    def __init__(self, delegation_spec: DelegationSpec, claims: Iterable[ClaimPattern]):
        super().__init__(delegation_spec)
        self._patterns: Final = tuple(claims)
        self._asked: tuple[FuncOp, _Claims] | None = None

    def partition(self, method: FuncOp):
        # Ops may have changed since the method was looked at.
        self._asked = None
        return super().partition(method)

    def support(self, method: FuncOp) -> OperatorSupport:
        return self._claims(method)

    def patterns(self, method: FuncOp) -> Sequence[Sequence[Operation]]:
        return self._claims(method).together

    def _claims(self, method: FuncOp) -> _Claims:
        if self._asked is not None and self._asked[0] is method:
            return self._asked[1]
        claims = _Claims()
        ops = [op for region in method.regions for op in region.walk()]
        for pattern in self._patterns:
            pattern._claims = claims  # pyright: ignore[reportPrivateUsage] (where its claims go)
            roots = root_classes(pattern)
            for op in ops:
                if op not in claims.taken and isinstance(op, roots):
                    pattern.match_and_rewrite(op, PatternRewriter(op))
        self._asked = (method, claims)
        return claims
