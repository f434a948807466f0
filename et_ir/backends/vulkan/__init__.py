"""The Vulkan backend, ahead of time: partitions become compute shaders, which are compiled from loops over buffers.

Kernels and loops are those of the native backend; `passes` make shaders of the `spirv` dialect of them, `binary`
encodes these, `backend` writes the blob, and `partitioner` decides what goes into one. No driver is needed to compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_ir.backends.vulkan.partitioner import VulkanPartitioner

__all__ = ["VulkanPartitioner"]


def __getattr__(name: str) -> object:
    """Load the partitioner when it is asked for."""
    if name != "VulkanPartitioner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from et_ir.backends.vulkan.partitioner import VulkanPartitioner

    return VulkanPartitioner
