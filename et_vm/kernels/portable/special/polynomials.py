"""Orthogonal polynomials of a whole degree, by `scipy.special`.

As in torch the degree loses its fraction, polynomials of negative degree are 0, those of Chebyshev's families are
inside of (-1, 1) from some degree on in their trigonometric forms, and once two have overflowed those above are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import BOOL, FLOAT, INTEGER, check_kinds, check_not_reduced
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.promotion import floating, result_type
from et_vm.kernels.portable.scipy_extra import scipy_module
from et_vm.kernels.portable.special.special import computed
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor

__all__ = ["MAX_DEGREE", "POLYNOMIALS", "evaluate"]

MAX_DEGREE: Final = 1 << 20
_TRIGONOMETRIC_ABOVE: Final = 6

Function: TypeAlias = Callable[[Any, Array, Array], Array]
"""From the module `scipy.special`, whole degrees, and arguments in float64."""

Spend: TypeAlias = Callable[[int], None]
"""Is told of work that is about to be done (`PrepareContext.spend`)."""

Metered: TypeAlias = Callable[[Any, Array, Array, Spend], Array]
"""A function that tells of its work."""

_TERM: Final = 8
"""Units of work for each term of a recurrence."""


def _named(name: str) -> Function:
    def function(special: Any, degree: Array, x: Array) -> Array:
        return getattr(special, f"eval_{name}")(degree, x)

    return function


def _third_kind(special: Any, degree: Array, x: Array) -> Array:
    second: Array = special.eval_chebyu(degree, x)
    return np.where(np.isinf(second), second, second - special.eval_chebyu(degree - 1, x))


def _fourth_kind(special: Any, degree: Array, x: Array) -> Array:
    second: Array = special.eval_chebyu(degree, x)
    return np.where(np.isinf(second), second, second + special.eval_chebyu(degree - 1, x))


def _inside(letter: str, degree: Array, x: Array) -> Array:
    """Chebyshev's polynomials for -1 < x < 1, at once whatever their degree."""
    angle: Array = np.arccos(x)
    match letter:
        case "t":
            return np.cos(degree * angle)
        case "u":
            return np.sin((degree + 1) * angle) / np.sin(angle)
        case "v":
            return np.cos((degree + 0.5) * angle) / np.cos(angle / 2)
        case _:
            return np.sin((degree + 0.5) * angle) / np.sin(angle / 2)


def _chebyshev(
    letter: str, function: Function, shifted: bool, special: Any, degree: Array, x: Array, spend: Spend
) -> Array:
    at = 2 * x - 1 if shifted else x
    closed = (degree > _TRIGONOMETRIC_ABOVE) & (np.abs(at) < 1)
    result: Array = np.empty(x.shape)
    result[closed] = _inside(letter, degree[closed], at[closed])
    result[~closed] = _capped(function)(special, degree[~closed], at[~closed], spend)
    return result


def _capped(function: Function) -> Metered:
    """By recurrence, unless that has too many steps: degrees are data, and what takes hours looks like what does not
    end. Raises ExecutorchError: NotSupported, or OutOfResources where they pass the limit of work.
    """

    def capped(special: Any, degree: Array, x: Array, spend: Spend) -> Array:
        most = int(degree.max(initial=0))
        if most > MAX_DEGREE:
            raise ExecutorchError(
                Error.NotSupported,
                f"a polynomial of degree {most} by its recurrence, the most is {MAX_DEGREE}",
            )
        spend(_TERM * int(degree.sum()))
        return function(special, degree, x)

    return capped


class Polynomial(NamedTuple):
    """A family of polynomials. With `divided` each step of its recurrence is a quotient by the degree, whose dividend
    may overflow.
    """

    function: Metered
    divided: bool = False

    def rounded(self, special: Any, degree: Array, x: Array, dtype: DType, spend: Spend) -> Array:
        """The polynomials of degrees of at least 1 in a type."""
        made = self.function(special, degree, x, spend)
        return (made * degree).astype(dtype) / degree.astype(dtype) if self.divided else made.astype(dtype)


