"""Memory and time that evaluating operators on constants takes, from shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, NamedTuple, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from et_ir.evaluation.arrays import numpy_dtype
from et_ir.evaluation.expression import ConstantExpression, ExpressionResult, Leaf
from et_ops.work import is_transposed, multiply_adds

__all__ = ["Cost", "cost_of", "cost_of_all"]

_PASSES: Final = 16
"""As many products of matrices take about as long as a factorization in LAPACK's slowest form."""
_PRODUCTS: Final = ("linalg.", "attention.")
_OUTER: Final = frozenset(
    {"bilinear", "chain_matmul", "convolution_backward", "einsum", "linalg_multi_dot", "matmul", "tensordot"}
)
"""Products whose inner dimension depends on more than shapes."""
_MOST_EXPRESSIONS: Final = 10_000
"""Expressions that are counted one by one, at most."""


class Cost(NamedTuple):
    """Bytes of operands and results, and visits of elements and multiply-adds."""

    memory: int = 0
    work: int = 0

    def plus(self, other: Cost) -> Cost:
        """The cost of both."""
        return Cost(self.memory + other.memory, self.work + other.work)


def cost_of(expression: ConstantExpression) -> Cost:
    """The cost of one operator, without that of its operands."""
    operands = _operands(expression)
    types = [*operands, *expression.call.types]
    visited = sum(map(_numel, types))
    memory = sum(_numel(type) * numpy_dtype(type.element_type).itemsize for type in types)
    return Cost(memory, visited + _products(expression, operands))


def _products(expression: ConstantExpression, operands: Sequence[TensorType[Attribute]]) -> int:
    """Multiply-adds, and visits of a window's elements; at least as many as there are."""
    call = expression.call
    operator = call.op.operator
    made = sum(map(_numel, call.types))
    packet = operator.overload_name.partition(".")[0]
    window = call.args.get("kernel_size")
    if isinstance(window, tuple):
        sizes = cast("tuple[int, ...]", window)
        return made * prod(sizes if len(sizes) > 1 else sizes * 3)
    found = multiply_adds(
        operator,
        lambda name: _sizes(expression, name),
        made,
        transposed=is_transposed(operator, call.args.get),
    )
    if found is not None:
        return found
    if packet in _OUTER or packet.startswith(("_cdist", "cdist", "_euclidean")):
        return made * max(map(_numel, operands), default=1)
    if (operator.family or "").startswith(_PRODUCTS) or packet.startswith(("linalg_", "_linalg_")):
        return _PASSES * sum(_numel(type) * max(type.get_shape()[-2:], default=1) for type in operands)
    return 0


def _sizes(expression: ConstantExpression, name: str) -> Sequence[int] | None:
    value = expression.tensors.get(name)
    return _type(value).get_shape() if isinstance(value, Leaf | ExpressionResult) else None


def _operands(expression: ConstantExpression) -> list[TensorType[Attribute]]:
    return [_type(one) for one in expression.operands()]


def _type(value: Leaf | ExpressionResult) -> TensorType[Attribute]:
    return value.type if isinstance(value, Leaf) else value.expression.call.types[value.index]


def _numel(type: TensorType[Any]) -> int:
    return prod(type.get_shape())


def cost_of_all(expression: ConstantExpression, *, most: Cost) -> Cost:
    """The cost of an operator with all that it is computed from, each counted once; where that is more than `most`, or
    of too many operators, only that it is more.
    """
    total, seen, stack = Cost(), {id(expression)}, [expression]
    while stack:
        if total.memory > most.memory or total.work > most.work or len(seen) > _MOST_EXPRESSIONS:
            return Cost(most.memory + 1, most.work + 1)
        top = stack.pop()
        total = total.plus(cost_of(top))
        for one in top.operands():
            if isinstance(one, ExpressionResult) and id(one.expression) not in seen:
                seen.add(id(one.expression))
                stack.append(one.expression)
    return total
