"""Batch, layer and group normalisation."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from et_ops.inference.normalization import (
    batch_norm,
    batch_norm_no_stats,
    batch_norm_no_training,
    native_group_norm,
    native_layer_norm,
)
from et_ops.inference.pointwise import native_dropout
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, check_kinds, check_out_type, check_type
from et_vm.kernels.portable.creation.random import fill_uniform
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.elementwise import BLOCK, compute_blocks
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.movement.move import moves
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import NOTHING, call, cast, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor

_LONGEST_DOT = 4096
"""Maximum length of rows that are added up as a product with ones: several times as fast as `np.add.reduce`, which for
longer rows is more accurate, since it adds in pairs.
"""


@cache
def _ones(dtype: DType) -> Array:
    return np.ones(_LONGEST_DOT, dtype)


def check_results(ctx: PrepareContext, scalar_type: ScalarType, out: Tensor, *, arg: str) -> None:
    """The first result has the type of the input; statistics and gradients of weights may have another float type."""
    (check_type if arg in ("out", "out0") else check_out_type)(ctx, scalar_type, out, arg=arg)


_normalizes = functools.partial(inferred, kinds=(FLOAT,), check=check_results, outs=3)


def _check_floats(ctx: PrepareContext, **tensors: Tensor | None) -> None:
    for arg, tensor in tensors.items():
        if tensor is not None:
            check_kinds(ctx, tensor.scalar_type, (FLOAT,), arg=arg)


def _as(
    ctx: PrepareContext, tensor: Tensor | None, dtype: DType, key: str
) -> tuple[list[Step], Array | None]:
    """A small tensor as `dtype`: itself, a copy kept for a constant, or scratch and the call to fill it."""
    if tensor is None or tensor.dtype == dtype:
        return [], None if tensor is None else tensor.array
    if tensor.constant:
        return [], ctx.memo((key, tensor.version), lambda: tensor.array.astype(dtype))
    wide = ctx.scratch(tensor.sizes, dtype)
    return [copy(tensor.array, wide)], wide


def _per_channel(array: Array, rank: int) -> Array:
    return array.reshape(1, -1, *(1,) * (rank - 2))


def _scale_and_shift(inputs: Sequence[Array], out: Array, temporaries: Sequence[Array]) -> list[Step]:
    return [call(np.multiply, inputs[0], inputs[1], out), call(np.add, out, inputs[2], out)]


def _affine_coefficients(
    mean: Array,
    variance: Array,
    weight: Array | None,
    bias: Array | None,
    eps: float,
    scale: Array,
    shift: Array,
) -> list[Step]:
    """`scale = weight / sqrt(variance + eps)` and `shift = bias - mean * scale`, all vectors of one
    type.
    """
    dtype = scale.dtype
    one = filled(dtype, 1)
    return [
        call(np.add, variance, filled(dtype, eps), scale),
        call(np.sqrt, scale, scale),
        call(np.divide, one if weight is None else weight, scale, scale),
        call(np.multiply, mean, scale, shift),
        call(np.subtract, filled(dtype, 0) if bias is None else bias, shift, shift),
    ]


def _run_all(calls: Sequence[Step]) -> None:
    with np.errstate(all="ignore"):
        for fn, args in calls:
            fn(*args)


@kernel("aten::_native_batch_norm_legit_no_training.out")
@_normalizes(batch_norm_no_training)
def batch_norm_no_training_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """Each channel scaled and shifted by its running statistics; the saved statistics `out1` and `out2`
    are empty.

    Scale and shift are computed once when all statistics are constants, else into scratch.
    """
    rank, channels = len(input.sizes), input.sizes[1:2]
    _check_floats(ctx, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    tensors = [tensor for tensor in (weight, bias, running_mean, running_var) if tensor is not None]
    constants = all(tensor.constant for tensor in tensors)
    calls: list[Step] = []
    vectors: list[Array | None] = []
    for key, tensor in zip(
        ("weight", "bias", "mean", "var"), (weight, bias, running_mean, running_var), strict=True
    ):
        more, array = _as(ctx, tensor, dtype, key)
        calls += more
        vectors.append(array)
    w, b, mean, variance = vectors
    if mean is None or variance is None:
        raise ctx.error("running_mean and running_var must be given")

    def coefficients() -> tuple[Array, Array]:
        scale, shift = np.empty(channels, dtype), np.empty(channels, dtype)
        _run_all(_affine_coefficients(mean, variance, w, b, eps, scale, shift))
        return scale, shift

    if constants:
        versions = tuple(tensor.version for tensor in tensors)
        scale, shift = ctx.memo(("coefficients", versions, eps), coefficients)
    else:
        scale, shift = ctx.scratch(channels, dtype), ctx.scratch(channels, dtype)
        calls += _affine_coefficients(mean, variance, w, b, eps, scale, shift)
    step = compute_blocks(
        ctx,
        (input.array, _per_channel(scale, rank), _per_channel(shift, rank)),
        out0.array,
        _scale_and_shift,
        compute=(dtype, dtype, dtype),
        result=dtype,
        dim_order=out0.dim_order,
    )
    return chain([*calls, step])


def _batch_statistics(
    ctx: PrepareContext, input: Tensor, dtype: DType, mean: Array, variance: Array
) -> tuple[list[Step], Array]:
    """Calls for the (biased) statistics of each channel, and the input in the arithmetic type."""
    axes = (0, *range(2, len(input.sizes)))
    rank = len(input.sizes)
    count = filled(dtype, math.prod(input.sizes[axis] for axis in axes))
    rest = ctx.scratch(input.sizes, dtype)
    return [
        (np.add.reduce, (input.array, axes, dtype, mean)),
        call(np.divide, mean, count, mean),
        copy(input.array, rest),
        call(np.subtract, rest, _per_channel(mean, rank), rest),
        call(np.multiply, rest, rest, rest),
        (np.add.reduce, (rest, axes, dtype, variance)),
        call(np.divide, variance, count, variance),
    ], rest


def _batch_norm(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running: tuple[Tensor, Tensor] | None,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Step:
    rank, channels = len(input.sizes), input.sizes[1:2]
    mean_of, variance_of = (None, None) if running is None else running
    _check_floats(ctx, weight=weight, bias=bias, running_mean=mean_of, running_var=variance_of)
    if not out.array.size:
        return NOTHING
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    calls, w = _as(ctx, weight, dtype, "weight")
    more, b = _as(ctx, bias, dtype, "bias")
    calls += more
    mean, variance = ctx.scratch(channels, dtype), ctx.scratch(channels, dtype)
    scale, shift = ctx.scratch(channels, dtype), ctx.scratch(channels, dtype)
    if running is not None and not training:
        calls += [copy(running[0].array, mean), copy(running[1].array, variance)]
    else:
        statistics, _ = _batch_statistics(ctx, input, dtype, mean, variance)
        calls += statistics
    calls += _affine_coefficients(mean, variance, w, b, eps, scale, shift)
    step = compute_blocks(
        ctx,
        (input.array, _per_channel(scale, rank), _per_channel(shift, rank)),
        out.array,
        _scale_and_shift,
        compute=(dtype, dtype, dtype),
        result=dtype,
        dim_order=out.dim_order,
    )
    calls.append(step)
    if training or running is None:
        calls += cast(ctx, mean, save_mean.array)
        if running is not None:
            calls += _update_running(ctx, running, mean, variance, momentum, input, shift)
        one = filled(dtype, 1)
        calls += [
            call(np.add, variance, filled(dtype, eps), variance),
            call(np.sqrt, variance, variance),
            call(np.divide, one, variance, variance),
            *cast(ctx, variance, save_invstd.array),
        ]
    return chain(calls)


def _update_running(
    ctx: PrepareContext,
    running: tuple[Tensor, Tensor],
    mean: Array,
    variance: Array,
    momentum: float,
    input: Tensor,
    work: Array,
) -> list[Step]:
    """Move the running statistics by `momentum`; the variance that enters is the unbiased one."""
    dtype = mean.dtype
    count = input.numel // input.sizes[1]
    unbiased = count / max(count - 1, 1)
    calls: list[Step] = []
    for tensor, value, factor in ((running[0], mean, 1.0), (running[1], variance, unbiased)):
        wide = ctx.scratch(tensor.sizes, dtype)
        calls += [
            copy(tensor.array, wide),
            call(np.multiply, wide, filled(dtype, 1.0 - momentum), wide),
            call(np.multiply, value, filled(dtype, momentum * factor), work),
            call(np.add, wide, work, wide),
            *cast(ctx, wide, tensor.array),
        ]
    return calls


@kernel("aten::_native_batch_norm_legit.out")
@_normalizes(batch_norm)
def native_batch_norm_legit_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Step:
    """Batch normalisation by the batch's statistics, which also move the running ones, or (not
    `training`) by the running ones. Scratch: six vectors, and a copy of the input for the batch's
    statistics.
    """
    return _batch_norm(
        ctx,
        input,
        weight,
        bias,
        (running_mean, running_var),
        training,
        momentum,
        eps,
        out,
        save_mean,
        save_invstd,
    )


@kernel("aten::_native_batch_norm_legit.no_stats_out")
@_normalizes(batch_norm_no_stats)
def native_batch_norm_legit_no_stats_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Step:
    """Batch normalisation by the batch's statistics. Scratch: four vectors and a copy of the input."""
    return _batch_norm(ctx, input, weight, bias, None, training, momentum, eps, out, save_mean, save_invstd)


