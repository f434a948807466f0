"""Runtime of the Vulkan backend: compute shaders on a device that the Vulkan loader finds."""
