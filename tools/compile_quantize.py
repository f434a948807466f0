"""Quantization by et-compile: modules are quantized before they are exported, with a report of their layers."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from et_ir.driver.observer import Observer
from et_schema.wording import in_words
from et_tools.exit_codes import UsageError
from et_tools.loading import ProgramError, attribute_of, call_hint, told
from et_tools.messages import print_diagnostics, print_message, running_command
from et_tools.near_files import missing_file_hint
from et_tools.quantization_report import lost_results, print_report, report_json
from et_tools.vm_inputs import load_arrays

if TYPE_CHECKING:
    from torch import nn
    from xdsl.dialects.builtin import ModuleOp

    from et_ir.quantization import AccuracySearch, QuantizedModule
    from et_schema.diagnostics import Diagnostic

__all__ = ["Quantization"]

_DATA = (".npy", ".csv", ".json", ".txt", ".pt", ".safetensors")
"""Suffixes of data in other forms."""


class Quantization:
    """The quantization that options ask for: a step between a factory and the export."""

    def __init__(self, args: argparse.Namespace, backends: Collection[str] = ()):
        """`backends` are the names of those that compile the program."""
        self._args = args
        # Their integer outputs are those of layers that round what they give.
        self._backends = () if args.quantized_io else backends
        self._place = args.model.rpartition(":")[0]
        self._found: list[tuple[str, QuantizedModule, AccuracySearch | None]] = []
        for option, value in (
            ("--calibrate", args.calibrate),
            ("--keep-float", args.keep_float),
            ("--accuracy", args.accuracy),
        ):
            if value and args.quantize is None:
                raise UsageError(
                    f"{option} needs --quantize MODE: int8, with --calibrate, or int8-dynamic, int8-weights, 8da4w"
                )
        if args.quantize is not None and not self._place and not args.model.endswith(".pt2"):
            raise UsageError(
                "--quantize needs a module, file.py:factory or package.module:factory, or an exported program, a .pt2; "
                f"{args.model} is none any more"
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
            mode = QuantizationMode.parse(self._args.quantize).for_backends(self._backends)
        except QuantizationError as error:
            raise UsageError(f"--quantize: {error}") from None
        if self._args.calibrate is None and mode.needs_calibration:
            functions = f"a function of {self._place}" if self._place else "file.py:function"
            raise UsageError(f"--quantize {mode} needs --calibrate: a .npz, or {functions}")
        if not inputs and kwargs:
            raise UsageError("--quantize: a module of keyword arguments alone cannot be calibrated")
        batches = self._batches(module, inputs)
        if mode.needs_calibration and not batches:
            raise UsageError(
                f"--calibrate {self._args.calibrate}: no inputs, and {mode} needs calibration data"
            )
        options: dict[str, Any] = {
            "kwargs": kwargs,
            "calibration": batches,
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

        def quality(module: Any) -> float:
            found: Any = evaluate(module)
            try:
                return float(found)
            except (TypeError, ValueError):
                raise UsageError(
                    f"--accuracy: the function {match[2]} returned {type(found).__name__}, not a number"
                ) from None

        return float(match[1]) / 100, lambda one: self._called("--accuracy", match[2], lambda: quality(one))

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
        if not re.fullmatch(r"(.+:)?[\w.()]+", given) or Path(given).suffix in _DATA or Path(given).exists():
            functions = f"a function of {self._place}" if self._place else "file.py:function"
            raise UsageError(
                f"--calibrate {given}: expected a .npz with an array for each input, or {functions} that yields inputs"
            )
        function = self._function("--calibrate", given)

        def batches() -> list[Any]:
            made: Any = function()
            if not isinstance(made, Iterable):
                raise UsageError(
                    f"--calibrate {given}: expected a generator of inputs, not {type(made).__name__}"
                )
            return list(made)

        made = self._called("--calibrate", given, batches, call_hint(function))
        return [one if isinstance(one, tuple | dict) else (one,) for one in made]

    def _called(self, option: str, name: str, function: Callable[[], Any], hint: str = "") -> Any:
        """The result of a function of the user's. Raises `ProgramError` for what it raises, with a hint."""
        try:
            return function()
        except (ProgramError, UsageError):
            raise
        except (Exception, SystemExit) as error:
            place = "" if ":" in name else f" of {self._place}"
            raise ProgramError(f"{option}: the function {name}{place} failed: {told(error)}{hint}") from error

    def json(self) -> list[dict[str, Any]]:
        """The layers of each method, and what is in floats; ratios in dB, None where nothing was lost."""
        return [report_json(method, found) for method, found, _ in self._found]

    def report(self, *, quiet: bool) -> None:
        """Print on stderr a table of the layers of each method, what is in floats, and the search for a bound; `quiet`:
        only the warning of results that are lost.
        """
        for method, found, search in self._found:
            if not quiet:
                print_report(method, found, search, sys.stderr)
            if found.remedy is not None:
                print_message(running_command(), lost_results(method, found.remedy), "warning")


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


def _batches_of_file(path: str, inputs: tuple[Any, ...], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Arrays with the names of the inputs, or else in their order: stacks of inputs, or inputs one after the other
    along dimension 0.
    """
    import torch

    if not Path(path).is_file():
        raise UsageError(f"--calibrate {path}: no such file{missing_file_hint(path)}")
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
        raise UsageError(
            f"--calibrate {path}: {in_words(len(arrays), 'array')} for {in_words(len(inputs), 'input')}{listed}"
        )
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
