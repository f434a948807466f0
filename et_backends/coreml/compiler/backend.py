"""Compilation of a partition to the blob of an ML program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from et_backends.coreml.compiler.rules import RULES
from et_backends.coreml.compiler.serialization import serialize_coreml
from et_backends.coreml.compiler.shared_models import share_models
from et_backends.coreml.compiler.translation import Translation
from et_backends.coreml.format.blob import BACKEND, read_coreml
from et_backends.coreml.format.mil import MilTypeName
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec
from et_ir.driver.stages import run_pipeline

__all__ = ["PRECISION_SPEC", "CoreMLBackend"]

PRECISION_SPEC: Final = "model_compute_precision"
"""The compile spec with the precision of float arithmetic, `float32` or `float16`."""

_METADATA: Final = {"com.github.apple.coremltools.source_dialect": "executorch-ir"}


class CoreMLBackend(BackendDetails):
    """Compiles partitions to ML programs. Its delegate debug identifiers are the names of values."""

    backend_id = BACKEND

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        run_pipeline(edge_program, "canonicalize,dce")
        settings = {spec.key: spec.value.decode() for spec in compile_specs}
        half = settings.get(PRECISION_SPEC) == "float16"
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        floats = MilTypeName.FLOAT16 if half else MilTypeName.FLOAT32
        translation = Translation(edge_program, method, floats)
        program = translation.program({name: rule.lower for name, rule in RULES.items()}, _METADATA)
        mapping, seen = DelegateMappingBuilder(), {name for name, _ in program.inputs}
        for op, made in translation.made:
            # What an op returns may be its operand, where nothing is to be computed.
            if made[0].name not in seen:
                mapping.insert_delegate_mapping_entry(op, made[0].name)
                seen.add(made[0].name)
        blob = serialize_coreml(program)
        read_coreml(blob)
        return PreprocessResult(blob, mapping.get_delegate_mapping())

    @classmethod
    def share_data(
        cls, results: Mapping[str, Sequence[PreprocessResult]]
    ) -> Mapping[str, Sequence[PreprocessResult]]:
        return share_models(results)
