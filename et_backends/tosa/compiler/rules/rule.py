"""Interface of a legalization rule.

A rule makes the ops that compute an op's results. It raises `CannotLegalize` for what TOSA cannot express.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import FLOATS, CannotLegalize, Legalizer
from et_ir.dialects.schema import SchemaOp

__all__ = ["Rule", "axes", "axis", "pair", "require_float"]

Rule: TypeAlias = Callable[[Legalizer, SchemaOp], SSAValue | Sequence[SSAValue | None]]
"""Makes the results of an op, in their order; `None` for one that nothing uses."""


def axis(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim + rank if dim < 0 else dim


def axes(dims: Any, rank: int) -> list[int]:
    """Dimensions counted from the front; all where none are named."""
    if isinstance(dims, int):
        dims = [dims]
    return [axis(int(dim), rank) for dim in dims] if dims else list(range(rank))


def pair(numbers: Any) -> list[int]:
    """Two numbers, of which one may stand for both."""
    found = [int(one) for one in numbers]
    return found * 2 if len(found) == 1 else found


def require_float(t: Legalizer, *values: SSAValue) -> None:
    """Raise `CannotLegalize` for a value that is not of floats."""
    for value in values:
        if t.dtype(value) not in FLOATS:
            raise CannotLegalize(f"element type {t.dtype(value).name}, only floats are supported")
