"""TOSA: the operator set of Arm's accelerators."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="TOSABackend",
    compiler="et_ir.backends.tosa.partitioner:BACKEND",
    runtime="et_vm.backends.tosa.backend:TosaRuntime",
    decoder="et_tools.info.tosa_lines:tosa_lines",
    constants="et_tools.info.delegate_constants:tosa_constants",
    dialects={
        "tosa": "et_ir.dialects.tosa:Tosa",
    },
    passes={
        "fold-tosa-transposes": "et_ir.backends.tosa.passes.fold_tosa_transposes:FoldTosaTransposesPass",
        "inline-tosa-constants": "et_ir.backends.tosa.passes.inline_tosa_constants:InlineTosaConstantsPass",
        "legalize-to-tosa": "et_ir.backends.tosa.passes.legalize_to_tosa:LegalizeToTosaPass",
    },
)
