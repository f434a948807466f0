"""Pointwise arithmetic on integers and bools, and conversions of element types.

Integers wrap around. Values of bools are bits. As for floats, a rule makes what the operator computes of its operands,
which have been converted to one type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.codegen.dialect import CompareOp, SelectOp
from et_backends.codegen.dialect.types import vector_of, vector_type
from et_backends.codegen.elements import element_of, in_registers, is_float, is_integer, width_of
from et_backends.codegen.loop_builder import LoopBuilder
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.literals import ui8

__all__ = ["INTEGERS", "MASKS", "converted", "is_checked", "is_zero_divisor"]

_Rule: TypeAlias = Callable[[LoopBuilder, SchemaOp, Sequence[SSAValue]], SSAValue]
_Combine: TypeAlias = Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]


def converted(b: LoopBuilder, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
    """A vector of one element type as one of another, as torch converts.

    Floats lose their fraction. An integer that is out of range wraps around. A float that is, or a NaN, becomes the
    least integer, of 32 bits for narrower ones, which wraps around then: as processors of x86 convert, and torch there.
    """
    if source == target:
        return value
    if target == i1:
        number = b.number(0, value.type)
        return b.value(CompareOp("une" if is_float(source) else "ne", value, number))
    signed = source not in (i1, ui8)
    if is_float(source) and is_float(target):
        wide = vector_of(*vector_type(value).get_shape(), element=target)
        return b.value((arith.ExtFOp if width_of(target) > width_of(source) else arith.TruncFOp)(value, wide))
    if is_float(target):
        return b.convert("sitofp" if signed else "uitofp", value, target)
    bits = width_of(target)
    if is_float(source):
        # Narrow ones through i32, so that they wrap around as torch's do.
        wide = max(bits, 32)
        made = b.convert("fptosi", value, IntegerType(wide))
        below = b.value(CompareOp("olt", value, b.number(2.0 ** (wide - 1), value.type)))
        made = b.value(SelectOp(below, made, b.number(-(1 << wide - 1), made.type)))
        return made if bits >= 32 else b.convert("trunc", made, in_registers(target))
    have = width_of(source)
    if have == bits:
        return value
    kind = "trunc" if have > bits else "sext" if signed else "zext"
    return b.convert(kind, value, in_registers(target))


def is_zero_divisor(op: SchemaOp) -> bool:
    """Whether an op of integers divides by the number 0, which torch refuses."""
    return op.name.endswith(("div.Scalar_mode", "remainder.Scalar", "fmod.Scalar")) and op.arg("other") == 0


def is_checked(op: SchemaOp) -> bool:
    """Whether an op of integers may report a divisor of 0."""
    return op.name.endswith(("div.Tensor_mode", "remainder.Tensor", "fmod.Tensor"))


def _compare(b: LoopBuilder, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value(CompareOp(predicate, x, y))


def _select(b: LoopBuilder, mask: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
    return b.value(SelectOp(mask, yes, no))


def _binary_op(op: Callable[[SSAValue, SSAValue], Operation]) -> _Combine:
    return lambda b, x, y: b.value(op(x, y))


_add, _sub, _mul = map(_binary_op, (arith.AddiOp, arith.SubiOp, arith.MuliOp))
_smallest, _largest = _binary_op(arith.MinSIOp), _binary_op(arith.MaxSIOp)
_and, _or, _xor = map(_binary_op, (arith.AndIOp, arith.OrIOp, arith.XOrIOp))


# -- rules of operators


def _other(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """The second operand: a tensor, or a number."""
    return x[1] if len(x) == 2 else _number(b, op, op.arg("other"), x[0])


def _number(b: LoopBuilder, op: SchemaOp, number: int, x: SSAValue) -> SSAValue:
    """A number to combine with `x`, the tensor of an op: as an integer of its type, it wraps around."""
    element = element_of(op.operands[0])
    if not is_integer(element):
        element = vector_type(x).element_type
    return b.number(dtype_of(element).wrapped(number), x.type)


def _binary(combine: _Combine) -> _Rule:
    return lambda b, op, x: combine(b, x[0], _other(b, op, x))


def _scaled(combine: _Combine) -> _Rule:
    """`combine(self, alpha * other)`."""

    def rule(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        other, alpha = _other(b, op, x), int(op.arg("alpha"))
        return combine(b, x[0], other if alpha == 1 else _mul(b, other, _number(b, op, alpha, other)))

    return rule


def _reversed_difference(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    scaled = _mul(b, x[0], _number(b, op, int(op.arg("alpha")), x[0]))
    return _sub(b, _number(b, op, int(op.arg("other")), x[0]), scaled)


def _negated(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return _sub(b, b.number(0, x[0].type), x[0])


def _magnitude(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return _largest(b, x[0], _negated(b, op, x))


def _sign(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    (value,) = x
    return _smallest(b, _largest(b, value, b.number(-1, value.type)), b.number(1, value.type))


def _clamp(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    (value,) = x
    for name, bound in (("min", _largest), ("max", _smallest)):
        if op.arg(name) is not None:
            value = bound(b, value, _number(b, op, int(op.arg(name)), value))
    return value


def _clamp_tensor(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    given = dict(zip(op.operands, x, strict=True))
    value = x[0]
    if op.arg("min") is not None:
        value = _largest(b, value, given[op.arg("min")])
    return value if op.arg("max") is None else _smallest(b, value, given[op.arg("max")])


def _relu(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return _largest(b, x[0], b.number(0, x[0].type))


def _power(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """By squaring; the exponent is a number that is not negative."""
    (value,) = x
    exponent = int(op.arg("exponent"))
    total = b.number(1, value.type)
    while exponent:
        if exponent & 1:
            total = _mul(b, total, value)
        exponent >>= 1
        if exponent:
            value = _mul(b, value, value)
    return total


def _divisor(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
    """Operands of a division that the processor has: 0 is reported, and a divisor of -1 is 1 for both operands.

    The least integer has no negative; its quotient by -1 is made as that by 1, and negated.
    """
    value, other = x[0], _other(b, op, x)
    if is_checked(op):
        zero = _compare(b, "eq", other, b.number(0, other.type))
        b.check(zero, f"aten::{op.name.removeprefix('edge.')}: integer division by zero")
        other = _select(b, zero, b.number(1, other.type), other)
    minus = _compare(b, "eq", other, b.number(-1, other.type))
    zero = b.number(0, value.type)
    return (
        _select(b, minus, _sub(b, zero, value), value),
        _select(b, minus, b.number(1, other.type), other),
    )


def _division(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """Rounded toward zero, or down."""
    value, other = _divisor(b, op, x)
    quotient = b.value(arith.DivSIOp(value, other))
    if op.arg("rounding_mode") == "trunc":
        return quotient
    rest = _sub(b, value, _mul(b, quotient, other))
    return _select(b, _differs(b, rest, other), _sub(b, quotient, b.number(1, quotient.type)), quotient)


def _remainder(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """With the sign of the divisor."""
    value, other = _divisor(b, op, x)
    rest = b.value(arith.RemSIOp(value, other))
    return _select(b, _differs(b, rest, other), _add(b, rest, other), rest)


def _fmod(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """With the sign of the dividend."""
    value, other = _divisor(b, op, x)
    # A remainder by 1 is 0 whatever the sign.
    return b.value(arith.RemSIOp(value, other))


def _differs(b: LoopBuilder, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """Whether a remainder is not 0, and has another sign than the divisor."""
    zero = b.number(0, rest.type)
    return _and(b, _compare(b, "ne", rest, zero), _compare(b, "slt", _xor(b, rest, divisor), zero))


def _shift(left: bool) -> _Rule:
    """A shift; by less than 0, or the width or more, all bits are gone."""

    def rule(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        value, other = x[0], _other(b, op, x)
        element = vector_type(value).element_type
        last = width_of(element) - 1
        zero, most = b.number(0, other.type), b.number(last, other.type)
        beyond = _or(b, _compare(b, "slt", other, zero), _compare(b, "sgt", other, most))
        count = _select(b, beyond, most, other)
        if not left:
            return b.value(arith.ShRSIOp(value, count))
        return _select(b, beyond, zero, b.value(arith.ShLIOp(value, count)))

    return rule


def _inverted(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """All bits of an integer, or a bool, inverted."""
    bool_ = vector_type(x[0]).element_type == i1
    return _xor(b, x[0], b.number(1 if bool_ else -1, x[0].type))


def _never(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    type = vector_type(x[0])
    return _compare(b, "ne", x[0], x[0]) if type.element_type != i1 else b.number(0, type)


def _same(_: LoopBuilder, __: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return x[0]


def _where(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(SelectOp(*x))


def _kinds(rules: dict[str, _Rule], *kinds: str) -> dict[str, _Rule]:
    return {f"{name}.{kind}": rule for name, rule in rules.items() for kind in kinds}


def _predicate(predicate: str) -> _Rule:
    return lambda b, op, x: _compare(b, predicate, x[0], _other(b, op, x))


def _filled(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.number(int(op.arg("fill_value")), x[0].type)


_COPIES: Final[dict[str, _Rule]] = {
    "dim_order_ops._to_dim_order_copy": _same,
    "_to_copy": _same,
    "expand_copy": _same,
    "full_like": _filled,
    "where.self": _where,
}

INTEGERS: Final[dict[str, _Rule]] = {
    **_COPIES,
    **_kinds({"add": _scaled(_add), "sub": _scaled(_sub), "mul": _binary(_mul)}, "Tensor", "Scalar"),
    **_kinds({"div": _division}, "Tensor_mode", "Scalar_mode"),
    **_kinds({"remainder": _remainder, "fmod": _fmod}, "Tensor", "Scalar"),
    **_kinds(
        {
            "bitwise_and": _binary(_and),
            "bitwise_left_shift": _shift(True),
            "bitwise_or": _binary(_or),
            "bitwise_right_shift": _shift(False),
            "bitwise_xor": _binary(_xor),
            "eq": _predicate("eq"),
            "ge": _predicate("sge"),
            "gt": _predicate("sgt"),
            "le": _predicate("sle"),
            "lt": _predicate("slt"),
            "ne": _predicate("ne"),
        },
        "Tensor",
        "Scalar",
    ),
    **_kinds({"bitwise_left_shift": _shift(True), "bitwise_right_shift": _shift(False)}, "Tensor_Scalar"),
    "abs": _magnitude,
    "bitwise_not": _inverted,
    "ceil": _same,
    "clamp": _clamp,
    "clamp.Tensor": _clamp_tensor,
    "floor": _same,
    "isinf": _never,
    "isnan": _never,
    "maximum": _binary(_largest),
    "minimum": _binary(_smallest),
    "neg": _negated,
    "pow.Tensor_Scalar": _power,
    "relu": _relu,
    "round": _same,
    "rsub.Scalar": _reversed_difference,
    "sign": _sign,
    "trunc": _same,
}
"""Rules of operators that are computed in integers."""

MASKS: Final[dict[str, _Rule]] = {
    **_COPIES,
    **_kinds(
        {"bitwise_and": _binary(_and), "bitwise_or": _binary(_or), "bitwise_xor": _binary(_xor)},
        "Tensor",
        "Scalar",
    ),
    "add.Tensor": _binary(_or),
    "bitwise_not": _inverted,
    "isinf": _never,
    "isnan": _never,
    "logical_and": _binary(_and),
    "logical_not": _inverted,
    "logical_or": _binary(_or),
    "logical_xor": _binary(_xor),
    "maximum": _binary(_or),
    "minimum": _binary(_and),
    "mul.Tensor": _binary(_and),
}
"""Rules of operators that are computed in bools."""
