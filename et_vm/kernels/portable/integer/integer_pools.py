"""Pools of quantized images, in integers."""

from __future__ import annotations

import math

import numpy as np

from et_ops.inference import integer as rules
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.integer.requantize import Coefficients, Grid, requantized
from et_vm.kernels.portable.pooling.pooling import Taps, batch_of, divisors, pooling_window
from et_vm.kernels.portable.steps import call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Tensor


@kernel("integer::max_pool2d.out")
@inferred(rules.maximum_pool)
def max_pool2d_out(
    ctx: PrepareContext,
    input: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
    out: Tensor,
) -> Step:
    """The largest integer of each window; the padding is smaller than any. Scratch: the padded image."""
    image, result = batch_of(input, 2), batch_of(out, 2)
    window = pooling_window(ctx, input, kernel_size, stride, padding, dilation, out)
    taps = Taps(ctx, image, window, -128)
    bring, (first, *others) = taps.of(ctx, image)
    calls = [
        *taps.edges,
        *bring,
        copy(first, result) if not others else call(np.maximum, first, others[0], result),
    ]
    return chain(calls + [call(np.maximum, result, tap, result) for tap in others[1:]])


@kernel("integer::avg_pool2d.out")
@inferred(rules.average_pool)
def avg_pool2d_out(
    ctx: PrepareContext,
    input: Tensor,
    input_scale: float,
    input_zero_point: int,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
    out: Tensor,
) -> Step:
    """`round(Σ (input - input_zero_point) * (input_scale / (out_scale * divisor))) + out_zero_point` by window, the
    sum being exact and the rest in double precision, halves rounded to even; clamped to the limits. The divisor is
    that of `avg_pool2d`, and the padding stands for the real number 0. Scratch: the padded image and the sums, 4 bytes
    an element.
    """
    grid = Grid(out_scale, out_zero_point, out_quant_min, out_quant_max)
    given = batch_of(input, 2)
    window = pooling_window(ctx, input, kernel_size, stride, padding, (1,), out)
    image = ctx.scratch(given.shape, np.int32)
    calls: list[Step] = [
        copy(given, image),
        call(np.subtract, image, filled(image.dtype, input_zero_point), image),
    ]
    taps = Taps(ctx, image, window, 0)
    bring, (first, *others) = taps.of(ctx, image)
    sums = ctx.scratch((*image.shape[:2], *window.out), np.int32)
    calls += [*taps.edges, *bring, copy(first, sums) if not others else call(np.add, first, others[0], sums)]
    calls += [call(np.add, sums, tap, sums) for tap in others[1:]]
    divisor = divisors(window, count_include_pad, divisor_override, np.dtype(np.float64)).ravel()
    whole = out.array if out.array.flags.c_contiguous else ctx.scratch(out.sizes, np.int8)
    planes = (-1, math.prod(window.out))
    factors = Coefficients(input_scale / (out_scale * divisor))
    calls += requantized(ctx, sums.reshape(planes), whole.reshape(planes), grid, factors, 1)
    if whole is not out.array:
        calls.append(copy(whole, out.array))
    return chain(calls)
