"""Arithmetic of the pointwise operators, on values of any one shape.

A rule makes what the operator computes of its operands: vectors of any shape, or single floats. Kernels of every loop
structure use them, for operators that are fused into them too.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i1, i32
from xdsl.ir import Attribute, SSAValue

from et_backends.codegen.dialect import CompareOp, KernelOp, SelectOp
from et_backends.codegen.elements import MOVED, element_of, is_float, is_integer, promoted
from et_backends.codegen.kernels.float_rules import FLOATS
from et_backends.codegen.kernels.integer_rules import (
    INTEGERS,
    MASKS,
    converted,
    is_zero_divisor,
)
from et_backends.codegen.kernels.quantization_rules import QUANTIZING, quantization_rule, quantizes
from et_backends.codegen.loop_builder import LoopBuilder
from et_ir.analysis.quantization import DEQUANTIZE
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import is_tensor

__all__ = [
    "COMPARISONS",
    "FUNCTIONS",
    "POINTWISE",
    "Rule",
    "anchor_of",
    "evaluate",
    "is_pointwise",
    "rule_of",
]

Rule: TypeAlias = Callable[[LoopBuilder, SchemaOp, Sequence[SSAValue]], SSAValue]
"""From the values of an op's operands, which have one type, to that of its result."""


def evaluate(
    b: LoopBuilder, ops: Sequence[SchemaOp], values: Mapping[SSAValue, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """The values of ops, which have rules, from those of what they read; all have one shape."""
    known = dict(values)
    for op in ops:
        found = rule_of(op)
        assert found is not None
        rule, computed = found
        if operator_name(op) in QUANTIZING:
            known[op.results[0]] = rule(b, op, [known[op.operands[0]]])
            continue
        operands = [operand for operand in op.operands if is_tensor(operand.type)]
        read = [
            converted(b, known[operand], element_of(operand), element)
            for operand, element in zip(operands, _read_as(op, computed), strict=True)
        ]
        result = rule(b, op, read)
        made = i1 if element_of(op.results[0]) == i1 else computed
        known[op.results[0]] = converted(b, result, made, element_of(op.results[0]))
    return known


def rule_of(op: SchemaOp) -> tuple[Rule, Attribute] | None:
    """The rule of an op, and the element type that it is computed in; None where there is no rule."""
    name = operator_name(op)
    if not is_pointwise(op):
        return None
    if name in QUANTIZING:
        return (quantization_rule, f32) if quantizes(op) else None
    elements = [element_of(operand) for operand in op.operands if is_tensor(operand.type)]
    result = element_of(op.results[0])
    if not set(MOVED).issuperset([*elements, result]):
        return None
    if f64 in (*elements, result) and (name not in _DOUBLES or (f64 in elements and is_integer(result))):
        return None
    if name.startswith("logical_"):
        computed = i1
    elif name in COMPARISONS:
        computed = promoted(elements)
        if isinstance(op.arg("other") if name.endswith("Scalar") else None, float) and not is_float(computed):
            computed = f32
        elif computed == i1 and name not in MASKS:
            computed = i32
    else:
        computed = result
    # Bytes without a sign are computed in integers that hold them.
    if computed == ui8 and name not in ("where.self", "expand_copy"):
        computed = i32
    if is_float(computed):
        rule = POINTWISE.get(name) or COMPARISONS.get(name)
    elif is_integer(computed):
        rule = INTEGERS.get(name)
        if rule is not None and (is_zero_divisor(op) or not _whole_numbers(op)):
            return None
    else:
        rule = MASKS.get(name)
    return None if rule is None else (rule, computed)


def _whole_numbers(op: SchemaOp) -> bool:
    """Whether the numbers of an op of integers are such, and exponents not negative."""
    names = op.schema().by_name
    given = [op.arg(name) for name in ("other", "alpha", "min", "max", "exponent") if name in names]
    numbers_ = [one for one in given if isinstance(one, int | float)]
    whole = all(isinstance(one, int) for one in numbers_)
    return whole and not ("exponent" in names and (not numbers_ or numbers_[0] < 0))


def _read_as(op: SchemaOp, computed: Attribute) -> list[Attribute]:
    """The element type that each operand is converted to."""
    name = operator_name(op)
    if name == "where.self":
        return [i1, computed, computed]
    return [computed] * sum(is_tensor(operand.type) for operand in op.operands)


def is_pointwise(op: SchemaOp) -> bool:
    """Whether there are rules for an operator, for some element types."""
    name = operator_name(op)
    return any(name in rules for rules in (POINTWISE, COMPARISONS, INTEGERS, MASKS, QUANTIZING))


def operator_name(op: SchemaOp) -> str:
    """The operator of an edge op, as `add.Tensor`."""
    return op.name.removeprefix("edge.")


def anchor_of(kernel: KernelOp) -> SchemaOp:
    """The op of a kernel that has loops of its own. Pointwise ops may be before it, which do not read its result."""
    return next(
        op
        for op in kernel.body.block.ops
        if isinstance(op, SchemaOp) and not is_pointwise(op) and not isinstance(op, DEQUANTIZE)
    )


# -- arithmetic


def add(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.combined(arith.AddfOp, x, y)


def sub(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.combined(arith.SubfOp, x, y)


def mul(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.combined(arith.MulfOp, x, y)


def div(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.combined(arith.DivfOp, x, y)


def choose(b: LoopBuilder, predicate: str, x: SSAValue, y: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
    """`yes` where a comparison of `x` with `y` holds, `no` elsewhere: vectors."""
    return b.value(SelectOp(b.value(CompareOp(predicate, x, y)), yes, no))


def clamp(b: LoopBuilder, x: SSAValue, low: float | None, high: float | None) -> SSAValue:
    """Between bounds; a NaN stays one, and makes one of all as a bound, and above the upper bound wins."""
    if any(bound is not None and numbers.isnan(bound) for bound in (low, high)):
        return b.number(numbers.nan, x.type)
    if low is not None:
        bound = b.number(low, x.type)
        x = choose(b, "ogt", bound, x, bound, x)
    if high is not None:
        bound = b.number(high, x.type)
        x = choose(b, "olt", bound, x, bound, x)
    return x


def sigmoid(b: LoopBuilder, x: SSAValue) -> SSAValue:
    one = b.number(1.0, x.type)
    return div(b, one, add(b, one, b.value(math.ExpOp(b.value(arith.NegfOp(x))))))


# -- rules


def _unary(op: Callable[[SSAValue], object]) -> Rule:
    def rule(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        return b.value(op(x[0]))  # pyright: ignore[reportArgumentType]

    return rule


def _binary(combine: Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]) -> Rule:
    def rule(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        return combine(b, x[0], x[1])

    return rule


def _with_number(combine: Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]) -> Rule:
    """An operator of a tensor and the number `other`."""

    def rule(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        return combine(b, x[0], b.number(float(op.arg("other")), x[0].type))

    return rule


def _scaled(combine: Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]) -> Rule:
    """`combine(self, alpha * other)`, of a tensor or a number."""

    def rule(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        alpha = float(op.arg("alpha"))
        if len(x) == 1:
            return combine(b, x[0], b.number(alpha * float(op.arg("other")), x[0].type))
        other = x[1] if alpha == 1 else mul(b, x[1], b.number(alpha, x[1].type))
        return combine(b, x[0], other)

    return rule


def _clamp(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    low, high = op.arg("min"), op.arg("max")
    return clamp(b, x[0], None if low is None else float(low), None if high is None else float(high))


def _hardtanh(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return clamp(b, x[0], float(op.arg("min_val")), float(op.arg("max_val")))


def _relu(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return clamp(b, x[0], 0.0, None)


def _hardsigmoid(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    shifted = clamp(b, add(b, x[0], b.number(3.0, x[0].type)), 0.0, 6.0)
    return mul(b, shifted, b.number(1 / 6, x[0].type))


def _hardswish(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return mul(b, x[0], _hardsigmoid(b, op, x))


def _silu(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return mul(b, x[0], sigmoid(b, x[0]))


def _gelu(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    (value,) = x
    half = mul(b, value, b.number(0.5, value.type))
    if op.arg("approximate") == "none":
        curve = b.value(math.ErfOp(mul(b, value, b.number(numbers.sqrt(0.5), value.type))))
    else:
        cube = mul(b, mul(b, value, value), value)
        inner = add(b, value, mul(b, cube, b.number(0.044715, value.type)))
        curve = b.value(math.TanhOp(mul(b, inner, b.number(numbers.sqrt(2 / numbers.pi), value.type))))
    return mul(b, half, add(b, curve, b.number(1.0, value.type)))


def _leaky_relu(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    (value,) = x
    scaled = mul(b, value, b.number(float(op.arg("negative_slope")), value.type))
    return choose(b, "ogt", value, b.number(0.0, value.type), value, scaled)


def _reciprocal(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return div(b, b.number(1.0, x[0].type), x[0])


def _rsqrt(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return div(b, b.number(1.0, x[0].type), b.value(math.SqrtOp(x[0])))


def _maximum(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(arith.MaximumfOp(x[0], x[1]))


def _minimum(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(arith.MinimumfOp(x[0], x[1]))


def _sigmoid(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return sigmoid(b, x[0])


def _elu(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    (value,) = x
    scale, alpha = float(op.arg("scale")), float(op.arg("alpha"))
    inner = float(op.arg("input_scale"))
    above = value if scale == 1 else mul(b, value, b.number(scale, value.type))
    inside = value if inner == 1 else mul(b, value, b.number(inner, value.type))
    below = mul(b, b.value(math.ExpM1Op(inside)), b.number(alpha * scale, value.type))
    # A NaN is in both. At 0 what is below would be a NaN where a factor is infinite.
    return choose(b, "olt", value, b.number(0.0, value.type), below, above)


def _sign(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    (value,) = x
    zero, one = b.number(0.0, value.type), b.number(1.0, value.type)
    # As `torch.sign`, which gives 0 for a NaN.
    below = choose(b, "olt", value, zero, b.number(-1.0, value.type), zero)
    return choose(b, "ogt", value, zero, one, below)


def _filled(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.number(float(op.arg("fill_value")), x[0].type)


def _power(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    """A power of a constant exponent; some are arithmetic."""
    (value,) = x
    one = b.number(1.0, value.type)
    match float(op.arg("exponent")):
        case 0.0:
            return one
        case 0.5:
            return b.value(math.SqrtOp(value))
        case -0.5:
            return div(b, one, b.value(math.SqrtOp(value)))
        case -1.0:
            return div(b, one, value)
        case -2.0:
            return div(b, one, mul(b, value, value))
        case 1.0:
            return value
        case 2.0:
            return mul(b, value, value)
        case 3.0:
            return mul(b, mul(b, value, value), value)
        case exponent:
            return b.value(math.PowFOp(value, b.number(exponent, value.type)))


def _power_of_number(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(math.PowFOp(b.number(float(op.arg("self")), x[0].type), x[0]))


def _power_of_tensor(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(math.PowFOp(x[0], x[1]))


def _atan2(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(math.Atan2Op(x[0], x[1]))


def _less(combine: Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue]) -> Rule:
    """`combine(other, alpha * self)`, of a tensor and a number."""

    def rule(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        (value,) = x
        alpha = float(op.arg("alpha"))
        scaled = value if alpha == 1 else mul(b, value, b.number(alpha, value.type))
        return combine(b, b.number(float(op.arg("other")), value.type), scaled)

    return rule


def _clamp_tensor(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    given = dict(zip(op.operands, x, strict=True))
    low, high = op.arg("min"), op.arg("max")
    value = x[0]
    if low is not None:
        value = b.value(arith.MaximumfOp(value, given[low]))
    return value if high is None else b.value(arith.MinimumfOp(value, given[high]))


def _threshold(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    (value,) = x
    bound, other = (b.number(float(op.arg(name)), value.type) for name in ("threshold", "value"))
    return choose(b, "ole", value, bound, other, value)


def _compare(predicate: str) -> Rule:
    """A comparison with a tensor or a number: a mask."""

    def rule(b: LoopBuilder, op: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
        other = x[1] if len(x) == 2 else b.number(float(op.arg("other")), x[0].type)
        return b.value(CompareOp(predicate, x[0], other))

    return rule


def _is_nan(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(CompareOp("uno", x[0], x[0]))


def _is_infinite(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    size = b.value(math.AbsFOp(x[0]))
    return b.value(CompareOp("oeq", size, b.number(numbers.inf, size.type)))


def _where(b: LoopBuilder, _: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return b.value(SelectOp(*x))


COMPARISONS: Final[dict[str, Rule]] = {
    f"{name}.{kind}": _compare(predicate)
    for name, predicate in (
        ("eq", "oeq"),
        ("ge", "oge"),
        ("gt", "ogt"),
        ("le", "ole"),
        ("lt", "olt"),
        ("ne", "une"),
    )
    for kind in ("Scalar", "Tensor")
} | {"isinf": _is_infinite, "isnan": _is_nan}
"""Rules of operators whose results are masks."""


def _same(_: LoopBuilder, __: SchemaOp, x: Sequence[SSAValue]) -> SSAValue:
    return x[0]


POINTWISE: Final[dict[str, Rule]] = {
    **FLOATS,
    "abs": _unary(math.AbsFOp),
    "acos": _unary(math.AcosOp),
    "add.Scalar": _scaled(add),
    "add.Tensor": _scaled(add),
    "asin": _unary(math.AsinOp),
    "atan": _unary(math.AtanOp),
    "atan2": _atan2,
    "ceil": _unary(math.CeilOp),
    "clamp": _clamp,
    "clamp.Tensor": _clamp_tensor,
    "cos": _unary(math.CosOp),
    "cosh": _unary(math.CoshOp),
    "div.Scalar": _with_number(div),
    "div.Tensor": _binary(div),
    "dim_order_ops._to_dim_order_copy": _same,
    "_to_copy": _same,
    "elu": _elu,
    "erf": _unary(math.ErfOp),
    "exp": _unary(math.ExpOp),
    "expm1": _unary(math.ExpM1Op),
    "expand_copy": _same,
    "floor": _unary(math.FloorOp),
    "full_like": _filled,
    "gelu": _gelu,
    "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish,
    "hardtanh": _hardtanh,
    "leaky_relu": _leaky_relu,
    "log": _unary(math.LogOp),
    "log10": _unary(math.Log10Op),
    "log1p": _unary(math.Log1pOp),
    "log2": _unary(math.Log2Op),
    "maximum": _maximum,
    "minimum": _minimum,
    "mul.Scalar": _with_number(mul),
    "mul.Tensor": _binary(mul),
    "neg": _unary(arith.NegfOp),
    "pow.Scalar": _power_of_number,
    "pow.Tensor_Scalar": _power,
    "pow.Tensor_Tensor": _power_of_tensor,
    "reciprocal": _reciprocal,
    "relu": _relu,
    "round": _unary(math.RoundEvenOp),
    "rsqrt": _rsqrt,
    "rsub.Scalar": _less(sub),
    "sigmoid": _sigmoid,
    "sign": _sign,
    "silu": _silu,
    "sin": _unary(math.SinOp),
    "sinh": _unary(math.SinhOp),
    "sqrt": _unary(math.SqrtOp),
    "sub.Scalar": _scaled(sub),
    "sub.Tensor": _scaled(sub),
    "tan": _unary(math.TanOp),
    "tanh": _unary(math.TanhOp),
    "threshold": _threshold,
    "trunc": _unary(math.TruncOp),
    "where.self": _where,
}
"""Rules of operators that are computed in f32."""

_DOUBLES: Final = frozenset(
    {
        *COMPARISONS,
        *(f"{name}.{kind}" for name in ("add", "div", "mul", "sub") for kind in ("Scalar", "Tensor")),
        "_to_copy",
        "abs",
        "dim_order_ops._to_dim_order_copy",
        "expand_copy",
        "full_like",
        "neg",
        "reciprocal",
        "relu",
        "rsub.Scalar",
        "sqrt",
        "where.self",
    }
)
"""Operators that are computed in f64, too: those that are no polynomials, whose coefficients are for f32."""

FUNCTIONS: Final = frozenset(
    {
        *FLOATS,
        "acos",
        "asin",
        "atan",
        "atan2",
        "cos",
        "cosh",
        "elu",
        "erf",
        "exp",
        "expm1",
        "gelu",
        "log",
        "log10",
        "log1p",
        "log2",
        "pow.Scalar",
        "pow.Tensor_Scalar",
        "pow.Tensor_Tensor",
        "sigmoid",
        "silu",
        "sin",
        "sinh",
        "tan",
        "tanh",
    }
)
"""Operators that are tens of instructions, as they are computed by polynomials or in steps."""
