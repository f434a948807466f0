"""Raise graphs for XNNPACK to edge ops: the ops of a graph take the place of the calls of it.

```mlir
xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.abs(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
%r = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
// becomes
%r = edge.abs %x : tensor<4xf32>
```

Constants become `program.constant`. Values of integers become `quantize` and `dequantize` operations around those of
real numbers (`xnnpack_nodes.py`), rows that are quantized while the graph runs the arithmetic of that
(`xnnpack_rows.py`). A graph that has a node without a rule stays a delegate: it becomes the blob again that it was.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_backends.xnnpack.dialect import GraphOp
from et_backends.xnnpack.dialect.graphs import closed
from et_backends.xnnpack.raising.constants import ProgramConstants
from et_backends.xnnpack.raising.graph import GraphRaiser, discard
from et_backends.xnnpack.raising.nodes import CannotRaiseNode
from et_ir.dialects.backend import CallOp

__all__ = ["RaiseXnnpackPass"]


@dataclass(frozen=True)
class RaiseXnnpackPass(ModulePass):
    """Turn graphs for XNNPACK into edge ops."""

    name = "raise-xnnpack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graphs = {one.sym_name.data: one for one in op.body.block.ops if isinstance(one, GraphOp)}
        if not graphs:
            return
        calls = [one for one in op.walk() if isinstance(one, CallOp) and one.callee.string_value() in graphs]
        constants = ProgramConstants(op)
        kept: set[str] = set()
        raised: list[tuple[CallOp, list[Operation], list[SSAValue]]] = []
        for call in calls:
            name = call.callee.string_value()
            graph = GraphRaiser(graphs[name], call.location, constants)
            try:
                results = graph.run(call.inputs, call.result_types, exact=True)
                raised.append((call, graph.ops, results))
            except CannotRaiseNode:
                discard(graph.ops)
                kept.add(name)
        tables = {name: graph.tables() for name, graph in graphs.items()}
        for call, ops, results in raised:
            if call.callee.string_value() not in kept:
                _replace(call, ops, results)
            else:
                discard(ops)
        for name, graph in graphs.items():
            if name in kept:
                lowered = closed(graph)
                lowered.location = graph.location
                Rewriter.replace_op(graph, lowered, [])
            else:
                Rewriter.erase_op(graph)
        constants.drop_unused(tables, kept)


def _replace(call: CallOp, ops: list[Operation], results: list[SSAValue]) -> None:
    """Put ops in the place of a call. The results get its names, other values none."""
    block = call.parent_block()
    assert block is not None
    block.insert_ops_before(ops, call)
    for old, new in zip(call.outputs, results, strict=True):
        hint = old.name_hint
        old.replace_all_uses_with(new)
        new.name_hint = new.name_hint or hint
    Rewriter.erase_op(call)
