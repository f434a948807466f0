"""Graphs for ExecuTorch's Vulkan backend: tables, reading and writing."""
