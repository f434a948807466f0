"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    check_kinds,
)
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.elementwise import Body, apply, elementwise
from et_vm.kernels.portable.promotion import arithmetic, floating, kind, real_of
from et_vm.kernels.portable.special.error_function import erf, temporaries_of_erf
from et_vm.kernels.portable.steps import call, copy, filled
from et_vm.kernels.registry import Prepare, PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor


def _float_function(
    name: str,
    body: Body,
    *,
    temporaries: Callable[[DType], Sequence[DType]] | None = None,
    complex_: bool = False,
    any_layout: bool = False,
) -> Prepare:
    """A function whose result is a float: integers and bools are converted to float32 first."""
    kinds = (BOOL, INTEGER, FLOAT, COMPLEX) if complex_ else (BOOL, INTEGER, FLOAT)

    @kernel(name, any_layout=any_layout)
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        check_kinds(ctx, self.scalar_type, kinds, arg="self")
        promoted = floating(self.scalar_type)
        compute = arithmetic(promoted)
        temps = () if temporaries is None else temporaries(numpy_dtype(compute))
        return elementwise(ctx, (self,), out, body, compute=compute, promoted=promoted, temporaries=temps)

    return prepare


def _same_type_function(name: str, body: Body, kinds: Sequence[int], *, rounding: bool = False) -> Prepare:
    """A function whose result has the type of its argument. A `rounding` one leaves integers as they are."""

    @kernel(name)
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        check_kinds(ctx, self.scalar_type, kinds, arg="self")
        chosen = apply_copy if rounding and kind(self.scalar_type) != FLOAT else body
        compute = arithmetic(self.scalar_type)
        return elementwise(ctx, (self,), out, chosen, compute=compute, promoted=self.scalar_type, exact=True)

    return prepare


def _predicate(name: str, ufunc: Callable[..., object], *, exact: bool) -> Prepare:
    """A function whose result is a bool, stored into an out tensor of any type unless it is `exact`."""

    @kernel(name)
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        compute = arithmetic(self.scalar_type)
        return elementwise(
            ctx, (self,), out, apply(ufunc), compute=compute, result=ScalarType.BOOL, exact=exact
        )

    return prepare


