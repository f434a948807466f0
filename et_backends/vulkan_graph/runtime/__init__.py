"""Runtime of ExecuTorch's Vulkan graphs: operator calls on the portable kernels."""
