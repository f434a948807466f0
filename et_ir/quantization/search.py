"""Search for the fewest layers in floats that keep a quality.

Layers are ranked by their sensitivity: the noise of what they compute, with all others quantized. Those with the most
noise stay in floats first, and bisection finds how many have to, as quality grows with their number but for chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from et_ir.quantization.modes import QuantizationError, QuantizationMode, QuantizedModule, quantize

__all__ = ["AccuracySearch", "Trial", "quantize_to_accuracy"]

Evaluate = Callable[[nn.Module], float]


@dataclass(frozen=True)
class Trial:
    """One quantization of a search, and its quality."""

    kept: tuple[str, ...]
    """The paths of the layers in floats."""
    quality: float
    """Result of the function for the module."""


@dataclass(frozen=True)
class AccuracySearch:
    """Result of a search."""

    module: QuantizedModule
    """The one with the fewest layers in floats."""
    float_quality: float
    """Of the module in floats."""
    quality: float
    """Of the module that was found."""
    kept: tuple[str, ...]
    """The paths of the layers that stay in floats, the most sensitive one first."""
    trials: tuple[Trial, ...]
    """In the order in which they were made."""


def quantize_to_accuracy(
    module: nn.Module,
    inputs: tuple[Any, ...],
    mode: str | QuantizationMode,
    evaluate: Evaluate,
    loss: float,
    *,
    kwargs: Mapping[str, Any] | None = None,
    calibration: Iterable[tuple[Any, ...]] = (),
    keep_float: Sequence[str] = (),
    dynamic_shapes: Any = None,
) -> AccuracySearch:
    """As `quantize`, with so many layers in floats that `evaluate` gives at least 1 - `loss` of what it gives for the
    module in floats. `evaluate` takes a module and gives a number, of which more is better.

    Raises `QuantizationError` if the bound is not kept with all layers in floats.
    """
    batches = list(calibration)
    float_quality = float(evaluate(module.eval()))
    bound = float_quality - loss * abs(float_quality)
    made: dict[int, QuantizedModule] = {}
    trials: list[Trial] = []
    ranked: tuple[str, ...] = ()

    def quality(count: int) -> float:
        kept = ranked[:count]
        made[count] = quantize(
            module,
            inputs,
            mode,
            kwargs=kwargs,
            calibration=batches,
            keep_float=[*keep_float, *kept],
            dynamic_shapes=dynamic_shapes,
        )
        trials.append(Trial(kept, float(evaluate(made[count].module))))
        return trials[-1].quality

    if quality(0) < bound:
        layers = [layer for layer in made[0].layers if layer.is_quantized]
        noisiest = sorted(layers, key=lambda layer: layer.output_sqnr)
        ranked = tuple(dict.fromkeys(layer.name for layer in noisiest))
        least, most = 1, len(ranked)
        if quality(most) < bound:
            raise QuantizationError(
                f"with all layers in floats {trials[-1].quality:.6g} is reached, where the bound is {bound:.6g}"
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
    return AccuracySearch(made[count], float_quality, found, ranked[:count], tuple(trials))
