"""The code generator: edge ops in a partition become kernels, loops over buffers, vectors and xDSL's `llvm` dialect.

The `native` backend makes objects for a host's processor of it, the `freestanding` one whole programs for
microcontrollers, and the `vulkan` one takes the loops and makes compute shaders of them.
"""
