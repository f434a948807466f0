"""Quantization of a module by a mode: `int8`, `int8:functions=8`, `int8-dynamic`, `int8-weights`, `8da4w:group=32`.

The static and dynamic 8-bit modes are torchao's PT2E flow with the quantizer of this package; those of weights are
torchao's `quantize_`. What comes out is a module to export.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Final, cast

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from et_ir.frontend.exported import in_evaluation, input_names, is_exported
from et_ir.frontend.sources import node_module_path
from et_ir.quantization.config import get_symmetric_quantization_config
from et_ir.quantization.graphs import kept_state, separate_normalized, writes_to_shared
from et_ir.quantization.layers import Layer, compare_layers, first_undefined
from et_ir.quantization.operators import is_kept, module_and_operator_names, no_match, operator_names
from et_ir.quantization.quantizer import Unquantized, XNNPACKQuantizer, place_of
from et_ir.quantization.rounding import compensate, search_scales
from et_ir.quantization.sensitivity import QuantizedOperator, Remedy, Sensitivities
from et_schema.diagnostics import did_you_mean
from et_schema.html_table import html_table
from et_schema.whole_numbers import shortened, whole_number
from et_schema.wording import in_words

__all__ = [
    "MODES",
    "MeasuredModule",
    "QuantizationError",
    "QuantizationMode",
    "QuantizedModule",
    "quantize",
    "quantize_and_measure",
]

MODES: Final = ("int8", "int8-dynamic", "int8-weights", "8da4w")
_GROUP: Final = 32
"""Elements that share a scale in 4 bits, unless the mode says otherwise."""

_OPTIONS: Final = {
    "int8": {"functions": ("8", "32")},
    "8da4w": {"group": (), "embedding": ("4", "8")},
}
"""Options of modes, and their values; none stand for any number of elements."""
_SHOWN: Final = {"8da4w": ("group=N", "embedding=4"), "int8": ("functions=8",)}

Inputs = tuple[Any, ...]


class QuantizationError(ValueError):
    """A module that cannot be quantized as asked, with the layer or the data that is the reason."""


@dataclass(frozen=True)
class QuantizationMode:
    """A mode and its parameter."""

    name: str
    """One of `int8`, `int8-dynamic`, `int8-weights` and `8da4w`."""
    group: int = _GROUP
    """Neighbours in a row of a weight that share a scale, in `8da4w`."""
    embedding: int = 8
    """Bits of the rows of tables in `8da4w`: 8 with a scale for each row, or 4 with one for each group."""
    functions: int = 32
    """Bits of softmax, normalizations, functions and products of two computed matrices in `int8`: 32, floats, or 8."""

    @staticmethod
    def parse(text: str) -> QuantizationMode:
        """`8da4w:group=64,embedding=4`. Raises `QuantizationError` for anything that is no mode."""
        name, _, options = text.partition(":")
        if name not in MODES:
            raise QuantizationError(
                f"'{name}' is not a quantization mode: expected one of {', '.join(MODES)}{did_you_mean(name, MODES)}"
            )
        mode = QuantizationMode(name)
        known = _OPTIONS.get(name, {})
        for option in filter(None, options.split(",")):
            key, _, value = option.partition("=")
            if key not in known:
                has = "; ".join(f"{one} has {' and '.join(given)}" for one, given in _SHOWN.items())
                raise QuantizationError(f"the mode {name} has no option '{key}'; {has}")
            values = known[key]
            if values and value not in values:
                raise QuantizationError(f"{key}={value}: expected {' or '.join(values)} bits")
            number = whole_number(value)
            if number is None or (not values and number < 2):
                raise QuantizationError(
                    f"{key}={shortened(value)}: expected a number of elements, at least 2"
                )
            mode = replace(mode, **{key: number})
        return mode

    @property
    def needs_calibration(self) -> bool:
        """Whether scales are chosen from what the module computes of data."""
        return self.name == "int8"

    def __str__(self) -> str:
        if self.name != "8da4w":
            return f"{self.name}:functions=8" if self.functions == 8 else self.name
        return f"{self.name}:group={self.group}" + (",embedding=4" if self.embedding == 4 else "")

    def why_not(self, module: nn.Module) -> str:
        """Why a linear layer or a table cannot be quantized; empty if it can be."""
        width: Any = getattr(module, "in_features", None) or getattr(module, "embedding_dim", 0)
        in_groups = self.name == "8da4w" and (isinstance(module, nn.Linear) or self.embedding == 4)
        if in_groups and width % self.group:
            what = "inputs" if isinstance(module, nn.Linear) else "columns"
            return f"groups of {self.group} do not divide its {width} {what}"
        return ""


@dataclass(frozen=True)
class QuantizedModule:
    """A module to export, and what was not quantized."""

    module: nn.Module
    """To export with the same example inputs."""
    unquantized: tuple[Unquantized, ...]
    """The operators on floats that the mode could be about."""
    layers: tuple[Layer, ...]
    """Those with weights, beside the layers in floats."""
    operators: tuple[QuantizedOperator, ...] = ()
    """Those whose operands or results are quantized, in the order of their calls, with the errors that they make; none
    in `8da4w`."""
    remedy: Remedy | None = None
    """What else to keep in floats, where the results are lost in noise; `None` where they are not."""

    def __repr__(self) -> str:
        quantized = sum(layer.is_quantized for layer in self.layers)
        count = f"{quantized} of {len(self.layers)} layers quantized"
        return f"<{type(self).__name__}: {count}, {len(self.unquantized)} operators in floats>"

    def _repr_html_(self) -> str:
        """Display in notebooks: a table of the layers, with ratios of signal to noise in dB."""
        rows = [
            (
                layer.name,
                layer.operator,
                f"{layer.bytes_before:,}",
                f"{layer.bytes_after:,}",
                *("" if ratio == inf else f"{ratio:.1f}" for ratio in (layer.weight_sqnr, layer.output_sqnr)),
            )
            for layer in self.layers
        ]
        heads = ("layer", "operator", "bytes before", "after", "weight dB", "output dB")
        return html_table(heads, rows, repr(self)[1:-1])


@dataclass(frozen=True)
class MeasuredModule:
    """A quantized module, and the errors of its operators where they are needed."""

    module: QuantizedModule
    """Without the errors of its operators."""
    sensitivities: Sensitivities | None
    """Of the operators that are quantized; `None` in `8da4w`."""
    coarse: Mapping[str, str]
    """The names of operators that stay in floats as 8 bits are too few for them, and what would be lost."""

    def complete(self) -> QuantizedModule:
        """The module with the errors of its operators."""
        if self.sensitivities is None:
            return self.module
        operators = tuple(self.sensitivities.operators())
        return replace(self.module, operators=operators, remedy=self.sensitivities.remedy())


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
    and layers are compared on. Modules whose path matches a pattern of `keep_float`, as `head.*`, stay floats, and so
    do operators whose name does, as `mel:add`. Operators that alone would lose the next quantized value, or a result,
    in noise, as a sum before a logarithm, stay floats by themselves: `unquantized` says which, and why.

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
    if not isinstance(cast("object", mode), str | QuantizationMode):
        raise TypeError(
            f"the mode is a {type(mode).__name__}, not a name such as 'int8': quantize(module, inputs, mode), where "
            "data to calibrate with is calibration=[inputs, …]"
        )
    if not isinstance(cast("object", module), nn.Module | ExportedProgram):
        raise TypeError(
            f"expected a module or an exported program to quantize, got a {type(module).__name__}"
        )
    chosen = QuantizationMode.parse(mode) if isinstance(mode, str) else mode
    _check_kinds(module, inputs, calibration, keep_float)
    if isinstance(module, ExportedProgram):
        module = module.module()
    is_graph = is_exported(module)
    if is_graph and chosen.name == "8da4w":
        raise QuantizationError(
            f"the mode {chosen} quantizes linear layers and tables as modules, and an exported program has none: give "
            "the module that it was exported from, or use int8, int8-dynamic or int8-weights"
        )
    with _quiet():
        module = in_evaluation(copy.deepcopy(module))
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
            return copy.deepcopy(one)
        program: Any = torch.export.export(one, inputs, keywords, dynamic_shapes=dynamic_shapes)
        found: GraphModule = program.module()
        # Readers of a quantized value restore it each for itself, and would not see what is written to it.
        return program.run_decompositions({}).module() if writes_to_shared(found.graph) else found

    given, batches = batches, batches or [inputs]
    with _quiet(), torch.no_grad():
        made, left = module, list[Unquantized]()
        measured: _Quantized | None = None
        if chosen.name == "8da4w":
            _check_patterns(keep_float, _paths(module))
        if is_graph and chosen.name != "int8":
            left = _tables(exported(module))
        elif chosen.name != "int8":
            with kept_state(module):
                moments = _moments(module, given, keywords) if chosen.name == "8da4w" else {}
            read = _other_readers(module, inputs, keywords)
            made, left = _by_weights(copy.deepcopy(module), chosen, keep_float, moments, read)
        if chosen.name != "8da4w":
            run = _Calibration(chosen, keywords, batches, keep_float, exported)
            measured = run.quantized(module, coarse)
            made = measured.module if made is module else run.quantized(made, measured.coarse).module
            left += measured.unquantized
        compared = made if isinstance(made, GraphModule) else exported(made)
        plain = exported(module) if measured is None else measured.plain
        reference = plain if measured is None else measured.reference
        layers = compare_layers(plain, compared, batches, keywords, reference)
    found = QuantizedModule(made, tuple(left), tuple(layers))
    if measured is None:
        return MeasuredModule(found, None, {})
    return MeasuredModule(found, Sensitivities(measured.plain, batches, keywords), measured.coarse)


def _check_kinds(module: object, inputs: object, calibration: object, keep_float: object) -> None:
    """Raise `TypeError` for what are other things than a module, data and patterns."""
    if not isinstance(module, nn.Module | ExportedProgram):
        load = f"; load it first: torch.export.load({module!r})" if str(module).endswith(".pt2") else ""
        raise TypeError(
            f"a torch.nn.Module or an ExportedProgram is expected, not {type(module).__name__}{load}"
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


def _paths(module: nn.Module) -> list[str]:
    return [name for name, _ in cast("Iterable[tuple[str, nn.Module]]", module.named_modules())]


def _check_patterns(patterns: Sequence[str], names: Sequence[str]) -> None:
    for pattern in patterns:
        reason = no_match(pattern, names)
        if reason:
            raise QuantizationError(reason)


def _check_finite(batch: Inputs, number: int) -> None:
    for place, leaf in enumerate(pytree.tree_leaves(batch)):
        if not isinstance(leaf, torch.Tensor):
            continue
        if not leaf.numel():
            raise QuantizationError(f"calibration data {number}, tensor {place}: no elements")
        if leaf.is_floating_point() and not leaf.isfinite().all():
            raise QuantizationError(f"calibration data {number}, tensor {place}: NaN or infinity")


@contextmanager
def _quiet() -> Any:
    """Without the warnings and logs of torchao about itself."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


