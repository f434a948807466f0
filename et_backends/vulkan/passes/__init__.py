"""Passes of the Vulkan backend."""