def apply_copy(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    """The body that copies its input."""
    return [copy(inputs[0], out)]


def _rsqrt(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    return [call(np.sqrt, inputs[0], out), call(np.divide, filled(out.dtype, 1), out, out)]


def sigmoid_body(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    """1 / (1 + exp(-x))."""
    one = filled(out.dtype, 1)
    return [
        call(np.negative, inputs[0], out),
        call(np.exp, out, out),
        call(np.add, out, one, out),
        call(np.divide, one, out, out),
    ]


for _name, _ufunc in {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}.items():
    _float_function(f"aten::{_name}.out", apply(_ufunc), complex_=True, any_layout=_name == "exp")

rsqrt_out = _float_function("aten::rsqrt.out", _rsqrt, complex_=True)
sigmoid_out = _float_function("aten::sigmoid.out", sigmoid_body, complex_=True)
erf_out = _float_function(
    "aten::erf.out", lambda inputs, out, temps: erf(inputs[0], out, temps), temporaries=temporaries_of_erf
)

for _name, _ufunc in {"ceil": np.ceil, "floor": np.floor, "round": np.rint, "trunc": np.trunc}.items():
    _same_type_function(f"aten::{_name}.out", apply(_ufunc), (INTEGER, FLOAT), rounding=True)
neg_out = _same_type_function("aten::neg.out", apply(np.negative), (INTEGER, FLOAT, COMPLEX))
bitwise_not_out = _same_type_function("aten::bitwise_not.out", apply(np.invert), (BOOL, INTEGER))

isinf_out = _predicate("aten::isinf.out", np.isinf, exact=True)
isnan_out = _predicate("aten::isnan.out", np.isnan, exact=True)
logical_not_out = _predicate("aten::logical_not.out", np.logical_not, exact=False)


@kernel("aten::sign.out", "aten::sgn.out")
def sign_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """-1, 0 or 1, and 0 for NaN; of a complex number the one of magnitude 1. Bools are their own sign. Scratch:
    two blocks of bools; for complex numbers numpy allocates two blocks.
    """
    if self.scalar_type.is_complex:
        return elementwise(ctx, (self,), out, _complex_sign, compute=self.scalar_type, exact=True)
    check_kinds(ctx, self.scalar_type, (BOOL, INTEGER, FLOAT), arg="self")
    compute = arithmetic(self.scalar_type)
    if kind(self.scalar_type) != FLOAT:
        body = apply_copy if self.scalar_type == ScalarType.BOOL else apply(np.sign)
        return elementwise(ctx, (self,), out, body, compute=compute, exact=True)
    masks = (np.dtype(np.bool_), np.dtype(np.bool_))
    return elementwise(
        ctx,
        (self,),
        out,
        _float_sign,
        compute=compute,
        promoted=self.scalar_type,
        temporaries=masks,
        exact=True,
    )


def _complex_sign(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    return [(_divide_by_size, (inputs[0], out))]


def _divide_by_size(x: Array, out: Array) -> None:
    size: Array = np.abs(x)
    np.copyto(out, np.where(size == 0, 0, x / size))


def _float_sign(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    above, below = temporaries
    zero = filled(out.dtype, 0)
    return [
        call(np.greater, inputs[0], zero, above),
        call(np.less, inputs[0], zero, below),
        call(np.subtract, above.view(np.int8), below.view(np.int8), out),
    ]


@kernel("aten::abs.out")
def abs_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """Magnitude, of a complex tensor as a real one."""
    result = real_of(self.scalar_type)
    return elementwise(
        ctx, (self,), out, apply(np.absolute), compute=arithmetic(self.scalar_type), result=arithmetic(result),
        promoted=result, exact=True,
    )  # fmt: skip


@kernel("aten::_conj_physical.out", "aten::conj_physical.out")
def conj_physical_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """The complex conjugate; a real tensor is copied."""
    body = apply(np.conjugate) if self.scalar_type.is_complex else apply_copy
    return elementwise(ctx, (self,), out, body, compute=self.scalar_type)


_FIRST_INFINITE_POWER = 309


@kernel("aten::round.decimals_out")
def round_decimals_out(ctx: PrepareContext, self: Tensor, decimals: int, out: Tensor) -> Step:
    """Round half to even at `decimals` decimal places (negative: tens, hundreds, ...) of a float tensor."""
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        scale = filled(
            result.dtype, 10.0 ** abs(decimals) if abs(decimals) < _FIRST_INFINITE_POWER else math.inf
        )
        enter, leave = (np.multiply, np.divide) if decimals >= 0 else (np.divide, np.multiply)
        return [
            call(enter, inputs[0], scale, result),
            call(np.rint, result, result),
            call(leave, result, scale, result),
        ]

    return elementwise(
        ctx, (self,), out, body, compute=arithmetic(self.scalar_type), promoted=self.scalar_type
    )


@kernel("aten::logit.out")
def logit_out(ctx: PrepareContext, self: Tensor, eps: float | None, out: Tensor) -> Step:
    """log(x / (1 - x)), of x clamped to [eps, 1 - eps] when `eps` is given. Scratch: one block."""
    check_kinds(ctx, self.scalar_type, (BOOL, INTEGER, FLOAT), arg="self")
    promoted = floating(self.scalar_type)

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        x, calls = inputs[0], list[Step]()
        one = filled(result.dtype, 1)
        (clamped,) = temporaries
        if eps is not None:
            low, high = filled(result.dtype, eps), filled(result.dtype, 1.0 - eps)
            calls.append((x.clip, (low, high, clamped)))
            x = clamped
        return [
            *calls,
            call(np.subtract, one, x, result),
            call(np.divide, x, result, result),
            call(np.log, result, result),
        ]

    return elementwise(
        ctx, (self,), out, body, compute=arithmetic(promoted), promoted=promoted, temporaries=1
    )
