"""Machine code by LLVM."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="NativeBackend",
    compiler="et_backends.native.compiler.partitioner:BACKEND",
    runtime="et_backends.native.runtime.backend:NativeBackend",
    read="et_backends.native.format:read_native",
    validate="et_backends.native.validation:errors",
    decoder="et_backends.native.lines:native_lines",
    constants="et_backends.native.constants:constants",
    texts={
        level: f"et_backends.native.compiler.texts:{level}_texts"
        for level in ("loops", "vector", "llvm", "asm")
    },
    writes="et_backends.native.format:native_writes",
    float_results=True,
)
