"""Special functions, computed in float64 block by block and rounded once: `lgamma` by numpy, all others by scipy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import BOOL, FLOAT, INTEGER, check_kinds, check_not_reduced
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.elementwise import elementwise
from et_vm.kernels.portable.promotion import arithmetic, floating, result_type
from et_vm.kernels.portable.scipy_extra import scipy_module
from et_vm.kernels.portable.special.scipy_functions import airy, erfinv, incomplete_gamma, polygamma, zeta
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_DOUBLE = ScalarType.DOUBLE


def _store(function: Callable[..., Array], inputs: Sequence[Array], out: Array) -> None:
    np.copyto(out, function(*inputs))


def computed(
    ctx: PrepareContext, function: Callable[..., Array], operands: Sequence[Tensor | Scalar], out: Tensor
) -> Step:
    """The step that stores `function`, of float64 arrays, of the broadcast `operands`; integers count as
    float32. Scratch: a float64 block of each operand and of the result; `function` allocates several more.
    """
    promoted = result_type(*operands)
    check_kinds(ctx, promoted, (BOOL, INTEGER, FLOAT), arg="self")
    arrays = [o if isinstance(o, Tensor) else np.array(o, np.float64) for o in operands]

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        return [(_store, (function, inputs, result))]

    return elementwise(ctx, arrays, out, body, compute=_DOUBLE, result=_DOUBLE, promoted=floating(promoted))


Function: TypeAlias = Callable[..., Array]
"""From the module `scipy.special` and float64 arrays to one."""


def _with_scipy(ctx: PrepareContext, function: Function) -> Callable[..., Array]:
    return partial(function, scipy_module(ctx, "scipy.special"))


def _named(name: str) -> Function:
    """The function of that name in `scipy.special`."""

    def function(special: Any, x: Array) -> Array:
        return getattr(special, name)(x)

    function.__doc__ = f"The function `scipy.special.{name}`."
    return function


def _spherical_j0(special: Any, x: Array) -> Array:
    """The spherical Bessel function of the first kind of order 0."""
    return special.spherical_jn(0, x)


def _igamma(special: Any, a: Array, x: Array) -> Array:
    """The regularized lower incomplete gamma function P(a, x)."""
    return incomplete_gamma(special, a, x, False)


def _igammac(special: Any, a: Array, x: Array) -> Array:
    """The regularized upper incomplete gamma function Q(a, x)."""
    return incomplete_gamma(special, a, x, True)


def _of_one(name: str, function: Function) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        return computed(ctx, _with_scipy(ctx, function), (self,), out)

    prepare.__doc__ = function.__doc__


def _of_one_wide(name: str, function: Function) -> None:
    @kernel(f"aten::special_{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        check_not_reduced(ctx, self, arg="self")
        return computed(ctx, _with_scipy(ctx, function), (self,), out)

    prepare.__doc__ = function.__doc__


def _of_x_wide(name: str, function: Function) -> None:
    @kernel(f"aten::special_{name}.out")
    def prepare(ctx: PrepareContext, x: Tensor, out: Tensor) -> Step:
        check_not_reduced(ctx, x, arg="x")
        return computed(ctx, _with_scipy(ctx, function), (x,), out)

    prepare.__doc__ = function.__doc__


def _of_two(name: str, function: Function) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
        return computed(ctx, _with_scipy(ctx, function), (self, other), out)

    prepare.__doc__ = function.__doc__


@kernel("aten::lgamma.out")
def lgamma_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The logarithm of the magnitude of the gamma function, without scipy."""
    return computed(ctx, lgamma, (self,), out)


for _name, _one in {
    "digamma": _named("psi"),
    "erfc": _named("erfc"),
    "erfinv": erfinv,
    "i0": _named("i0"),
    "special_erfcx": _named("erfcx"),
    "special_i0e": _named("i0e"),
    "special_i1": _named("i1"),
    "special_i1e": _named("i1e"),
    "special_log_ndtr": _named("log_ndtr"),
    "special_ndtri": _named("ndtri"),
}.items():
    _of_one(_name, _one)

# Torch has these for no 16-bit type, and calls the argument of some "x".
for _name, _one in {
    "bessel_j0": _named("j0"),
    "bessel_j1": _named("j1"),
    "bessel_y0": _named("y0"),
    "bessel_y1": _named("y1"),
    "modified_bessel_i0": _named("i0"),
    "modified_bessel_i1": _named("i1"),
    "modified_bessel_k0": _named("k0"),
    "modified_bessel_k1": _named("k1"),
}.items():
    _of_one_wide(_name, _one)

for _name, _one in {
    "airy_ai": airy,
    "scaled_modified_bessel_k0": _named("k0e"),
    "scaled_modified_bessel_k1": _named("k1e"),
    "spherical_bessel_j0": _spherical_j0,
}.items():
    _of_x_wide(_name, _one)

for _name, _two in {"igamma": _igamma, "igammac": _igammac, "special_zeta": zeta}.items():
    _of_two(_name, _two)


@kernel("aten::special_zeta.self_scalar_out")
def zeta_self_scalar_out(ctx: PrepareContext, self: Scalar, other: Tensor, out: Tensor) -> Step:
    """The Hurwitz zeta function of a number and a tensor."""
    return computed(ctx, _with_scipy(ctx, zeta), (self, other), out)


@kernel("aten::special_zeta.other_scalar_out")
def zeta_other_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """The Hurwitz zeta function of a tensor and a number."""
    return computed(ctx, _with_scipy(ctx, zeta), (self, other), out)


@kernel("aten::polygamma.out")
def polygamma_out(ctx: PrepareContext, n: int, self: Tensor, out: Tensor) -> Step:
    """The `n`-th derivative of digamma. Scratch and allocations: as for the others."""
    ctx.check(n >= 0, arg="n", expected="a non-negative order", got=n)
    single = numpy_dtype(arithmetic(floating(self.scalar_type))) == np.float32
    dtype = np.dtype(np.float32 if single else np.float64)

    special = scipy_module(ctx, "scipy.special")

    def function(x: Array) -> Array:
        return polygamma(special, n, x, dtype)

    return computed(ctx, function, (self,), out)


# Lanczos' series for g = 7 and n = 9 as published by Godfrey (2001): relative error below 1e-15.
_LANCZOS_G = 7.0
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def _lgamma_right(x: Array) -> Array:
    """For x >= 1/2: Lanczos, SIAM J. Numer. Anal. B 1 (1964)."""
    z = x - 1
    series = np.full_like(x, _LANCZOS[0])
    for at, coefficient in enumerate(_LANCZOS[1:], 1):
        series += coefficient / (z + at)
    t = z + (_LANCZOS_G + 0.5)
    result: Array = (z + 0.5) * np.log(t) - t + (0.5 * math.log(2 * math.pi) + np.log(series))
    return np.where(np.isposinf(x), np.inf, result)


def _sin_pi(x: Array) -> Array:
    """sin(pi x), zero at the integers."""
    near = np.rint(x)
    return np.sin(np.pi * (x - near)) * np.where(near % 2 == 0, 1.0, -1.0)


def lgamma(x: Array) -> Array:
    """The logarithm of the magnitude of the gamma function; infinite at 0, -1, -2, ..."""
    left = x < 0.5
    right = _lgamma_right(np.where(left, 1 - x, x))
    result: Array = np.where(left, np.log(np.pi / np.abs(_sin_pi(x))) - right, right)
    # Near its zeros 1 and 2 the sum cancels; log1p of what gamma adds to 1 does not.
    return np.where(np.isinf(x), np.inf, result)
