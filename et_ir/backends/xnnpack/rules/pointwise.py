"""Operators of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, pi, sqrt
from typing import Any, Final

from xdsl.dialects.builtin import f16
from xdsl.ir import SSAValue

from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.backends.xnnpack.rules.rule import Rule
from et_ir.backends.xnnpack.translation import Translation
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_schema.xnnpack_graph import (
    XNNELU,
    OutputMinMax,
    XNNAbs,
    XNNAdd,
    XNNCeiling,
    XNNClamp,
    XNNConvert,
    XNNCos,
    XNNDiv,
    XNNExp,
    XNNFloor,
    XNNGelu,
    XNNHardswish,
    XNNLeakyReLU,
    XNNLog,
    XNNMultiply,
    XNNNegate,
    XNNReciprocalSquareRoot,
    XNNSigmoid,
    XNNSin,
    XNNSquare,
    XNNSquareRoot,
    XNNTanh,
)

__all__ = ["RULES"]

_Node = Callable[..., Any]


class _Chain:
    """Nodes behind each other that compute one op, all in the order of its operand."""

    def __init__(self, t: Translation, op: SchemaOp):
        self.t, self.op = t, op
        self.x = op.operands[0]
        self.order = t.order(self.x)
        self.input = t.read(self.x, self.order)
        self.dims = [t.sizes(self.x)[dim] for dim in self.order]

    def inside(self, node: _Node, *, clamp: OutputMinMax | None = None, **fields: Any) -> int:
        """A node whose result only the op itself uses."""
        made = self.t.temporary(self.x, self.dims)
        self.t.node(node(output_id=made, **fields), self.op, clamp=clamp)
        return made

    def last(self, node: _Node, **fields: Any) -> None:
        """The node that gives the op's result."""
        value, clamp = self.t.activated(self.op)
        if clamp is not None and node not in (XNNAdd, XNNMultiply, XNNDiv):
            # Nodes of one operand have no bounds: the activation is a node of its own.
            self.t.fused.discard(next(iter(self.op.results[0].uses)).operation)
            value, clamp = self.op.results[0], None
        self.t.node(node(output_id=self.t.write(value, self.order), **fields), self.op, clamp=clamp)


def _unary(node: _Node) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> None:
        chain = _Chain(t, op)
        chain.last(node, input_id=chain.input)

    return Rule(lower)


def _clamp(t: Translation, op: SchemaOp) -> None:
    bounds = activation_bounds(op)
    assert bounds is not None
    order = t.order(op.operands[0])
    source = t.read(op.operands[0], order)
    t.node(XNNClamp(input_id=source, output_id=t.write(op.result, order)), op, clamp=OutputMinMax(*bounds))


def _refuse_clamp(op: SchemaOp) -> Diagnostic | None:
    names = ("min", "max") if "min" in op.schema().by_name else ("min_val", "max_val")
    for name in names:
        if isinstance(op.arg(name), SSAValue):
            return Diagnostic("a number is known at run time only", name)
    if activation_bounds(op) is None:
        least, most = map(op.arg, names)
        return Diagnostic("lower bound above upper bound", f"from {least} to {most}")
    return None


def _leaky_relu(t: Translation, op: SchemaOp) -> None:
    chain = _Chain(t, op)
    chain.last(XNNLeakyReLU, input_id=chain.input, negative_slope=float(op.arg("negative_slope")))


def _elu(t: Translation, op: SchemaOp) -> None:
    chain = _Chain(t, op)
    chain.last(XNNELU, input_id=chain.input, alpha=float(op.arg("alpha")))


def _refuse_elu(op: SchemaOp) -> Diagnostic | None:
    for name in ("scale", "input_scale"):
        if float(op.arg(name)) != 1.0:
            return Diagnostic("the node does not support this argument", f"{name} = {op.arg(name)}")
    alpha = float(op.arg("alpha"))
    return None if 0 < alpha < inf else Diagnostic("alpha is not positive and finite", str(alpha))


def _refuse_leaky_relu(op: SchemaOp) -> Diagnostic | None:
    slope = float(op.arg("negative_slope"))
    return None if isfinite(slope) else Diagnostic("negative_slope is not finite", str(slope))


def _silu(t: Translation, op: SchemaOp) -> None:
    chain = _Chain(t, op)
    gate = chain.inside(XNNSigmoid, input_id=chain.input)
    chain.last(XNNMultiply, input1_id=chain.input, input2_id=gate)


def _hardsigmoid(t: Translation, op: SchemaOp) -> None:
    chain = _Chain(t, op)
    three, sixth = t.scalar(3.0, chain.x), t.scalar(1 / 6, chain.x)
    bounds = OutputMinMax(0.0, 6.0)
    shifted = chain.inside(XNNAdd, input1_id=chain.input, input2_id=three, clamp=bounds)
    chain.last(XNNMultiply, input1_id=shifted, input2_id=sixth)


