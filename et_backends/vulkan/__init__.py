"""Vulkan: compute shaders from the code generator."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="SpirvBackend",
    compiler="et_ir.backends.vulkan.partitioner:BACKEND",
    runtime="et_vm.backends.vulkan.backend:SpirvBackend",
    decoder="et_tools.info.vulkan_lines:vulkan_lines",
    constants="et_tools.info.delegate_constants:spirv_constants",
    dialects={
        "spirv": "et_ir.dialects.spirv:Spirv",
    },
    passes={
        "convert-to-spirv": "et_ir.backends.vulkan.passes.convert_to_spirv:ConvertToSpirvPass",
        "split-parallel-loops": "et_ir.backends.vulkan.passes.split_parallel_loops:SplitParallelLoopsPass",
    },
)
