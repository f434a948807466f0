"""Operations of ML programs on floats, by the operator that each computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from et_backends.coreml.compiler.translation import Made, Translation
from et_backends.coreml.format.mil import MilTypeName
from et_backends.coreml.format.mil_operations import BINARY, COMPARISONS, UNARY
from et_ir.backends.formula_rules import Maker, Nodes, always, find
from et_ops.formulas import Builder, Literal

__all__ = ["NODES", "MilBuilder"]


def _unary(operation: str, **parameters: Any) -> Maker:
    def make(t: Translation, x: Made) -> Made:
        return t.make(operation, x.shape, x=x, **parameters)

    return make


def _binary(operation: str, element: MilTypeName | None = None) -> Callable[..., Maker]:
    def make(t: Translation, x: Made, y: Made) -> Made:
        return t.make(operation, np.broadcast_shapes(x.shape, y.shape), element, x=x, y=y)

    return always(make)


def _select(t: Translation, mask: Made, yes: Made, no: Made) -> Made:
    # The operation takes operands of one shape.
    shape = np.broadcast_shapes(mask.shape, yes.shape, no.shape)
    condition, a, b = (t.broadcast(one, shape) for one in (mask, yes, no))
    return t.make("select", shape, yes.type.name, cond=condition, a=a, b=b)


def _gelu(approximate: str) -> Maker:
    return _unary("gelu", mode="EXACT" if approximate == "none" else "TANH_APPROXIMATION")


def _elu(alpha: float, scale: float, input_scale: float) -> Maker | None:
    return _unary("elu", alpha=float(alpha)) if scale == input_scale == 1 else None


def _clip(low: float | None, high: float | None = None) -> Maker | None:
    if low is None or high is None or not low <= high:
        return None
    return _unary("clip", alpha=float(low), beta=float(high))


def _leaky_relu(slope: float) -> Maker:
    return _unary("leaky_relu", alpha=float(slope))


NODES: Final[Nodes] = {
    **{name: always(_unary(name)) for name in UNARY},
    **{name: _binary(operation) for name, operation in BINARY.items()},
    **{name: _binary(operation, MilTypeName.BOOL) for name, operation in COMPARISONS.items()},
    "select": always(_select),
    "log": always(_unary("log", epsilon=0.0)),
    "gelu": _gelu,
    "hardsigmoid": always(_unary("sigmoid_hard", alpha=1 / 6, beta=0.5)),
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "clamp": _clip,
}
"""Operations by operator. The one called `rsqrt` adds a number to its operand, as does `inverse`."""


class MilBuilder(Builder[Made]):
    """Arithmetic of formulas by operations."""

    def __init__(self, translation: Translation):
        super().__init__()
        self._translation = translation

    def number(self, value: float, like: Made) -> Made:
        return self._translation.number(value, like)

    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., Made] | None:
        make = find(NODES, name, literals)
        return None if make is None else partial(make, self._translation)
