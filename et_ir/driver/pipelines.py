"""Standard pipelines: the passes from each level to the next.

Each function returns a list of pass objects, in the order in which they run; the last one verifies the contract of the
level that is reached. `pipeline_text` prints a list as `et-opt -p` takes it, `parse_pipeline_text` reads it back.
Passes are imported where a pipeline is built, so that tools load only what they run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_pipeline

from et_ir.driver.configs import EdgeCompileConfig, ExecutorchBackendConfig
from et_ir.driver.method_passes import PythonPass
from et_ir.driver.presets import PRESETS, preset
from et_ir.passes import load_pass
from et_ir.targets.lookup import DEFAULT, find_target
from et_schema.diagnostics import did_you_mean

__all__ = [
    "LEVELS",
    "aten_passes",
    "backend_passes",
    "core_aten_passes",
    "edge_passes",
    "executorch_passes",
    "externalization",
    "link_check",
    "named_pipeline",
    "named_pipelines",
    "parse_passes",
    "pipeline_text",
    "split_preserved",
]

LEVELS: Final = ("aten", "core-aten", "edge", "backend", "executorch")
"""The levels that a program can be stopped and printed at, in order."""

_SECOND_ORDER_BUDGET: Final = 50_000
"""The budget of the order search that follows the choice of kernels, at full effort."""


def aten_passes() -> list[ModulePass]:
    """The checks of an exported program."""
    from et_ir.passes.verify.verify_aten import VerifyAtenPass

    return [VerifyAtenPass()]


def core_aten_passes(config: EdgeCompileConfig | None = None) -> list[ModulePass]:
    """The passes from `aten` to Core ATen.

    Raises `ValueError` for an unknown level, or an operator to preserve that is not registered.
    """
    from et_ir.passes.aten_to_core.decompose import DecomposePass
    from et_ir.passes.aten_to_core.decompose_traced import DecomposeTracedPass
    from et_ir.passes.aten_to_core.fold_batch_norm import FoldBatchNormPass
    from et_ir.passes.aten_to_core.fold_scales import FoldScalesPass
    from et_ir.passes.aten_to_core.fold_sizes import FoldSizesPass
    from et_ir.passes.aten_to_core.fold_state import FoldStatePass
    from et_ir.passes.aten_to_core.remove_assertions import RemoveAssertionsPass
    from et_ir.passes.common.canonicalize import CanonicalizePass
    from et_ir.passes.common.constant_fold import ConstantFoldPass
    from et_ir.passes.common.cse import CsePass
    from et_ir.passes.common.dce import DcePass
    from et_ir.passes.verify.verify_core_aten import VerifyCoreAtenPass

    config = config or EdgeCompileConfig()
    level = preset(config.level)
    preserve, _ = split_preserved(config.preserve_names)
    exceptions, _ = split_preserved(config.exception_names)
    _check_preserved((*preserve, *exceptions))
    verify = VerifyCoreAtenPass((*preserve, *exceptions))
    decompose = DecomposePass(preserve)
    if config.unroll is not None:
        decompose = replace(decompose, unroll=config.unroll)
    traced = DecomposeTracedPass(preserve)
    dequantize = ConstantFoldPass(dequantize=True)
    if not level.simplify:
        return [
            RemoveAssertionsPass(),
            decompose,
            traced,
            decompose,
            *([dequantize] if config.dequantize_weights else []),
            FoldSizesPass(),
            DcePass(),
            verify,
        ]
    return [
        RemoveAssertionsPass(),
        FoldBatchNormPass(),  # first: a linear layer is still one op
        decompose,
        traced,
        decompose,  # what torch's decompositions come down to
        CanonicalizePass(),
        FoldStatePass(dead=level.forget),
        dequantize if config.dequantize_weights else ConstantFoldPass(),
        FoldSizesPass(),
        CanonicalizePass(),  # constants are known now
        FoldScalesPass(),
        CsePass(),
        DcePass(),
        verify,
    ]


def edge_passes(config: EdgeCompileConfig | None = None) -> list[ModulePass]:
    """The passes from Core ATen to `edge`. Why each stands where it does: docs/rationale/edge.md.

    Raises `ValueError` for an unknown level.
    """
    from et_ir.passes.common.canonicalize import CanonicalizePass
    from et_ir.passes.common.constant_fold import ConstantFoldPass
    from et_ir.passes.common.cse import CsePass
    from et_ir.passes.common.dce import DcePass
    from et_ir.passes.core_to_edge.aten_to_edge import AtenToEdgePass
    from et_ir.passes.core_to_edge.drop_zero_points import DropZeroPointsPass
    from et_ir.passes.core_to_edge.memory_formats_to_dim_orders import MemoryFormatsToDimOrdersPass
    from et_ir.passes.core_to_edge.promote_types import PromoteTypesPass
    from et_ir.passes.core_to_edge.propagate_dim_order import PropagateDimOrderPass
    from et_ir.passes.core_to_edge.prune_empty_tensors import PruneEmptyTensorsPass
    from et_ir.passes.core_to_edge.quantize_io import QuantizeIoPass
    from et_ir.passes.core_to_edge.remove_noops import RemoveNoopsPass
    from et_ir.passes.core_to_edge.remove_redundant_copies import RemoveRedundantCopiesPass
    from et_ir.passes.core_to_edge.scalars_to_tensors import ScalarsToTensorsPass
    from et_ir.passes.core_to_edge.views_to_copies import ViewsToCopiesPass
    from et_ir.passes.verify.verify_edge import VerifyEdgePass

    config = config or EdgeCompileConfig()
    simplify = preset(config.level).simplify
    return [
        ViewsToCopiesPass(),
        *([RemoveNoopsPass()] if simplify else []),
        PruneEmptyTensorsPass(),
        ScalarsToTensorsPass(),
        PromoteTypesPass(),  # after the scalars, which have become tensors of the promoted type
        AtenToEdgePass(),
        MemoryFormatsToDimOrdersPass(),
        PropagateDimOrderPass(),
        *([RemoveRedundantCopiesPass(), CanonicalizePass()] if simplify else []),
        # Conversions and layouts of constants, and what is left of those.
        *([ConstantFoldPass(), DropZeroPointsPass(), CsePass()] if simplify else []),
        DcePass(),
        *([QuantizeIoPass()] if config.quantized_io else []),
        VerifyEdgePass(),
    ]


def backend_passes() -> list[ModulePass]:
    """The checks of a program whose delegated parts are compiled."""
    from et_ir.passes.verify.verify_backend import VerifyBackendPass

    return [VerifyBackendPass()]


def executorch_passes(config: ExecutorchBackendConfig | None = None) -> list[ModulePass]:
    """The passes from `backend` to a planned and verified `executorch` module.

    Raises `ValueError` for an unknown level.
    """
    from et_ir.passes.common.constant_fold import ConstantFoldPass
    from et_ir.passes.common.dce import DcePass
    from et_ir.passes.memory.concatenate_in_place import ConcatenateInPlacePass
    from et_ir.passes.memory.copies_to_views import CopiesToViewsPass
    from et_ir.passes.memory.free_unbounded import FreeUnboundedPass
    from et_ir.passes.memory.in_place import InPlacePass
    from et_ir.passes.memory.plan_memory import PlanMemoryPass
    from et_ir.passes.memory.reinterpretations_to_copies import ReinterpretationsToCopiesPass
    from et_ir.passes.memory.update_in_place import UpdateInPlacePass
    from et_ir.passes.memory.write_back import WriteBackPass
    from et_ir.passes.to_executorch.decompose_quantized import DecomposeQuantizedPass
    from et_ir.passes.to_executorch.look_up_integers import LookUpIntegersPass
    from et_ir.passes.to_executorch.pack_weights import PackWeightsPass
    from et_ir.passes.to_executorch.to_out_variant import ToOutVariantPass
    from et_ir.passes.verify.kernel_limits import KernelLimitsPass
    from et_ir.passes.verify.verify_executorch import VerifyExecutorchPass

    config = config or ExecutorchBackendConfig()
    target = config.target
    simplify = preset(config.level).simplify
    quantized: list[ModulePass] = []
    if find_target(target).quantized_as_torch is not None:
        # Last, for what folds constants before it would make floats of quantized weights.
        quantized = (
            [LookUpIntegersPass(), DecomposeQuantizedPass(target, simplify=True)]
            if simplify
            else [DecomposeQuantizedPass(target), ConstantFoldPass(limit=0), DcePass()]
        )
    sharing: list[ModulePass] = []
    if simplify:
        # Inputs and outputs that the caller gives memory for share it with nothing.
        planned = not config.caller_memory
        sharing = [
            CopiesToViewsPass(inputs=config.alloc_graph_input and planned),
            UpdateInPlacePass(target, tuple(config.extra_operators)),
            InPlacePass(target),
            ConcatenateInPlacePass(outputs=config.alloc_graph_output and planned),
        ]
    chained: list[ModulePass] = []
    races: list[ModulePass] = []
    if config.chains > 1:
        from et_ir.passes.memory.form_chains import FormChainsPass
        from et_ir.passes.verify.verify_chains import VerifyChainsPass

        chained = [FormChainsPass(threads=config.chains, target=target)]
        races = [VerifyChainsPass()]
    described: list[ModulePass] = []
    if config.model_schema:
        from et_ir.passes.to_executorch.add_model_schema import AddModelSchemaPass

        described = [AddModelSchemaPass()]  # first: registers have bounds, not ranges
    return [
        *described,
        *_kernel_passes(config),
        *([PackWeightsPass(target)] if simplify else []),
        *quantized,
        KernelLimitsPass(target),
        ToOutVariantPass(unbounded=config.unbounded),
        WriteBackPass(),
        *sharing,
        ReinterpretationsToCopiesPass(target),
        link_check(config),
        *chained,
        PlanMemoryPass(
            algorithm=config.memory_planning,
            slack=preset(config.level).slack if config.memory_planning == "best" else 0,
            check=config.check_plan,
            plan_inputs=config.alloc_graph_input,
            plan_outputs=config.alloc_graph_output,
            memory=config.memory,
            caller=tuple(config.caller_memory),
            pin=tuple(f"{selector}={bank}" for selector, bank in config.pins.items()),
        ),
        *([] if config.unbounded == "error" else [FreeUnboundedPass()]),
        VerifyExecutorchPass(),
        *races,
        *externalization(config),
    ]


def _kernel_passes(config: ExecutorchBackendConfig) -> list[ModulePass]:
    """The passes that choose the order of ops, and kernels that are legal and fast on the target."""
    from et_ir.passes.common.constant_fold import ConstantFoldPass
    from et_ir.passes.common.cse import CsePass
    from et_ir.passes.common.dce import DcePass
    from et_ir.passes.memory.rematerialize import RematerializePass
    from et_ir.passes.memory.reorder import ReorderPass
    from et_ir.passes.memory.sink_concatenations import SinkConcatenationsPass
    from et_ir.passes.memory.split_channels import SplitChannelsPass
    from et_ir.passes.to_executorch.convolutions_to_products import ConvolutionsToProductsPass
    from et_ir.passes.to_executorch.legalize import LegalizePass
    from et_ir.passes.to_executorch.pools_to_maxima import PoolsToMaximaPass
    from et_ir.passes.to_executorch.select_kernels import SelectKernelsPass
    from et_ir.passes.to_executorch.share_matrices import ShareMatricesPass

    target, level = config.target, preset(config.level)
    legalize: list[ModulePass] = [LegalizePass(target)] if find_target(target).legalizations else []
    if level.memory is None:
        return [*legalize, DcePass()]
    sparing = level.memory != "any"
    return [
        *legalize,
        *_integer_passes(target),
        ShareMatricesPass(),
        SinkConcatenationsPass(),
        # Before the forms, which may take as much memory as the program needs anyway.
        *([RematerializePass(target)] if sparing else []),
        ReorderPass(target),
        # Each group copies what the groups share, which the fastest forms would not.
        *([SplitChannelsPass(target)] if find_target(target).splits_channels and sparing else []),
        PoolsToMaximaPass(target, memory=level.memory, workspace=level.workspace),
        ConvolutionsToProductsPass(target, memory=level.memory, workspace=level.workspace),
        SelectKernelsPass(target),
        ConstantFoldPass(),
        CsePass(),
        DcePass(),
        # After the forms, whose copies take memory too; the ops of one form are in order already.
        ReorderPass(target, _SECOND_ORDER_BUDGET * level.effort // 100, level.reordered),
    ]


def _integer_passes(target: str) -> list[ModulePass]:
    """The passes that compute quantized programs in integers, for a runtime with kernels for that."""
    from et_ir.passes.to_executorch.form_integer_operators import FormIntegerOperatorsPass
    from et_ir.passes.to_executorch.propagate_quantization import PropagateQuantizationPass
    from et_ir.passes.to_executorch.tabulate_pointwise import TabulatePointwisePass

    if "integer::linear.out" not in find_target(target).kernels:
        return []
    return [PropagateQuantizationPass(), FormIntegerOperatorsPass(target), TabulatePointwisePass(target)]


def externalization(config: ExecutorchBackendConfig) -> list[ModulePass]:
    """The passes that move constants into data files."""
    from et_ir.passes.to_executorch.externalize_constants import ExternalizeConstantsPass

    match config.external_constants:
        case bool(wanted):
            return [ExternalizeConstantsPass(min_bytes=0)] if wanted else []
        case Mapping() as files:
            return [ExternalizeConstantsPass(file, match=names) for names, file in files.items()]
        case choose:
            return [_ExternalizeByNamePass(choose)]


def link_check(config: ExecutorchBackendConfig) -> ModulePass:
    """The check that a runtime has the kernels and the backends of a program."""
    from et_ir.passes.verify.link_check import LinkCheckPass

    return LinkCheckPass(config.target, tuple(config.extra_operators), tuple(config.extra_backends))


def split_preserved(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Operators to preserve: those of torch, which passes leave alone, and those of other libraries (`mylib::foo`),
    which the import keeps whole.
    """
    torch_names = [name.removeprefix("aten::").removeprefix("aten.") for name in names]
    return tuple(n for n in torch_names if "::" not in n), tuple(n for n in torch_names if "::" in n)


