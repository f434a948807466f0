"""Pointwise operations of ML programs by operator of torch.

The compiler makes operations by these names, and a runtime computes them by the operators' definitions.
"""

from __future__ import annotations

from typing import Final

__all__ = ["BINARY", "COMPARISONS", "UNARY"]

UNARY: Final = (
    "abs", "acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "relu", "round", "sigmoid",
    "sign", "silu", "sin", "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
"""Operations of one operand, which have the operator's name. `log`, `rsqrt` and `inverse` add a number to it."""

BINARY: Final = {
    **{name: name for name in ("add", "maximum", "minimum", "mul", "pow", "sub")},
    "div": "real_div",
}
"""Operations of two operands that broadcast."""

COMPARISONS: Final = {
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
}
"""Operations of two operands that give truth values."""
