"""Machine code by LLVM."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="NativeBackend",
    compiler="et_ir.backends.native.partitioner:BACKEND",
    runtime="et_vm.backends.native.backend:NativeBackend",
    decoder="et_tools.info.native_lines:native_lines",
    writes="et_schema.native:native_writes",
    dialects={
        "native": "et_ir.dialects.native:Native",
    },
)
