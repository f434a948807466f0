"""Registry of the passes by the name that pipelines and `et-opt` use.

A pass is loaded when it is asked for, so that a tool pays for what it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from xdsl.passes import ModulePass

__all__ = ["PASSES", "load_pass", "pass_factories"]

PASSES: Final[dict[str, str]] = {
    "apply-eqsat-pdl": "common.apply_eqsat_pdl:ApplyEqsatPdlPass",
    "add-model-schema": "to_executorch.add_model_schema:AddModelSchemaPass",
    "aten-to-edge": "core_to_edge.aten_to_edge:AtenToEdgePass",
    "canonicalize": "common.canonicalize:CanonicalizePass",
    "concatenate-in-place": "memory.concatenate_in_place:ConcatenateInPlacePass",
    "constant-fold": "common.constant_fold:ConstantFoldPass",
    "close-xnnpack": "backend.close_xnnpack:CloseXnnpackPass",
    "convolutions-to-products": "to_executorch.convolutions_to_products:ConvolutionsToProductsPass",
    "copies-to-views": "memory.copies_to_views:CopiesToViewsPass",
    "assign-layouts": "et_ir.codegen.passes.assign_layouts:AssignLayoutsPass",
    "look-up-integers": "to_executorch.look_up_integers:LookUpIntegersPass",
    "sink-scales": "et_ir.codegen.passes.sink_scales:SinkScalesPass",
    "recompute-masks": "et_ir.codegen.passes.recompute_masks:RecomputeMasksPass",
    "fuse-attention": "et_ir.codegen.passes.fuse_attention:FuseAttentionPass",
    "legalize-to-tosa": "et_ir.backends.tosa.passes.legalize_to_tosa:LegalizeToTosaPass",
    "fold-tosa-transposes": "et_ir.backends.tosa.passes.fold_tosa_transposes:FoldTosaTransposesPass",
    "inline-tosa-constants": "et_ir.backends.tosa.passes.inline_tosa_constants:InlineTosaConstantsPass",
    "fuse-normalization": "et_ir.codegen.passes.fuse_normalization:FuseNormalizationPass",
    "creations-to-constants": "et_ir.codegen.passes.creations_to_constants:CreationsToConstantsPass",
    "transposed-to-convolutions": "et_ir.codegen.passes.transposed_to_convolutions:TransposedToConvolutionsPass",
    "signals-to-images": "et_ir.codegen.passes.signals_to_images:SignalsToImagesPass",
    "fuse-bands": "et_ir.codegen.passes.fuse_bands:FuseBandsPass",
    "fuse-concatenations": "et_ir.codegen.passes.fuse_concatenations:FuseConcatenationsPass",
    "form-kernels": "et_ir.codegen.passes.form_kernels:FormKernelsPass",
    "choose-algorithms": "et_ir.codegen.passes.choose_algorithms:ChooseAlgorithmsPass",
    "convert-to-loops": "et_ir.codegen.passes.convert_to_loops:ConvertToLoopsPass",
    "plan-buffers": "et_ir.codegen.passes.plan_buffers:PlanBuffersPass",
    "merge-kernels": "et_ir.codegen.passes.merge_kernels:MergeKernelsPass",
    "distribute-loops": "et_ir.codegen.passes.distribute_loops:DistributeLoopsPass",
    "expand-math": "et_ir.codegen.passes.expand_math:ExpandMathPass",
    "lower-vectors": "et_ir.codegen.passes.lower_vectors:LowerVectorsPass",
    "split-complex": "et_ir.backends.freestanding.split_complex:SplitComplexPass",
    "fold-empty-tensors": "et_ir.backends.freestanding.fold_empty_tensors:FoldEmptyTensorsPass",
    "narrow-selections": "et_ir.backends.freestanding.narrow_selections:NarrowSelectionsPass",
    "pools-to-means": "et_ir.backends.freestanding.pools_to_means:PoolsToMeansPass",
    "sequential-loops": "et_ir.backends.freestanding.sequential_loops:SequentialLoopsPass",
    "split-parallel-loops": "et_ir.backends.vulkan.passes.split_parallel_loops:SplitParallelLoopsPass",
    "convert-to-spirv": "et_ir.backends.vulkan.passes.convert_to_spirv:ConvertToSpirvPass",
    "convert-to-llvm": "et_ir.codegen.passes.convert_to_llvm:ConvertToLlvmPass",
    "cse": "common.cse:CsePass",
    "dce": "common.dce:DcePass",
    "drop-zero-points": "core_to_edge.drop_zero_points:DropZeroPointsPass",
    "decompose": "aten_to_core.decompose:DecomposePass",
    "decompose-quantized": "to_executorch.decompose_quantized:DecomposeQuantizedPass",
    "decompose-traced": "aten_to_core.decompose_traced:DecomposeTracedPass",
    "erase-quantized-types": "common.erase_quantized_types:EraseQuantizedTypesPass",
    "externalize-constants": "to_executorch.externalize_constants:ExternalizeConstantsPass",
    "legalize": "to_executorch.legalize:LegalizePass",
    "fold-batch-norm": "aten_to_core.fold_batch_norm:FoldBatchNormPass",
    "fold-scales": "aten_to_core.fold_scales:FoldScalesPass",
    "fold-sizes": "aten_to_core.fold_sizes:FoldSizesPass",
    "fold-state": "aten_to_core.fold_state:FoldStatePass",
    "form-cache-updates": "aten_to_core.form_cache_updates:FormCacheUpdatesPass",
    "form-cached-attention": "aten_to_core.form_cached_attention:FormCachedAttentionPass",
    "form-integer-operators": "to_executorch.form_integer_operators:FormIntegerOperatorsPass",
    "free-unbounded": "memory.free_unbounded:FreeUnboundedPass",
    "infer-quantized-types": "common.infer_quantized_types:InferQuantizedTypesPass",
    "in-place": "memory.in_place:InPlacePass",
    "kernel-limits": "verify.kernel_limits:KernelLimitsPass",
    "link-check": "verify.link_check:LinkCheckPass",
    "lower-partitions": "backend.lower_partitions:LowerPartitionsPass",
    "memory-formats-to-dim-orders": "core_to_edge.memory_formats_to_dim_orders:MemoryFormatsToDimOrdersPass",
    "open-xnnpack": "backend.open_xnnpack:OpenXnnpackPass",
    "partition": "backend.partition:PartitionPass",
    "pack-weights": "to_executorch.pack_weights:PackWeightsPass",
    "plan-memory": "memory.plan_memory:PlanMemoryPass",
    "permute-state": "aten_to_core.permute_state:PermuteStatePass",
    "pools-to-maxima": "to_executorch.pools_to_maxima:PoolsToMaximaPass",
    "promote-types": "core_to_edge.promote_types:PromoteTypesPass",
    "propagate-dim-order": "core_to_edge.propagate_dim_order:PropagateDimOrderPass",
    "raise-xnnpack": "raising.raise_xnnpack:RaiseXnnpackPass",
    "raise-plans": "raising.raise_plans:RaisePlansPass",
    "propagate-quantization": "to_executorch.propagate_quantization:PropagateQuantizationPass",
    "quantize-io": "core_to_edge.quantize_io:QuantizeIoPass",
    "prune-empty-tensors": "core_to_edge.prune_empty_tensors:PruneEmptyTensorsPass",
    "remove-assertions": "aten_to_core.remove_assertions:RemoveAssertionsPass",
    "remove-noops": "core_to_edge.remove_noops:RemoveNoopsPass",
    "remove-redundant-copies": "core_to_edge.remove_redundant_copies:RemoveRedundantCopiesPass",
    "rematerialize": "memory.rematerialize:RematerializePass",
    "reorder": "memory.reorder:ReorderPass",
    "scalars-to-tensors": "core_to_edge.scalars_to_tensors:ScalarsToTensorsPass",
    "select-kernels": "to_executorch.select_kernels:SelectKernelsPass",
    "share-matrices": "to_executorch.share_matrices:ShareMatricesPass",
    "sink-concatenations": "memory.sink_concatenations:SinkConcatenationsPass",
    "split-channels": "memory.split_channels:SplitChannelsPass",
    "tabulate-pointwise": "to_executorch.tabulate_pointwise:TabulatePointwisePass",
    "to-out-variant": "to_executorch.to_out_variant:ToOutVariantPass",
    "update-in-place": "memory.update_in_place:UpdateInPlacePass",
    "verify-aten": "verify.verify_aten:VerifyAtenPass",
    "verify-backend": "verify.verify_backend:VerifyBackendPass",
    "verify-core-aten": "verify.verify_core_aten:VerifyCoreAtenPass",
    "verify-edge": "verify.verify_edge:VerifyEdgePass",
    "verify-executorch": "verify.verify_executorch:VerifyExecutorchPass",
    "views-to-copies": "core_to_edge.views_to_copies:ViewsToCopiesPass",
    "write-back": "memory.write_back:WriteBackPass",
}
"""Passes by pipeline name, as `module:class`: below this package, or of a backend in full."""


def load_pass(name: str) -> type[ModulePass]:
    """The class of a pass. Raises `KeyError` for an unknown name."""
    module, _, attribute = PASSES[name].partition(":")
    place = module if module.startswith("et_ir.") else f"{__name__}.{module}"
    loaded = cast("type[ModulePass]", getattr(import_module(place), attribute))
    if loaded.name != name:
        raise AssertionError(f"pass '{name}' is registered for a class named '{loaded.name}'")
    return loaded


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """Zero-argument factories by name, as xDSL registers passes."""

    def factory(name: str) -> Callable[[], type[ModulePass]]:
        return lambda: load_pass(name)

    return {name: factory(name) for name in PASSES}
