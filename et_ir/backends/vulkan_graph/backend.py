"""Compilation of a partition to a graph for ExecuTorch's Vulkan runtime."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_ir.backends.vulkan_graph.operators import RULES
from et_ir.backends.vulkan_graph.translation import Translation
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec
from et_ir.driver.stages import run_pipeline
from et_schema.vkgraph import BACKEND, read_vkgraph, serialize_vkgraph

__all__ = ["VulkanGraphBackend"]


class VulkanGraphBackend(BackendDetails):
    """Compiles partitions to graphs. Its delegate debug identifiers are the numbers of operator calls."""

    backend_id = BACKEND

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        del compile_specs
        run_pipeline(edge_program, "canonicalize,dce")
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        translation = Translation(edge_program, method)
        blob = serialize_vkgraph(translation.translate(RULES))
        read_vkgraph(blob)
        data = translation.data.get_named_data_store_output()
        return PreprocessResult(blob, translation.mapping.get_delegate_mapping(), data)
