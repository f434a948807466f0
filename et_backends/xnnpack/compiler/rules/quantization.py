"""Quantization and its inverse: types of values of the graph, or conversions where floats are needed."""

from __future__ import annotations

from typing import Final

from et_backends.xnnpack.compiler.rules.rule import Rule
from et_backends.xnnpack.compiler.translation import Translation

__all__ = ["RULES"]

RULES: Final = {
    "quantized_decomposed.quantize_per_tensor": Rule(Translation.quantize),
    "quantized_decomposed.dequantize_per_tensor": Rule(Translation.dequantize),
    "quantized_decomposed.dequantize_per_channel": Rule(Translation.dequantize),
}
