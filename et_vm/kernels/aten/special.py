"""Operators that torch does not know, or whose out variant is slow.

Many out variants are generated: they allocate a result and copy it. Where torch has a function that writes
to its output, or a view that saves the copy, the kernels here use it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import torch

from et_vm.kernels.aten.binding import alias
from et_vm.kernels.aten.declare import checked, special
from et_vm.kernels.aten.out_variant import copy_results
from et_vm.kernels.aten.view import copy_step
from et_vm.kernels.registry import PrepareContext
from et_vm.step import NOTHING, Step
from et_vm.values import Tensor

Scalar = int | float | bool


@special("aten::_native_batch_norm_legit_no_training.out")
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
    """By `native_batch_norm`, which writes to its output."""
    values = (input, weight, bias, running_mean, running_var, momentum, eps, out0, out1, out2)
    generic = checked(ctx, "aten::_native_batch_norm_legit_no_training.out", *values)
    if not out0.array.size or out0.scalar_type != input.scalar_type:
        return generic
    with torch.inference_mode():
        x, mean, var = alias(input), alias(running_mean), alias(running_var)
        w, b = (None if tensor is None else alias(tensor) for tensor in (weight, bias))
        outs = (alias(out0), torch.empty(0, dtype=mean.dtype), torch.empty(0, dtype=mean.dtype))
        step = functools.partial(torch.native_batch_norm, x, w, b, mean, var, False, momentum, eps, out=outs)
    return step, ()


@special("aten::convolution_backward.out")
def convolution_backward_out(
    ctx: PrepareContext,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """By the functional operator where `output_mask` leaves out results, as torch's out variant then fails."""
    settings = (bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask)
    generic = checked(
        ctx, "aten::convolution_backward.out", grad_output, input, weight, *settings, out0, out1, out2
    )
    if all(output_mask):
        return generic
    with torch.inference_mode():
        given = [alias(one) for one in (grad_output, input, weight)]
        wanted = [
            alias(out) if one else None for one, out in zip(output_mask, (out0, out1, out2), strict=True)
        ]

    def compute() -> None:
        for found, target in zip(torch.ops.aten.convolution_backward(*given, *settings), wanted, strict=True):
            if target is not None:
                target.copy_(found)

    return compute, ()


@special("aten::relu.out")
def relu_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """By `clamp_min`, which writes to its output."""
    generic = checked(ctx, "aten::relu.out", self, out)
    if not out.array.size or out.scalar_type != self.scalar_type:
        return generic
    with torch.inference_mode():
        return functools.partial(torch.clamp_min, alias(self), 0, out=alias(out)), ()


@special("aten::embedding.out")
def embedding_out(
    ctx: PrepareContext,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
    out: Tensor,
) -> Step:
    """By `index_select`, which writes to its output."""
    values = (weight, indices, padding_idx, scale_grad_by_freq, sparse, out)
    generic = checked(ctx, "aten::embedding.out", *values)
    with torch.inference_mode():
        if not out.array.size or out.scalar_type != weight.scalar_type:
            return generic
        flat, target = alias(indices), alias(out)
        if np.may_share_memory(indices.array, out.array) or not (
            flat.is_contiguous() and target.is_contiguous()
        ):
            return generic
        step = functools.partial(
            torch.index_select, alias(weight), 0, flat.view(-1), out=target.view(-1, weight.sizes[1])
        )
    return step, ()


@special("aten::masked_fill.Scalar_out")
def masked_fill_scalar_out(
    ctx: PrepareContext, self: Tensor, mask: Tensor, value: Scalar, out: Tensor
) -> Step:
    """By `where`, which writes to its output."""
    generic = checked(ctx, "aten::masked_fill.Scalar_out", self, mask, value, out)
    if not out.array.size or out.scalar_type != self.scalar_type:
        return generic
    with torch.inference_mode():
        x = alias(self)
        number = torch.full((), value, dtype=x.dtype)
        return functools.partial(torch.where, alias(mask), number, x, out=alias(out)), ()


@special("aten::native_layer_norm.out")
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
    """Torch allocates the results; they are copied."""
    generic = checked(
        ctx, "aten::native_layer_norm.out", input, normalized_shape, weight, bias, eps, out0, out1, out2
    )
    if not out0.array.size:
        return generic
    with torch.inference_mode():
        w, b = (None if tensor is None else alias(tensor) for tensor in (weight, bias))
        call = functools.partial(torch.native_layer_norm, alias(input), normalized_shape, w, b, eps)
        return copy_results, (call, tuple(alias(out).copy_ for out in (out0, out1, out2)))


