"""Core ML: neural networks in Apple's model intermediate language."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="CoreMLBackend",
    compiler="et_backends.coreml.compiler.partitioner:BACKEND",
    runtime="et_backends.coreml.runtime.backend:CoremlRuntime",
    read="et_backends.coreml.format.blob:check_coreml",
    decoder="et_backends.coreml.lines:coreml_lines",
    constants="et_backends.coreml.constants:constants",
    writes="et_backends.coreml.format.blob:coreml_writes",
)
