"""Arithmetic on two tensors, or on a tensor and a number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    check_kinds,
    check_type,
    checked_constant,
    constant,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.elementwise import Body, apply, elementwise, whole
from et_vm.kernels.portable.promotion import REDUCED, arithmetic, floating, kind, result_type
from et_vm.kernels.portable.steps import call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor

_REAL = (BOOL, INTEGER, FLOAT)


def operands_in(
    compute: ScalarType, promoted: ScalarType, *operands: Tensor | Scalar
) -> list[Tensor | Array]:
    """Operands with numbers as arrays of the type of the arithmetic, rounded to the promoted type first, as torch
    does in most operators.
    """
    return [o if isinstance(o, Tensor) else _number(o, compute, promoted) for o in operands]


def _number(value: Scalar, compute: ScalarType, promoted: ScalarType) -> Array:
    if compute == promoted:
        return constant(value, compute)
    return constant(value, promoted).astype(numpy_dtype(compute))


def binary(
    ctx: PrepareContext,
    a: Tensor | Scalar,
    b: Tensor | Scalar,
    out: Tensor,
    body: Body,
    *,
    kinds: Sequence[int] = _REAL,
    float_result: bool = False,
    exact: bool = False,
    rounds_numbers: bool = True,
) -> Step:
    """The step of a body over two operands, computed in and returning their promoted type
    (`float_result`: made a float). With `rounds_numbers`, a number is rounded to that type first.
    """
    promoted = result_type(a, b)
    check_kinds(ctx, promoted, kinds, arg="self")
    if float_result:
        promoted = floating(promoted)
    compute = arithmetic(promoted)
    operands = operands_in(compute, promoted if rounds_numbers else compute, a, b)
    return elementwise(ctx, operands, out, body, compute=compute, promoted=promoted, exact=exact)


def _scaled(
    ctx: PrepareContext,
    ufunc: Callable[..., object],
    a: Tensor,
    b: Tensor | Scalar,
    alpha: Scalar,
    out: Tensor,
    *,
    kinds: Sequence[int],
    reverse: bool = False,
    exact: bool = False,
    unchecked: Collection[ScalarType] = (),
) -> Step:
    """`a op alpha * b`, or for `reverse` `b op alpha * a`. In `unchecked` types upstream's kernel takes an
    `alpha` that the type cannot hold.
    """
    promoted = result_type(a, b)
    check_kinds(ctx, promoted, kinds, arg="self")
    too_wide = isinstance(alpha, float) and kind(promoted) < FLOAT
    if too_wide or (isinstance(alpha, bool) and kind(promoted) != BOOL):
        raise ctx.trap(arg="alpha", expected=f"a number of type {promoted.torch_name}", got=alpha)
    compute = arithmetic(promoted)
    first, second = (b, a) if reverse else (a, b)
    if promoted not in unchecked:
        checked_constant(ctx, alpha, compute, arg="alpha")
    scale = _number(alpha, compute, promoted)
    body = apply(ufunc) if alpha == 1 else _scaled_body(ufunc, scale)
    return elementwise(
        ctx,
        operands_in(compute, promoted, first, second),
        out,
        body,
        compute=compute,
        promoted=promoted,
        exact=exact,
    )


def _scaled_body(ufunc: Callable[..., object], scale: Array) -> Body:
    return lambda inputs, out, temporaries: [
        call(np.multiply, inputs[1], scale, out),
        call(ufunc, inputs[0], out, out),
    ]


@kernel("aten::add.out")
def add_out(ctx: PrepareContext, self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> Step:
    """`self + alpha * other`; of bools, their disjunction."""
    return _scaled(ctx, np.add, self, other, alpha, out, kinds=(BOOL, INTEGER, FLOAT, COMPLEX))


@kernel("aten::add.Scalar_out")
def add_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, alpha: Scalar, out: Tensor) -> Step:
    """`self + alpha * other`."""
    # Upstream's kernel rounds a float32 result to a 16-bit out, and converts nothing else.
    exact = not (out.scalar_type in REDUCED and self.scalar_type == ScalarType.FLOAT)
    kinds = (BOOL, INTEGER, FLOAT, COMPLEX)
    return _scaled(ctx, np.add, self, other, alpha, out, kinds=kinds, exact=exact)


@kernel("aten::sub.out")
def sub_out(ctx: PrepareContext, self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> Step:
    """`self - alpha * other`; not of bools."""
    return _scaled(ctx, np.subtract, self, other, alpha, out, kinds=(INTEGER, FLOAT, COMPLEX))


@kernel("aten::sub.Scalar_out")
def sub_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, alpha: Scalar, out: Tensor) -> Step:
    """`self - alpha * other`; not of bools."""
    kinds = (INTEGER, FLOAT, COMPLEX)
    return _scaled(ctx, np.subtract, self, other, alpha, out, kinds=kinds, exact=True, unchecked=REDUCED)


@kernel("aten::rsub.Tensor_out")
def rsub_out(ctx: PrepareContext, self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> Step:
    """`other - alpha * self`; not of bools."""
    return _scaled(ctx, np.subtract, self, other, alpha, out, kinds=(INTEGER, FLOAT, COMPLEX), reverse=True)


@kernel("aten::rsub.Scalar_out")
def rsub_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, alpha: Scalar, out: Tensor) -> Step:
    """`other - alpha * self`; not of bools."""
    kinds, unchecked = (INTEGER, FLOAT, COMPLEX), (*REDUCED, ScalarType.FLOAT)
    return _scaled(
        ctx, np.subtract, self, other, alpha, out, kinds=kinds, reverse=True, exact=True, unchecked=unchecked
    )


@kernel("aten::mul.out")
def mul_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Product; of bools, their conjunction."""
    return binary(ctx, self, other, out, apply(np.multiply), kinds=(BOOL, INTEGER, FLOAT, COMPLEX))


