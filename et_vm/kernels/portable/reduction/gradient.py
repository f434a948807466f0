"""Gradients that Core ATen has operators for: of average pooling, embedding, group and layer normalisation."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import (
    FLOAT,
    INTEGER,
    check_kinds,
    check_rank,
    check_same_type,
    check_shape,
    check_type,
)
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.image.geometry import Window
from et_vm.kernels.portable.indexing.index import check_index, check_range
from et_vm.kernels.portable.pooling.pooling import adaptive_bounds, divisors, pooling_window
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


@kernel("aten::_adaptive_avg_pool2d_backward.out")
def adaptive_avg_pool2d_backward_out(
    ctx: PrepareContext, grad_output: Tensor, self: Tensor, out: Tensor
) -> Step:
    """Each gradient ([N,] C, h, w) shared among the elements of its part of `self` ([N,] C, H, W). Allocates
    the result.
    """
    check_rank(ctx, self, 3, 4, arg="self")
    check_kinds(ctx, self.scalar_type, (FLOAT,), arg="self")
    check_same_type(ctx, self, ("grad_output", grad_output), ("out", out))
    good = grad_output.sizes[:-2] == self.sizes[:-2] and len(grad_output.sizes) == len(self.sizes)
    ctx.check(
        good,
        arg="grad_output",
        expected=f"shape {[*self.sizes[:-2]]} before height and width",
        got=list(grad_output.sizes),
    )
    good = min(grad_output.sizes[1:]) > 0
    ctx.check(good, arg="grad_output", expected="a non-empty image", got=list(grad_output.sizes))
    out.resize(self.sizes)
    return evaluated(functools.partial(_shared, self.sizes), (grad_output,), (out,))


def _shared(shape: tuple[int, ...], grad: Array) -> Array:
    result = np.zeros(shape, grad.dtype)
    rows, columns = (adaptive_bounds(shape[axis], grad.shape[axis]) for axis in (-2, -1))
    for (y, (top, bottom)), (x, (left, right)) in itertools.product(enumerate(rows), enumerate(columns)):
        share = grad[..., y, x] / grad.dtype.type((bottom - top) * (right - left))
        result[..., top:bottom, left:right] += share[..., None, None]
    return result


@kernel("aten::avg_pool2d_backward.grad_input")
def avg_pool2d_backward_out(
    ctx: PrepareContext,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    grad_input: Tensor,
) -> Step:
    """Each gradient, divided as the mean was, added to the elements of its window. Allocates the padded result."""
    check_rank(ctx, self, 3, 4, arg="self")
    check_kinds(ctx, self.scalar_type, (INTEGER, FLOAT), arg="self")
    check_same_type(ctx, self, ("grad_output", grad_output), ("grad_input", grad_input))
    ctx.check(divisor_override != 0, arg="divisor_override", expected="a divisor other than zero", got=0)
    window = pooling_window(ctx, self.sizes, 2, kernel_size, stride, padding, (1,), ceil_mode)
    check_shape(ctx, grad_output, (*self.sizes[:-2], *window.out), arg="grad_output")
    grad_input.resize(self.sizes)
    divisor = divisors(window, count_include_pad, divisor_override, numpy_dtype(arithmetic(self.scalar_type)))
    compute = functools.partial(_spread, window, divisor)
    return evaluated(compute, (grad_output,), (grad_input,))


def _spread(window: Window, divisor: Array, grad: Array) -> Array:
    # Integers divide as in C, whose quotients numpy rounds down.
    share = grad / divisor if grad.dtype.kind == "f" else np.trunc(grad / divisor).astype(grad.dtype)
    reach = [max(r, s + 2 * p) for r, s, p in zip(window.reach, window.size, window.padding, strict=True)]
    padded = np.zeros((*grad.shape[:-2], *reach), grad.dtype)
    for tap in itertools.product(*map(range, window.kernel)):
        cut = tuple(
            slice(t, t + (n - 1) * s + 1, s) for t, n, s in zip(tap, window.out, window.stride, strict=True)
        )
        padded[(..., *cut)] += share
    inside = tuple(slice(p, p + s) for p, s in zip(window.padding, window.size, strict=True))
    return padded[(..., *inside)]


@kernel("aten::embedding_dense_backward.out")
def embedding_dense_backward_out(
    ctx: PrepareContext,
    grad_output: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
    out: Tensor,
) -> Step:
    """Gradients [..., D] added to the rows [`num_weights`, D] that `indices` [...] name; `padding_idx`
    gets none. Allocates the result.
    """
    check_kinds(ctx, grad_output.scalar_type, (FLOAT,), arg="grad_output")
    check_index(ctx, indices, arg="indices")
    check_type(ctx, grad_output.scalar_type, out, arg="out")
    good = grad_output.sizes[:-1] == indices.sizes and len(grad_output.sizes) > 0
    ctx.check(good, arg="grad_output", expected=f"shape {[*indices.sizes, 'D']}", got=list(grad_output.sizes))
    ctx.check(num_weights >= 0, arg="num_weights", expected="a non-negative number", got=num_weights)
    out.resize((num_weights, *grad_output.sizes[-1:]))
    compute = functools.partial(_add_rows, ctx, num_weights, padding_idx, scale_grad_by_freq)
    return evaluated(compute, (grad_output, indices), (out,))


def _add_rows(
    ctx: PrepareContext, count: int, padding: int, by_frequency: bool, grad: Array, indices: Array
) -> Array:
    named = indices.reshape(-1)
    check_range(ctx, named[named != padding], 0, count, "indices")
    rows = grad.reshape(named.size, grad.shape[-1])
    kept = named != padding
    named, rows = named[kept], rows[kept]
    if by_frequency and named.size:
        rows = rows / np.bincount(named, minlength=count)[named].astype(grad.dtype)[:, None]
    result = np.zeros((count, grad.shape[-1]), grad.dtype)
    np.add.at(result, named, rows)
    return result


def _check_mask(ctx: PrepareContext, output_mask: Sequence[bool]) -> None:
    ctx.check(len(output_mask) == 3, arg="output_mask", expected="three bools", got=list(output_mask))


def _masked(
    results: Sequence[Array], output_mask: Sequence[bool], shapes: Sequence[Sequence[int]]
) -> list[Array]:
    """The results that are wanted, and of the right shape zeros, which torch does not say, for the others."""
    return [
        result.reshape(shape) if wanted else np.zeros(shape, result.dtype)
        for result, wanted, shape in zip(results, output_mask, shapes, strict=True)
    ]


@kernel("aten::native_layer_norm_backward.out")
def native_layer_norm_backward_out(
    ctx: PrepareContext,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: list[bool],
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """Gradients of the input, the weight and the bias of a layer normalisation with the statistics `mean` and
    `rstd`; those not in `output_mask` are zeros. Allocates three arrays of the size of the input.
    """
    _check_mask(ctx, output_mask)
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    check_same_type(ctx, input, ("grad_out", grad_out), ("out0", out0))
    check_shape(ctx, grad_out, input.sizes, arg="grad_out")
    rank = len(normalized_shape)
    shape = tuple(normalized_shape)
    good = 0 < rank <= len(input.sizes) and input.sizes[len(input.sizes) - rank :] == shape
    ctx.check(
        good,
        arg="normalized_shape",
        expected=f"the last dimensions of {list(input.sizes)}",
        got=normalized_shape,
    )
    columns = math.prod(shape)
    rows = math.prod(input.sizes[: len(input.sizes) - rank])
    for arg, tensor in (("mean", mean), ("rstd", rstd)):
        ctx.check(tensor.numel == rows, arg=arg, expected=f"{rows} elements", got=list(tensor.sizes))
    if weight is not None:
        check_shape(ctx, weight, shape, arg="weight")
    shapes = (input.sizes, shape, shape)
    for out, wanted, extent in zip((out0, out1, out2), output_mask, shapes, strict=True):
        out.resize(extent if wanted or len(out.sizes) == len(extent) else (0,) * len(out.sizes))
    factors = [] if weight is None else [weight]
    compute = functools.partial(
        _layer_norm, rows, columns, tuple(output_mask), (out0.sizes, out1.sizes, out2.sizes)
    )
    return evaluated(compute, (grad_out, input, mean, rstd, *factors), (out0, out1, out2))


def _layer_norm(
    rows: int,
    columns: int,
    wanted: Sequence[bool],
    shapes: Sequence[Sequence[int]],
    grad: Array,
    x: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None = None,
) -> list[Array]:
    grad, x = grad.reshape(rows, columns), x.reshape(rows, columns)
    scale = rstd.reshape(rows, 1).astype(x.dtype)
    normal = (x - mean.reshape(rows, 1)) * scale
    inner = grad if weight is None else grad * weight.reshape(columns)
    centre = inner.mean(1, keepdims=True) if columns else np.zeros((rows, 1), x.dtype)
    along = (inner * normal).mean(1, keepdims=True) if columns else centre
    results = ((inner - centre - normal * along) * scale, (grad * normal).sum(0), grad.sum(0))
    return _masked(results, wanted, shapes)


@kernel("aten::native_group_norm_backward.out")
def native_group_norm_backward_out(
    ctx: PrepareContext,
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: list[bool],
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """Gradients of the input (N, C, ...), the weight and the bias [C] of a group normalisation with the
    statistics `mean` and `rstd` [N, group]; those not in `output_mask` are zeros. Allocates three arrays
    of the size of the input.
    """
    _check_mask(ctx, output_mask)
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    check_same_type(ctx, input, ("grad_out", grad_out), ("out0", out0))
    check_shape(ctx, grad_out, input.sizes, arg="grad_out")
    ctx.check(group > 0 and C % group == 0, arg="group", expected=f"a divisor of {C}", got=group)
    good = input.numel == N * C * HxW
    ctx.check(good, arg="input", expected=f"{N * C * HxW} elements", got=list(input.sizes))
    for arg, tensor in (("mean", mean), ("rstd", rstd)):
        check_shape(ctx, tensor, (N, group), arg=arg)
    if weight is not None:
        check_shape(ctx, weight, (C,), arg="weight")
    for out, wanted, extent in zip((out0, out1, out2), output_mask, (input.sizes, (C,), (C,)), strict=True):
        out.resize(extent if wanted or len(out.sizes) == len(extent) else (0,) * len(out.sizes))
    factors = [] if weight is None else [weight]
    compute = functools.partial(
        _group_norm, (N, group, C // group, HxW), tuple(output_mask), (out0.sizes, out1.sizes, out2.sizes)
    )
    return evaluated(compute, (grad_out, input, mean, rstd, *factors), (out0, out1, out2))


def _group_norm(
    parts: tuple[int, int, int, int],
    wanted: Sequence[bool],
    shapes: Sequence[Sequence[int]],
    grad: Array,
    x: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None = None,
) -> list[Array]:
    grad, x = grad.reshape(parts), x.reshape(parts)
    scale = rstd[:, :, None, None].astype(x.dtype)
    normal = (x - mean[:, :, None, None]) * scale
    inner = grad if weight is None else grad * weight.reshape(1, parts[1], parts[2], 1)
    count = max(parts[2] * parts[3], 1)
    centre = inner.sum((2, 3), keepdims=True) / x.dtype.type(count)
    along = (inner * normal).sum((2, 3), keepdims=True) / x.dtype.type(count)
    results = (
        (inner - centre - normal * along) * scale,
        (grad * normal).sum((0, 3)).reshape(-1),
        grad.sum((0, 3)).reshape(-1),
    )
    return _masked(results, wanted, shapes)