@dataclass(frozen=True)
class _Quantized:
    """What calibration makes of a module."""

    module: GraphModule
    """After quantization."""
    plain: GraphModule
    """In floats, with observers, and batch normalizations in convolutions."""
    reference: GraphModule
    """In floats as it was exported."""
    unquantized: list[Unquantized]
    """What is left in floats."""
    coarse: Mapping[str, str]
    """What is left as 8 bits are too few, and what would be lost."""


@dataclass(frozen=True)
class _Calibration:
    """Quantization with scales that observers choose."""

    mode: QuantizationMode
    kwargs: dict[str, Any]
    batches: list[Inputs]
    keep_float: Sequence[str]
    export: Callable[[nn.Module], GraphModule]

    def quantized(self, module: nn.Module, coarse: Mapping[str, str] | None) -> _Quantized:
        """The module after quantization, with the operators in floats for which 8 bits are too few: those that are
        given, or those that measuring finds.
        """
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e

        graph = self.export(module)
        separate_normalized(graph)
        _check_patterns(self.keep_float, [*_paths(module), *module_and_operator_names(graph.graph)])
        reference = copy.deepcopy(graph)
        prepared, quantizer = self._calibrated(module, graph, coarse or {})
        if coarse is None:
            found = Sensitivities(prepared, self.batches, self.kwargs).coarse()
            coarse = {one.name: one.reason for one in found}
            if coarse:
                prepared, quantizer = self._calibrated(module, copy.deepcopy(reference), coarse)
        plain = copy.deepcopy(prepared)
        with kept_state(prepared):  # constants are folded by running what reads constants and states alone
            made = convert_pt2e(prepared)
        return _Quantized(made, plain, reference, quantizer.unquantized, coarse)

    def _calibrated(
        self, module: nn.Module, graph: GraphModule, coarse: Mapping[str, str]
    ) -> tuple[GraphModule, XNNPACKQuantizer]:
        """The graph with observers that have seen the data, for all operators but some that stay in floats."""
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
        if self.mode.name == "int8-weights":
            config = replace(config, input_activation=None, output_activation=None)
        quantizer.set_global(config)
        with kept_state(graph):
            prepared = prepare_pt2e(graph, quantizer)
            self._observe(module, prepared)
        _check_observed(prepared)
        return prepared, quantizer

    def _observe(self, module: nn.Module, prepared: GraphModule) -> None:
        """Run the data through a graph with observers. Raises `QuantizationError` for data that cannot be run."""
        for number, batch in enumerate(self.batches):
            try:
                prepared(*batch, **self.kwargs)
            except Exception as error:
                first = str(error).strip().partition("\n")[0]
                place = first_undefined(self.export(module), batch, self.kwargs)
                reason = f"NaN or infinity in {place}" if place else f"the module fails: {first}"
                if first.startswith("Guard failed"):
                    reason += "; the sizes are those of the example inputs: pass dynamic_shapes, or data of these sizes"
                raise QuantizationError(f"calibration data {number}: {reason}") from error


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