@kernel("aten::mul.Scalar_out")
def mul_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """Product."""
    kinds = (BOOL, INTEGER, FLOAT, COMPLEX)
    return binary(ctx, self, other, out, apply(np.multiply), kinds=kinds, exact=True, rounds_numbers=False)


@kernel("aten::maximum.out")
def maximum_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """The larger; NaN if either is."""
    return binary(ctx, self, other, out, apply(np.maximum))


@kernel("aten::minimum.out")
def minimum_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """The smaller; NaN if either is."""
    return binary(ctx, self, other, out, apply(np.minimum))


@kernel("aten::atan2.out")
def atan2_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Angle of the point (`other`, `self`)."""
    return binary(ctx, self, other, out, apply(np.arctan2), float_result=True)


def _truncated_quotient(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    a, b = inputs
    if is_integer(out):
        return [
            call(np.fmod, a, b, out),
            call(np.subtract, a, out, out),
            call(np.floor_divide, out, b, out),
        ]
    rounded = [copy(out, kept) for kept in temporaries] + [copy(kept, out) for kept in temporaries]
    return [call(np.divide, a, b, out), *rounded, call(np.trunc, out, out)]


def is_integer(array: Array) -> bool:
    """Whether `array` holds integers or bools."""
    return array.dtype.kind in "iub"


def _require_nonzero(ctx: PrepareContext, divisor: Array) -> None:
    if not divisor.all():
        raise ctx.error("integer division by zero")


def _integer_division(
    ctx: PrepareContext, divisor: Tensor | Scalar, promoted: ScalarType, step: Step
) -> Step:
    """`step`, preceded by torch's check that no integer is divided by zero."""
    if kind(promoted) > INTEGER:
        return step
    if not isinstance(divisor, Tensor):
        return chain([(_require_nonzero, (ctx, np.asarray(divisor))), step])
    return chain([(_require_nonzero, (ctx, divisor.array)), step])


def _divide(
    ctx: PrepareContext,
    self: Tensor,
    other: Tensor | Scalar,
    rounding_mode: str | None,
    out: Tensor,
    *,
    exact: bool = False,
) -> Step:
    if rounding_mode is None:
        return binary(
            ctx,
            self,
            other,
            out,
            apply(np.true_divide),
            kinds=(BOOL, INTEGER, FLOAT, COMPLEX),
            float_result=True,
            exact=exact,
            rounds_numbers=False,
        )
    if rounding_mode not in ("floor", "trunc"):
        raise ctx.trap(arg="rounding_mode", expected="None, 'floor' or 'trunc'", got=repr(rounding_mode))
    promoted = result_type(self, other)
    check_kinds(ctx, promoted, (INTEGER, FLOAT), arg="self")
    compute = arithmetic(promoted)
    step = elementwise(
        ctx,
        operands_in(compute, compute, self, other),
        out,
        apply(np.floor_divide) if rounding_mode == "floor" else _truncated_quotient,
        compute=compute,
        promoted=promoted,
        # Torch rounds the quotient of 16-bit floats to their type before it truncates, unless they are divided by one
        # number.
        temporaries=[numpy_dtype(promoted)]
        if rounding_mode == "trunc" and compute != promoted and isinstance(other, Tensor) and other.sizes
        else [],
    )
    return _integer_division(ctx, other, promoted, step)


@kernel("aten::div.out")
def div_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """True quotient: a float also of integers."""
    return _divide(ctx, self, other, None, out)


