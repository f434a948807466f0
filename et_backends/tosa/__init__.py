"""TOSA: the operator set of Arm's accelerators."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="TOSABackend",
    compiler="et_backends.tosa.compiler.partitioner:BACKEND",
    runtime="et_backends.tosa.runtime.backend:TosaRuntime",
    read="et_backends.tosa.format.blob:read_tosa",
    validate="et_backends.tosa.validation:errors",
    decoder="et_backends.tosa.lines:tosa_lines",
    constants="et_backends.tosa.constants:constants",
    texts={"tosa": "et_backends.tosa.compiler.texts:tosa_texts"},
    writes="et_backends.tosa.format.blob:tosa_writes",
    dialects={
        "tosa": "et_backends.tosa.dialect:Tosa",
    },
    passes={
        "fold-tosa-transposes": "et_backends.tosa.passes.fold_tosa_transposes:FoldTosaTransposesPass",
        "inline-tosa-constants": "et_backends.tosa.passes.inline_tosa_constants:InlineTosaConstantsPass",
        "legalize-to-tosa": "et_backends.tosa.passes.legalize_to_tosa:LegalizeToTosaPass",
    },
)
