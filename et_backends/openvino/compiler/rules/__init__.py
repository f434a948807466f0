"""Conversion rules by operator, in modules by family."""

from __future__ import annotations

from typing import Final

from et_backends.openvino.compiler.rules import layers, pointwise, quantization, reductions, resizes, shapes
from et_backends.openvino.compiler.rules.rule import Rule

__all__ = ["RULES"]

RULES: Final[dict[str, Rule]] = {
    **pointwise.RULES,
    **layers.RULES,
    **reductions.RULES,
    **shapes.RULES,
    **resizes.RULES,
    **quantization.RULES,
}
"""The rule of each operator that OpenVINO computes."""
