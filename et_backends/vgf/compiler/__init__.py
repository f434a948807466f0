"""Ahead-of-time compilation to VGF: TOSA, converted by Arm's tool for Vulkan.

`converter` calls the converter (package `ai_ml_sdk_model_converter`), and `partitioner` defines the settings.
"""

from et_backends.vgf.compiler.partitioner import VgfCompileSpec, VgfPartitioner

__all__ = ["VgfCompileSpec", "VgfPartitioner"]
