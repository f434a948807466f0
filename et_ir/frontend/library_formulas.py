"""Operators of other libraries as functions of torch's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from et_ir.frontend import detection, experts, quantization
from et_ir.frontend.torch_registry import COMPOSITE, Operator, schema_of

__all__ = ["composite_formula", "formula_of", "kept_by"]

_FORMULAS = {**quantization.FORMULAS, **experts.FORMULAS, **detection.FORMULAS}


def formula_of(target: Operator) -> Callable[..., Any]:
    """The function that stands for an operator; the operator itself where there is none."""
    formula = _FORMULAS.get(schema_of(target).name)
    return target if formula is None else lambda *args, **kwargs: formula(target, *args, **kwargs)


def composite_formula(target: Operator) -> Callable[..., Any] | None:
    """The function that stands for a composite operator while torch traces a program; None for other operators.

    Where the function calls the operator, that is its kernel: the operator itself would be the function again.
    """
    formula = _FORMULAS.get(schema_of(target).name)
    if formula is None or not target.has_kernel_for_dispatch_key(COMPOSITE):
        return None
    return partial(formula, partial(cast(Any, target)._op_dk, COMPOSITE))


def kept_by(target: Operator) -> frozenset[str]:
    """The operators that the function of an operator calls, and that stay in its place."""
    name = schema_of(target).name
    if name in experts.FORMULAS:
        return experts.KEPT
    return quantization.KEPT if name in quantization.FORMULAS else frozenset()