def _filled(out: Tensor, value: Scalar, generic: Step) -> Step:
    if not out.array.size:
        return generic
    with torch.inference_mode():
        return alias(out).fill_, (value,)


@special("aten::full.out")
def full_out(ctx: PrepareContext, size: list[int], fill_value: Scalar, out: Tensor) -> Step:
    """In place."""
    return _filled(out, fill_value, checked(ctx, "aten::full.out", size, fill_value, out))


@special("aten::full_like.out")
def full_like_out(
    ctx: PrepareContext, self: Tensor, fill_value: Scalar, memory_format: int | None, out: Tensor
) -> Step:
    """In place."""
    generic = checked(ctx, "aten::full_like.out", self, fill_value, memory_format, out)
    return _filled(out, fill_value, generic)


@special("aten::scalar_tensor.out")
def scalar_tensor_out(ctx: PrepareContext, s: Scalar, out: Tensor) -> Step:
    """In place."""
    return _filled(out, s, checked(ctx, "aten::scalar_tensor.out", s, out))


@special("aten::constant_pad_nd.out")
def constant_pad_nd_out(
    ctx: PrepareContext, self: Tensor, pad: list[int], value: Scalar, out: Tensor
) -> Step:
    """The border is filled and the inside copied."""
    generic = checked(ctx, "aten::constant_pad_nd.out", self, pad, value, out)
    overlaps = np.may_share_memory(self.array, out.array)
    if not out.array.size or min(pad, default=0) < 0 or overlaps or out.scalar_type != self.scalar_type:
        return generic
    with torch.inference_mode():
        target = inside = alias(out)
        for pair in range(len(pad) // 2):
            dim = len(self.sizes) - 1 - pair
            inside = inside.narrow(dim, pad[2 * pair], self.sizes[dim])
        return _fill_and_copy, (target, value, inside, alias(self))


def _fill_and_copy(target: torch.Tensor, value: Scalar, inside: torch.Tensor, source: torch.Tensor) -> None:
    target.fill_(value)
    inside.copy_(source)


def _convert(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    out.resize(self.sizes)
    with torch.inference_mode():
        return copy_step(alias(self), alias(out)) if out.array.size else NOTHING


@special("aten::_to_copy.out")
def to_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, memory_format: int | None, out: Tensor
) -> Step:
    """A copy, in the type and layout that `out` was planned with."""
    return _convert(ctx, self, out)


def _check_same_type(ctx: PrepareContext, self: Tensor, out: Tensor) -> None:
    ctx.check(
        out.scalar_type == self.scalar_type,
        arg="out",
        expected=self.scalar_type.torch_name,
        got=out.scalar_type.torch_name,
    )


@special("aten::clone.out")
def clone_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """A copy, in the layout that `out` was planned with."""
    _check_same_type(ctx, self, out)
    return _convert(ctx, self, out)


@special("et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out")
def device_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """A copy: host and device are one memory here."""
    _check_same_type(ctx, self, out)
    return _convert(ctx, self, out)


def _check_dim_order(ctx: PrepareContext, dim_order: list[int] | None, out: Tensor) -> None:
    if dim_order is not None and tuple(dim_order) != out.dim_order:
        raise ctx.trap(arg="out", expected=f"dim order {dim_order}", got=list(out.dim_order))


@special("dim_order_ops::_to_dim_order_copy.out")
def to_dim_order_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy in the type of `out`, laid out as `dim_order`."""
    _check_dim_order(ctx, dim_order, out)
    return _convert(ctx, self, out)


@special("dim_order_ops::_clone_dim_order.out")
def clone_dim_order_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy laid out as `dim_order`."""
    _check_same_type(ctx, self, out)
    _check_dim_order(ctx, dim_order, out)
    return _convert(ctx, self, out)


@special("dim_order_ops::_empty_dim_order.out")
def empty_dim_order_out(
    ctx: PrepareContext, size: list[int], dim_order: list[int] | None, out: Tensor
) -> Step:
    """Memory as it is, laid out as `dim_order`."""
    ctx.check(all(extent >= 0 for extent in size), arg="size", expected="non-negative sizes", got=size)
    _check_dim_order(ctx, dim_order, out)
    out.resize(size)
    return NOTHING
