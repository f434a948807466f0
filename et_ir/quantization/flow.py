"""Quantization of a module by a mode: what comes out is a module to export.

The static and dynamic 8-bit modes are torchao's PT2E flow with the quantizer of this package; those of weights are
torchao's tensors. Weights are those of the module that is given, and their integers are made some rows at a time.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

from et_ir.frontend.exported import in_evaluation, input_names, is_exported
from et_ir.frontend.sources import node_module_path
from et_ir.quantization.bias_correction import correct_biases
from et_ir.quantization.calibration import Calibration, converted
from et_ir.quantization.graphs import copy_with_same_weights, kept_state, writes_to_shared
from et_ir.quantization.layers import compare_layers
from et_ir.quantization.modes import QuantizationError, QuantizationMode, check_patterns, paths_of
from et_ir.quantization.quantizer import Unquantized, place_of
from et_ir.quantization.results import MeasuredModule, QuantizedModule
from et_ir.quantization.weights import input_moments, other_readers, quantize_weights
from et_schema.call_errors import called_as
from et_schema.wording import in_words

__all__ = ["quantize", "quantize_and_measure"]

Inputs = tuple[Any, ...]


@called_as("called as quantize(module, (x,), 'int8', calibration=[(x,), …])")
def quantize(
    module: nn.Module | ExportedProgram,
    inputs: Inputs,
    mode: str | QuantizationMode,
    *,
    kwargs: Mapping[str, Any] | None = None,
    calibration: Iterable[Inputs | Mapping[str, Any]] = (),
    keep_float: Sequence[str] = (),
    dynamic_shapes: Any = None,
) -> QuantizedModule:
    """A module with 8-bit or 4-bit numbers in place of floats, for `torch.export`.

    `inputs` are example arguments; `calibration` are arguments to run the module on, which the static mode `int8` takes
    scales of activations from, `8da4w` rounds weights of 4 bits for (without them, for the least error of the weights),
    the other modes correct biases by, and layers are compared on. Modules whose path matches a pattern of `keep_float`,
    as `head.*`, stay floats, and so do operators whose name does, as `mel:add`. Operators that alone would lose the
    next quantized value, or a result, in noise, as a sum before a logarithm, stay floats by themselves: `unquantized`
    says which, and why.

    The module may be an exported program, or its `module()`, in all modes but `8da4w`; tables of one stay floats. Each
    of `calibration` is a tuple of arguments, a dict by their names, or the tensor of a single one. The module itself
    is not changed. Raises `QuantizationError`, and `TypeError` for arguments of other kinds.
    """
    return quantize_and_measure(
        module,
        inputs,
        mode,
        kwargs=kwargs,
        calibration=calibration,
        keep_float=keep_float,
        dynamic_shapes=dynamic_shapes,
    ).complete()


def quantize_and_measure(
    module: nn.Module | ExportedProgram,
    inputs: Inputs,
    mode: str | QuantizationMode,
    *,
    kwargs: Mapping[str, Any] | None = None,
    calibration: Iterable[Inputs | Mapping[str, Any]] = (),
    keep_float: Sequence[str] = (),
    dynamic_shapes: Any = None,
    coarse: Mapping[str, str] | None = None,
) -> MeasuredModule:
    """As `quantize`; `coarse` are the operators for which 8 bits are too few, by their names, if that is known."""
    _check_kinds(module, inputs, mode, calibration, keep_float)
    chosen = QuantizationMode.parse(mode) if isinstance(mode, str) else mode
    if isinstance(module, ExportedProgram):
        module = module.module()
    is_graph = is_exported(module)
    if is_graph and chosen.name == "8da4w":
        raise QuantizationError(
            f"the mode {chosen} quantizes linear layers and tables as modules, and an exported program has none: give "
            "the module that it was exported from, or use int8, int8-dynamic or int8-weights"
        )
    with _quiet():
        module = in_evaluation(copy_with_same_weights(module))
    keywords = dict(kwargs or {})
    batches = [_arguments(module, one, inputs, number) for number, one in enumerate(calibration)]
    if chosen.needs_calibration and not batches:
        raise QuantizationError(
            f"the mode {chosen} needs calibration data: pass calibration=[(x, …), …], arguments to run the module on"
        )
    for number, batch in enumerate(batches):
        _check_finite(batch, number)

    def exported(one: nn.Module) -> GraphModule:
        if isinstance(one, GraphModule) and is_exported(one) and not writes_to_shared(one.graph):
            return copy_with_same_weights(one)
        program: Any = torch.export.export(one, inputs, keywords, dynamic_shapes=dynamic_shapes)
        found: GraphModule = program.module()
        # Readers of a quantized value restore it each for itself, and would not see what is written to it.
        return program.run_decompositions({}).module() if writes_to_shared(found.graph) else found

    given, batches = batches, batches or [inputs]
    with _quiet(), torch.no_grad():
        if chosen.name == "8da4w":
            check_patterns(keep_float, paths_of(module))
        made, left = module, list[Unquantized]()
        if is_graph and chosen.name != "int8":
            left = _tables(exported(module))
        elif chosen.name != "int8":
            made, left = _by_weights(module, chosen, inputs, given, keywords, keep_float)
        if chosen.name == "8da4w":
            plain = exported(module)
            layers = compare_layers(plain, exported(made), batches, keywords, plain)
            found = QuantizedModule(made, tuple(left), tuple(layers), mode=chosen)
            return MeasuredModule(found, None, {})
        run = Calibration(chosen, keywords, batches, keep_float, exported)
        measured = run.measured(module, coarse)
        prepared = measured.prepared if made is module else run.calibrated(made, measured.coarse)
        shifts = correct_biases(prepared, given, keywords)
        if made is module:
            measured.sensitivities.correct({layer.name: shift for layer, shift in shifts.items()})
        graph = converted(prepared)
        layers = compare_layers(measured.plain, graph, batches, keywords, measured.reference)
    found = QuantizedModule(
        graph, (*left, *measured.unquantized), tuple(layers), mode=chosen, rounded=_rounded_values(graph)
    )
    return MeasuredModule(found, measured.sensitivities, measured.coarse)


def _by_weights(
    module: nn.Module,
    mode: QuantizationMode,
    inputs: Inputs,
    batches: list[Inputs],
    kwargs: dict[str, Any],
    keep_float: Sequence[str],
) -> tuple[nn.Module, list[Unquantized]]:
    """The module, or one with tables and, where the mode says so, linear layers in integers; and what is in floats."""
    with kept_state(module):
        moments = input_moments(module, batches, kwargs) if mode.name == "8da4w" else {}
    made = copy_with_same_weights(module)
    read = other_readers(module, inputs, kwargs)
    is_changed, left = quantize_weights(made, mode, keep_float, moments, read)
    return made if is_changed else module, left


def _check_kinds(
    module: object, inputs: object, mode: object, calibration: object, keep_float: object
) -> None:
    """Raise `TypeError` for what are other things than a module, data, a mode and patterns."""
    if not isinstance(mode, str | QuantizationMode):
        raise TypeError(
            f"the mode is a {type(mode).__name__}, not a name such as 'int8': quantize(module, inputs, mode), where "
            "data to calibrate with is calibration=[inputs, …]"
        )
    if not isinstance(module, nn.Module | ExportedProgram):
        load = f"; load it first: torch.export.load({module!r})" if str(module).endswith(".pt2") else ""
        raise TypeError(
            f"expected a module or an exported program to quantize, got a {type(module).__name__}{load}"
        )
    if isinstance(inputs, torch.Tensor):
        raise TypeError("inputs: a tuple of example arguments is expected, as in (x,), not a tensor")
    got = type(calibration).__name__
    if got in ("str", "dict") or not isinstance(calibration, Iterable):
        call = f"; call it: {getattr(calibration, '__name__', '')}()" if callable(calibration) else ""
        raise TypeError(f"calibration: tuples of arguments are expected, as in [(x,), …], not {got}{call}")
    if isinstance(keep_float, str):
        raise TypeError(f"keep_float: a list of patterns is expected: [{keep_float!r}]")


def _arguments(module: nn.Module, given: Inputs | Mapping[str, Any], inputs: Inputs, number: int) -> Inputs:
    """The positional arguments of a run, in their order."""
    if isinstance(given, torch.Tensor):
        return (given,)
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise QuantizationError(
            f"calibration data {number} is a {type(given).__name__}: expected a tuple of arguments, or a dict by name"
        )
    if not isinstance(given, Mapping):
        if len(given) != len(inputs):
            raise QuantizationError(
                f"calibration data {number} has {in_words(len(given), 'argument')}, the example inputs have "
                f"{len(inputs)}: give the arguments of forward alone, as in (x,)"
            )
        return tuple(given)
    names = input_names(module)[: len(inputs)]
    if set(given) != set(names):
        raise QuantizationError(
            f"calibration data {number} is of {', '.join(map(str, given)) or 'nothing'}: expected {', '.join(names)}"
        )
    return tuple(given[name] for name in names)


def _rounded_values(graph: GraphModule) -> int:
    """How many values a converted graph rounds while it runs."""
    names = (str(node.target) for node in graph.graph.nodes if node.op == "call_function")
    return sum(name.startswith("quantized_decomposed.quantize_per_tensor") for name in names)


def _tables(graph: GraphModule) -> list[Unquantized]:
    """The tables of an exported program, whose rows stay floats."""
    return [
        Unquantized(
            str(node.target),
            node_module_path(node),
            place_of(node),
            "a table of an exported program",
            fix="quantize the module that the program was exported from",
        )
        for node in graph.graph.nodes
        if node.target is torch.ops.aten.embedding.default
    ]


def _check_finite(batch: Inputs, number: int) -> None:
    for place, leaf in enumerate(pytree.tree_leaves(batch)):
        if not isinstance(leaf, torch.Tensor):
            continue
        if not leaf.numel():
            raise QuantizationError(f"calibration data {number}, tensor {place}: no elements")
        if leaf.is_floating_point() and not leaf.isfinite().all():
            raise QuantizationError(f"calibration data {number}, tensor {place}: NaN or infinity")


@contextmanager
def _quiet() -> Generator[None]:
    """Without the warnings and logs of torchao about itself."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
