"""Pointwise operators: arithmetic, functions, comparisons, selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Attribute

from et_ir.backends.coreml.rules.rule import Rule
from et_ir.backends.coreml.translation import Made, Translation, shape_of
from et_ir.backends.operator_rules import refuse_integers_of_floats
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_schema.mil import MilTypeName

__all__ = ["RULES"]

_BOOLS: Final = frozenset({i1})
_EVERY: Final[frozenset[Attribute]] = frozenset({f32, i1, i32, i64})


def _of(make: Callable[[Translation, Made, SchemaOp], Made]) -> Rule:
    """A rule whose function is given the operand `self`."""
    return Rule(lambda t, op: make(t, t.read(op, "self"), op))


def _unary(operation: str, **parameters: Any) -> Rule:
    return _of(lambda t, x, op: t.make(operation, x.shape, x=x, **parameters))


def _neg(t: Translation, x: Made, op: SchemaOp) -> Made:
    return t.make("mul", x.shape, x=x, y=t.number(-1.0, x))


def _over(t: Translation, number: float, x: Made) -> Made:
    """A number divided by a value."""
    one = t.number(number, x)
    return t.make("real_div", x.shape, x=one, y=x)


def _rsqrt(t: Translation, x: Made, op: SchemaOp) -> Made:
    # The operation of this name adds a number to its operand.
    return _over(t, 1.0, t.make("sqrt", x.shape, x=x))


def _reciprocal(t: Translation, x: Made, op: SchemaOp) -> Made:
    return _over(t, 1.0, x)


def _gelu(t: Translation, x: Made, op: SchemaOp) -> Made:
    mode = "EXACT" if op.arg("approximate") == "none" else "TANH_APPROXIMATION"
    return t.make("gelu", x.shape, x=x, mode=mode)


def _hardsigmoid(t: Translation, x: Made, op: SchemaOp) -> Made:
    return t.make("sigmoid_hard", x.shape, x=x, alpha=1 / 6, beta=0.5)


def _hardswish(t: Translation, x: Made, op: SchemaOp) -> Made:
    return t.make("mul", x.shape, x=x, y=_hardsigmoid(t, x, op))


def _elu(t: Translation, x: Made, op: SchemaOp) -> Made:
    return t.make("elu", x.shape, x=x, alpha=float(op.arg("alpha")))


def _refuse_elu(op: SchemaOp) -> Diagnostic | None:
    for name in ("scale", "input_scale"):
        if float(op.arg(name)) != 1.0:
            return Diagnostic("the operation does not support this argument", f"{name} = {op.arg(name)}")
    return None


def _leaky_relu(t: Translation, x: Made, op: SchemaOp) -> Made:
    return t.make("leaky_relu", x.shape, x=x, alpha=float(op.arg("negative_slope")))


def _bounds(op: SchemaOp) -> tuple[Any, ...]:
    names = ("min_val", "max_val") if op.name == "edge.hardtanh" else ("min", "max")
    return tuple(op.arg(name) for name in names)


def _clamp(t: Translation, x: Made, op: SchemaOp) -> Made:
    low, high = _bounds(op)
    if low is not None and high is not None:
        return t.make("clip", x.shape, x=x, alpha=float(low), beta=float(high))
    if low is not None:
        x = t.make("maximum", x.shape, x=x, y=t.number(float(low), x))
    if high is not None:
        x = t.make("minimum", x.shape, x=x, y=t.number(float(high), x))
    return x


def _refuse_clamp(op: SchemaOp) -> Diagnostic | None:
    low, high = _bounds(op)
    if low is not None and high is not None and low > high:
        return Diagnostic("lower bound above upper bound", f"from {low} to {high}")
    return None


def _operands(t: Translation, op: SchemaOp) -> tuple[Made, Made]:
    """The operands, of which the second may be a number in the element type of the first."""
    x = t.read(op, "self")
    return x, t.number(op.arg("other"), x) if op.name.endswith("Scalar") else t.read(op, "other")


def _refuse_scalar(op: SchemaOp) -> Diagnostic | None:
    """Numbers that the element type of the tensor does not hold are computed in another one."""
    if not op.name.endswith("Scalar") or tensor_type(op.operands[0]).element_type == f32:
        return None
    other = op.arg("other")
    if isinstance(other, int) and not isinstance(other, bool) and abs(other) < 1 << 31:
        return None
    return Diagnostic("a number with a tensor that is not f32", str(other))


def _binary(operation: str, types: frozenset[Attribute] = frozenset({f32})) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Made:
        x, y = _operands(t, op)
        return t.make(operation, shape_of(op.result), x=x, y=y)

    return Rule(lower, _refuse_scalar, types)


def _compare(operation: str) -> Rule:
    def lower(t: Translation, op: SchemaOp) -> Made:
        x, y = _operands(t, op)
        return t.make(operation, shape_of(op.result), MilTypeName.BOOL, x=x, y=y)

    return Rule(lower, _refuse_scalar, frozenset({f32, i32, i64}), mixes=True)


def _scaled(operation: str) -> Rule:
    """Addition or subtraction of `alpha` times the second operand."""

    def lower(t: Translation, op: SchemaOp) -> Made:
        x, y = _operands(t, op)
        alpha = float(op.arg("alpha"))
        if alpha != 1:
            y = t.make("mul", y.shape, x=y, y=t.number(alpha, y))
        return t.make(operation, shape_of(op.result), x=x, y=y)

    return Rule(lower, _refuse_scalar)


def _power(t: Translation, op: SchemaOp) -> Made:
    shape = shape_of(op.result)
    if op.name == "edge.pow.Scalar":
        exponent = t.read(op, "exponent")
        return t.make("pow", shape, x=t.number(float(op.arg("self")), exponent), y=exponent)
    x = t.read(op, "self")
    if op.name == "edge.pow.Tensor_Tensor":
        return t.make("pow", shape, x=x, y=t.read(op, "exponent"))
    exponent = float(op.arg("exponent"))
    if exponent == 2:
        return t.make("square", shape, x=x)
    return t.make("pow", shape, x=x, y=t.number(exponent, x))


def _where(t: Translation, op: SchemaOp) -> Made:
    # The operation takes operands of one shape.
    shape = shape_of(op.result)
    condition, x, y = (t.broadcast(t.read(op, name), shape) for name in ("condition", "self", "other"))
    return t.make("select", shape, x.type.name, cond=condition, a=x, b=y)


def _copy(t: Translation, op: SchemaOp) -> Made:
    x = t.read(op, "self")
    element = t.element(tensor_type(op.result).element_type)
    if element is MilTypeName.BOOL and x.type.name is not MilTypeName.BOOL:
        return t.make("not_equal", x.shape, element, x=x, y=t.number(0, x))
    return t.converted(x, element)


_CONVERTS: Final = Rule(_copy, refuse_integers_of_floats, _EVERY, mixes=True)
_NOT: Final = Rule(
    lambda t, op: t.make("logical_not", shape_of(op.result), x=t.read(op, "self")), types=_BOOLS
)

RULES: Final[dict[str, Rule]] = {
    **{
        name: _unary(name)
        for name in (
            "abs",
            "acos",
            "asin",
            "atan",
            "atanh",
            "ceil",
            "cos",
            "cosh",
            "erf",
            "exp",
            "floor",
            "relu",
            "round",
            "sigmoid",
            "sign",
            "silu",
            "sin",
            "sinh",
            "sqrt",
            "tan",
            "tanh",
        )
    },
    "log": _unary("log", epsilon=0.0),
    "neg": _of(_neg),
    "rsqrt": _of(_rsqrt),
    "reciprocal": _of(_reciprocal),
    "gelu": _of(_gelu),
    "hardsigmoid": _of(_hardsigmoid),
    "hardswish": _of(_hardswish),
    "leaky_relu": _of(_leaky_relu),
    "elu": Rule(lambda t, op: _elu(t, t.read(op, "self"), op), _refuse_elu),
    "hardtanh": Rule(lambda t, op: _clamp(t, t.read(op, "self"), op), _refuse_clamp),
    "clamp": Rule(lambda t, op: _clamp(t, t.read(op, "self"), op), _refuse_clamp),
    **{f"add.{kind}": _scaled("add") for kind in ("Tensor", "Scalar")},
    **{f"sub.{kind}": _scaled("sub") for kind in ("Tensor", "Scalar")},
    **{f"mul.{kind}": _binary("mul") for kind in ("Tensor", "Scalar")},
    **{f"div.{kind}": _binary("real_div") for kind in ("Tensor", "Scalar")},
    "maximum": _binary("maximum"),
    "minimum": _binary("minimum"),
    **dict.fromkeys(("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar"), Rule(_power)),
    **{
        f"{name}.{kind}": _compare(operation)
        for name, operation in {
            "eq": "equal",
            "ne": "not_equal",
            "lt": "less",
            "le": "less_equal",
            "gt": "greater",
            "ge": "greater_equal",
        }.items()
        for kind in ("Tensor", "Scalar")
    },
    **{
        name: _binary(f"logical_{operation}", _BOOLS)
        for operation in ("and", "or", "xor")
        for name in (f"logical_{operation}", f"bitwise_{operation}.Tensor")
    },
    "logical_not": _NOT,
    "bitwise_not": _NOT,
    "where.self": Rule(_where, indices=("condition",)),
    "clone": Rule(_copy, types=_EVERY),
    "dim_order_ops._clone_dim_order": Rule(_copy, types=_EVERY),
    "dim_order_ops._to_dim_order_copy": _CONVERTS,
}
