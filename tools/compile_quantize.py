"""Quantization by et-compile: modules are quantized before they are exported, with a report of their layers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from math import inf, isfinite, isnan
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from et_ir.driver.observer import Observer
from et_tools.exit_codes import UsageError
from et_tools.loading import ProgramError, attribute_of, told
from et_tools.messages import print_diagnostics, print_message, running_command
from et_tools.vm_inputs import load_arrays

if TYPE_CHECKING:
    from torch import nn
    from xdsl.dialects.builtin import ModuleOp

    from et_ir.quantization import (
        AccuracySearch,
        Layer,
        QuantizedModule,
        QuantizedOperator,
        Remedy,
        Unquantized,
    )
    from et_schema.diagnostics import Diagnostic

__all__ = ["Quantization"]

SHOWN = 4
"""Places of an operator, and options of a remedy, that are shown."""
WIDTH = 120
"""Columns of the tables, where they are not for a terminal."""


class Quantization:
    """The quantization that options ask for: a step between a factory and the export."""

    def __init__(self, args: argparse.Namespace):
        self._args = args
        self._place = args.model.rpartition(":")[0]
        self._found: list[tuple[str, QuantizedModule, AccuracySearch | None]] = []
        for option, value in (
            ("--calibrate", args.calibrate),
            ("--keep-float", args.keep_float),
            ("--accuracy", args.accuracy),
        ):
            if value and args.quantize is None:
                raise UsageError(f"{option} needs --quantize")
        if args.quantize is not None and not self._place and not args.model.endswith(".pt2"):
            raise UsageError(
                "--quantize needs a module, file.py:factory or package.module:factory, or an exported program, a .pt2; "
                f"{args.model} is exported and imported"
            )

    @property
    def is_wanted(self) -> bool:
        """Whether modules are to be quantized."""
        return self._args.quantize is not None

    def __call__(
        self, method: str, module: nn.Module, inputs: tuple[Any, ...], kwargs: Any, dynamic_shapes: Any
    ) -> nn.Module:
        """The module to export in the place of another one. Raises `UsageError` and `ProgramError`."""
        from et_ir.quantization import QuantizationError, QuantizationMode, quantize, quantize_to_accuracy

        try:
            mode = QuantizationMode.parse(self._args.quantize)
        except QuantizationError as error:
            raise UsageError(f"--quantize: {error}") from None
        if self._args.calibrate is None and mode.needs_calibration:
            functions = f"a function of {self._place}" if self._place else "file.py:function"
            raise UsageError(f"--quantize {mode} needs --calibrate: a .npz, or {functions}")
        if not inputs and kwargs:
            raise UsageError("--quantize: a module of keyword arguments alone cannot be calibrated")
        options: dict[str, Any] = {
            "kwargs": kwargs,
            "calibration": self._batches(module, inputs),
            "keep_float": self._args.keep_float,
            "dynamic_shapes": dynamic_shapes,
        }
        search: AccuracySearch | None = None
        try:
            if self._args.accuracy is None:
                found = quantize(module, inputs, mode, **options)
            else:
                loss, evaluate = self._bound()
                search = quantize_to_accuracy(module, inputs, mode, evaluate, loss, **options)
                found = search.module
        except QuantizationError as error:
            raise ProgramError(f"'{method}' cannot be quantized: {error}") from error
        self._found.append((method, found, search))
        return found.module

    def quantize_weights(self, model: nn.Module) -> None:
        """Quantize the weights of a language model in place. Raises `UsageError` and `ProgramError`."""
        from et_ir.language_models import quantize_weights
        from et_ir.quantization import QuantizationError, QuantizationMode

        for option, value in (("--calibrate", self._args.calibrate), ("--accuracy", self._args.accuracy)):
            if value is not None:
                raise UsageError(f"{option} does not apply to {self._args.model}: give a factory")
        try:
            mode = QuantizationMode.parse(self._args.quantize)
        except QuantizationError as error:
            raise UsageError(f"--quantize: {error}") from None
        try:
            found = quantize_weights(model, mode, self._args.keep_float)
        except QuantizationError as error:
            raise UsageError(f"--quantize {mode}: {error}") from None
        self._found.append(("forward", found, None))

    def _bound(self) -> tuple[float, Callable[[Any], float]]:
        """The part that quality may lose, and the function that measures it."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)%:((?:.+:)?\w+)", self._args.accuracy)
        if match is None:
            raise UsageError(
                f"--accuracy {self._args.accuracy}: expected PERCENT%:FUNCTION, as 0.5%:evaluate, a function "
                f"of {self._place or 'a file, as 0.5%:file.py:evaluate,'} that takes a module and returns a number"
            )
        evaluate = self._function("--accuracy", match[2])
        return float(match[1]) / 100, lambda one: self._called("--accuracy", match[2], lambda: evaluate(one))

    def _function(self, option: str, given: str) -> Callable[..., Any]:
        """A function of the factory's file, or of the one that is named before it."""
        place, _, name = given.rpartition(":")
        if not place and not self._place:
            raise UsageError(f"{option} {given}: name the file of the function, file.py:{given}")
        return attribute_of(place or self._place, name)

    def _batches(self, module: nn.Module, inputs: tuple[Any, ...]) -> list[Any]:
        """The calibration data: of a file, or of a function beside the factory."""
        given = self._args.calibrate
        if given is None:
            return []
        if given.endswith(".npz"):
            from et_ir.frontend.exported import input_names

            return _batches_of_file(given, inputs, input_names(module)[: len(inputs)])
        function = self._function("--calibrate", given)

        def batches() -> list[Any]:
            made: Any = function()
            if not isinstance(made, Iterable):
                raise UsageError(
                    f"--calibrate {given}: expected a generator of inputs, not {type(made).__name__}"
                )
            return list(made)

        made = self._called("--calibrate", given, batches)
        return [one if isinstance(one, tuple | dict) else (one,) for one in made]

    def _called(self, option: str, name: str, function: Callable[[], Any]) -> Any:
        """The result of a function of the user's. Raises `ProgramError` for what it raises."""
        try:
            return function()
        except (ProgramError, UsageError):
            raise
        except (Exception, SystemExit) as error:
            place = "" if ":" in name else f" of {self._place}"
            raise ProgramError(f"{option}: the function {name}{place} failed: {told(error)}") from error

    def json(self) -> list[dict[str, Any]]:
        """The layers of each method, and what is in floats; ratios in dB, None where nothing was lost."""
        return [
            {
                "method": method,
                "layers": [
                    {
                        "name": layer.name,
                        "operator": layer.operator,
                        "bytes_before": layer.bytes_before,
                        "bytes_after": layer.bytes_after,
                        "weight_sqnr": layer.weight_sqnr if isfinite(layer.weight_sqnr) else None,
                        "output_sqnr": layer.output_sqnr if isfinite(layer.output_sqnr) else None,
                    }
                    for layer in found.layers
                ],
                "operators": [
                    {
                        "name": one.name,
                        "operator": one.operator,
                        "place": one.place,
                        "own_sqnr": one.own_sqnr if isfinite(one.own_sqnr) else None,
                        "output_sqnr": one.output_sqnr if isfinite(one.output_sqnr) else None,
                    }
                    for one in found.operators
                ],
                "unquantized": [str(one) for one in found.unquantized],
            }
            for method, found, _ in self._found
        ]

    def report(self) -> None:
        """Print on stderr a table of the layers of each method, what is in floats, and the search for a bound."""
        stream = sys.stderr
        for method, found, search in self._found:
            tables = [_layers(method, found)]
            if search is not None:
                tables.append(_trials(search))
            _print(tables, stream)
            for line in _floats(found.unquantized):
                print(line, file=stream)
            if found.remedy is not None:
                print_message(running_command(), _lost(method, found.remedy), "warning")