def evaluate(family: Polynomial, dtype: DType, special: Any, spend: Spend, x: Array, degree: Array) -> Array:
    """The polynomials of `degree` at `x`, float64 arrays that broadcast, for a result of `dtype`. Allocates a
    dozen arrays of their common shape. A recurrence has as many terms for each element as the degree says, of which it
    tells `spend`.

    Raises ExecutorchError: NotSupported for a degree above `MAX_DEGREE` that only a recurrence leads to;
    OutOfResources when the terms pass the limit of work.
    """
    x, degree = np.broadcast_arrays(x, degree)
    # Of what is no number torch makes the least integer.
    n: Array = np.where(np.isfinite(degree), np.trunc(degree), -1).astype(np.int64)
    infinite = np.isinf(x)
    at: Array = np.where(infinite, np.copysign(10.0, x), x)
    result = family.rounded(special, np.maximum(n, 1), at, dtype, spend)
    result = np.where(infinite, np.copysign(np.inf, result), result)
    # A recurrence of two infinities.
    late = (n > 2) & np.isinf(result)
    before = family.rounded(special, n[late] - 2, at[late], dtype, spend)
    result[late] = np.where(infinite[late] | np.isinf(before), np.nan, result[late])
    return np.where(n < 0, 0.0, np.where(n == 0, 1.0, result))


_KINDS: Final[dict[str, Function]] = {
    "t": _named("chebyt"),
    "u": _named("chebyu"),
    "v": _third_kind,
    "w": _fourth_kind,
}

POLYNOMIALS: Final[dict[str, Polynomial]] = {
    **{
        f"chebyshev_polynomial_{kind}": Polynomial(partial(_chebyshev, kind, of, False))
        for kind, of in _KINDS.items()
    },
    **{
        f"shifted_chebyshev_polynomial_{kind}": Polynomial(partial(_chebyshev, kind, of, True))
        for kind, of in _KINDS.items()
    },
    "hermite_polynomial_h": Polynomial(_capped(_named("hermite"))),
    "hermite_polynomial_he": Polynomial(_capped(_named("hermitenorm"))),
    "laguerre_polynomial_l": Polynomial(_capped(_named("laguerre")), divided=True),
    "legendre_polynomial_p": Polynomial(_capped(_named("legendre")), divided=True),
}
"""The families by their names in torch."""


def _computed(
    ctx: PrepareContext, family: Polynomial, x: Tensor | Scalar, n: Tensor | Scalar, out: Tensor
) -> Step:
    """Scratch: a float64 block of each operand and of the result; the polynomials allocate a dozen blocks."""
    for arg, operand in (("x", x), ("n", n)):
        if isinstance(operand, Tensor):
            check_kinds(ctx, operand.scalar_type, (BOOL, INTEGER, FLOAT), arg=arg)
            check_not_reduced(ctx, operand, arg=arg)
    dtype = numpy_dtype(floating(result_type(x, n)))
    special = scipy_module(ctx, "scipy.special")
    return computed(ctx, partial(evaluate, family, dtype, special, ctx.spend), (x, n), out)


def _declare(name: str, family: Polynomial) -> None:
    @kernel(f"aten::special_{name}.out")
    def of_tensors(ctx: PrepareContext, x: Tensor, n: Tensor, out: Tensor) -> Step:
        return _computed(ctx, family, x, n, out)

    @kernel(f"aten::special_{name}.x_scalar_out")
    def of_number(ctx: PrepareContext, x: Scalar, n: Tensor, out: Tensor) -> Step:
        return _computed(ctx, family, x, n, out)

    @kernel(f"aten::special_{name}.n_scalar_out")
    def of_degree(ctx: PrepareContext, x: Tensor, n: Scalar, out: Tensor) -> Step:
        return _computed(ctx, family, x, n, out)

    for prepare in (of_tensors, of_number, of_degree):
        prepare.__doc__ = f"The {name.replace('_', ' ')} of degree ``n``, less its fraction, at ``x``."


for _name, _family in POLYNOMIALS.items():
    _declare(_name, _family)
