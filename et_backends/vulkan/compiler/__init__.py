"""Ahead-of-time compilation for Vulkan: partitions become compute shaders.

Kernels and loops are those of the native backend; `passes` convert them to shaders of the `spirv` dialect
(`instructions` has the tables, `dispatches` the calls), `binary` encodes these, `backend` writes the blob, and
`partitioner` selects the ops. No driver is needed to compile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_backends.vulkan.compiler.partitioner import VulkanPartitioner

__all__ = ["VulkanPartitioner"]


def __getattr__(name: str) -> object:
    """Load the partitioner when it is asked for."""
    if name != "VulkanPartitioner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from et_backends.vulkan.compiler.partitioner import VulkanPartitioner

    return VulkanPartitioner
