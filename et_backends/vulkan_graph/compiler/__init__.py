"""Ahead-of-time compilation for ExecuTorch's Vulkan backend: partitions become graphs of operator calls.

`operators` lists the operators with the storage that the runtime has them for, `translation` makes the graph, `backend`
writes the blob, and `partitioner` selects the ops. `et_backends.vulkan.compiler` generates shaders instead.
"""

from et_backends.vulkan_graph.compiler.partitioner import VulkanGraphPartitioner

__all__ = ["VulkanGraphPartitioner"]