def _moments(x: Array, centred: Array, mean: Array, inverse: Array, eps: float) -> list[Step]:
    """Calls for the mean of each row of `x`, the rows less their mean, and 1 / sqrt(variance + eps).
    `mean` and `inverse` are columns; `centred` may be `x`.
    """
    dtype = centred.dtype
    count = filled(dtype, x.shape[1])
    total: Step = np.add.reduce, (x, 1, None, mean, True)
    if x.shape[1] <= _LONGEST_DOT:
        total = call(np.vecdot, x, _ones(dtype)[: x.shape[1]], mean[:, 0])
    return [
        total,
        call(np.divide, mean, count, mean),
        call(np.subtract, x, mean, centred),
        (np.vecdot, (centred, centred, inverse[:, 0])),
        call(np.divide, inverse, count, inverse),
        call(np.add, inverse, filled(dtype, eps), inverse),
        call(np.sqrt, inverse, inverse),
        call(np.divide, filled(dtype, 1), inverse, inverse),
    ]


def _prepare_rows(
    ctx: PrepareContext, input: Tensor, out: Tensor, order: Sequence[int]
) -> tuple[list[Step], Array, Array, list[Step]]:
    """`input` and `out` C-contiguous, by way of scratch where they are not; calls before and after."""
    before: list[Step] = []
    after: list[Step] = []
    source, target = input.array, out.array
    if not source.flags.c_contiguous:
        packed = ctx.scratch(source.shape, source.dtype)
        before += moves(ctx, source, packed)
        source = packed
    if not target.flags.c_contiguous:
        result = ctx.scratch(target.shape, target.dtype)
        after += moves(ctx, result, target)
        target = result
    return before, source, target, after


