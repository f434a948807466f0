"""Orthogonal polynomials of a whole degree, by their three-term recurrences in the arithmetic of the type.

As in torch the degree loses its fraction, polynomials of negative degree are 0, those of Chebyshev's families
between -1 and 1 are from some degree on by their trigonometric forms, at the ends of an interval those of the classical
values, and once a recurrence has overflowed its results are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_vm.kernels.registry import PrepareContext
from et_vm.values import Array
from et_vm.work import CALL

MAX_DEGREE = 1 << 20

Next: TypeAlias = Callable[[Array, Array, Array, int], Array]
"""From the argument and the polynomials of degree k - 1 and k, and k, that of degree k + 1."""

Closed: TypeAlias = Callable[[Array, Array], Array]
"""A polynomial without a recurrence, of the argument and the degree."""


class Polynomial(NamedTuple):
    """A family of polynomials. ``first`` is that of degree 1, ``trigonometric`` holds for degrees above ``above``
    inside of (-1, 1), ``ends`` gives values at arguments of their own, of the degree.
    """

    first: Callable[[Array], Array]
    next: Next
    ends: tuple[tuple[float, Callable[[Array], Array]], ...] = ()
    trigonometric: Closed | None = None
    above: int = 0
    shifted: bool = False
    """Whether the argument runs from 0 to 1 in place of -1 to 1."""


def evaluate(family: Polynomial, x: Array, degree: Array, ctx: PrepareContext | None = None) -> Array:
    """The polynomials of ``degree`` at ``x``, arrays of one float type that broadcast. Allocates a dozen arrays of
    their common shape; takes as many passes over them as the largest degree, and tells ``ctx``.

    Raises ExecutorchError: NotSupported when those are more than ``MAX_DEGREE``, as degrees are data, and what takes
    hours looks like what does not end; OutOfResources when they pass the limit of work.
    """
    x, degree = np.broadcast_arrays(x, degree)
    # Of what is no number torch makes the least integer.
    n = np.where(np.isfinite(degree), np.trunc(degree), -1).astype(np.int64)
    at = 2 * x - 1 if family.shifted else x
    result: Array = np.asarray(n >= 0).astype(x.dtype)
    rest = n > 0
    for end, value in family.ends:
        here = rest & (x == end)
        result[here] = value(n[here])
        rest &= ~here
    if family.trigonometric is not None:
        here = rest & (n > family.above) & (np.abs(at) < 1)
        result[here] = family.trigonometric(at[here], n[here].astype(x.dtype))
        rest &= ~here
    if rest.any():
        result[rest] = _by_recurrence(family, at[rest], n[rest], ctx)
    return result


def _by_recurrence(family: Polynomial, x: Array, degree: Array, ctx: PrepareContext | None) -> Array:
    if degree.max() > MAX_DEGREE:
        raise ExecutorchError(
            Error.NotSupported,
            f"a polynomial of degree {degree.max()} by its recurrence, the most is {MAX_DEGREE}",
        )
    if ctx is not None:
        ctx.spend(8 * int(degree.max()) * (x.size + CALL))
    before, current = np.ones_like(x), family.first(x)
    result: Array = np.where(degree == 1, current, x.dtype.type("nan"))
    for k in range(1, int(degree.max())):
        before, current = current, family.next(x, before, current, k)
        np.copyto(result, current, where=degree == k + 1)
        if k % 64 == 0 and np.isnan(current).all():
            break
    return result


def _itself(x: Array) -> Array:
    return x


def _twice(x: Array) -> Array:
    return x + x


def _twice_less(x: Array) -> Array:
    return x + x - 1


def _twice_more(x: Array) -> Array:
    return x + x + 1


def _one_less(x: Array) -> Array:
    return 1 - x


def _one(degree: Array) -> Array:
    return np.ones(degree.shape)


def _alternating(degree: Array) -> Array:
    return np.where(degree % 2 == 0, 1.0, -1.0)


def _odd_number(degree: Array) -> Array:
    return 2.0 * degree + 1


def _alternating_odd_number(degree: Array) -> Array:
    return _alternating(degree) * _odd_number(degree)


def _successor(degree: Array) -> Array:
    return degree + 1.0


def _alternating_successor(degree: Array) -> Array:
    return _alternating(degree) * _successor(degree)


def _less(a: Array, b: Array, c: Array) -> Array:
    """a b - c, of float32 with one rounding, as torch computes it."""
    return (a.astype(np.float64) * b - c).astype(a.dtype)


def _chebyshev(x: Array, before: Array, current: Array, k: int) -> Array:
    return _less(x + x, current, before)


def _cosine(x: Array, n: Array) -> Array:
    return np.cos(n * np.arccos(x))


def _sine_ratio(x: Array, n: Array) -> Array:
    angle: Array = np.arccos(x)
    return np.sin((n + 1) * angle) / np.sin(angle)


def _half_cosine_ratio(x: Array, n: Array) -> Array:
    angle: Array = np.arccos(x)
    return np.cos((n + x.dtype.type(0.5)) * angle) / np.cos(angle / 2)


def _half_sine_ratio(x: Array, n: Array) -> Array:
    angle: Array = np.arccos(x)
    return np.sin((n + x.dtype.type(0.5)) * angle) / np.sin(angle / 2)


def _hermite_h(x: Array, before: Array, current: Array, k: int) -> Array:
    return _less(x + x, current, (k + k) * before)


def _hermite_he(x: Array, before: Array, current: Array, k: int) -> Array:
    return _less(x, current, k * before)


def _laguerre(x: Array, before: Array, current: Array, k: int) -> Array:
    return _less((k + k) + (1 - x), current, k * before) / (k + 1)


def _legendre(x: Array, before: Array, current: Array, k: int) -> Array:
    return _less((k + k + 1) * x, current, k * before) / (k + 1)


_Values: TypeAlias = Callable[[Array], Array]


def _family(
    first: Callable[[Array], Array], low: _Values, high: _Values, closed: Closed, above: int
) -> tuple[Polynomial, Polynomial]:
    """A family of Chebyshev's on [-1, 1] and the same on [0, 1]."""
    plain = Polynomial(first, _chebyshev, ((1.0, high), (-1.0, low)), closed, above)
    shifted: Any = plain._replace(ends=((1.0, high), (0.0, low)), shifted=True)
    return plain, shifted