class FloatBoundary(Observer):
    """The inputs and outputs that `--quantized-io` leaves in floats."""

    def __init__(self) -> None:
        self.reasons: list[Diagnostic] = []

    def reached(self, level: str, module: ModuleOp) -> None:
        """The program is at a level."""
        if level == "edge":
            from et_ir.passes.core_to_edge.quantize_io import float_boundary

            self.reasons = float_boundary(module)

    def report(self) -> None:
        """Print a warning on stderr for each, with the op that is the reason."""
        print_diagnostics(running_command(), self.reasons)


def _floats(left: Sequence[Unquantized]) -> list[str]:
    """What stays in floats, by reason: where, how often, and what would quantize it."""
    groups: dict[tuple[str, str], list[Unquantized]] = {}
    for one in left:
        groups.setdefault((one.reason, one.fix), []).append(one)
    lines: list[str] = []
    for (reason, fix), group in groups.items():
        if len(group) == 1:
            lines.append(f"not quantized: {group[0]}")
        else:
            lines.append(f"not quantized: {len(group)} operators: {reason}")
            lines += _places(group)
        if fix:
            lines.append(f"  fix: {fix}")
    return lines


def _places(group: Sequence[Unquantized]) -> list[str]:
    """A line for each operator of a group, with where the first calls are."""
    by_operator: dict[str, list[Unquantized]] = {}
    for one in group:
        by_operator.setdefault(one.operator, []).append(one)
    lines: list[str] = []
    for operator, calls in by_operator.items():
        places = dict.fromkeys(
            f"{one.where}{': ' if one.detail and one.where else ''}{one.detail}" for one in calls
        )
        shown = [place for place in places if place][:SHOWN]
        more = ", …" if len(places) > SHOWN else ""
        lines.append(f"  {len(calls)} {operator}{': ' if shown else ''}{', '.join(shown)}{more}")
    return lines


