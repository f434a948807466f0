"""Code generator of the native, freestanding and Vulkan backends."""

from typing import Final

from et_schema.backend_packages import BackendPackage

__all__ = ["PACKAGE"]

PACKAGE: Final = BackendPackage(
    dialects={
        "native": "et_backends.codegen.dialect:Native",
    },
    passes={
        "assign-layouts": "et_backends.codegen.passes.assign_layouts:AssignLayoutsPass",
        "choose-algorithms": "et_backends.codegen.passes.choose_algorithms:ChooseAlgorithmsPass",
        "convert-to-llvm": "et_backends.codegen.passes.convert_to_llvm:ConvertToLlvmPass",
        "convert-to-loops": "et_backends.codegen.passes.convert_to_loops:ConvertToLoopsPass",
        "creations-to-constants": "et_backends.codegen.passes.creations_to_constants:CreationsToConstantsPass",
        "distribute-loops": "et_backends.codegen.passes.distribute_loops:DistributeLoopsPass",
        "expand-math": "et_backends.codegen.passes.expand_math:ExpandMathPass",
        "form-kernels": "et_backends.codegen.passes.form_kernels:FormKernelsPass",
        "fuse-attention": "et_backends.codegen.passes.fuse_attention:FuseAttentionPass",
        "fuse-bands": "et_backends.codegen.passes.fuse_bands:FuseBandsPass",
        "fuse-concatenations": "et_backends.codegen.passes.fuse_concatenations:FuseConcatenationsPass",
        "fuse-normalization": "et_backends.codegen.passes.fuse_normalization:FuseNormalizationPass",
        "lower-vectors": "et_backends.codegen.passes.lower_vectors:LowerVectorsPass",
        "merge-kernels": "et_backends.codegen.passes.merge_kernels:MergeKernelsPass",
        "numbers-to-tensors": "et_backends.codegen.passes.numbers_to_tensors:NumbersToTensorsPass",
        "pads-to-concatenations": (
            "et_backends.codegen.passes.pads_to_concatenations:PadsToConcatenationsPass"
        ),
        "plan-buffers": "et_backends.codegen.passes.plan_buffers:PlanBuffersPass",
        "recompute-masks": "et_backends.codegen.passes.recompute_masks:RecomputeMasksPass",
        "signals-to-images": "et_backends.codegen.passes.signals_to_images:SignalsToImagesPass",
        "sink-scales": "et_backends.codegen.passes.sink_scales:SinkScalesPass",
        "transposed-to-convolutions": (
            "et_backends.codegen.passes.transposed_to_convolutions:TransposedToConvolutionsPass"
        ),
        "volumes-to-images": "et_backends.codegen.passes.volumes_to_images:VolumesToImagesPass",
    },
)