def _check_preserved(names: Sequence[str]) -> None:
    """Raise `ValueError` for an operator that torch does not have."""
    if not names:
        return
    from et_ir.dialects.aten import OP_BY_NAME

    for name in names:
        if name not in OP_BY_NAME:
            raise ValueError(f"unknown operator {name}{did_you_mean(name, OP_BY_NAME)}")


def named_pipelines() -> Mapping[str, tuple[str, str]]:
    """The standard pipelines by the names that `et-opt` knows them by, `O1-core-aten` and so on: the level of
    optimization and the level that is reached.
    """
    return {
        f"O{level}-{reached}": (level, reached)
        for level in PRESETS
        for reached in LEVELS[1:]
        if reached != "backend"
    }


def named_pipeline(name: str, target: str = DEFAULT) -> list[ModulePass]:
    """The passes of a standard pipeline. Raises `KeyError` for an unknown name."""
    level, reached = named_pipelines()[name]
    match reached:
        case "core-aten":
            return core_aten_passes(EdgeCompileConfig(level=level))
        case "edge":
            return edge_passes(EdgeCompileConfig(level=level))
        case _:
            return executorch_passes(ExecutorchBackendConfig(level=level, target=target))


def pipeline_text(passes: Sequence[ModulePass]) -> str:
    """Passes as `et-opt -p` takes them, options with the default value left out."""
    return ",".join(
        pipeline_text(one.standard_passes()) if isinstance(one, PythonPass) else str(one.pipeline_pass_spec())
        for one in passes
        if not isinstance(one, PythonPass) or one.standard_passes()
    )


@dataclass(frozen=True)
class _ExternalizeByNamePass(PythonPass):
    """Move constants into the data files that a function names, None for those that stay.

    As with ExecuTorch the ending `.ptd` may be left out.
    """

    name = "externalize-by-name"

    choose: Callable[[str], str | None]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from et_ir.passes.to_executorch.externalize_constants import externalize

        def choose(key: str, _size: int) -> str | None:
            file = self.choose(key)
            return file if file is None or file.endswith(".ptd") else f"{file}.ptd"

        externalize(op, choose)


def parse_passes(pipeline: str) -> list[ModulePass]:
    """The passes of a pipeline text. Raises `KeyError` for an unknown pass."""
    return [load_pass(spec.name).from_pass_spec(spec) for spec in parse_pipeline(pipeline)]