def _lost(method: str, remedy: Remedy) -> str:
    """The warning of results that are lost in noise: the first operator that loses them, and what to keep in floats."""
    first = remedy.operators[0]
    options = [f"--keep-float '{pattern}'" for pattern in remedy.keep_float]
    if len(options) > SHOWN:
        advice = f"{len(options)} operators have to stay in floats: search for the fewest with --accuracy"
    else:
        advice = f"{' '.join(options)} makes it {_decibels(remedy.output_sqnr)}"
        if not isfinite(remedy.output_sqnr):
            advice = f"{' '.join(options)} leaves nothing quantized that reaches them"
    return (
        f"the results of '{method}' are lost in the noise of 8 bits: {_decibels(remedy.found_sqnr)} on the calibration "
        f"data; the first operator that loses them is {first.subject}, alone {_decibels(first.own_sqnr)}"
        f"\n  fix: {advice}"
    )


def _batches_of_file(path: str, inputs: tuple[Any, ...], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Arrays with the names of the inputs, or else in their order: stacks of inputs, or inputs one after the other
    along dimension 0.
    """
    import torch

    if not Path(path).is_file():
        raise UsageError(f"--calibrate {path}: no such file")
    try:
        loaded = load_arrays(path)
    except UsageError as error:
        raise UsageError(f"--calibrate {error}") from None
    by_name = {f"{path}[{name}]": name for name in names}
    arrays = [one.value for one in loaded]
    if {one.source for one in loaded} == set(by_name):
        found = {by_name[one.source]: one.value for one in loaded}
        arrays = [found[name] for name in names]
    if len(arrays) != len(inputs):
        listed = f": {', '.join(names)}" if names else ""
        raise UsageError(f"--calibrate {path}: {len(arrays)} arrays for {len(inputs)} inputs{listed}")
    columns: list[Sequence[Any]] = []
    for number, (array, example) in enumerate(zip(arrays, inputs, strict=True)):
        if not isinstance(example, torch.Tensor):
            raise UsageError(f"--calibrate {path}: input {number} is not a tensor; give a function")
        shape = tuple(example.shape)
        try:
            tensor = torch.from_numpy(array)
        except TypeError:
            raise UsageError(
                f"--calibrate {path}: input {number} is {array.dtype}, expected {example.dtype}"
            ) from None
        if tensor.dtype != example.dtype:
            raise UsageError(
                f"--calibrate {path}: input {number} is {tensor.dtype}, expected {example.dtype}"
            )
        if array.shape[1:] == shape:
            columns.append(tensor.unbind())
        elif shape and array.ndim == len(shape) and array.shape[1:] == shape[1:] and len(array) >= shape[0]:
            whole = len(array) // shape[0] * shape[0]
            columns.append(tensor[:whole].split(shape[0]))
        else:
            raise UsageError(
                f"--calibrate {path}: input {number} is {list(array.shape)}, expected inputs of {list(shape)}"
            )
    return list(zip(*columns, strict=False))


def _layers(method: str, found: QuantizedModule) -> Any:
    """Layers with weights and, between them, the other operators that are quantized."""
    from rich.table import Table

    table = Table("layer", box=None, pad_edge=False, title=f"method {method}", title_justify="left")
    table.add_column("operator")
    for column in ("bytes", "quantized", "ratio", "SQNR of weight", "of output", "alone"):
        table.add_column(column, justify="right")
    pending = list(found.operators)
    for layer in found.layers:
        at = next((number for number, one in enumerate(pending) if _is_layer(one, layer)), None)
        for one in pending[: at or 0]:
            _add_operator(table, one)
        alone = "" if at is None else _decibels(pending[at].own_sqnr)
        pending = pending if at is None else pending[at + 1 :]
        table.add_row(
            layer.name,
            layer.operator,
            *_sizes(layer.bytes_before, layer.bytes_after),
            _decibels(layer.weight_sqnr),
            _decibels(layer.output_sqnr),
            alone,
        )
    for one in pending:
        _add_operator(table, one)
    sizes = [
        sum(layer.bytes_before for layer in found.layers),
        sum(layer.bytes_after for layer in found.layers),
    ]
    table.add_row("all", "", *_sizes(*sizes), "", "", "")
    return table


def _is_layer(operator: QuantizedOperator, layer: Layer) -> bool:
    """Whether an operator is a layer with a weight."""
    return operator.module == layer.name and operator.operator.split(".")[1] == layer.operator


def _add_operator(table: Any, one: QuantizedOperator) -> None:
    name = one.operator.split(".")[1]
    table.add_row(one.name, name, "", "", "", "", _decibels(one.output_sqnr), _decibels(one.own_sqnr))


def _sizes(before: int, after: int) -> tuple[str, str, str]:
    return f"{before:,}", f"{after:,}", f"{after / before:.2f}" if before else "-"


def _decibels(ratio: float) -> str:
    return "-" if ratio == inf or isnan(ratio) else f"{ratio:.1f} dB"


def _trials(search: AccuracySearch) -> Any:
    from rich.table import Table

    table = Table("operators in floats", box=None, pad_edge=False)
    table.add_column("quality", justify="right")
    table.add_column("of floats", justify="right")
    table.add_row("all", f"{search.float_quality:.6g}", "100.00%")
    for trial in search.trials:
        names = ", ".join(trial.kept) or "none"
        part = trial.quality / search.float_quality if search.float_quality else 1.0
        chosen = " (chosen)" if trial.kept == search.kept else ""
        table.add_row(f"{names}{chosen}", f"{trial.quality:.6g}", f"{part:.2%}")
    return table


def _print(tables: Sequence[Any], stream: IO[str]) -> None:
    from rich.console import Console

    console = Console(file=stream, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    for table in tables:
        with console.capture() as captured:
            console.print(table)
        print("\n".join(line.rstrip() for line in captured.get().splitlines()), file=stream)
        print(file=stream)
