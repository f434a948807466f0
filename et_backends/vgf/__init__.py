"""VGF: Arm's neural graphs for Vulkan, by way of TOSA."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="VgfBackend",
    compiler="et_backends.vgf.compiler.partitioner:BACKEND",
    runtime="et_backends.vgf.runtime:VgfRuntime",
    read="et_backends.vgf.format:read_vgf",
    decoder="et_backends.vgf.lines:vgf_lines",
    constants="et_backends.vgf.constants:constants",
    writes="et_backends.vgf.format:vgf_writes",
)
