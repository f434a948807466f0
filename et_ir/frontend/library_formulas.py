"""Operators of other libraries as functions of torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from et_ir.frontend import experts, quantization
from et_ir.frontend.torch_registry import Operator, schema_of

__all__ = ["formula_of", "kept_by"]

_FORMULAS = {**quantization.FORMULAS, **experts.FORMULAS}


def formula_of(target: Operator) -> Callable[..., Any]:
    """The function that stands for an operator; the operator itself where there is none."""
    formula = _FORMULAS.get(schema_of(target).name)
    return target if formula is None else lambda *args, **kwargs: formula(target, *args, **kwargs)


def kept_by(target: Operator) -> frozenset[str]:
    """The operators that the function of an operator calls, and that stay in its place."""
    name = schema_of(target).name
    if name in experts.FORMULAS:
        return experts.KEPT
    return quantization.KEPT if name in quantization.FORMULAS else frozenset()
