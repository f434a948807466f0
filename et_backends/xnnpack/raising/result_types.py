"""Result types of graphs of dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.xnnpack.dialect import GraphOp
from et_backends.xnnpack.dialect.graphs import opened
from et_backends.xnnpack.raising.graph import GraphRaiser, discard
from et_backends.xnnpack.raising.nodes import CannotRaiseNode
from et_ir.dialects.backend import LoweredOp
from et_ir.passes.raising.calls import CannotRaise

__all__ = ["delegate_graph"]


class _Graph(NamedTuple):
    """A `DelegateGraph`."""

    op: GraphOp

    def result_types(
        self, location: LocationAttr, inputs: Sequence[SSAValue], bounds: Sequence[Attribute]
    ) -> list[Attribute]:
        """Types of the results of the edge ops that the graph becomes. Raises `CannotRaise`."""
        raiser = GraphRaiser(self.op, location, None)
        try:
            return [value.type for value in raiser.run(inputs, bounds, exact=False)]
        except CannotRaiseNode as error:
            raise CannotRaise(f"its graph has {error}") from error
        finally:
            discard(raiser.ops)


def delegate_graph(op: Operation) -> _Graph | None:
    """The graph of a delegate; None for one that has something in it which ops do not say.

    Raises InvalidFile(DelegateInvalidCompatibility) for a blob that makes no sense.
    """
    graph = opened(op) if isinstance(op, LoweredOp) else op
    return _Graph(graph) if isinstance(graph, GraphOp) else None