def _gelu(t: Translation, op: SchemaOp) -> None:
    chain = _Chain(t, op)
    if op.arg("approximate") == "none":
        chain.last(XNNGelu, input_id=chain.input)
        return
    # x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), where what tanh is of is x (a + b x^2)
    a = sqrt(2 / pi)
    square = chain.inside(XNNSquare, input_id=chain.input)
    scaled = chain.inside(XNNMultiply, input1_id=square, input2_id=t.scalar(0.044715 * a, chain.x))
    factor = chain.inside(XNNAdd, input1_id=scaled, input2_id=t.scalar(a, chain.x))
    inner = chain.inside(XNNMultiply, input1_id=chain.input, input2_id=factor)
    curve = chain.inside(XNNTanh, input_id=inner)
    raised = chain.inside(XNNAdd, input1_id=curve, input2_id=t.scalar(1.0, chain.x))
    half = chain.inside(XNNMultiply, input1_id=chain.input, input2_id=t.scalar(0.5, chain.x))
    chain.last(XNNMultiply, input1_id=half, input2_id=raised)


def _refuse_gelu(op: SchemaOp) -> Diagnostic | None:
    if tensor_type(op.operands[0]).element_type == f16 and op.arg("approximate") == "none":
        return Diagnostic("element type", "f16: XNNPACK has this node for f32 only")
    return None


def _power(t: Translation, op: SchemaOp) -> None:
    chain = _Chain(t, op)
    match float(op.arg("exponent")):
        case 2.0:
            chain.last(XNNSquare, input_id=chain.input)
        case 3.0:
            square = chain.inside(XNNSquare, input_id=chain.input)
            chain.last(XNNMultiply, input1_id=chain.input, input2_id=square)
        case 0.5:
            chain.last(XNNSquareRoot, input_id=chain.input)
        case -0.5:
            chain.last(XNNReciprocalSquareRoot, input_id=chain.input)
        case _:
            chain.last(XNNDiv, input1_id=t.scalar(1.0, chain.x), input2_id=chain.input)


_EXPONENTS: Final = (2.0, 3.0, 0.5, -0.5, -1.0)


def _refuse_power(op: SchemaOp) -> Diagnostic | None:
    exponent = op.arg("exponent")
    if isinstance(exponent, SSAValue):
        return Diagnostic("a number is known at run time only", "exponent")
    if float(exponent) not in _EXPONENTS:
        return Diagnostic("exponents are limited", f"{exponent}, not one of {_EXPONENTS}")
    return None


def _reciprocal(t: Translation, op: SchemaOp) -> None:
    chain = _Chain(t, op)
    chain.last(XNNDiv, input1_id=t.scalar(1.0, chain.x), input2_id=chain.input)


def _same(t: Translation, op: SchemaOp) -> None:
    """A copy, which is memory that is there, or a conversion of its elements."""
    x = op.operands[0]
    if t.element_type(x) == t.element_type(op.result):
        t.alias(op.result, x, {order: order for order in t.orders(x)})
        return
    order = t.order(x)
    source = t.read(x, order)
    t.node(XNNConvert(input_id=source, output_id=t.write(op.result, order)), op)


RULES: Final = {
    "abs": _unary(XNNAbs),
    "ceil": _unary(XNNCeiling),
    "clamp": Rule(_clamp, _refuse_clamp),
    "clone": Rule(_same),
    "cos": _unary(XNNCos),
    "dim_order_ops._clone_dim_order": Rule(_same),
    "dim_order_ops._to_dim_order_copy": Rule(_same),
    "elu": Rule(_elu, _refuse_elu),
    "exp": _unary(XNNExp),
    "floor": _unary(XNNFloor),
    "gelu": Rule(_gelu, _refuse_gelu),
    "hardsigmoid": Rule(_hardsigmoid),
    "hardswish": _unary(XNNHardswish),
    "hardtanh": Rule(_clamp, _refuse_clamp),
    "leaky_relu": Rule(_leaky_relu, _refuse_leaky_relu),
    "log": _unary(XNNLog),
    "neg": _unary(XNNNegate),
    "pow.Tensor_Scalar": Rule(_power, _refuse_power),
    "reciprocal": Rule(_reciprocal),
    "relu": Rule(_clamp),
    "rsqrt": _unary(XNNReciprocalSquareRoot),
    "sigmoid": _unary(XNNSigmoid),
    "silu": Rule(_silu),
    "sin": _unary(XNNSin),
    "sqrt": _unary(XNNSquareRoot),
    "tanh": _unary(XNNTanh),
}
