"""Graphs for ExecuTorch's Vulkan backend."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="VulkanBackend",
    compiler="et_backends.vulkan_graph.compiler.partitioner:BACKEND",
    runtime="et_backends.vulkan_graph.runtime.backend:VulkanGraphBackend",
    read="et_backends.vulkan_graph.format.blob:read_vkgraph",
    decoder="et_backends.vulkan_graph.lines:vkgraph_lines",
    constants="et_backends.vulkan_graph.constants:constants",
    writes="et_backends.vulkan_graph.format.blob:vkgraph_writes",
)
