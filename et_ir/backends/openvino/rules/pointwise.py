"""Pointwise operators: arithmetic, functions, comparisons, selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from xdsl.dialects.builtin import f32, i1, i8, i32, i64
from xdsl.ir import Attribute

from et_ir.backends.openvino.rules.rule import Rule
from et_ir.backends.openvino.translation import Node, Translation, shape_of
from et_ir.backends.operator_rules import is_constant, refuse_integers_of_floats
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["RULES"]

_BOOLS: Final = frozenset({i1})
_EVERY: Final[frozenset[Attribute]] = frozenset({f32, i1, i8, ui8, i32})
_MAX: Final = float(np.finfo(np.float32).max)


def _unary(name: str) -> Rule:
    return Rule(lambda t, op: getattr(t.nodes, name)(t.read(op, "self")))


def _of(make: Callable[[Translation, Node, SchemaOp], Node]) -> Rule:
    """A rule whose function is given the operand `self`."""
    return Rule(lambda t, op: make(t, t.read(op, "self"), op))


def _absolute(t: Translation, x: Node, op: SchemaOp) -> Node:
    """OpenVINO moves the absolute value of a vector onto the operands of a concatenation, for all of its uses.

    It leaves those of matrices where they are.
    """
    sizes = shape_of(op.result)
    if len(sizes) != 1:
        return t.nodes.absolute(x)
    return t.reshaped(t.nodes.absolute(t.reshaped(x, [1, *sizes])), sizes)


def _round(t: Translation, x: Node, op: SchemaOp) -> Node:
    return t.nodes.round(x, "half_to_even")


def _rsqrt(t: Translation, x: Node, op: SchemaOp) -> Node:
    return t.nodes.divide(t.number(1.0, op.result), t.nodes.sqrt(x))


def _reciprocal(t: Translation, x: Node, op: SchemaOp) -> Node:
    return t.nodes.divide(t.number(1.0, op.result), x)


def _silu(t: Translation, x: Node, op: SchemaOp) -> Node:
    return t.nodes.multiply(x, t.nodes.sigmoid(x))


def _gelu(t: Translation, x: Node, op: SchemaOp) -> Node:
    return t.nodes.gelu(x, "ERF" if op.arg("approximate") == "none" else "TANH")


def _hardsigmoid(t: Translation, x: Node, op: SchemaOp) -> Node:
    return t.nodes.hard_sigmoid(x, t.number(1 / 6, op.result), t.number(0.5, op.result))


def _elu(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.elu(t.read(op, "self"), float(op.arg("alpha")))


def _refuse_elu(op: SchemaOp) -> Diagnostic | None:
    for name in ("scale", "input_scale"):
        if float(op.arg(name)) != 1.0:
            return Diagnostic("the node does not support this argument", f"{name} = {op.arg(name)}")
    return None


def _leaky_relu(t: Translation, x: Node, op: SchemaOp) -> Node:
    return t.nodes.prelu(x, t.number(float(op.arg("negative_slope")), op.result))


def _bounds(op: SchemaOp) -> tuple[float, float]:
    low, high = (
        (op.arg("min_val"), op.arg("max_val"))
        if op.name == "edge.hardtanh"
        else (op.arg("min"), op.arg("max"))
    )
    return -_MAX if low is None else float(low), _MAX if high is None else float(high)


def _clamp(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.clamp(t.read(op, "self"), *_bounds(op))


def _refuse_clamp(op: SchemaOp) -> Diagnostic | None:
    low, high = _bounds(op)
    open_ended = op.name == "edge.clamp" and None in (op.arg("min"), op.arg("max"))
    if low > high:
        return Diagnostic("lower bound above upper bound", f"from {low} to {high}")
    return Diagnostic("one bound only", "infinities would become finite") if open_ended else None


def _other(t: Translation, op: SchemaOp) -> Node:
    """The second operand, a tensor or a number, in the element type of the first."""
    if op.name.endswith("Scalar"):
        return t.number(op.arg("other"), op.operands[0])
    return t.read(op, "other")


def _refuse_scalar(op: SchemaOp) -> Diagnostic | None:
    """Numbers that the element type of the tensor does not hold are computed in another one."""
    if op.name.endswith("Scalar") and tensor_type(op.operands[0]).element_type != f32:
        return Diagnostic("a number with a tensor that is not f32", str(op.arg("other")))
    return None


def _binary(name: str, types: frozenset[Attribute] = frozenset({f32})) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Node:
        return getattr(t.nodes, name)(t.read(op, "self"), _other(t, op))

    return Rule(lower, _refuse_scalar, types)


def _compare(name: str) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Node:
        return getattr(t.nodes, name)(t.read(op, "self"), _other(t, op))

    return Rule(lower, _refuse_scalar, frozenset({f32, i32}), mixes=True)


def _scaled(name: str) -> Rule:
    """Addition or subtraction of `alpha` times the second operand."""

    def lower(t: Translation, op: SchemaOp) -> Node:
        alpha = float(op.arg("alpha"))
        if op.name.endswith("Scalar"):
            other = t.number(float(op.arg("other")) * alpha, op.result)
        else:
            other = t.read(op, "other")
            if alpha != 1:
                other = t.nodes.multiply(other, t.number(alpha, op.result))
        return getattr(t.nodes, name)(t.read(op, "self"), other)

    return Rule(lower, _refuse_scalar)


def _divide(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.divide(t.read(op, "self"), _other(t, op))


def _power_of(t: Translation, op: SchemaOp) -> Node:
    if op.name == "edge.pow.Scalar":
        return t.nodes.power(t.number(float(op.arg("self")), op.result), t.read(op, "exponent"))
    if op.name == "edge.pow.Tensor_Scalar":
        exponent = float(op.arg("exponent"))
        x = t.read(op, "self")
        return t.nodes.multiply(x, x) if exponent == 2 else t.nodes.power(x, t.number(exponent, op.result))
    return t.nodes.power(t.read(op, "self"), t.read(op, "exponent"))


def _where(t: Translation, op: SchemaOp) -> Node:
    return t.nodes.select(t.read(op, "condition"), t.read(op, "self"), t.read(op, "other"))


def _copy(t: Translation, op: SchemaOp) -> Node:
    x, wanted = t.read(op, "self"), tensor_type(op.result).element_type
    if tensor_type(op.operands[0]).element_type == i64 and wanted == i1:
        # 32 bits of other numbers than 0 may be 0, floats of them are not.
        floats = t.converted(x, f32)
        return t.nodes.not_equal(floats, t.nodes.constant(np.array(0, np.float32)))
    return t.converted(x, wanted)


def _refuse_conversion(op: SchemaOp) -> Diagnostic | None:
    """The CPU device computes i64 in 32 bits, but for conversions of a model's inputs to floats.

    No operator has results of i64, so that operands are inputs unless they are constants.
    """
    source, target = (tensor_type(value).element_type for value in (op.operands[0], op.result))
    if i64 in (source, target) and (target not in (f32, i1) or is_constant(op.operands[0])):
        return Diagnostic("64-bit integers, which OpenVINO computes in 32 bits")
    return refuse_integers_of_floats(op)


_CONVERTS: Final = Rule(_copy, _refuse_conversion, _EVERY | {i64}, mixes=True)

RULES: Final[dict[str, Rule]] = {
    **{
        name: _unary(node)
        for name, node in {
            "acos": "acos",
            "acosh": "acosh",
            "asin": "asin",
            "asinh": "asinh",
            "atan": "atan",
            "atanh": "atanh",
            "ceil": "ceiling",
            "cos": "cos",
            "cosh": "cosh",
            "erf": "erf",
            "exp": "exp",
            "floor": "floor",
            "hardswish": "hswish",
            "log": "log",
            "neg": "negative",
            "relu": "relu",
            "sigmoid": "sigmoid",
            "sign": "sign",
            "sin": "sin",
            "sinh": "sinh",
            "sqrt": "sqrt",
            "tan": "tan",
            "tanh": "tanh",
        }.items()
    },
    "abs": _of(_absolute),
    "round": _of(_round),
    "rsqrt": _of(_rsqrt),
    "reciprocal": _of(_reciprocal),
    "silu": _of(_silu),
    "gelu": _of(_gelu),
    "hardsigmoid": _of(_hardsigmoid),
    "leaky_relu": _of(_leaky_relu),
    "elu": Rule(_elu, _refuse_elu),
    "hardtanh": Rule(_clamp, _refuse_clamp),
    "clamp": Rule(_clamp, _refuse_clamp),
    **{f"add.{kind}": _scaled("add") for kind in ("Tensor", "Scalar")},
    **{f"sub.{kind}": _scaled("subtract") for kind in ("Tensor", "Scalar")},
    **{f"mul.{kind}": _binary("multiply") for kind in ("Tensor", "Scalar")},
    **{f"div.{kind}": Rule(_divide, _refuse_scalar) for kind in ("Tensor", "Scalar")},
    "maximum": _binary("maximum"),
    "minimum": _binary("minimum"),
    "pow.Tensor_Scalar": Rule(_power_of),
    "pow.Tensor_Tensor": Rule(_power_of),
    "pow.Scalar": Rule(_power_of),
    **{
        f"{name}.{kind}": _compare(node)
        for name, node in {
            "eq": "equal",
            "ne": "not_equal",
            "lt": "less",
            "le": "less_equal",
            "gt": "greater",
            "ge": "greater_equal",
        }.items()
        for kind in ("Tensor", "Scalar")
    },
    "logical_and": _binary("logical_and", _BOOLS),
    "logical_or": _binary("logical_or", _BOOLS),
    "logical_xor": _binary("logical_xor", _BOOLS),
    "bitwise_and.Tensor": _binary("logical_and", _BOOLS),
    "bitwise_or.Tensor": _binary("logical_or", _BOOLS),
    "bitwise_xor.Tensor": _binary("logical_xor", _BOOLS),
    "logical_not": Rule(lambda t, op: t.nodes.logical_not(t.read(op, "self")), types=_BOOLS),
    "bitwise_not": Rule(lambda t, op: t.nodes.logical_not(t.read(op, "self")), types=_BOOLS),
    "where.self": Rule(_where, types=frozenset({f32}), indices=("condition",)),
    "clone": Rule(_copy, types=_EVERY),
    "dim_order_ops._clone_dim_order": Rule(_copy, types=_EVERY),
    "dim_order_ops._to_dim_order_copy": _CONVERTS,
}
