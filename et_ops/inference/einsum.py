"""Einstein summation: the equation's labels, and the shape of its result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from et_ops.dtypes import I64
from et_ops.inference.meta import Meta, rule
from et_ops.inference.shapes import broadcast

__all__ = ["read_equation"]

_TERM = re.compile(r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*")


def read_equation(equation: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand's dimensions, and those of the result's.

    A label is a letter; dimensions that `...` stands for have numbers, counted so that the last ones of all
    operands are the same. Raises `ValueError` for an equation that is malformed, or does not fit operands of
    such ranks.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not all(_TERM.fullmatch(term) for term in [*terms, right]) or len(terms) != len(ranks):
        raise ValueError(f"equation '{equation}' does not fit {len(ranks)} operands")
    covered = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    if any(count < 0 or (count and "..." not in term) for term, count in zip(terms, covered, strict=True)):
        raise ValueError(f"equation '{equation}' does not fit operands of ranks {', '.join(map(str, ranks))}")
    most = max(covered)
    dots = [str(i) for i in range(most)]

    def labels(term: str, count: int) -> list[str]:
        before, ellipsis, after = term.partition("...")
        return [*before, *(dots[most - count :] if ellipsis else ()), *after]

    operands = [labels(term, count) for term, count in zip(terms, covered, strict=True)]
    if arrow:
        return operands, labels(right, most)
    times = Counter(label for operand in operands for label in operand if label.isalpha())
    return operands, [*dots, *sorted(label for label, count in times.items() if count == 1)]


@rule("einsum")
def einsum(equation: str, tensors: Sequence[Meta], path: Sequence[int] | None) -> Meta | None:
    operands, result = read_equation(equation, [tensor.rank for tensor in tensors])
    sizes: dict[str, int] = {}
    for labels, tensor in zip(operands, tensors, strict=True):
        for label, size in zip(labels, tensor.shape, strict=True):
            (sizes[label],) = broadcast((sizes.get(label, 1),), (size,))
    unknown = [label for label in result if label not in sizes]
    if unknown:
        raise ValueError(f"label '{unknown[0]}' of the result of '{equation}' occurs in no operand")
    dtype = tensors[0].dtype
    if dtype.is_integral and dtype is not I64:
        return None  # what is summed by itself becomes i64, what is multiplied does not
    return Meta(tuple(sizes[label] for label in result), tensors[0].dtype)
