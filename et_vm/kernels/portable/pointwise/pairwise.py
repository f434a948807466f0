"""Functions of the bits, signs and magnitudes of one or two tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from et_ops.inference.pointwise import frexp
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import BOOL, COMPLEX, FLOAT, INTEGER, check_kinds, check_type
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.elementwise import Body, apply, elementwise, whole
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.pointwise.binary import binary
from et_vm.kernels.portable.promotion import arithmetic, floating, kind, real_of, result_type
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _whole_of_one(function: Callable[[Array], Array]) -> Body:
    return whole(function)


def _whole_of_two(function: Callable[[Array, Array], Array]) -> Body:
    return whole(function)


def _declare(
    name: str, summary: str, body: Body, kinds: Sequence[int], *, float_result: bool = False
) -> None:
    @kernel(f"aten::{name}.out")
    def prepare(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
        return binary(ctx, self, other, out, body, kinds=kinds, float_result=float_result)

    prepare.__doc__ = summary


def _of_numbers(first: Callable[[Array, Array], Array]) -> Body:
    """The first operand where `first` says so or the second is NaN. Of equal numbers, which zeros of two signs are,
    torch gives the first, and numpy one or the other.
    """

    def choose(a: Array, b: Array) -> Array:
        return np.where(first(a, b) | np.isnan(b), a, b)

    return whole(choose)


_declare(
    "fmax",
    "The larger; of a NaN and a number the number.",
    _of_numbers(np.greater_equal),
    (BOOL, INTEGER, FLOAT),
)
_declare(
    "fmin",
    "The smaller; of a NaN and a number the number.",
    _of_numbers(np.less_equal),
    (BOOL, INTEGER, FLOAT),
)
_declare("gcd", "The greatest common divisor, not negative.", apply(np.gcd), (INTEGER,))


def _lcm(a: Array, b: Array) -> Array:
    # As C does: small types are multiplied and made positive as int32, and only then cut off.
    wide = np.result_type(a.dtype, np.int32) if a.dtype.itemsize < 4 else a.dtype
    divisor = np.gcd(a, b).astype(wide)
    product = np.where(divisor == 0, 0, a.astype(wide) // np.where(divisor == 0, 1, divisor)) * b.astype(wide)
    return np.abs(product)


_declare("lcm", "The least common multiple, not negative. Allocates a few blocks.", whole(_lcm), (INTEGER,))
_declare("hypot", "sqrt(a^2 + b^2) without overflow.", apply(np.hypot), (FLOAT,))
_declare(
    "copysign",
    "The magnitude of ``self`` with the sign of ``other``.",
    apply(np.copysign),
    (BOOL, INTEGER, FLOAT),
    float_result=True,
)


def log_add(a: Array, b: Array) -> Array:
    """log(exp(a) + exp(b)), real or complex."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    # Relative to the larger real part. Of equal infinities the sum is the one of which it is the whole.
    ahead = a.real >= b.real
    larger: Array = np.where(ahead, a, b)
    smaller: Array = np.where(ahead, b, a)
    whole = np.isinf(larger.real) & (larger == smaller) | np.isneginf(smaller.real)
    return np.where(whole, larger, larger + np.log1p(np.exp(smaller - larger)))


def _log2_add(a: Array, b: Array) -> Array:
    return np.logaddexp2(a, b)


_declare("logaddexp", "log(exp(a) + exp(b)).", whole(log_add), (FLOAT, COMPLEX))
_declare("logaddexp2", "log2(2^a + 2^b).", whole(_log2_add), (FLOAT,))


@kernel("aten::copysign.Scalar_out")
def copysign_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """The magnitude of `self` with the sign of `other`."""
    return binary(ctx, self, other, out, apply(np.copysign), float_result=True)


@kernel("aten::nextafter.out")
def nextafter_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """The next number of the type from `self` towards `other`."""
    promoted = result_type(self, other)
    check_kinds(ctx, promoted, (FLOAT,), arg="self")
    return elementwise(ctx, (self, other), out, whole(np.nextafter), compute=promoted)


