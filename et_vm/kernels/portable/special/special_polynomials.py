"""The kernels of the orthogonal polynomials; :mod:`polynomials` has the formulas."""

from __future__ import annotations

from functools import partial

from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import BOOL, FLOAT, INTEGER, check_kinds, check_not_reduced
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.promotion import floating, result_type
from et_vm.kernels.portable.scipy_extra import scipy_module
from et_vm.kernels.portable.special.polynomials import POLYNOMIALS, Polynomial, evaluate
from et_vm.kernels.portable.special.special import computed
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Tensor


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
