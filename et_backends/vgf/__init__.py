"""VGF: Arm's neural graphs for Vulkan, by way of TOSA."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="VgfBackend",
    compiler="et_ir.backends.vgf.partitioner:BACKEND",
    runtime="et_vm.backends.vgf:VgfRuntime",
    decoder="et_tools.info.vgf_lines:vgf_lines",
    constants="et_tools.info.delegate_constants:vgf_constants",
)
