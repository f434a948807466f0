"""Special functions, computed in float64 block by block and rounded once; :mod:`gamma`, :mod:`normal` and the modules
of Bessel's functions have the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import BOOL, FLOAT, INTEGER, check_kinds, check_not_reduced
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.elementwise import elementwise
from et_vm.kernels.portable.promotion import arithmetic, floating, result_type
from et_vm.kernels.portable.special import bessel, bessel_decaying, bessel_ordinary, gamma, normal
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor

_DOUBLE = ScalarType.DOUBLE


def _store(function: Callable[..., Array], inputs: Sequence[Array], out: Array) -> None:
    np.copyto(out, function(*inputs))


def computed(
    ctx: PrepareContext, function: Callable[..., Array], operands: Sequence[Tensor | Scalar], out: Tensor
) -> Step:
    """The step that stores ``function``, of float64 arrays, of the broadcast ``operands``; integers count as
    float32. Scratch: a float64 block of each operand and of the result; ``function`` allocates several more.
    """
    promoted = result_type(*operands)
    check_kinds(ctx, promoted, (BOOL, INTEGER, FLOAT), arg="self")
    arrays = [o if isinstance(o, Tensor) else np.array(o, np.float64) for o in operands]

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        return [(_store, (function, inputs, result))]

    return elementwise(ctx, arrays, out, body, compute=_DOUBLE, result=_DOUBLE, promoted=floating(promoted))


def _of_one(name: str, function: Callable[[Array], Array]) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        return computed(ctx, function, (self,), out)

    prepare.__doc__ = function.__doc__


def _of_one_wide(name: str, function: Callable[[Array], Array]) -> None:
    @kernel(f"aten::special_{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        check_not_reduced(ctx, self, arg="self")
        return computed(ctx, function, (self,), out)

    prepare.__doc__ = function.__doc__


def _of_x_wide(name: str, function: Callable[[Array], Array]) -> None:
    @kernel(f"aten::special_{name}.out")
    def prepare(ctx: PrepareContext, x: Tensor, out: Tensor) -> Step:
        check_not_reduced(ctx, x, arg="x")
        return computed(ctx, function, (x,), out)

    prepare.__doc__ = function.__doc__


def _of_two(name: str, function: Callable[[Array, Array], Array]) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
        return computed(ctx, function, (self, other), out)

    prepare.__doc__ = function.__doc__


for _name, _one in {
    "digamma": gamma.digamma,
    "erfc": normal.erfc,
    "erfinv": normal.erfinv,
    "i0": bessel.i0,
    "lgamma": gamma.lgamma,
    "special_erfcx": normal.erfcx,
    "special_i0e": bessel.i0e,
    "special_i1": bessel.i1,
    "special_i1e": bessel.i1e,
    "special_log_ndtr": normal.log_ndtr,
    "special_ndtri": normal.ndtri,
}.items():
    _of_one(_name, _one)

# Torch has these for no 16-bit type, and calls the argument of some "x".
for _name, _one in {
    "bessel_j0": bessel_ordinary.j0,
    "bessel_j1": bessel_ordinary.j1,
    "bessel_y0": bessel_ordinary.y0,
    "bessel_y1": bessel_ordinary.y1,
    "modified_bessel_i0": bessel.i0,
    "modified_bessel_i1": bessel.i1,
    "modified_bessel_k0": bessel_decaying.k0,
    "modified_bessel_k1": bessel_decaying.k1,
}.items():
    _of_one_wide(_name, _one)

for _name, _one in {
    "airy_ai": bessel_decaying.airy,
    "scaled_modified_bessel_k0": bessel_decaying.k0e,
    "scaled_modified_bessel_k1": bessel_decaying.k1e,
    "spherical_bessel_j0": bessel_ordinary.spherical_j0,
}.items():
    _of_x_wide(_name, _one)

for _name, _two in {"igamma": gamma.igamma, "igammac": gamma.igammac, "special_zeta": gamma.zeta}.items():
    _of_two(_name, _two)


@kernel("aten::special_zeta.self_scalar_out")
def zeta_self_scalar_out(ctx: PrepareContext, self: Scalar, other: Tensor, out: Tensor) -> Step:
    """The Hurwitz zeta function of a number and a tensor."""
    return computed(ctx, gamma.zeta, (self, other), out)


@kernel("aten::special_zeta.other_scalar_out")
def zeta_other_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """The Hurwitz zeta function of a tensor and a number."""
    return computed(ctx, gamma.zeta, (self, other), out)


@kernel("aten::polygamma.out")
def polygamma_out(ctx: PrepareContext, n: int, self: Tensor, out: Tensor) -> Step:
    """The ``n``-th derivative of digamma. Scratch and allocations: as for the others."""
    ctx.check(n >= 0, arg="n", expected="a non-negative order", got=n)
    single = numpy_dtype(arithmetic(floating(self.scalar_type))) == np.float32
    dtype = np.dtype(np.float32 if single else np.float64)

    def function(x: Array) -> Array:
        return gamma.polygamma(n, x, dtype)

    return computed(ctx, function, (self,), out)
