"""Compilation of a partition to a graph for ExecuTorch's Vulkan runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_backends.vulkan_graph.compiler.operators import RULES
from et_backends.vulkan_graph.compiler.translation import Translation
from et_backends.vulkan_graph.format.blob import BACKEND, read_vkgraph, serialize_vkgraph
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec
from et_ir.driver.stages import run_pipeline

__all__ = ["HALVES_SPEC", "VulkanGraphBackend"]

HALVES_SPEC: Final = "force_fp16"
"""The compile spec of ExecuTorch that says, in one byte, whether floats have 16 bits on the device."""


class VulkanGraphBackend(BackendDetails):
    """Compiles partitions to graphs. Its delegate debug identifiers are the numbers of operator calls."""

    backend_id = BACKEND

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        halves = any(spec.key == HALVES_SPEC and any(spec.value) for spec in compile_specs)
        run_pipeline(edge_program, "canonicalize,dce")
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        translation = Translation(edge_program, method, halves=halves)
        blob = serialize_vkgraph(translation.translate(RULES))
        read_vkgraph(blob)
        data = translation.data.get_named_data_store_output()
        return PreprocessResult(blob, translation.mapping.get_delegate_mapping(), data)