@kernel("aten::div.Scalar_out")
def div_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """True quotient: a float also of integers."""
    return _divide(ctx, self, other, None, out, exact=True)


@kernel("aten::div.out_mode")
def div_out_mode(
    ctx: PrepareContext, self: Tensor, other: Tensor, rounding_mode: str | None, out: Tensor
) -> Step:
    """Quotient, rounded towards zero ('trunc') or down ('floor'). The step traps on an integer division by
    zero.
    """
    return _divide(ctx, self, other, rounding_mode, out)


@kernel("aten::div.Scalar_mode_out")
def div_scalar_mode_out(
    ctx: PrepareContext, self: Tensor, other: Scalar, rounding_mode: str | None, out: Tensor
) -> Step:
    """Quotient, rounded towards zero ('trunc') or down ('floor'). The step traps on an integer division by
    zero.
    """
    return _divide(ctx, self, other, rounding_mode, out)


@kernel("aten::floor_divide.out")
def floor_divide_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Quotient rounded down. The step traps on an integer division by zero."""
    return _divide(ctx, self, other, "floor", out)


@kernel("aten::floor_divide.Scalar_out")
def floor_divide_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """Quotient rounded down. The step traps on an integer division by zero."""
    return _divide(ctx, self, other, "floor", out)


def _modulo(
    ctx: PrepareContext,
    ufunc: Callable[..., object],
    self: Tensor | Scalar,
    other: Tensor | Scalar,
    out: Tensor,
) -> Step:
    step = binary(ctx, self, other, out, apply(ufunc), kinds=(INTEGER, FLOAT))
    return _integer_division(ctx, other, result_type(self, other), step)


@kernel("aten::remainder.Tensor_out")
def remainder_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Remainder with the sign of the divisor. The step traps on an integer division by zero."""
    return _modulo(ctx, np.remainder, self, other, out)


@kernel("aten::remainder.Scalar_out")
def remainder_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """Remainder with the sign of the divisor. The step traps on an integer division by zero."""
    return _modulo(ctx, np.remainder, self, other, out)


@kernel("aten::remainder.Scalar_Tensor_out")
def remainder_scalar_tensor_out(ctx: PrepareContext, self: Scalar, other: Tensor, out: Tensor) -> Step:
    """Remainder with the sign of the divisor. The step traps on an integer division by zero."""
    return _modulo(ctx, np.remainder, self, other, out)


@kernel("aten::fmod.Tensor_out")
def fmod_out(ctx: PrepareContext, self: Tensor, other: Tensor, out: Tensor) -> Step:
    """Remainder with the sign of the dividend. The step traps on an integer division by zero."""
    return _modulo(ctx, np.fmod, self, other, out)


@kernel("aten::fmod.Scalar_out")
def fmod_scalar_out(ctx: PrepareContext, self: Tensor, other: Scalar, out: Tensor) -> Step:
    """Remainder with the sign of the dividend. The step traps on an integer division by zero."""
    return _modulo(ctx, np.fmod, self, other, out)


def _integer_power(base: Array, exponent: Array, out: Array) -> None:
    """Integer powers that wrap; a negative exponent gives the integer part of the fraction, as in torch."""
    negative = exponent < 0
    # The smallest integer has no absolute value; it is even, like zero, which is all that counts below.
    np.power(base, np.maximum(np.absolute(exponent), 0), out)
    if negative.any():
        np.copyto(out, 0, where=negative & (base != 1) & (base != -1))


