"""Results of a quantization: the module to export, its layers and operators, and what else to keep in floats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from torch import nn

from et_ir.quantization.layers import Layer
from et_ir.quantization.modes import QuantizationMode
from et_ir.quantization.quantizer import Unquantized
from et_ir.quantization.sensitivity import QuantizedOperator, Remedy, Sensitivities
from et_schema.html_table import html_table

__all__ = ["MeasuredModule", "QuantizedModule"]


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
    mode: QuantizationMode | None = None
    """The mode, with the choices that were left to the backends."""
    rounded: int = 0
    """How many computed values are rounded to 8 bits, each as often as it is rounded to another scale."""

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
        operators, remedy = self.sensitivities.report()
        return replace(self.module, operators=operators, remedy=remedy)
