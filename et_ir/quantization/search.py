"""Search for the fewest operators in floats that keep a quality.

Operators are ranked by their sensitivity: the noise of the results of the module where one alone is quantized; what is
quantized before the export, as tables, by the noise of what it computes. Those with the most noise stay in floats
first, and bisection finds how many have to, as quality grows with their number but for chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.export import ExportedProgram

from et_ir.frontend.exported import in_evaluation
from et_ir.quantization.flow import quantize_and_measure
from et_ir.quantization.modes import QuantizationError, QuantizationMode
from et_ir.quantization.results import MeasuredModule, QuantizedModule
from et_schema.call_errors import called_as

__all__ = ["AccuracySearch", "Trial", "quantize_to_accuracy"]

Evaluate = Callable[[nn.Module], float]


@dataclass(frozen=True)
class Trial:
    """One quantization of a search, and its quality."""

    kept: tuple[str, ...]
    """The names of the operators in floats, and the paths of such tables and layers as are no operators."""
    quality: float
    """Result of the function for the module."""


@dataclass(frozen=True)
class AccuracySearch:
    """Result of a search."""

    module: QuantizedModule
    """The one with the fewest operators in floats."""
    float_quality: float
    """Of the module in floats."""
    quality: float
    """Of the module that was found."""
    kept: tuple[str, ...]
    """What stays in floats, the most sensitive first, as in `Trial`."""
    trials: tuple[Trial, ...]
    """In the order in which they were made."""


@called_as("called as quantize_to_accuracy(module, (x,), 'int8', evaluate, 0.01, calibration=[(x,), …])")
def quantize_to_accuracy(
    module: nn.Module | ExportedProgram,
    inputs: tuple[Any, ...],
    mode: str | QuantizationMode,
    evaluate: Evaluate,
    loss: float,
    *,
    kwargs: Mapping[str, Any] | None = None,
    calibration: Iterable[tuple[Any, ...] | Mapping[str, Any]] = (),
    keep_float: Sequence[str] = (),
    dynamic_shapes: Any = None,
) -> AccuracySearch:
    """As `quantize`, with so many operators in floats that `evaluate` gives at least 1 - `loss` of what it gives for
    the module in floats. `evaluate` takes a module and gives a number, of which more is better.

    Raises `QuantizationError` if the bound is not kept with all operators in floats.
    """
    batches = list(calibration)
    plain = module.module() if isinstance(module, ExportedProgram) else in_evaluation(module)
    float_quality = float(evaluate(plain))
    bound = float_quality - loss * abs(float_quality)
    made: dict[int, MeasuredModule] = {}
    trials: list[Trial] = []
    ranked: tuple[str, ...] = ()

    def quality(count: int) -> float:
        kept = ranked[:count]
        made[count] = quantize_and_measure(
            plain,
            inputs,
            mode,
            kwargs=kwargs,
            calibration=batches,
            keep_float=[*keep_float, *kept],
            dynamic_shapes=dynamic_shapes,
            coarse=made[0].coarse if made else None,
        )
        trials.append(Trial(kept, float(evaluate(made[count].module.module))))
        return trials[-1].quality

    if quality(0) < bound:
        ranked = _ranked(made[0])
        least, most = 1, len(ranked)
        if not ranked or quality(most) < bound:
            raise QuantizationError(
                f"with all operators in floats {trials[-1].quality:.6g} is reached, where the bound is {bound:.6g}; "
                f"for the module itself, quality is {float_quality:.6g}: it must depend on results alone"
            )
        while least < most:
            middle = (least + most) // 2
            if quality(middle) >= bound:
                most = middle
            else:
                least = middle + 1
        count = most
    else:
        count = 0
    found = next(one.quality for one in trials if len(one.kept) == count)
    return AccuracySearch(made[count].complete(), float_quality, found, ranked[:count], tuple(trials))


def _ranked(measured: MeasuredModule) -> tuple[str, ...]:
    """What is quantized, the most sensitive first."""
    found: list[tuple[float, str]] = []
    if measured.sensitivities is not None:
        found += [(one.own_sqnr, one.name) for one in measured.sensitivities.operators(at_outputs=True)]
    operators = {name.partition(":")[0] for _, name in found}
    found += [
        (layer.output_sqnr, layer.name)
        for layer in measured.module.layers
        if layer.is_quantized and layer.name not in operators
    ]
    return tuple(dict.fromkeys(name for _, name in sorted(found)))
