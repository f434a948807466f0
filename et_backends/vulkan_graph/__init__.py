"""Graphs for ExecuTorch's Vulkan backend."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="VulkanBackend",
    compiler="et_ir.backends.vulkan_graph.partitioner:BACKEND",
    runtime="et_vm.backends.vkgraph.backend:VulkanGraphBackend",
    decoder="et_tools.info.vkgraph_lines:vkgraph_lines",
    constants="et_tools.info.delegate_constants:vkgraph_constants",
)
