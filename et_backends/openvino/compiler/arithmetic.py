"""Nodes of OpenVINO on floats, by the operator that each computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from et_backends.openvino.compiler.translation import Node, Translation
from et_ir.backends.formula_rules import Maker, Nodes, always, find
from et_ops.formulas import Builder, Literal

__all__ = ["NODES", "NodeBuilder"]


def _node(name: str, *arguments: Any) -> Maker:
    """What makes the node of a name, of operands and of further arguments."""

    def make(t: Translation, *operands: Node) -> Node:
        return getattr(t.nodes, name)(*operands, *arguments)

    return make


def _absolute(t: Translation, x: Node) -> Node:
    """OpenVINO moves the absolute value of a vector onto the operands of a concatenation, for all of its uses.

    It leaves those of matrices where they are.
    """
    # A node answers as the first of its outputs does.
    sizes = list((x.output(0) if hasattr(x, "output") else x).get_shape())
    if len(sizes) != 1:
        return t.nodes.absolute(x)
    return t.reshaped(t.nodes.absolute(t.reshaped(x, [1, *sizes])), sizes)


def _gelu(approximate: str) -> Maker:
    return _node("gelu", "ERF" if approximate == "none" else "TANH")


def _elu(alpha: float, scale: float, input_scale: float) -> Maker | None:
    return _node("elu", float(alpha)) if scale == input_scale == 1 else None


def _clamp(low: float | None, high: float | None = None) -> Maker | None:
    if low is None or high is None or not low <= high:
        return None
    return _node("clamp", float(low), float(high))


def _leaky_relu(slope: float) -> Maker:
    def make(t: Translation, x: Node) -> Node:
        return t.nodes.prelu(x, t.nodes.constant(np.array(slope, np.float32)))

    return make


def _hardsigmoid(t: Translation, x: Node) -> Node:
    sixth, half = (t.nodes.constant(np.array(one, np.float32)) for one in (1 / 6, 0.5))
    return t.nodes.hard_sigmoid(x, sixth, half)


_NODES: Final = {
    "acos": "acos",
    "acosh": "acosh",
    "add": "add",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "ceil": "ceiling",
    "cos": "cos",
    "cosh": "cosh",
    "div": "divide",
    "eq": "equal",
    "erf": "erf",
    "exp": "exp",
    "floor": "floor",
    "ge": "greater_equal",
    "gt": "greater",
    "hardswish": "hswish",
    "le": "less_equal",
    "log": "log",
    "lt": "less",
    "maximum": "maximum",
    "minimum": "minimum",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "pow": "power",
    "relu": "relu",
    "select": "select",
    "sigmoid": "sigmoid",
    "sign": "sign",
    "sin": "sin",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "sub": "subtract",
    "tan": "tan",
    "tanh": "tanh",
}

NODES: Final[Nodes] = {
    **{name: always(_node(node)) for name, node in _NODES.items()},
    "abs": always(_absolute),
    "clamp": _clamp,
    "elu": _elu,
    "gelu": _gelu,
    "hardsigmoid": always(_hardsigmoid),
    "leaky_relu": _leaky_relu,
    "round": always(_node("round", "half_to_even")),
}
"""Nodes by operator."""


class NodeBuilder(Builder[Node]):
    """Arithmetic of formulas by nodes."""

    def __init__(self, translation: Translation):
        super().__init__()
        self._translation = translation

    def number(self, value: float, like: Node) -> Node:
        return self._translation.nodes.constant(np.array(value, like.get_element_type().to_dtype()))

    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., Node] | None:
        make = find(NODES, name, literals)
        return None if make is None else partial(make, self._translation)
