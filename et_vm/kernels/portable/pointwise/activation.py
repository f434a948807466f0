"""Activation functions and clamping."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import (
    COMPLEX,
    FLOAT,
    INTEGER,
    check_kinds,
    checked_constant,
    constant,
    dimension,
)
from et_vm.kernels.portable.declare import Scalar, kernel
from et_vm.kernels.portable.elementwise import Body, compute_blocks, elementwise
from et_vm.kernels.portable.pointwise.unary import apply_copy, sigmoid_body
from et_vm.kernels.portable.promotion import arithmetic, result_type
from et_vm.kernels.portable.special.error_function import gelu, temporaries_of_erf
from et_vm.kernels.portable.steps import call, filled
from et_vm.kernels.registry import Prepare, PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def _float_step(ctx: PrepareContext, self: Tensor, out: Tensor, body: Body, temporaries: int = 0) -> Step:
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    compute = arithmetic(self.scalar_type)
    return elementwise(
        ctx,
        (self,),
        out,
        body,
        compute=compute,
        promoted=self.scalar_type,
        temporaries=temporaries,
        exact=True,
    )


def _chosen(
    ctx: PrepareContext,
    self: Tensor,
    out: Tensor,
    is_above: np.ufunc,
    below: Callable[[Array, np.dtype[Any]], list[Step]],
    scale: Scalar = 1,
) -> Step:
    """scale * x where a comparison of x with 0 holds, or x is a NaN, and else what `below` makes of a copy of x.

    Scratch: two blocks.
    """
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    compute = arithmetic(self.scalar_type)
    dtype = numpy_dtype(compute)

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        x, (other, mask) = inputs[0], temporaries
        return [
            call(is_above, x, filled(dtype, 0), mask),
            call(np.logical_not, mask, mask),
            call(np.multiply, x, filled(dtype, 1), other),
            *below(other, dtype),
            call(np.multiply, x, filled(dtype, scale), result),
            (np.copyto, (result, other, "unsafe", mask)),
        ]

    temporaries = (dtype, np.dtype(np.bool_))
    return elementwise(
        ctx,
        (self,),
        out,
        body,
        compute=compute,
        promoted=self.scalar_type,
        temporaries=temporaries,
        exact=True,
    )


def _activation(name: str, body: Body, temporaries: int = 0) -> Prepare:
    @kernel(name)
    def prepare(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
        return _float_step(ctx, self, out, body, temporaries)

    return prepare


def _clip(low: Array, high: Array) -> Body:
    # The method skips the argument handling of np.clip: a third of a small call.
    return lambda inputs, out, temporaries: [(inputs[0].clip, (low, high, out))]


def _clamp(
    ctx: PrepareContext,
    self: Tensor,
    low: Scalar | None,
    high: Scalar | None,
    out: Tensor,
    promoted: ScalarType,
    names: tuple[str, str] = ("min", "max"),
) -> Step:
    check_kinds(ctx, promoted, (INTEGER, FLOAT), arg="self")
    if low is None and high is None:
        raise ctx.error("at least one of 'min' and 'max' must be given")
    compute = arithmetic(promoted)
    dtype = numpy_dtype(compute)
    # NumPy compares with one number at a third of the speed that it clips with two.
    least, most = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    limits = [
        constant(extreme, compute)
        if bound is None
        else checked_constant(ctx, bound, promoted, arg=name).astype(dtype)
        for bound, extreme, name in zip((low, high), (least, most), names, strict=True)
    ]
    return elementwise(ctx, (self,), out, _clip(*limits), compute=compute, promoted=promoted, exact=True)


@kernel("aten::clamp.out")
def clamp_out(ctx: PrepareContext, self: Tensor, min: Scalar | None, max: Scalar | None, out: Tensor) -> Step:
    """`self` limited to [`min`, `max`], `max` where they cross; NaN stays."""
    promoted = result_type(self, *(bound for bound in (min, max) if bound is not None))
    return _clamp(ctx, self, min, max, out, promoted)


@kernel("aten::clamp_min.out")
def clamp_min_out(ctx: PrepareContext, self: Tensor, min: Scalar, out: Tensor) -> Step:
    """`self` raised to `min`."""
    return _clamp(ctx, self, min, None, out, result_type(self, min))


@kernel("aten::clamp_max.out")
def clamp_max_out(ctx: PrepareContext, self: Tensor, max: Scalar, out: Tensor) -> Step:
    """`self` lowered to `max`."""
    return _clamp(ctx, self, None, max, out, result_type(self, max))


@kernel("aten::clamp.Tensor_out")
def clamp_tensor_out(
    ctx: PrepareContext, self: Tensor, min: Tensor | None, max: Tensor | None, out: Tensor
) -> Step:
    """`self` limited to [`min`, `max`], each of them broadcast, `max` where they cross; NaN stays."""
    bounds = [bound for bound in (min, max) if bound is not None]
    if not bounds:
        raise ctx.error("at least one of 'min' and 'max' must be given")
    promoted = result_type(self, *bounds)
    check_kinds(ctx, promoted, (INTEGER, FLOAT), arg="self")

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        if len(inputs) == 2:
            return [call(np.minimum if min is None else np.maximum, inputs[0], inputs[1], result)]
        return [call(np.maximum, inputs[0], inputs[1], result), call(np.minimum, result, inputs[2], result)]

    return elementwise(ctx, (self, *bounds), out, body, compute=arithmetic(promoted), promoted=promoted)


@kernel("aten::relu.out")
def relu_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """max(x, 0); NaN stays."""
    return _clamp(ctx, self, 0, None, out, self.scalar_type)


@kernel("aten::hardtanh.out")
def hardtanh_out(ctx: PrepareContext, self: Tensor, min_val: Scalar, max_val: Scalar, out: Tensor) -> Step:
    """`self` limited to [`min_val`, `max_val`]; NaN stays."""
    return _clamp(ctx, self, min_val, max_val, out, self.scalar_type, ("min_val", "max_val"))


@kernel("aten::leaky_relu.out")
def leaky_relu_out(ctx: PrepareContext, self: Tensor, negative_slope: Scalar, out: Tensor) -> Step:
    """x above zero, `negative_slope` * x below. Scratch: one block."""
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    slope = float(negative_slope)
    checked_constant(ctx, slope, arithmetic(self.scalar_type), arg="negative_slope")
    if not math.isfinite(slope):
        # 0 times such a slope is a NaN, which belongs to 0 alone.
        return _chosen(
            ctx, self, out, np.greater, lambda x, dtype: [call(np.multiply, x, filled(dtype, slope), x)]
        )

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        x, (below,) = inputs[0], temporaries
        zero, factor = filled(result.dtype, 0), filled(result.dtype, slope)
        return [
            call(np.minimum, x, zero, below),
            call(np.multiply, below, factor, below),
            call(np.maximum, x, zero, result),
            call(np.add, result, below, result),
        ]

    return _float_step(ctx, self, out, body, 1)


@kernel("aten::elu.out")
def elu_out(
    ctx: PrepareContext, self: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, out: Tensor
) -> Step:
    """scale * x above zero, scale * alpha * (exp(input_scale * x) - 1) below. Scratch: one block."""
    if not all(map(math.isfinite, (alpha, scale, input_scale))):

        def below_zero(x: Array, dtype: np.dtype[Any]) -> list[Step]:
            return [
                call(np.multiply, x, filled(dtype, input_scale), x),
                call(np.expm1, x, x),
                call(np.multiply, x, filled(dtype, alpha * scale), x),
            ]

        return _chosen(ctx, self, out, np.greater_equal, below_zero, scale)

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        x, (below,), dtype = inputs[0], temporaries, result.dtype
        zero = filled(dtype, 0)
        scaled = [] if scale == 1 else [call(np.multiply, result, filled(dtype, scale), result)]
        return [
            call(np.minimum, x, zero, below),
            call(np.multiply, below, filled(dtype, input_scale), below),
            call(np.expm1, below, below),
            call(np.multiply, below, filled(dtype, alpha * scale), below),
            call(np.maximum, x, zero, result),
            *scaled,
            call(np.add, result, below, result),
        ]

    return _float_step(ctx, self, out, body, 1)


@kernel("aten::gelu.out", any_layout=True)
def gelu_out(ctx: PrepareContext, self: Tensor, approximate: str, out: Tensor) -> Step:
    """x * Phi(x), with Phi the normal distribution or ('tanh') Hendrycks and Gimpel's approximation.
    Scratch: a few blocks.
    """
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    compute = arithmetic(self.scalar_type)
    dtype = numpy_dtype(compute)
    if approximate == "none":
        body: Body = lambda inputs, result, temps: gelu(inputs[0], result, temps)  # noqa: E731
        temporaries = [dtype, *temporaries_of_erf(dtype)]
    elif approximate == "tanh":
        body, temporaries = _gelu_tanh, []
    else:
        raise ctx.trap(arg="approximate", expected="'none' or 'tanh'", got=repr(approximate))
    return elementwise(
        ctx,
        (self,),
        out,
        body,
        compute=compute,
        promoted=self.scalar_type,
        temporaries=temporaries,
        exact=True,
    )


def _gelu_tanh(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    x, dtype = inputs[0], out.dtype
    slope = math.sqrt(2.0 / math.pi)
    half = filled(dtype, 0.5)
    return [
        call(np.multiply, x, x, out),
        call(np.multiply, out, filled(dtype, 0.044715 * slope), out),
        call(np.add, out, filled(dtype, slope), out),
        call(np.multiply, out, x, out),
        call(np.tanh, out, out),
        call(np.multiply, out, half, out),
        call(np.add, out, half, out),
        call(np.multiply, out, x, out),
    ]


def _silu(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    x = inputs[0]
    return [
        call(np.negative, x, out),
        call(np.exp, out, out),
        call(np.add, out, filled(out.dtype, 1), out),
        call(np.divide, x, out, out),
    ]


def _hardsigmoid(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    dtype = out.dtype
    return [
        call(np.add, inputs[0], filled(dtype, 3), out),
        (out.clip, (filled(dtype, 0), filled(dtype, 6), out)),
        call(np.divide, out, filled(dtype, 6), out),
    ]


def _hardswish(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    dtype = out.dtype
    return [
        call(np.add, inputs[0], filled(dtype, 3), out),
        (out.clip, (filled(dtype, 0), filled(dtype, 6), out)),
        call(np.multiply, out, inputs[0], out),
        call(np.divide, out, filled(dtype, 6), out),
    ]


def _log_one_plus_exp(x: Array, out: Array, work: Array) -> list[Step]:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which neither overflows nor cancels."""
    return [
        call(np.absolute, x, work),
        call(np.negative, work, work),
        call(np.exp, work, work),
        call(np.log1p, work, work),
        call(np.maximum, x, filled(out.dtype, 0), out),
        call(np.add, out, work, out),
    ]


