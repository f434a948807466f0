"""Conversion rules from edge operators to XNNPACK nodes.

There is a module for each family of operators.
"""

from __future__ import annotations

from typing import Final

from et_backends.xnnpack.compiler.rules import (
    arithmetic,
    convolution,
    normalization,
    pointwise,
    pooling,
    products,
    quantization,
    reductions,
    shapes,
)
from et_backends.xnnpack.compiler.rules.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: Final[dict[str, Rule]] = {
    **pointwise.RULES,
    # Behind those by formula, as it also broadcasts and computes in integers.
    **arithmetic.RULES,
    **convolution.RULES,
    **normalization.RULES,
    **pooling.RULES,
    **products.RULES,
    **quantization.RULES,
    **reductions.RULES,
    **shapes.RULES,
}
"""The rule of each operator, by its name: `add.Tensor`."""
