"""Storage of tensors on the device: buffers, and textures of up to four dimensions with a packed one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, NamedTuple

from et_backends.vulkan_graph.format.tables import VkMemoryLayout, VkStorageType

__all__ = ["BUFFER", "CHANNELS", "HEIGHT", "TEXTURE_LIMITS", "WIDTH", "Storage"]

TEXTURE_LIMITS: Final = (16384, 16384, 2048)
"""Texels in each direction that runtimes are assumed to have, as ExecuTorch's compiler does."""
MOST_ELEMENTS: Final = 128 << 20
"""Elements of a buffer."""

_PACKED: Final = {
    VkMemoryLayout.TENSOR_WIDTH_PACKED: 0,
    VkMemoryLayout.TENSOR_HEIGHT_PACKED: 1,
    VkMemoryLayout.TENSOR_CHANNELS_PACKED: 2,
}
_TEXEL: Final = 4


class Storage(NamedTuple):
    """Where a tensor's elements are, and the dimension whose neighbors share a texel."""

    type: VkStorageType
    layout: VkMemoryLayout

    def holds(self, sizes: Sequence[int]) -> bool:
        """Whether a tensor of these sizes fits."""
        if self.type is VkStorageType.BUFFER:
            return prod(sizes) < MOST_ELEMENTS
        if len(sizes) > 4:
            return False
        batch, channels, height, width = [1] * (4 - len(sizes)) + list(sizes)
        extents = [width, height, channels]
        packed = _PACKED[self.layout]
        extents[packed] = -(-extents[packed] // _TEXEL)
        extents[2] *= batch
        return all(size <= limit for size, limit in zip(extents, TEXTURE_LIMITS, strict=True))


BUFFER: Final = Storage(VkStorageType.BUFFER, VkMemoryLayout.TENSOR_WIDTH_PACKED)
"""Elements in order."""
WIDTH: Final = Storage(VkStorageType.TEXTURE_3D, VkMemoryLayout.TENSOR_WIDTH_PACKED)
HEIGHT: Final = Storage(VkStorageType.TEXTURE_3D, VkMemoryLayout.TENSOR_HEIGHT_PACKED)
CHANNELS: Final = Storage(VkStorageType.TEXTURE_3D, VkMemoryLayout.TENSOR_CHANNELS_PACKED)