def _square_root(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    return [call(np.sqrt, inputs[0], out)]


def _power_of(exponent: float) -> Body | None:
    """The exponents that torch computes without a logarithm."""

    def cube(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
        return [call(np.multiply, inputs[0], inputs[0], out), call(np.multiply, out, inputs[0], out)]

    def inverse(body: Body) -> Body:
        return lambda inputs, out, temporaries: [
            *body(inputs, out, temporaries),
            call(np.divide, filled(out.dtype, 1), out, out),
        ]

    square: Body = lambda inputs, out, temporaries: [call(np.multiply, inputs[0], inputs[0], out)]  # noqa: E731
    bodies: dict[float, Body] = {
        0.5: _square_root,
        1.0: lambda inputs, out, temporaries: [copy(inputs[0], out)],
        2.0: square,
        3.0: cube,
        -0.5: inverse(_square_root),
        -1.0: apply(np.reciprocal),
        -2.0: inverse(square),
    }
    return bodies.get(exponent)


def _power(ctx: PrepareContext, base: Tensor | Scalar, exponent: Tensor | Scalar, out: Tensor) -> Step:
    promoted = result_type(base, exponent)
    check_kinds(ctx, promoted, (INTEGER, FLOAT, COMPLEX), arg="self")
    compute = arithmetic(promoted)
    body = apply(np.power)
    if kind(promoted) == INTEGER:
        if isinstance(exponent, Tensor):
            body = apply(_integer_power)
        elif exponent < 0:
            raise ctx.trap(
                arg="exponent", expected="a non-negative exponent of an integer tensor", got=exponent
            )
    elif not isinstance(exponent, Tensor):
        quick = _power_of(float(exponent))
        if quick is not None and isinstance(base, Tensor):
            return elementwise(ctx, (base,), out, quick, compute=compute, promoted=promoted)
    operands = operands_in(compute, promoted, base, exponent)
    return elementwise(ctx, operands, out, body, compute=compute, promoted=promoted)


@kernel("aten::pow.Tensor_Tensor_out")
def pow_out(ctx: PrepareContext, self: Tensor, exponent: Tensor, out: Tensor) -> Step:
    """`self` to the power `exponent`."""
    return _power(ctx, self, exponent, out)


@kernel("aten::pow.Tensor_Scalar_out")
def pow_scalar_out(ctx: PrepareContext, self: Tensor, exponent: Scalar, out: Tensor) -> Step:
    """`self` to the power `exponent`; an integer tensor takes no negative integer."""
    return _power(ctx, self, exponent, out)


@kernel("aten::pow.Scalar_out")
def pow_base_out(ctx: PrepareContext, self: Scalar, exponent: Tensor, out: Tensor) -> Step:
    """The number `self` to the power `exponent`."""
    return _power(ctx, self, exponent, out)


@kernel("aten::addcmul.out")
def addcmul_out(
    ctx: PrepareContext, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar, out: Tensor
) -> Step:
    """`self + value * tensor1 * tensor2`."""
    return _add_scaled(ctx, np.multiply, self, tensor1, tensor2, value, out)


@kernel("aten::addcdiv.out")
def addcdiv_out(
    ctx: PrepareContext, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Scalar, out: Tensor
) -> Step:
    """`self + value * tensor1 / tensor2`, of floats."""
    check_kinds(ctx, result_type(tensor1, tensor2), (FLOAT, COMPLEX), arg="tensor1")
    return _add_scaled(ctx, np.divide, self, tensor1, tensor2, value, out)


def _add_scaled(
    ctx: PrepareContext,
    ufunc: Callable[..., object],
    self: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    value: Scalar,
    out: Tensor,
) -> Step:
    promoted = result_type(self, tensor1, tensor2)
    check_kinds(ctx, promoted, (INTEGER, FLOAT, COMPLEX), arg="self")
    compute = arithmetic(promoted)
    scale = constant(value, compute)

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        a, b, c = inputs
        scaled = [] if value == 1 else [call(np.multiply, result, scale, result)]
        return [call(ufunc, b, c, result), *scaled, call(np.add, a, result, result)]

    return elementwise(ctx, (self, tensor1, tensor2), out, body, compute=compute, promoted=promoted)


@kernel("aten::lerp.Scalar_out")
def lerp_scalar_out(ctx: PrepareContext, self: Tensor, end: Tensor, weight: Scalar, out: Tensor) -> Step:
    """`self + weight * (end - self)`, of floats and complex numbers."""
    check_kinds(ctx, self.scalar_type, (FLOAT, COMPLEX), arg="self")
    compute = arithmetic(self.scalar_type)
    factor = constant(weight, compute)

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        return [
            call(np.subtract, inputs[1], inputs[0], result),
            call(np.multiply, result, factor, result),
            call(np.add, inputs[0], result, result),
        ]

    return elementwise(ctx, (self, end), out, body, compute=compute, promoted=self.scalar_type)


@kernel("aten::lerp.Tensor_out")
def lerp_tensor_out(ctx: PrepareContext, self: Tensor, end: Tensor, weight: Tensor, out: Tensor) -> Step:
    """`self` + `weight` (`end` - `self`), from the nearer end. Allocates a few blocks."""
    check_kinds(ctx, self.scalar_type, (FLOAT, COMPLEX), arg="self")
    check_type(ctx, self.scalar_type, end, arg="end")
    check_type(ctx, self.scalar_type, weight, arg="weight")

    def function(a: Array, b: Array, w: Array) -> Array:
        near = np.abs(w) < 0.5
        return np.where(near, a + w * (b - a), b - (b - a) * (1 - w))

    compute = arithmetic(self.scalar_type)
    return elementwise(
        ctx, (self, end, weight), out, whole(function), compute=compute, promoted=self.scalar_type
    )
