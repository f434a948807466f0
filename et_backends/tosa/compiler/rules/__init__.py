"""Legalization rules from edge operators to TOSA.

There is a module for each family of operators.
"""

from __future__ import annotations

from typing import Final

from et_backends.tosa.compiler.rules import (
    convolution,
    logic,
    normalization,
    pointwise,
    pooling,
    products,
    quantization,
    reductions,
    resizing,
    shapes,
)
from et_backends.tosa.compiler.rules.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: Final[dict[str, Rule]] = {
    **logic.RULES,
    **convolution.RULES,
    **normalization.RULES,
    **pointwise.RULES,
    **pooling.RULES,
    **products.RULES,
    **quantization.RULES,
    **reductions.RULES,
    **resizing.RULES,
    **shapes.RULES,
}
"""The rule of each operator, by its name: `add.Tensor`."""