def _moments(module: nn.Module, batches: list[Inputs], kwargs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """`inputs.T @ inputs` f64 of the linear layers that are called, by their paths; empty without batches."""
    found: dict[str, torch.Tensor] = {}

    def observer(name: str) -> Callable[..., None]:
        def observe(_: nn.Module, arguments: Inputs, result: object) -> None:
            x = arguments[0].reshape(-1, arguments[0].shape[-1]).double()
            found[name] = found[name] + x.T @ x if name in found else x.T @ x

        return observe

    layers = cast("Iterable[tuple[str, nn.Module]]", module.named_modules())
    hooks = [
        one.register_forward_hook(observer(name))
        for name, one in layers
        if batches and isinstance(one, nn.Linear)
    ]
    try:
        for number, batch in enumerate(batches):
            try:
                module(*batch, **kwargs)
            except Exception as error:
                first = str(error).strip().partition("\n")[0]
                raise QuantizationError(f"calibration data {number}: the module fails: {first}") from error
    finally:
        for hook in hooks:
            hook.remove()
    for name, moments in found.items():
        if not moments.isfinite().all():
            raise QuantizationError(f"calibration data: NaN or infinity in the inputs of '{name}'")
    return found


_READERS: Final = (torch.nn.functional.linear, torch.nn.functional.embedding)
"""The functions that take a quantized weight, as the second argument."""


class _WeightReaders(TorchFunctionMode):
    """Notes what reads weights otherwise than a layer or a table does."""

    def __init__(self, weights: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self._weights = {id(weight) for weight in weights}
        self.found: dict[int, str] = {}
        """The name of a function by the weight that it reads."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(
            isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(result)
        ):  # not a size, or a type
            given = (args[:1], args[2:], kwargs) if func in _READERS else (args, kwargs)
            for leaf in pytree.tree_leaves(given):
                if id(leaf) in self._weights:
                    self.found.setdefault(id(leaf), getattr(func, "__name__", str(func)))
        return result


def _other_readers(module: nn.Module, inputs: Inputs, kwargs: dict[str, Any]) -> dict[str, str]:
    """What else reads the weights of layers and tables, by the paths of these."""
    layers = _tables_and_layers(module)
    with kept_state(module), _WeightReaders(one.weight for _, one in layers) as readers:
        module(*inputs, **kwargs)
    return {name: readers.found[id(one.weight)] for name, one in layers if id(one.weight) in readers.found}


def _by_weights(
    module: nn.Module,
    mode: QuantizationMode,
    keep_float: Sequence[str],
    moments: Mapping[str, torch.Tensor],
    read: Mapping[str, str],
) -> tuple[nn.Module, list[Unquantized]]:
    """Rows of tables in 8 or 4 bits and, where the mode says so, linear layers in groups of 4 bits."""
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
        quantize_,
    )
    from torchao.utils import (
        unwrap_tensor_subclass,  # pyright: ignore[reportUnknownVariableType]  (untyped)
    )

    left: list[Unquantized] = []

    def is_quantized(kinds: tuple[type[nn.Module], ...], one: nn.Module, name: str) -> bool:
        if not isinstance(one, kinds):
            return False
        reason = mode.why_not(one)
        if is_kept(name, keep_float):
            reason = "left in floats by configuration"
        elif name in read:
            reason = f"its weight is read by {read[name]} too"
        elif "weight" not in dict(one.named_parameters(recurse=False)):
            reason = "its weight is computed"
        if reason:
            left.append(Unquantized(type(one).__name__, name, "", reason))
        return not reason

    def chosen(*kinds: type[nn.Module]) -> Callable[[nn.Module, str], bool]:
        return lambda one, name: is_quantized(kinds, one, name)

    bits_4: Any = cast(Any, torch).int4
    weights = {name: one.weight.detach() for name, one in _tables_and_layers(module)}
    if mode.name == "8da4w":
        config = Int8DynamicActivationIntxWeightConfig(
            weight_dtype=bits_4, weight_granularity=PerGroup(mode.group)
        )
        quantize_(module, config, chosen(nn.Linear))
    # Rows of a table are looked up, not multiplied: 8 bits each with a scale, unless the mode says otherwise.
    rows = IntxWeightOnlyConfig(torch.int8, PerAxis(0))
    if mode.embedding == 4:
        rows = IntxWeightOnlyConfig(bits_4, PerGroup(mode.group))
    quantize_(module, rows, chosen(nn.Embedding))
    for name, one in _tables_and_layers(module):
        made: Any = one.weight
        if getattr(made, "target_dtype", None) is bits_4:
            _improve(made, weights[name], mode.group, moments.get(name))
    unwrap_tensor_subclass(nn.ModuleList([module]))  # it unwraps what is in a module, which may be a layer
    return module, left


def _tables_and_layers(module: nn.Module) -> list[tuple[str, nn.Linear | nn.Embedding]]:
    modules = cast("Iterable[tuple[str, nn.Module]]", module.named_modules())
    return [(name, one) for name, one in modules if isinstance(one, nn.Linear | nn.Embedding)]


def _improve(quantized: Any, weight: torch.Tensor, group: int, moments: torch.Tensor | None) -> None:
    """Give torchao's tensor of 4 bits the scales and integers of a smaller error."""
    if moments is None:
        integers, scales = search_scales(weight, group)
    else:
        integers, scales = compensate(weight, group, moments)
    quantized.qdata.copy_(integers)
    quantized.scale.copy_(scales)
