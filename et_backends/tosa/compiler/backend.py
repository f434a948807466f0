"""From a partition to a TOSA file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from et_backends.tosa.compiler.serialization import graph_of
from et_backends.tosa.compiler.shared_constants import share_constants
from et_backends.tosa.compiler.specification import DEFAULT_SPECIFICATION, TosaSpecification
from et_backends.tosa.format.blob import BACKEND as BACKEND_ID
from et_backends.tosa.format.blob import read_tosa, serialize_tosa
from et_backends.tosa.passes.fold_tosa_transposes import FoldTosaTransposesPass
from et_backends.tosa.passes.legalize_to_tosa import LegalizeToTosaPass
from et_ir.delegation.delegate_mapping import DelegateMappingBuilder
from et_ir.delegation.details import BackendDetails, PreprocessResult
from et_ir.delegation.specs import CompileSpec
from et_ir.driver.stages import run_pipeline

__all__ = ["OUTPUT_FORMAT_SPEC", "SPECIFICATION_SPEC", "TOSABackend", "compile_specs", "observed"]

SPECIFICATION_SPEC: Final = "tosa_spec"
"""The compile spec with the specification of the target."""
OUTPUT_FORMAT_SPEC: Final = "output_format"
"""The compile spec with the format of blobs, `tosa`."""

_LISTENER: Final[ContextVar[Callable[[ModuleOp], None] | None]] = ContextVar("tosa_listener", default=None)


@contextmanager
def observed(listener: Callable[[ModuleOp], None]) -> Generator[None]:
    """Within, `listener` is called with each partition as it is serialized."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def compile_specs(specification: TosaSpecification) -> tuple[CompileSpec, ...]:
    """The settings of a partition, with the keys of ExecuTorch's Arm backends."""
    return (
        CompileSpec(SPECIFICATION_SPEC, str(specification).encode()),
        CompileSpec(OUTPUT_FORMAT_SPEC, b"tosa"),
    )


class TOSABackend(BackendDetails):
    """Writes partitions as TOSA files. Its own identifiers are the numbers of operators."""

    backend_id = BACKEND_ID

    @classmethod
    def preprocess(cls, edge_program: ModuleOp, compile_specs: Sequence[CompileSpec]) -> PreprocessResult:
        settings = {spec.key: spec.value.decode() for spec in compile_specs}
        specification = TosaSpecification.of(settings.get(SPECIFICATION_SPEC, DEFAULT_SPECIFICATION))
        run_pipeline(edge_program, "canonicalize,dce")
        context = Context()
        LegalizeToTosaPass().apply(context, edge_program)
        FoldTosaTransposesPass().apply(context, edge_program)
        listener = _LISTENER.get()
        if listener is not None:
            listener(edge_program)
        blob = serialize_tosa(graph_of(edge_program, specification.version))
        read_tosa(blob)
        mapping = DelegateMappingBuilder()
        method = next(op for op in edge_program.body.block.ops if isinstance(op, FuncOp))
        for number, op in enumerate(method.body.block.ops):
            if not isinstance(op, ReturnOp):
                mapping.insert_delegate_mapping_entry(op, number)
        return PreprocessResult(blob, mapping.get_delegate_mapping())

    @classmethod
    def share_data(
        cls, results: Mapping[str, Sequence[PreprocessResult]]
    ) -> Mapping[str, Sequence[PreprocessResult]]:
        return share_constants(results)
