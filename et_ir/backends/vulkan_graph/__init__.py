"""Ahead-of-time compilation for ExecuTorch's Vulkan backend: partitions become graphs of operator calls.

`operators` lists the operators with the storage that the runtime has them for, `translation` makes the graph, `backend`
writes the blob, and `partitioner` selects the ops. `et_ir.backends.vulkan` generates shaders instead.
"""

from et_ir.backends.vulkan_graph.partitioner import VulkanGraphPartitioner

__all__ = ["VulkanGraphPartitioner"]
