"""Compilation of a partition to a VGF file through TOSA."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from et_backends.tosa.compiler.backend import TOSABackend
from et_backends.vgf.compiler.converter import convert_tosa
from et_backends.vgf.format import BACKEND, read_vgf
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec

__all__ = ["FLAGS_SPEC", "VgfBackend"]

FLAGS_SPEC = "compile_flags"
"""The compile spec with the arguments of the converter, separated by spaces."""


class VgfBackend(BackendDetails):
    """Converts partitions to VGF. Its delegate debug identifiers are the numbers of TOSA operators."""

    backend_id = BACKEND
    distributions = ("ai_ml_sdk_model_converter",)

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        flags = next((spec.value.decode() for spec in compile_specs if spec.key == FLAGS_SPEC), "")
        tosa = TOSABackend.preprocess(edge_program, compile_specs)
        assert isinstance(tosa.processed_bytes, bytes)
        blob = convert_tosa(tosa.processed_bytes, flags.split())
        read_vgf(memoryview(blob))
        return PreprocessResult(blob, tosa.debug_handle_map, alignment=16)
