"""The passes, one a file, by the name that pipelines and `et-opt` use.

A pass is loaded when it is asked for, so that a tool pays for what it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from xdsl.passes import ModulePass

__all__ = ["PASSES", "load_pass", "pass_factories"]

PASSES: Final[dict[str, str]] = {
    "aten-to-edge": "aten_to_edge:AtenToEdgePass",
    "canonicalize": "canonicalize:CanonicalizePass",
    "concatenate-in-place": "concatenate_in_place:ConcatenateInPlacePass",
    "constant-fold": "constant_fold:ConstantFoldPass",
    "close-xnnpack": "close_xnnpack:CloseXnnpackPass",
    "convolutions-to-products": "convolutions_to_products:ConvolutionsToProductsPass",
    "cse": "cse:CsePass",
    "dce": "dce:DcePass",
    "decompose": "decompose:DecomposePass",
    "decompose-quantized": "decompose_quantized:DecomposeQuantizedPass",
    "decompose-traced": "decompose_traced:DecomposeTracedPass",
    "externalize-constants": "externalize_constants:ExternalizeConstantsPass",
    "fit-kernels": "fit_kernels:FitKernelsPass",
    "fold-batch-norm": "fold_batch_norm:FoldBatchNormPass",
    "fold-scales": "fold_scales:FoldScalesPass",
    "fold-sizes": "fold_sizes:FoldSizesPass",
    "fold-state": "fold_state:FoldStatePass",
    "free-unbounded": "free_unbounded:FreeUnboundedPass",
    "in-place": "in_place:InPlacePass",
    "kernel-limits": "kernel_limits:KernelLimitsPass",
    "link-check": "link_check:LinkCheckPass",
    "lower-partitions": "lower_partitions:LowerPartitionsPass",
    "memory-formats-to-dim-orders": "memory_formats_to_dim_orders:MemoryFormatsToDimOrdersPass",
    "open-xnnpack": "open_xnnpack:OpenXnnpackPass",
    "partition": "partition:PartitionPass",
    "plan-memory": "plan_memory:PlanMemoryPass",
    "pools-to-maxima": "pools_to_maxima:PoolsToMaximaPass",
    "promote-types": "promote_types:PromoteTypesPass",
    "propagate-dim-order": "propagate_dim_order:PropagateDimOrderPass",
    "prune-empty-tensors": "prune_empty_tensors:PruneEmptyTensorsPass",
    "remove-assertions": "remove_assertions:RemoveAssertionsPass",
    "remove-noops": "remove_noops:RemoveNoopsPass",
    "remove-redundant-copies": "remove_redundant_copies:RemoveRedundantCopiesPass",
    "rematerialize": "rematerialize:RematerializePass",
    "reorder": "reorder:ReorderPass",
    "scalars-to-tensors": "scalars_to_tensors:ScalarsToTensorsPass",
    "select-kernels": "select_kernels:SelectKernelsPass",
    "sink-concatenations": "sink_concatenations:SinkConcatenationsPass",
    "split-channels": "split_channels:SplitChannelsPass",
    "to-out-variant": "to_out_variant:ToOutVariantPass",
    "update-in-place": "update_in_place:UpdateInPlacePass",
    "verify-aten": "verify_aten:VerifyAtenPass",
    "verify-backend": "verify_backend:VerifyBackendPass",
    "verify-core-aten": "verify_core_aten:VerifyCoreAtenPass",
    "verify-edge": "verify_edge:VerifyEdgePass",
    "verify-executorch": "verify_executorch:VerifyExecutorchPass",
    "views": "views:ViewsPass",
    "views-to-copies": "views_to_copies:ViewsToCopiesPass",
    "write-back": "write_back:WriteBackPass",
}
"""Where each pass is: its name in pipelines, then `module:class` below this package."""


def load_pass(name: str) -> type[ModulePass]:
    """The class of a pass. Raises `KeyError` for an unknown name."""
    module, _, attribute = PASSES[name].partition(":")
    loaded = cast("type[ModulePass]", getattr(import_module(f"{__name__}.{module}"), attribute))
    if loaded.name != name:
        raise AssertionError(f"pass '{name}' is registered for a class that calls itself '{loaded.name}'")
    return loaded


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """Zero-argument factories by name, as xDSL registers passes."""

    def factory(name: str) -> Callable[[], type[ModulePass]]:
        return lambda: load_pass(name)

    return {name: factory(name) for name in PASSES}
