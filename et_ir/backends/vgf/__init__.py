"""The VGF backend, ahead of time: partitions become TOSA, which Arm's converter makes files for Vulkan of.

`converter` calls the converter (the package `ai_ml_sdk_model_converter`), and `partitioner` has the settings.
"""

from et_ir.backends.vgf.partitioner import VgfCompileSpec, VgfPartitioner

__all__ = ["VgfCompileSpec", "VgfPartitioner"]