def _mish(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    return [
        *_log_one_plus_exp(inputs[0], out, temporaries[0]),
        call(np.tanh, out, out),
        call(np.multiply, out, inputs[0], out),
    ]


@kernel("aten::silu.out")
def silu_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """x / (1 + exp(-x)), of floats and complex numbers."""
    check_kinds(ctx, self.scalar_type, (FLOAT, COMPLEX), arg="self")
    compute = arithmetic(self.scalar_type)
    return elementwise(ctx, (self,), out, _silu, compute=compute, promoted=self.scalar_type)


mish_out = _activation("aten::mish.out", _mish, 1)
hardsigmoid_out = _activation("aten::hardsigmoid.out", _hardsigmoid)
hardswish_out = _activation("aten::hardswish.out", _hardswish)


@kernel("aten::softplus.out")
def softplus_out(ctx: PrepareContext, self: Tensor, beta: Scalar, threshold: Scalar, out: Tensor) -> Step:
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above `threshold`. Scratch: a few blocks."""
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    compute = arithmetic(self.scalar_type)
    dtype = numpy_dtype(compute)

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        x, (scaled, work, linear) = inputs[0], temporaries
        slope = filled(dtype, beta)
        return [
            call(np.multiply, x, slope, scaled),
            *_log_one_plus_exp(scaled, result, work),
            call(np.divide, result, slope, result),
            call(np.greater, scaled, filled(dtype, threshold), linear),
            (np.copyto, (result, x, "unsafe", linear)),
        ]

    return elementwise(
        ctx,
        (self,),
        out,
        body,
        compute=compute,
        promoted=self.scalar_type,
        temporaries=(dtype, dtype, np.dtype(np.bool_)),
    )


@kernel("aten::glu.out")
def glu_out(ctx: PrepareContext, self: Tensor, dim: int, out: Tensor) -> Step:
    """The first half of `self` along `dim` times the sigmoid of the second. Scratch: one block."""
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    ctx.check(bool(self.sizes), arg="self", expected="at least one dimension", got="a 0-d tensor")
    axis = dimension(ctx, dim, len(self.sizes))
    size = self.sizes[axis]
    ctx.check(size % 2 == 0, arg="self", expected=f"an even size of dimension {axis}", got=size)
    check_kinds(ctx, out.scalar_type, (FLOAT,), arg="out")
    half = size // 2
    out.resize((*self.sizes[:axis], half, *self.sizes[axis + 1 :]))
    before = (slice(None),) * axis
    compute = numpy_dtype(arithmetic(self.scalar_type))

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        return [*sigmoid_body(inputs[1:], result, ()), call(np.multiply, result, inputs[0], result)]

    return compute_blocks(
        ctx,
        (self.array[(*before, slice(0, half))], self.array[(*before, slice(half, size))]),
        out.array,
        body,
        compute=(compute, compute),
        result=compute,
        dim_order=out.dim_order,
    )


@kernel("aten::threshold.out")
def threshold_out(ctx: PrepareContext, self: Tensor, threshold: Scalar, value: Scalar, out: Tensor) -> Step:
    """x where it is above `threshold` (or NaN), else `value`. Scratch: one block."""
    check_kinds(ctx, self.scalar_type, (INTEGER, FLOAT), arg="self")
    compute = arithmetic(self.scalar_type)
    limit = constant(threshold, compute)
    replacement = checked_constant(ctx, value, compute, arg="value")

    def body(inputs: Sequence[Array], result: Array, temporaries: Sequence[Array]) -> list[Step]:
        (low,) = temporaries
        return [
            *apply_copy(inputs, result, ()),
            call(np.less_equal, inputs[0], limit, low),
            (np.copyto, (result, replacement, "unsafe", low)),
        ]

    return elementwise(
        ctx, (self,), out, body, compute=compute, promoted=self.scalar_type, temporaries=(np.dtype(np.bool_),)
    )
