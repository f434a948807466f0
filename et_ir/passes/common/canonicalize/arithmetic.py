"""Neutral operands, operators that undo or repeat themselves, and powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.data.blob import KEEP
from et_ir.dialects.counterparts import known_forms, sibling
from et_ir.dialects.program import Globals, LiteralOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.dtypes import dtype_of
from et_ir.dialects.schema.literals import literal_of
from et_ir.dialects.schema.tensors import is_tensor, may_be_same_type, same_type, tensor_type
from et_ir.evaluation.arrays import array_of, has_numpy_dtype
from et_ir.passes.common.canonicalize.replacing import by_operand
from et_ops.dtypes import BOOL, DType

__all__ = ["patterns"]

Number = int | float | bool
_Neutral = Callable[[Number, DType], bool]


def _is_one(number: Number, _: DType) -> bool:
    return number == 1


def _is_zero_to_add(number: Number, dtype: DType) -> bool:
    """Adding +0.0 turns -0.0 into +0.0, so that only -0.0 is neutral for floats."""
    return number == 0 and (dtype.is_integral or str(float(number)) == "-0.0")


def _is_zero_to_subtract(number: Number, dtype: DType) -> bool:
    return number == 0 and (dtype.is_integral or str(float(number)) == "0.0")


def _is_true(number: Number, dtype: DType) -> bool:
    return number is True and dtype is BOOL


def _is_false(number: Number, dtype: DType) -> bool:
    return number is False and dtype is BOOL


_NEUTRAL: Final[dict[str, tuple[_Neutral, bool]]] = {
    "add": (_is_zero_to_add, True),
    "bitwise_and": (_is_true, True),
    "bitwise_or": (_is_false, True),
    "bitwise_xor": (_is_false, True),
    "div": (_is_one, False),
    "floor_divide": (_is_one, False),
    "logical_and": (_is_true, True),
    "logical_or": (_is_false, True),
    "logical_xor": (_is_false, True),
    "mul": (_is_one, True),
    "pow": (_is_one, False),
    "sub": (_is_zero_to_subtract, False),
}
"""Neutral elements, and whether they may be the first operand."""
_OVERLOADS: Final = ("Tensor", "Scalar", "Tensor_Scalar", "Tensor_Tensor", "Tensor_mode", "Scalar_mode")


class NeutralOperand(RewritePattern):
    """An operand that changes nothing: a literal, or a constant all of whose elements are the neutral number."""

    roots = known_forms(*_NEUTRAL, *(f"{name}.{overload}" for name in _NEUTRAL for overload in _OVERLOADS))

    def __init__(self, module: ModuleOp):
        self.globals = Globals(module)
        self.uniform: dict[str, Number | None] = {}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        neutral, commutes = _NEUTRAL[op.operator.view_form.partition(".")[0]]
        if "alpha" in op.properties and op.arg("alpha") != 1:
            return
        arguments = list(op.args().values())
        result = tensor_type(op.results[0])
        dtype = dtype_of(result.element_type)
        if not dtype.is_integral and op.name.endswith(("_mode", "floor_divide")):
            return  # a quotient that is rounded
        if dtype.is_complex and not op.name.partition(".")[2].startswith(("add", "sub")):
            return  # an infinity times the number's other part, 0, is no number
        pairs = [(arguments[0], arguments[1])]
        if commutes:
            pairs.append((arguments[1], arguments[0]))
        for kept, other in pairs:
            if not isinstance(kept, SSAValue):
                continue
            value = cast("SSAValue[Attribute]", kept)
            keeps_sizes = not _has_dimensions(other)
            is_same = may_be_same_type if keeps_sizes else same_type
            number = self.number(other) if is_same(value.type, result) else None
            if number is not None and neutral(number, dtype):
                by_operand(op, value, rewriter, keeps_sizes=keeps_sizes)
                return

    def number(self, value: object) -> Number | None:
        """The number that an operand is in every element, if it is known."""
        if isinstance(value, int | float):
            return value
        if not isinstance(value, SSAValue):
            return None
        operand = cast("SSAValue[Attribute]", value)
        if isinstance(operand.owner, LiteralOp):
            number = literal_of(operand.owner.value)
            return number if isinstance(number, int | float) else None
        found = self.globals.constant_of(operand)
        if found is None or found.value is None:
            return None
        if found.key not in self.uniform:
            blob, type = found.value.blob, found.type
            known = blob.is_resolved and blob.nbytes <= KEEP and has_numpy_dtype(type.element_type)
            array = array_of(type, blob).reshape(-1) if known else np.empty(0)
            same = array.size > 0 and array.dtype.kind != "c" and bool((array == array[0]).all())
            # -0.0 equals 0.0 but is neutral for other operators.
            mixed_zeros = (
                same and array[0] == 0 and len(set(np.signbit(array.astype(np.float64)).tolist())) > 1
            )
            self.uniform[found.key] = _python(array[0]) if same and not mixed_zeros else None
        return self.uniform[found.key]


def _has_dimensions(operand: object) -> bool:
    """Whether an operand can make the result larger than the other operand."""
    if not isinstance(operand, SSAValue):
        return False
    type = cast("SSAValue[Attribute]", operand).type
    return is_tensor(type) and type.get_num_dims() > 0


def _python(element: np.generic) -> Number | None:
    value = element.item()
    return value if isinstance(value, int | float) else float(value)


class UndoOrRepeat(RewritePattern):
    """`neg(neg(x))` is `x`; `relu(relu(x))` is `relu(x)`."""

    roots = (SchemaOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        facts = op.operator.facts
        before = op.operands[0].owner if facts.idempotent or facts.involution else None
        if not isinstance(before, SchemaOp) or before.name != op.name:
            return
        if facts.idempotent:
            by_operand(op, op.operands[0], rewriter, keeps_sizes=True)
        else:
            by_operand(op, before.operands[0], rewriter, keeps_sizes=True)


class SignThatIsKnown(RewritePattern):
    """The absolute value of a negated one, and of what is never negative; `relu` of that."""

    roots = known_forms("abs", "relu")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        source = op.operands[0]
        before = source.owner
        type = tensor_type(source)
        never_negative = isinstance(before, SchemaOp) and before.operator.facts.nonnegative
        if never_negative and dtype_of(type.element_type).is_float:
            by_operand(op, source, rewriter, keeps_sizes=True)
        elif isinstance(before, _NEGATIONS) and isinstance(op, _MAGNITUDES):
            rewriter.replace(
                op, sibling(op, "abs").make(before.operands[0], result_types=[op.results[0].type])
            )


_NEGATIONS: Final = known_forms("neg")
_MAGNITUDES: Final = known_forms("abs")


class SameOperands(RewritePattern):
    """Idempotence: the maximum, or the conjunction, of a value and itself is the value."""

    roots = (SchemaOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        if op.operator.facts.selects_operand and op.operands[0] is op.operands[1]:
            by_operand(op, op.operands[0], rewriter, keeps_sizes=True)


class SimplePower(RewritePattern):
    """Squares and roots have kernels of their own, which are much faster than that of powers, and round alike."""

    roots = known_forms("pow.Tensor_Scalar")

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        base, exponent, result = op.operands[0], op.arg("exponent"), op.results[0]
        if not isinstance(exponent, int | float):
            return
        if exponent == 2 and may_be_same_type(base.type, result.type):
            rewriter.replace(op, sibling(op, "mul.Tensor").make(base, base, result_types=[result.type]))
            return
        is_float = is_tensor(base.type) and dtype_of(base.type.element_type).is_float
        name = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}.get(exponent)
        if name is not None and is_float:
            rewriter.replace(op, sibling(op, name).make(base, result_types=[result.type]))


class SelectSame(RewritePattern):
    """`where` with both values the same, or a condition that is constant."""

    roots = known_forms("where.self")

    def __init__(self, neutral: NeutralOperand):
        self.known = neutral

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, SchemaOp)
        condition, first, second = op.operands
        if first is second:
            by_operand(op, first, rewriter)
            return
        known = self.known.number(condition)
        if known is not None:
            by_operand(op, first if known else second, rewriter)


def patterns(module: ModuleOp) -> list[RewritePattern]:
    """The patterns of this module; some look at the program's constants."""
    neutral = NeutralOperand(module)
    return [
        neutral,
        UndoOrRepeat(),
        SignThatIsKnown(),
        SameOperands(),
        SimplePower(),
        SelectSame(neutral),
    ]