_T, _SHIFTED_T = _family(_itself, _alternating, _one, _cosine, 6)
_U, _SHIFTED_U = _family(_twice, _alternating_successor, _successor, _sine_ratio, 6)
_V, _SHIFTED_V = _family(_twice_less, _alternating_odd_number, _one, _half_cosine_ratio, 6)
_W, _SHIFTED_W = _family(_twice_more, _alternating, _odd_number, _half_sine_ratio, 6)

POLYNOMIALS = {
    "chebyshev_polynomial_t": _T,
    "chebyshev_polynomial_u": _U,
    "chebyshev_polynomial_v": _V,
    "chebyshev_polynomial_w": _W,
    "hermite_polynomial_h": Polynomial(_twice, _hermite_h),
    "hermite_polynomial_he": Polynomial(_itself, _hermite_he),
    "laguerre_polynomial_l": Polynomial(_one_less, _laguerre, ((0.0, _one),)),
    "legendre_polynomial_p": Polynomial(_itself, _legendre, ((1.0, _one), (-1.0, _alternating))),
    "shifted_chebyshev_polynomial_t": _SHIFTED_T,
    "shifted_chebyshev_polynomial_u": _SHIFTED_U,
    "shifted_chebyshev_polynomial_v": _SHIFTED_V,
    "shifted_chebyshev_polynomial_w": _SHIFTED_W,
}
"""The families by their names in torch."""