@kernel("aten::native_layer_norm.out", any_layout=True)
@_normalizes(native_layer_norm)
def native_layer_norm_out(
    ctx: PrepareContext,
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """(x - mean) / sqrt(variance + eps) over the last dimensions, times `weight` plus `bias`; `out1`
    is the mean and `out2` the inverse deviation. Scratch: a block and two columns, and copies of
    tensors that are 16-bit or not contiguous.
    """
    _check_floats(ctx, weight=weight, bias=bias)
    rank, kept = len(input.sizes), out1.sizes
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    length = math.prod(normalized_shape)
    if not length:
        nan = filled(dtype, math.nan)
        return chain([copy(filled(dtype, 0), out1.array), copy(nan, out2.array)])
    calls, w = _as(ctx, weight, dtype, "weight")
    more, b = _as(ctx, bias, dtype, "bias")
    before, source, target, after = _prepare_rows(ctx, input, out0, range(rank))
    calls += more + before
    x, y = source.reshape(-1, length), target.reshape(-1, length)
    outer = x.shape[0]
    rows = min(outer, max(1, 2 * BLOCK // length))  # of two operands
    means, inverses = ctx.scratch((outer, 1), dtype), ctx.scratch((outer, 1), dtype)
    wide = ctx.scratch((rows, length), dtype) if y.dtype != dtype else None
    factor = None if w is None else w.reshape(1, length)
    addend = None if b is None else b.reshape(1, length)
    for start in range(0, outer, rows):
        end = min(start + rows, outer)
        work = y[start:end] if wide is None else wide[: end - start]
        block = x[start:end]
        if block.dtype != dtype:
            calls.append(copy(block, work))
            block = work
        calls += _moments(block, work, means[start:end], inverses[start:end], eps)
        calls.append(call(np.multiply, work, inverses[start:end], work))
        if factor is not None:
            calls.append(call(np.multiply, work, factor, work))
        if addend is not None:
            calls.append(call(np.add, work, addend, work))
        if wide is not None:
            calls.append(copy(work, y[start:end]))
    calls += after
    calls += cast(ctx, means.reshape(kept), out1.array)
    calls += cast(ctx, inverses.reshape(kept), out2.array)
    return chain(calls)


@kernel("aten::native_group_norm.out")
@_normalizes(native_group_norm)
def native_group_norm_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """(x - mean) / sqrt(variance + eps) over each of `group` groups of channels, times `weight` plus
    `bias` by channel; `out1` is the mean and `out2` the inverse deviation. Scratch: a group or
    more, two columns, and copies of tensors that are 16-bit or not contiguous.
    """
    _check_floats(ctx, weight=weight, bias=bias)
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    depth = C // group
    length = depth * HxW
    if not length:
        nan = filled(dtype, math.nan)
        return chain([copy(filled(dtype, 0), out1.array), copy(nan, out2.array)])
    calls, w = _as(ctx, weight, dtype, "weight")
    more, b = _as(ctx, bias, dtype, "bias")
    before, source, target, after = _prepare_rows(ctx, input, out0, range(len(input.sizes)))
    calls += more + before
    x, y = source.reshape(N * group, length), target.reshape(N * group, length)
    # Whole groups of one sample at a time, so that the channels of a block are a range of the weights.
    rows = min(group, max(1, BLOCK // length))
    means, inverses = ctx.scratch((N * group, 1), dtype), ctx.scratch((N * group, 1), dtype)
    wide = ctx.scratch((rows, length), dtype) if y.dtype != dtype else None
    for sample, first in itertools.product(range(N), range(0, group, rows)):
        last = min(first + rows, group)
        start, end = sample * group + first, sample * group + last
        work = y[start:end] if wide is None else wide[: end - start]
        block = x[start:end]
        if block.dtype != dtype:
            calls.append(copy(block, work))
            block = work
        calls += _moments(block, work, means[start:end], inverses[start:end], eps)
        calls.append(call(np.multiply, work, inverses[start:end], work))
        by_channel = work.reshape((last - first) * depth, HxW)
        if w is not None:
            calls.append(call(np.multiply, by_channel, w[first * depth : last * depth, None], by_channel))
        if b is not None:
            calls.append(call(np.add, by_channel, b[first * depth : last * depth, None], by_channel))
        if wide is not None:
            calls.append(copy(work, y[start:end]))
    calls += after
    calls += cast(ctx, means.reshape(N, group), out1.array)
    calls += cast(ctx, inverses.reshape(N, group), out2.array)
    return chain(calls)


@kernel("aten::native_dropout.out")
@inferred(native_dropout, outs=2)
def native_dropout_out(
    ctx: PrepareContext, input: Tensor, p: float, train: bool | None, out0: Tensor, out1: Tensor
) -> Step:
    """Outside of training, the input and a mask of ones. Training drops elements at random and scales the
    others by 1 / (1 - p). Scratch when training: a copy of the input.
    """
    one = filled(out1.dtype, 1)
    if train is False or p == 0:
        return chain([*moves(ctx, input.array, out0.array), copy(one, out1.array)])
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    chances = ctx.scratch(input.sizes, np.float64)
    wide = ctx.scratch(input.sizes, dtype)
    scale = filled(dtype, 0.0 if p == 1 else 1.0 / (1.0 - p))
    return chain(
        [
            (fill_uniform, (chances,)),
            call(np.greater_equal, chances, filled(np.dtype(np.float64), p), out1.array),
            copy(input.array, wide),
            call(np.multiply, wide, scale, wide),
            call(np.multiply, wide, out1.array, wide),
            *cast(ctx, wide, out0.array),
        ]
    )
