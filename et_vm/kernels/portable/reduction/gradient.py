"""Gradients that Core ATen has operators for: of average pooling, embedding, group and layer normalisation."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from et_ops.inference.backward import (
    adaptive_pooling_backward,
    average_pooling_backward,
    embedding_backward,
    group_norm_backward,
    layer_norm_backward,
)
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, INTEGER, check_kinds, check_same_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.image.geometry import Window
from et_vm.kernels.portable.indexing.index import check_index, check_range
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.pooling.pooling import adaptive_bounds, divisors, pooling_window
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.reduction.normalization import check_results
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


@kernel("aten::_adaptive_avg_pool2d_backward.out")
@inferred(adaptive_pooling_backward, kinds=(FLOAT,), same_type=True)
def adaptive_avg_pool2d_backward_out(
    ctx: PrepareContext, grad_output: Tensor, self: Tensor, out: Tensor
) -> Step:
    """Each gradient ([N,] C, h, w) shared among the elements of its part of `self` ([N,] C, H, W). Allocates
    the result.
    """
    return evaluated(functools.partial(_shared, self.sizes), (grad_output,), (out,))


def _shared(shape: tuple[int, ...], grad: Array) -> Array:
    result = np.zeros(shape, grad.dtype)
    rows, columns = (adaptive_bounds(shape[axis], grad.shape[axis]) for axis in (-2, -1))
    for (y, (top, bottom)), (x, (left, right)) in itertools.product(enumerate(rows), enumerate(columns)):
        share = grad[..., y, x] / grad.dtype.type((bottom - top) * (right - left))
        result[..., top:bottom, left:right] += share[..., None, None]
    return result


@kernel("aten::avg_pool2d_backward.grad_input")
@inferred(average_pooling_backward, kinds=(INTEGER, FLOAT), same_type=True)
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
    window = pooling_window(ctx, self, kernel_size, stride, padding, (1,), grad_output)
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
@inferred(embedding_backward, kinds=(FLOAT,))
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
    check_index(ctx, indices, arg="indices")
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


def _unwanted(
    outs: Sequence[Tensor], output_mask: Sequence[bool], *shapes: Sequence[int]
) -> Iterator[tuple[Tensor, Sequence[int]]]:
    """The results that are not asked for, and the sizes that they get: of none where their rank is another."""
    for out, wanted, shape in zip(outs, output_mask, shapes, strict=True):
        if not wanted:
            yield out, shape if len(out.sizes) == len(shape) else (0,) * len(out.sizes)


def _masked(
    results: Sequence[Array], output_mask: Sequence[bool], shapes: Sequence[Sequence[int]]
) -> list[Array]:
    """The results that are wanted, and of the right shape zeros, which torch does not say, for the others."""
    return [
        result.reshape(shape) if wanted else np.zeros(shape, result.dtype)
        for result, wanted, shape in zip(results, output_mask, shapes, strict=True)
    ]


@kernel("aten::native_layer_norm_backward.out")
@inferred(layer_norm_backward, check=check_results, outs=3, empty=True)
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
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    check_same_type(ctx, input, ("grad_out", grad_out))
    shape = tuple(normalized_shape)
    columns = math.prod(shape)
    rows = math.prod(input.sizes[: len(input.sizes) - len(shape)])
    for out, sizes in _unwanted((out0, out1, out2), output_mask, input.sizes, shape, shape):
        out.resize(sizes)
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
@inferred(group_norm_backward, check=check_results, outs=3, empty=True)
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
    check_kinds(ctx, input.scalar_type, (FLOAT,), arg="input")
    check_same_type(ctx, input, ("grad_out", grad_out))
    for out, sizes in _unwanted((out0, out1, out2), output_mask, input.sizes, (C,), (C,)):
        out.resize(sizes)
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
