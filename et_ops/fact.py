"""Declarable facts of operators.

The family of an operator declares them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

__all__ = ["DECLARED", "Facts", "Promotion", "declare"]


@dataclass(frozen=True, slots=True)
class Promotion:
    """The arguments of an operator that are computed in one element type, which torch lets a call mix.

    With `to_first` the others are converted to the type of the first, as assignments do; else all are
    converted to the type they promote to.
    """

    args: tuple[str, ...]
    to_first: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of an operator that its schema does not state. `x` and `y` are its first two arguments."""

    commutative: bool = False
    """`f(x, y)` is `f(y, x)`."""
    mirror: str | None = None
    """The operator `g` with `f(x, y) = g(y, x)`."""
    scalar_form: str | None = None
    """The overload whose last tensor arguments are numbers."""
    rounds_numbers: tuple[str, ...] = ()
    """The arguments that take numbers and that torch rounds to the element type of a tensor of 16-bit floats before it
    computes in single precision. Other operators compute with the number itself."""
    involution: bool = False
    """`f(f(x))` is `x`."""
    idempotent: bool = False
    """`f(f(x))` is `f(x)`."""
    selects_operand: bool = False
    """`f(x, x)` is `x`."""
    nonnegative: bool = False
    """No float that it gives is below +0.0; `abs` of the smallest integer is negative."""
    promotion: Promotion | None = None
    """The arguments that torch converts to one element type."""
    acts_on_parts: bool = False
    """The real part of the result is that of the real parts of complex operands, and so is the imaginary part."""
    keeps_shape: bool = False
    """The first result has the shape of the first operand."""
    sizes: tuple[tuple[str, int], ...] = ()
    """For each dimension of the result, the argument and its dimension that has this size."""
    counts: bool = False
    """It gives the numbers from `start` to `end`."""
    contracts: str | None = None
    """The tensor over whose last dimension each element of the result is a sum of products."""
    convolves: str | None = None
    """The tensor with the filters of a convolution: `[out, in / groups, …]`, of a transposed one
    `[in, out / groups, …]`."""
    addend: str | None = None
    """The tensor that is added to products or convolutions, if it is given."""
    is_simple: bool = False
    """It takes one operation of an arithmetic unit for each element of the result."""
    reads_part: bool = False
    """It reads no more elements of its first operand than it gives."""
    updates: bool = False
    """Its result is the first operand, with other elements at some places."""
    reads_sizes: bool = False
    """It reads the sizes of its operand, not the elements."""
    fresh: bool = False
    """It computes a new tensor, though it is composite: others may return their input or a view of it."""
    statistics: tuple[str, str] | None = None
    """The argument whose tensor it updates in place, and the argument that must be true for that."""
    drops: bool = False
    """It returns its input itself where it does not train, although traces say that it copies."""
    moves: bool = False
    """Each element of its results is one of its first operand. Views do so too, unless they reinterpret elements."""
    reshapes: bool = False
    """Its result has the elements of its first operand in their order."""
    permutes: bool = False
    """Its result has the elements of its first operand, and may have the dimensions in another order."""
    reinterprets: bool = False
    """A view whose elements are other numbers than those of its operand."""
    unspecified: bool = False
    """The elements of its results are whatever the memory holds."""
    limits: tuple[float | str | None, float | str | None] | None = None
    """The least and the greatest number of its first operand that it lets through, each a number or the argument that
    gives it; numbers beyond become the limit. None stands for no limit."""
    reduces: bool = False
    """It reduces the dimensions that it is given, or scans along one."""
    shares_layout: bool = False
    """All tensors of rank 4 and 5, operands and results, have one dim order. Pointwise operators do so too."""


DECLARED: Final[dict[str, Facts]] = {}
"""The declared facts by operator name (`add.Tensor`)."""


def declare(names: str, **facts: Any) -> None:
    """Declare facts of operators, whose names are separated by blanks. An operator's facts add up.

    Raises `TypeError` for what is no field of `Facts`, and `ValueError` for a fact that an operator has already.
    """
    for name in names.split():
        known = DECLARED.get(name, Facts())
        for fact in facts:
            if getattr(known, fact):
                raise ValueError(f"'{fact}' of {name} is declared twice")
        DECLARED[name] = replace(known, **facts)