@kernel("aten::heaviside.out")
def heaviside_out(ctx: PrepareContext, self: Tensor, values: Tensor, out: Tensor) -> Step:
    """0 below zero, 1 above, `values` at zero. Allocates a few blocks."""
    check_type(ctx, self.scalar_type, values, arg="values")
    check_kinds(ctx, self.scalar_type, (BOOL, INTEGER, FLOAT), arg="self")
    body = _whole_of_two(lambda x, v: np.where(x == 0, v, x > 0))
    return elementwise(
        ctx, (self, values), out, body, compute=arithmetic(self.scalar_type), promoted=self.scalar_type
    )


@kernel("aten::ldexp.out")
def ldexp_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """`self` * 2 ^ `other`. Allocates a block."""
    power = floating(other.scalar_type)
    # The power is a tensor of its own, and its type takes part in the promotion of the product.
    stand_in = Tensor(power, other.sizes)
    promoted = result_type(self, stand_in)
    check_kinds(ctx, promoted, (FLOAT, COMPLEX), arg="self")
    narrow = numpy_dtype(power)

    def function(x: Array, exponent: Array) -> Array:
        return x * np.power(exponent.dtype.type(2), exponent).astype(narrow).astype(x.dtype)

    return elementwise(
        ctx, (self, other), out, whole(function), compute=arithmetic(promoted), promoted=promoted
    )


@kernel("aten::signbit.out")
def signbit_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """Whether the sign is negative, that of -0.0 and NaN too."""
    check_kinds(ctx, self.scalar_type, (BOOL, INTEGER, FLOAT), arg="self")
    compute = arithmetic(self.scalar_type)
    if kind(self.scalar_type) == FLOAT:
        return elementwise(ctx, (self,), out, apply(np.signbit), compute=compute, result=ScalarType.BOOL)
    body = _whole_of_one(lambda x: x < 0)
    return elementwise(ctx, (self,), out, body, compute=compute, result=ScalarType.BOOL)


@kernel("aten::frac.out")
def frac_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """`self` less its whole part. Allocates a block."""
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    compute = arithmetic(self.scalar_type)
    return elementwise(
        ctx,
        (self,),
        out,
        _whole_of_one(lambda x: x - np.trunc(x)),
        compute=compute,
        promoted=self.scalar_type,
    )


@kernel("aten::frexp.Tensor_out")
@inferred(frexp, outs=2)
def frexp_out(ctx: PrepareContext, self: Tensor, mantissa: Tensor, exponent: Tensor) -> Step:
    """Mantissa in [0.5, 1) and int32 exponent of two. Allocates both."""
    return evaluated(np.frexp, (self,), (mantissa, exponent))


@kernel("aten::angle.out")
def angle_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The argument of a complex number; of a real one 0 or pi, NaN for NaN. Allocates a block."""
    check_kinds(ctx, self.scalar_type, (BOOL, INTEGER, FLOAT, COMPLEX), arg="self")
    promoted = floating(real_of(self.scalar_type))
    if self.scalar_type.is_complex:
        body = _whole_of_one(lambda z: np.arctan2(z.imag, z.real))
        return elementwise(
            ctx, (self,), out, body, compute=self.scalar_type, result=arithmetic(promoted), promoted=promoted
        )
    body = _whole_of_one(lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)))
    return elementwise(ctx, (self,), out, body, compute=arithmetic(promoted), promoted=promoted)


@kernel("aten::complex.out")
def complex_out(ctx: PrepareContext, real: Tensor, imag: Tensor, out: Tensor) -> Step:
    """The complex numbers with these parts. Allocates a block."""
    check_type(ctx, real.scalar_type, imag, arg="imag")
    kinds = {ScalarType.FLOAT: ScalarType.COMPLEXFLOAT, ScalarType.DOUBLE: ScalarType.COMPLEXDOUBLE}
    result = kinds.get(real.scalar_type)
    if result is None:
        raise ctx.trap(arg="real", expected="float32 or float64", got=real.scalar_type.torch_name)
    check_type(ctx, result, out, arg="out")
    types = (real.scalar_type, real.scalar_type)
    body: Body = lambda inputs, target, temporaries: [(_set_parts, (tuple(inputs), target))]  # noqa: E731
    return elementwise(ctx, (real, imag), out, body, compute=types, result=result)


def _set_parts(parts: Sequence[Array], out: Array) -> None:
    out.real[...], out.imag[...] = parts
