"""Formulas as chains of XNNPACK nodes on the elements of one tensor.

Nodes are made when the chain ends: the last one writes the op's result, with the bounds of an activation behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Final

from et_backends.xnnpack.compiler.translation import Translation
from et_backends.xnnpack.format.graph import (
    XNNELU,
    OutputMinMax,
    XNNAbs,
    XNNAdd,
    XNNCeiling,
    XNNClamp,
    XNNCos,
    XNNDiv,
    XNNExp,
    XNNFloor,
    XNNGelu,
    XNNHardswish,
    XNNLeakyReLU,
    XNNLog,
    XNNMaximum,
    XNNMinimum,
    XNNMultiply,
    XNNNegate,
    XNNReciprocalSquareRoot,
    XNNSigmoid,
    XNNSin,
    XNNSquare,
    XNNSquareRoot,
    XNNSubtract,
    XNNTanh,
)
from et_ir.backends.formula_rules import Maker, Nodes, always, find, lower
from et_ir.dialects.schema import SchemaOp
from et_ops.formulas import Builder, Literal

__all__ = ["NODES", "Chain", "make_chain"]

_BOUNDED: Final = (XNNAdd, XNNSubtract, XNNMultiply, XNNDiv)
"""Nodes that bound their output."""


@dataclass(eq=False)
class _Link:
    """A value of a chain: one of the graph, or the output of a node to be made."""

    id: int = -1
    node: Callable[..., Any] | None = None
    operands: tuple[_Link, ...] = ()
    fields: dict[str, float] = field(default_factory=dict)
    clamp: OutputMinMax | None = None


def _unary(node: Callable[..., Any], **fields: float) -> Maker:
    def make(x: _Link) -> _Link:
        return _Link(node=node, operands=(x,), fields=fields)

    return make


def _binary(node: Callable[..., Any]) -> Callable[..., Maker]:
    def make(x: _Link, y: _Link) -> _Link:
        return _Link(node=node, operands=(x, y))

    return always(make)


def _clamp(low: float | None, high: float | None = None) -> Maker | None:
    least, most = -inf if low is None else float(low), inf if high is None else float(high)
    if not least <= most:
        return None

    def make(x: _Link) -> _Link:
        return _Link(node=XNNClamp, operands=(x,), clamp=OutputMinMax(least, most))

    return make


def _elu(alpha: float, scale: float, input_scale: float) -> Maker | None:
    if scale != 1 or input_scale != 1 or not 0 < alpha < inf:
        return None
    return _unary(XNNELU, alpha=float(alpha))


def _leaky_relu(slope: float) -> Maker | None:
    return _unary(XNNLeakyReLU, negative_slope=float(slope)) if isfinite(slope) else None


def _gelu(approximate: str) -> Maker | None:
    return _unary(XNNGelu) if approximate == "none" else None


NODES: Final[Nodes] = {
    "abs": always(_unary(XNNAbs)),
    "add": _binary(XNNAdd),
    "ceil": always(_unary(XNNCeiling)),
    "clamp": _clamp,
    "cos": always(_unary(XNNCos)),
    "div": _binary(XNNDiv),
    "elu": _elu,
    "exp": always(_unary(XNNExp)),
    "floor": always(_unary(XNNFloor)),
    "gelu": _gelu,
    "hardswish": always(_unary(XNNHardswish)),
    "leaky_relu": _leaky_relu,
    "log": always(_unary(XNNLog)),
    "maximum": _binary(XNNMaximum),
    "minimum": _binary(XNNMinimum),
    "mul": _binary(XNNMultiply),
    "neg": always(_unary(XNNNegate)),
    "rsqrt": always(_unary(XNNReciprocalSquareRoot)),
    "sigmoid": always(_unary(XNNSigmoid)),
    "sin": always(_unary(XNNSin)),
    "sqrt": always(_unary(XNNSquareRoot)),
    "square": always(_unary(XNNSquare)),
    "sub": _binary(XNNSubtract),
    "tanh": always(_unary(XNNTanh)),
}
"""Nodes by operator."""


class Chain(Builder[_Link]):
    """Nodes behind each other that compute one op, all in the order of its operand."""

    def __init__(self, t: Translation, op: SchemaOp):
        super().__init__()
        self._t, self._op = t, op
        self._x = op.operands[0]
        self._order = t.order(self._x)
        self._dims = [t.sizes(self._x)[dim] for dim in self._order]
        self.input = _Link(t.read(self._x, self._order))

    def number(self, value: float, like: _Link) -> _Link:
        return _Link(self._t.scalar(value, self._x))

    def native(self, name: str, literals: Sequence[Literal]) -> Callable[..., _Link] | None:
        return find(NODES, name, literals)

    def end(self, last: _Link) -> None:
        """Make the nodes, of which the last one gives the op's result."""
        t, op = self._t, self._op
        links = _in_order(last)
        _bound_outputs(links)
        *inner, last = [one for one in links if one.node is not None]
        for one in inner:
            self._make(one, t.temporary(self._x, self._dims), one.clamp)
        value, clamp = t.activated(op)
        if clamp is not None and (last.node not in _BOUNDED or last.clamp is not None):
            # The node has no bounds, or its own: the activation is a node of its own.
            t.fused.discard(next(iter(op.results[0].uses)).operation)
            value, clamp = op.results[0], None
        self._make(last, t.write(value, self._order), clamp or last.clamp)

    def _make(self, one: _Link, output: int, clamp: OutputMinMax | None) -> None:
        assert one.node is not None
        names = ("input_id",) if len(one.operands) == 1 else ("input1_id", "input2_id")
        inputs = {name: operand.id for name, operand in zip(names, one.operands, strict=True)}
        one.id = output
        self._t.node(one.node(**inputs, output_id=output, **one.fields), self._op, clamp=clamp)


def _in_order(last: _Link) -> list[_Link]:
    """What a value is made of, operands before what reads them."""
    found: dict[_Link, None] = {}

    def visit(one: _Link) -> None:
        if one not in found:
            for operand in one.operands:
                visit(operand)
            found[one] = None

    visit(last)
    return list(found)


def _bound_outputs(links: Sequence[_Link]) -> None:
    """Let nodes bound their own output, instead of a node behind them that is all that reads it."""
    readers = [operand for one in links for operand in one.operands]
    for one in links:
        if one.node is not XNNClamp or one.operands[0].node not in _BOUNDED:
            continue
        (before,) = one.operands
        if before.clamp is None and readers.count(before) == 1:
            one.node, one.operands, before.node = before.node, before.operands, None


def make_chain(t: Translation, op: SchemaOp) -> None:
    """The nodes of an op of one tensor, by its formula."""
    chain = Chain(t, op)
    chain.end(lower(chain, op, lambda _: chain.input))
