"""Conversion rules by operator, in modules by family."""

from __future__ import annotations

from typing import Final

from et_backends.coreml.compiler.rules import layers, pointwise, reductions, resizes, shapes
from et_backends.coreml.compiler.rules.rule import Rule

__all__ = ["RULES"]

RULES: Final[dict[str, Rule]] = {
    **pointwise.RULES,
    **layers.RULES,
    **reductions.RULES,
    **shapes.RULES,
    **resizes.RULES,
}
"""The rule of each operator that ML programs compute."""
