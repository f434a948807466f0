"""Operators in terms of others. Torch has no such form of them, or none that can be traced without data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import torch
from torch import Tensor, _decomp
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage] (nothing public does it)
)

from et_ir.frontend.torch_registry import Operator

__all__ = ["FORMULAS"]

_torch: Final = cast(Any, _decomp).decompositions
"""Torch's own formulas."""

_LARGEST_PRECISION: Final = 22
_LARGEST_WEIGHT: Final = 1 << 15


def embedding_renorm(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows that `indices` name, scaled to a norm of `max_norm` where theirs is larger; the others as they are.

    The factor has torch's small addend, which keeps the norm below the limit after rounding.
    """
    named = torch.zeros(weight.shape[0], dtype=torch.bool).index_fill(0, indices.reshape(-1).long(), True)
    norm: Tensor = torch.ops.aten.linalg_vector_norm(weight, norm_type, [1])
    scale = torch.where(named & (norm > max_norm), max_norm / (norm + 1e-7), 1.0)
    return (weight * scale.to(weight.dtype).unsqueeze(1)).to(weight.dtype)


# -- bicubic resampling of bytes, in fixed point as torch's kernel computes it


def upsample_bicubic2d(
    input: Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scale_h: float | None = None,
    scale_w: float | None = None,
) -> Tensor:
    """Bytes are weighted by integers of 16 bits, along rows first and then along columns, and rounded after
    each; other types as torch says.
    """
    if input.dtype != torch.uint8:
        return _torch.upsample_bicubic2d_default(input, output_size, align_corners, scale_h, scale_w)
    rows = _resampled_bytes(input, -1, output_size[1], align_corners, scale_w)
    return _resampled_bytes(rows, -2, output_size[0], align_corners, scale_h)


def upsample_bicubic2d_vec(
    input: Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None = None,
) -> Tensor:
    """The same, with the size or the factors of both dimensions."""
    if input.dtype != torch.uint8:
        return _torch.upsample_bicubic2d_vec(input, output_size, align_corners, scale_factors)
    sizes = _torch.upsample_compute_output_size(input.shape, output_size, scale_factors)
    return upsample_bicubic2d(input, sizes, align_corners, *(scale_factors or (None, None)))


def _resampled_bytes(image: Tensor, dim: int, size: int, align_corners: bool, factor: float | None) -> Tensor:
    count = image.shape[dim]
    if count == size:
        return image  # as in torch, also where the factor is not 1
    scale: float = _torch._compute_scale(count, size, align_corners, factor)
    starts, weights, precision = _cubic_weights(count, size, scale, align_corners)
    # Tensors with data, which become constants of the program.
    with _disable_current_modes():
        shape = (size,) if dim == -1 else (size, 1)
        taps = [
            (
                torch.tensor([start + tap for start in starts]).clamp(max=count - 1),
                torch.tensor(row).view(shape),
            )
            for tap, row in enumerate(zip(*weights, strict=True))
        ]
    total: Any = 1 << (precision - 1)
    for places, row in taps:
        total = image.index_select(dim, places).to(torch.int32) * row.to(torch.int32) + total
    return torch.clamp(total >> precision, 0, 255).to(torch.uint8)


def _cubic_weights(
    count: int, size: int, scale: float, align_corners: bool
) -> tuple[list[int], list[list[int]], int]:
    """For each of `size` results of `count` elements the first of four elements and their weights, in units of
    2 ** -precision. Weights of elements beyond the ends are those of the ends, before they are rounded.
    """
    starts: list[int] = []
    exact: list[list[float]] = []
    largest = 0.0
    for at in range(size):
        source = scale * at if align_corners else scale * (at + 0.5) - 0.5
        index = min(math.floor(source), count - 1)
        fraction = min(max(source - index, 0.0), 1.0)
        first = max(index - 1, 0)
        row = [0.0] * 4
        for tap in range(4):
            place = min(max(index - 1 + tap, 0), count - 1) - first
            row[place] += _cubic(abs(tap - 1 - fraction))
            largest = max(largest, row[place])
        starts.append(first)
        exact.append(row)
    precision = 0
    while precision < _LARGEST_PRECISION and int(0.5 + largest * (1 << (precision + 1))) < _LARGEST_WEIGHT:
        precision += 1
    unit = 1 << precision
    return starts, [[int(w * unit + math.copysign(0.5, w)) for w in row] for row in exact], precision


def _cubic(x: float, a: float = -0.75) -> float:
    """The kernel of cubic convolution at a distance of at most 2."""
    return ((a + 2) * x - (a + 3)) * x * x + 1 if x < 1 else (((x - 5) * x + 8) * x - 4) * a


# -- linear resampling, where torch's decomposition goes by the factor though the size is kept


def upsample_linear(
    input: Tensor, output_size: Sequence[int], align_corners: bool, *factors: float | None
) -> Tensor:
    """Signals, images and volumes [N, C, ...] of floats in another size, the last dimension first.

    A dimension that keeps its size is left alone whatever its factor is. Each result is the sum of two weighted
    elements, as in torch's kernels, so that between a number and an infinity it is no NaN.
    """
    if not input.dtype.is_floating_point:
        return _torch._upsample_linear(
            input, output_size, align_corners, factors or [None] * len(output_size)
        )
    computed = torch.float64 if input.dtype == torch.float64 else torch.float32
    lines = [
        _linear_line(count, size, align_corners, factor, computed)
        for count, size, factor in zip(
            input.shape[2:], output_size, factors or (None,) * len(output_size), strict=True
        )
    ]
    image = input.to(computed)
    for dim, line in reversed(list(enumerate(lines, 2))):
        if line is not None:
            low, high, share = line
            share = share.view(-1, *(1,) * (input.dim() - 1 - dim))
            image = image.index_select(dim, low) * (1 - share) + image.index_select(dim, high) * share
    return image.to(input.dtype)


def _linear_line(
    count: Any, size: Any, align_corners: bool, factor: float | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor] | None:
    """For each of `size` results the elements between which it lies, and the weight of the second; None where these
    are the elements themselves.
    """
    is_static = isinstance(count, int) and isinstance(size, int)
    if is_static and count == size:
        return None
    step: Any
    if align_corners or factor is None or factor <= 0:
        # It is 1 where a size that is not known yet is kept.
        step = _torch._compute_scale(count, size, align_corners)
    elif is_static or not 1 < factor < 2:
        step = 1.0 / factor
    else:
        kept: Any = cast(Any, torch).sym_max(1 - (size - count), 0)
        step = kept + (1 - kept) * (1.0 / factor)
    places = torch.arange(size).to(dtype)
    exact: Tensor = places * step if align_corners else ((places + 0.5) * step - 0.5).clamp(min=0)
    low = exact.to(torch.int64).clamp(max=count - 1)
    return low, (low + 1).clamp(max=count - 1), (exact - low).clamp(0, 1)


def upsample_linear_vec(
    input: Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None = None,
) -> Tensor:
    """The same, with the size or the factors of all dimensions."""
    sizes = _torch.upsample_compute_output_size(input.shape, output_size, scale_factors)
    return upsample_linear(input, sizes, align_corners, *(scale_factors or ()))


# -- derivatives


def attention_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value [N, H, L, E], with the weights computed as the forward decomposition does,
    so that they are computed once. Raises `NotImplementedError` for dropout, which torch computes by other operators.
    """
    if dropout_p:
        raise NotImplementedError("attention with dropout")
    math_form: Any = torch.ops.aten._scaled_dot_product_attention_math.default
    weights: Tensor = math_form(query, key, value, attn_mask, 0.0, is_causal, scale=scale)[1]
    by_weight = grad_out @ value.transpose(-2, -1)
    by_score = weights * (by_weight - (by_weight * weights).sum(-1, keepdim=True))
    by_score = by_score * (query.shape[-1] ** -0.5 if scale is None else scale)
    return by_score @ key, by_score.transpose(-2, -1) @ query, weights.transpose(-2, -1) @ grad_out


def replication_pad_backward(grad_output: Tensor, input: Tensor, padding: Sequence[int]) -> Tensor:
    """The gradient of the operand: an element gets the sum of those that it was copied to."""
    gradient = grad_output
    for number in range(len(padding) // 2):
        dim = input.dim() - 1 - number
        before, after = padding[2 * number], padding[2 * number + 1]
        places = torch.arange(-before, input.shape[dim] + after).clamp(0, input.shape[dim] - 1)
        shape = [*gradient.shape]
        shape[dim] = input.shape[dim]
        gradient = gradient.new_zeros(shape).index_add(dim, places, gradient)
    return gradient


FORMULAS: Final[dict[Operator, Callable[..., Any]]] = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default: attention_backward,
    torch.ops.aten.embedding_renorm.default: embedding_renorm,
    torch.ops.aten.replication_pad1d_backward.default: replication_pad_backward,
    torch.ops.aten.replication_pad2d_backward.default: replication_pad_backward,
    torch.ops.aten.replication_pad3d_backward.default: replication_pad_backward,
    torch.ops.aten.upsample_bicubic2d.default: upsample_bicubic2d,
    torch.ops.aten.upsample_bicubic2d.vec: upsample_bicubic2d_vec,
    torch.ops.aten.upsample_bilinear2d.default: upsample_linear,
    torch.ops.aten.upsample_linear1d.default: upsample_linear,
    torch.ops.aten.upsample_linear1d.vec: upsample_linear_vec,
    torch.ops.aten.upsample_trilinear3d.default: upsample_linear,
    torch.ops.aten.upsample_trilinear3d.vec: upsample_linear_vec,
}
"""By operator, a function of the same arguments."""
