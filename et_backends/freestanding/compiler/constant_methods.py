"""Constant methods: those without inputs that return a number or a string, which the header has as macros."""

from __future__ import annotations

import math
from typing import TypeAlias

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, i1
from xdsl.dialects.func import FuncOp, ReturnOp

from et_ir.dialects.program import LiteralOp

__all__ = ["Literal", "c_literal", "constant_of"]

Literal: TypeAlias = bool | int | float | str


def constant_of(method: FuncOp) -> Literal | None:
    """The number or string that a method returns, None for methods that do anything else."""
    *ops, end = method.body.block.ops
    if method.body.block.args or not isinstance(end, ReturnOp) or len(end.operands) != 1:
        return None
    literal = end.operands[0].owner
    if not isinstance(literal, LiteralOp) or not all(isinstance(op, LiteralOp) for op in ops):
        return None
    match literal.value:
        case IntegerAttr() as number:
            return bool(number.value.data) if number.type == i1 else number.value.data
        case FloatAttr() as number if math.isfinite(number.value.data):
            return number.value.data
        case StringAttr() as text:
            return text.data
        case _:
            return None


def c_literal(value: Literal) -> str:
    """A number or string as a constant in C."""
    if isinstance(value, str):
        characters = (
            chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}"
            for byte in value.encode()
        )
        return f'"{"".join(characters)}"'
    if isinstance(value, bool):
        return str(int(value))
    if value == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    text = repr(value)
    if isinstance(value, int) and not -(1 << 31) < value < 1 << 31:
        text += "LL"
    return f"({text})" if value < 0 else text
