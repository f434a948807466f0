"""Formulas of comparisons, and of selection."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from et_ops.formulas.builder import Builder, Value
from et_ops.formulas.registry import formula


def _comparison(name: str) -> Callable[..., object]:
    def compare(b: Builder[Value], x: Value, other: Value | float) -> Value:
        return b.operator(name, x, b.value(other, x))

    return compare


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    formula(f"{_name}.Tensor", f"{_name}.Scalar", gives_mask=True)(_comparison(_name))


@formula("isnan", gives_mask=True)
def is_nan(b: Builder[Value], x: Value) -> Value:
    return b.ne(x, x)


@formula("isinf", gives_mask=True)
def is_infinite(b: Builder[Value], x: Value) -> Value:
    return b.eq(b.abs(x), inf)


@formula("where.self")
def where(b: Builder[Value], mask: Value, x: Value, other: Value) -> Value:
    return b.select(mask, x, other)
