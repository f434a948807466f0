"""Code generator of the native, freestanding and Vulkan backends."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    passes={
        "assign-layouts": "et_ir.codegen.passes.assign_layouts:AssignLayoutsPass",
        "choose-algorithms": "et_ir.codegen.passes.choose_algorithms:ChooseAlgorithmsPass",
        "convert-to-llvm": "et_ir.codegen.passes.convert_to_llvm:ConvertToLlvmPass",
        "convert-to-loops": "et_ir.codegen.passes.convert_to_loops:ConvertToLoopsPass",
        "creations-to-constants": "et_ir.codegen.passes.creations_to_constants:CreationsToConstantsPass",
        "distribute-loops": "et_ir.codegen.passes.distribute_loops:DistributeLoopsPass",
        "expand-math": "et_ir.codegen.passes.expand_math:ExpandMathPass",
        "form-kernels": "et_ir.codegen.passes.form_kernels:FormKernelsPass",
        "fuse-attention": "et_ir.codegen.passes.fuse_attention:FuseAttentionPass",
        "fuse-bands": "et_ir.codegen.passes.fuse_bands:FuseBandsPass",
        "fuse-concatenations": "et_ir.codegen.passes.fuse_concatenations:FuseConcatenationsPass",
        "fuse-normalization": "et_ir.codegen.passes.fuse_normalization:FuseNormalizationPass",
        "lower-vectors": "et_ir.codegen.passes.lower_vectors:LowerVectorsPass",
        "merge-kernels": "et_ir.codegen.passes.merge_kernels:MergeKernelsPass",
        "plan-buffers": "et_ir.codegen.passes.plan_buffers:PlanBuffersPass",
        "recompute-masks": "et_ir.codegen.passes.recompute_masks:RecomputeMasksPass",
        "signals-to-images": "et_ir.codegen.passes.signals_to_images:SignalsToImagesPass",
        "sink-scales": "et_ir.codegen.passes.sink_scales:SinkScalesPass",
        "transposed-to-convolutions": "et_ir.codegen.passes.transposed_to_convolutions:TransposedToConvolutionsPass",
    },
)
