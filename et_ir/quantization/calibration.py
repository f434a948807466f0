"""Calibration of an exported module in 8 bits, and its conversion: torchao's PT2E flow, weights layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import nn
from torch.fx import Graph, GraphModule, Node
from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver

from et_ir.frontend.sources import node_module_path
from et_ir.quantization.config import get_symmetric_quantization_config
from et_ir.quantization.folding import fold_quantized_weights
from et_ir.quantization.graphs import copy_with_same_weights, kept_state, separate_normalized
from et_ir.quantization.layers import first_undefined
from et_ir.quantization.modes import QuantizationError, QuantizationMode, check_patterns, paths_of
from et_ir.quantization.operators import is_kept, module_and_operator_names, operator_names
from et_ir.quantization.quantizer import Unquantized, XNNPACKQuantizer
from et_ir.quantization.sensitivity import Sensitivities

__all__ = ["Calibrated", "Calibration", "converted"]


@dataclass(frozen=True)
class Calibrated:
    """A module with observers that have seen the data. All its graphs have the parameters of the module."""

    prepared: GraphModule
    """To be converted."""
    plain: GraphModule
    """The same in floats, with observers, and batch normalizations in convolutions."""
    reference: GraphModule
    """In floats as it was exported."""
    unquantized: list[Unquantized]
    """What is left in floats."""
    coarse: Mapping[str, str]
    """What is left as 8 bits are too few, and what would be lost."""
    sensitivities: Sensitivities
    """Of the operators that are quantized."""


@dataclass(frozen=True)
class Calibration:
    """Quantization with scales that observers choose."""

    mode: QuantizationMode
    kwargs: dict[str, Any]
    batches: list[tuple[Any, ...]]
    keep_float: Sequence[str]
    export: Callable[[nn.Module], GraphModule]

    def measured(self, module: nn.Module, coarse: Mapping[str, str] | None) -> Calibrated:
        """The module with observers for all operators but those for which 8 bits are too few: those that are given, or
        those that measuring finds.
        """
        graph = self.export(module)
        separate_normalized(graph)
        check_patterns(self.keep_float, [*paths_of(module), *module_and_operator_names(graph.graph)])
        reference = copy_with_same_weights(graph)
        prepared, left = self._calibrated(module, graph, coarse or {})
        plain = copy_with_same_weights(prepared)
        sensitivities = Sensitivities(plain, self.batches, self.kwargs)
        if coarse is None:
            coarse = {one.name: one.reason for one in sensitivities.coarse()}
            if coarse:
                prepared, left = self._calibrated(module, copy_with_same_weights(reference), coarse)
                plain = copy_with_same_weights(prepared)
                sensitivities = Sensitivities(plain, self.batches, self.kwargs)
        return Calibrated(prepared, plain, reference, left, coarse, sensitivities)

    def calibrated(self, module: nn.Module, coarse: Mapping[str, str]) -> GraphModule:
        """The module with observers, for all operators but some that stay in floats."""
        graph = self.export(module)
        separate_normalized(graph)
        return self._calibrated(module, graph, coarse)[0]

    def _calibrated(
        self, module: nn.Module, graph: GraphModule, coarse: Mapping[str, str]
    ) -> tuple[GraphModule, list[Unquantized]]:
        """The graph with observers that have seen the data, and what is left in floats."""
        from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

        def keep_float(graph: Graph) -> dict[Node, tuple[str, str]]:
            found: dict[Node, tuple[str, str]] = {}
            for node, name in operator_names(graph).items():
                if is_kept(name, self.keep_float):
                    found[node] = "left in floats by configuration", ""
                elif name in coarse:
                    found[node] = "its values need more than 8 bits", coarse[name]
            return found

        further = self.mode.functions == 8
        quantizer = XNNPACKQuantizer(matrix_products=further, functions=further, keep_float=keep_float)
        dynamic = self.mode.name == "int8-dynamic"
        config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
        config = replace(config, clamps=True)
        if not self.mode.rounds_results:
            config = replace(config, output_activation=None)
        if self.mode.name == "int8-weights":
            config = replace(config, input_activation=None)
        quantizer.set_global(config)
        with kept_state(graph):
            prepared = prepare_pt2e(graph, quantizer)
            self._observe(module, prepared)
        _check_observed(prepared)
        return prepared, quantizer.unquantized

    def _observe(self, module: nn.Module, prepared: GraphModule) -> None:
        """Run the data through a graph with observers. Raises `QuantizationError` for data that cannot be run."""
        observed: list[nn.Module] = []
        try:
            for number, batch in enumerate(self.batches):
                self._run(module, prepared, number, batch)
                if number == 0:
                    observed = _observers_of_weights(prepared)
                for observer in observed:
                    observer.forward = _identity
        finally:
            for observer in observed:
                del observer.forward

    def _run(self, module: nn.Module, prepared: GraphModule, number: int, batch: tuple[Any, ...]) -> None:
        try:
            prepared(*batch, **self.kwargs)
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            place = first_undefined(self.export(module), batch, self.kwargs)
            reason = f"NaN or infinity in {place}" if place else f"the module fails: {first}"
            if first.startswith("Guard failed"):
                reason += (
                    "; the sizes are those of the example inputs: pass dynamic_shapes, or data of these sizes"
                )
            raise QuantizationError(f"calibration data {number}: {reason}") from error


def _identity(value: torch.Tensor) -> torch.Tensor:
    return value


def _observers_of_weights(prepared: GraphModule) -> list[nn.Module]:
    """The observers that need to see a parameter once: others count how often they have seen a value."""
    parameters = dict(prepared.named_parameters())
    found: list[nn.Module] = []
    for node in prepared.graph.nodes:
        if node.op == "call_module" and node.args and str(node.args[0].target) in parameters:
            observer = prepared.get_submodule(str(node.target))
            if isinstance(observer, MinMaxObserver | PerChannelMinMaxObserver) and observer not in found:
                found.append(observer)
    return found


def _check_observed(prepared: GraphModule) -> None:
    """Raise for an observer that the calibration never reached."""
    for node in prepared.graph.nodes:
        if node.op != "call_module":
            continue
        observer = prepared.get_submodule(str(node.target))
        least: Any = getattr(observer, "min_val", None)
        if isinstance(least, torch.Tensor) and least.numel() and not least.isfinite().all():
            paths = dict.fromkeys(node_module_path(user) for user in cast("Iterable[Node]", node.users))
            layers = ", ".join(f"'{path}'" for path in paths if path) or "the module"
            raise QuantizationError(
                f"'{node.args[0]}', which {layers} reads, had no elements, or was not finite, in the calibration data"
            )


def converted(prepared: GraphModule) -> GraphModule:
    """A graph with observers after quantization, whose weights are integers. The argument is used up."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

    made = convert_pt2e(prepared, fold_quantize=False)
    fold_quantized_weights(made)
    return made
