"""Registry of the passes by the name that pipelines and `et-opt` use: those of this package, and those of backend
packages.

A pass is loaded when it is asked for, so that a tool pays for what it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from xdsl.passes import ModulePass

from et_schema.backend_packages import backend_packages, load_part

__all__ = ["PASSES", "load_pass", "pass_factories", "pass_places"]

PASSES: Final[dict[str, str]] = {
    "apply-eqsat-pdl": "common.apply_eqsat_pdl:ApplyEqsatPdlPass",
    "add-model-schema": "to_executorch.add_model_schema:AddModelSchemaPass",
    "aten-to-edge": "core_to_edge.aten_to_edge:AtenToEdgePass",
    "canonicalize": "common.canonicalize:CanonicalizePass",
    "concatenate-in-place": "memory.concatenate_in_place:ConcatenateInPlacePass",
    "constant-fold": "common.constant_fold:ConstantFoldPass",
    "convolutions-to-products": "to_executorch.convolutions_to_products:ConvolutionsToProductsPass",
    "copies-to-views": "memory.copies_to_views:CopiesToViewsPass",
    "look-up-integers": "to_executorch.look_up_integers:LookUpIntegersPass",
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
    "form-chains": "memory.form_chains:FormChainsPass",
    "form-integer-operators": "to_executorch.form_integer_operators:FormIntegerOperatorsPass",
    "free-unbounded": "memory.free_unbounded:FreeUnboundedPass",
    "infer-quantized-types": "common.infer_quantized_types:InferQuantizedTypesPass",
    "in-place": "memory.in_place:InPlacePass",
    "kernel-limits": "verify.kernel_limits:KernelLimitsPass",
    "link-check": "verify.link_check:LinkCheckPass",
    "lower-partitions": "backend.lower_partitions:LowerPartitionsPass",
    "memory-formats-to-dim-orders": "core_to_edge.memory_formats_to_dim_orders:MemoryFormatsToDimOrdersPass",
    "partition": "backend.partition:PartitionPass",
    "pack-weights": "to_executorch.pack_weights:PackWeightsPass",
    "plan-memory": "memory.plan_memory:PlanMemoryPass",
    "permute-state": "aten_to_core.permute_state:PermuteStatePass",
    "pools-to-maxima": "to_executorch.pools_to_maxima:PoolsToMaximaPass",
    "promote-types": "core_to_edge.promote_types:PromoteTypesPass",
    "propagate-dim-order": "core_to_edge.propagate_dim_order:PropagateDimOrderPass",
    "raise-plans": "raising.raise_plans:RaisePlansPass",
    "propagate-quantization": "to_executorch.propagate_quantization:PropagateQuantizationPass",
    "quantize-io": "core_to_edge.quantize_io:QuantizeIoPass",
    "prune-empty-tensors": "core_to_edge.prune_empty_tensors:PruneEmptyTensorsPass",
    "reinterpretations-to-copies": "memory.reinterpretations_to_copies:ReinterpretationsToCopiesPass",
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
    "verify-chains": "verify.verify_chains:VerifyChainsPass",
    "verify-backend": "verify.verify_backend:VerifyBackendPass",
    "verify-core-aten": "verify.verify_core_aten:VerifyCoreAtenPass",
    "verify-edge": "verify.verify_edge:VerifyEdgePass",
    "verify-executorch": "verify.verify_executorch:VerifyExecutorchPass",
    "views-to-copies": "core_to_edge.views_to_copies:ViewsToCopiesPass",
    "write-back": "memory.write_back:WriteBackPass",
}
"""Passes of this package by pipeline name, as `module:class` below it."""


def pass_places() -> dict[str, str]:
    """All passes by pipeline name, as `module:class`, those of backend packages too."""
    own = {name: f"{__name__}.{place}" for name, place in PASSES.items()}
    return {**backend_packages().named("passes"), **own}


def load_pass(name: str) -> type[ModulePass]:
    """The class of a pass. Raises `KeyError` for an unknown name."""
    place = f"{__name__}.{PASSES[name]}" if name in PASSES else backend_packages().named("passes")[name]
    loaded = cast("type[ModulePass]", load_part(place))
    if loaded.name != name:
        raise AssertionError(f"pass '{name}' is registered for a class named '{loaded.name}'")
    return loaded


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """Zero-argument factories by name, as xDSL registers passes."""

    def factory(name: str) -> Callable[[], type[ModulePass]]:
        return lambda: load_pass(name)

    return {name: factory(name) for name in pass_places()}
