"""Core ML: neural networks in Apple's model intermediate language."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="CoreMLBackend",
    compiler="et_ir.backends.coreml.partitioner:BACKEND",
    runtime="et_vm.backends.coreml.backend:CoremlRuntime",
    decoder="et_tools.info.coreml_lines:coreml_lines",
    constants="et_tools.info.delegate_constants:coreml_constants",
)
