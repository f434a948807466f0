"""Vulkan: compute shaders from the code generator."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    backend_id="SpirvBackend",
    compiler="et_backends.vulkan.compiler.partitioner:BACKEND",
    runtime="et_backends.vulkan.runtime.backend:SpirvBackend",
    read="et_backends.vulkan.format.blob:read_vulkan",
    decoder="et_backends.vulkan.lines:vulkan_lines",
    constants="et_backends.vulkan.constants:constants",
    texts={"spirv": "et_backends.vulkan.compiler.texts:spirv_texts"},
    writes="et_backends.vulkan.format.blob:spirv_writes",
    dialects={
        "spirv": "et_backends.vulkan.dialect:Spirv",
    },
    passes={
        "convert-to-spirv": "et_backends.vulkan.passes.convert_to_spirv:ConvertToSpirvPass",
        "split-parallel-loops": "et_backends.vulkan.passes.split_parallel_loops:SplitParallelLoopsPass",
    },
)
