"""Machine code by LLVM."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="NativeBackend",
    compiler="et_backends.native.compiler.partitioner:BACKEND",
    runtime="et_backends.native.runtime.backend:NativeBackend",
    decoder="et_backends.native.lines:native_lines",
    constants="et_tools.info.delegate_constants:native_constants",
    writes="et_backends.native.format:native_writes",
    float_results=True,
)
