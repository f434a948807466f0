"""From a partition to a blob: each op becomes nodes, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from et_backends.xnnpack.compiler.constants import is_constant
from et_backends.xnnpack.compiler.prelu import prelus
from et_backends.xnnpack.compiler.recover_pools import recover_pools
from et_backends.xnnpack.compiler.rules import RULES
from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.blob import node_identifier, serialize_xnnpack
from et_backends.xnnpack.format.check import check_graph
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec
from et_ir.dialects.schema import SchemaOp
from et_ir.driver.stages import run_pipeline

__all__ = ["XnnpackBackend", "translate"]


class XnnpackBackend(BackendDetails):
    """Writes graphs for XNNPACK. Its own identifiers are `node N`, of nodes by their debug handles."""

    holds_lines = False

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        recover_pools(edge_program)
        # Views of views are one now.
        run_pipeline(edge_program, "canonicalize,dce")
        made = translate(edge_program)
        graph = made.graph.finish()
        check_graph(graph, 0)
        mapping = DelegateMappingBuilder()
        for handle, ops in enumerate(made.handles, 1):
            if ops:
                mapping.insert_delegate_mapping_entry(ops, node_identifier(handle))
        return PreprocessResult(
            serialize_xnnpack(graph),
            mapping.get_delegate_mapping(),
            made.graph.data.get_named_data_store_output(),
            debug_orders={
                **{node_identifier(handle): order for handle, order in made.value_orders().items()},
                **mapping.get_debug_orders(),
            },
        )


def translate(module: ModuleOp) -> Translation:
    """The graph of a module of the edge level with one method.

    Raises `ValueError` for an op that no rule is there for, or a size without a bound.
    """
    method = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    made = Translation(module, method)
    for prelu in prelus(method.body.block):
        made.fused.update(prelu.ops[:-1])
    for op in method.body.block.ops:
        if is_copied(op) or is_statement(op) or isinstance(op, ReturnOp) or op in made.fused:
            continue
        if is_constant(op.results[0]):
            continue  # read where it is used
        rule = RULES.get(op.name.removeprefix("edge.")) if isinstance(op, SchemaOp) else None
        if rule is None or not isinstance(op, SchemaOp):
            raise ValueError(f"XNNPACK has no node for {op.name}")
        made.computes_integers = op in made.integers
        rule.lower(made, op)
    made.finish()
    return made
