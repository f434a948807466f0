"""Operators that torch computes faster by another way than their out variant, and those that torch does not
know.

Many out variants are generated: they allocate a result and copy it. Where torch has a function that writes
to its output, or a view that saves the copy, the kernels here use it; where it has none (convolution) they
do the same in fewer calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from et_schema.scalar_type import ScalarType
from et_vm.kernels.aten.binding import alias
from et_vm.kernels.aten.out_variant import OutVariant, copy_results
from et_vm.kernels.aten.schema import operator
from et_vm.kernels.aten.view import copy_step
from et_vm.kernels.registry import NOTHING, Prepare, PrepareContext, Step
from et_vm.values import Tensor

SPECIAL: dict[str, Prepare] = {}
"""The kernels of this module by operator name."""

Scalar = int | float | bool


def _special(*names: str) -> Callable[[Prepare], Prepare]:
    def declare(prepare: Prepare) -> Prepare:
        SPECIAL.update(dict.fromkeys(names, prepare))
        return prepare

    return declare


@functools.cache
def _generic(name: str) -> OutVariant:
    return OutVariant(operator(name))


def _checked(ctx: PrepareContext, name: str, *values: Any) -> Step:
    """The generic step, after its checks and with the outputs in shape; the kernel returns it when its own
    way does not apply.
    """
    return _generic(name)(ctx, *values)


def _pointwise_product(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor
) -> Step | None:
    """A 1x1 convolution of one sample as a matrix product into ``out``; None when the memory is not that of
    matrices.
    """
    filters, channels = weight.shape[:2]
    places = x[0, 0].numel()
    if x.is_contiguous() and out.is_contiguous():
        a, b = weight.reshape(filters, channels), x.view(channels, places)
        target = out.view(filters, places)
        line = None if bias is None else bias.view(filters, 1)
    elif x.dim() == 4 and all(t.is_contiguous(memory_format=torch.channels_last) for t in (x, out)):
        a = x.permute(0, 2, 3, 1).view(places, channels)
        b = weight.reshape(filters, channels).t()
        target = out.permute(0, 2, 3, 1).view(places, filters)
        line = bias
    else:
        return None
    product = functools.partial(torch.mm, a, b, out=target)
    if line is None:
        return product, ()
    return _then, (product, target.add_, line)


def _then(first: Callable[[], object], second: Callable[[torch.Tensor], object], value: torch.Tensor) -> None:
    first()
    second(value)


def _copy_result(
    target: Callable[[torch.Tensor], object], function: Callable[..., torch.Tensor], args: tuple[Any, ...]
) -> None:
    target(function(*args))


@_special("aten::convolution.out")
def convolution_out(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    out: Tensor,
) -> Step:
    """A 1x1 kernel on one sample is a product straight into ``out``. Otherwise torch allocates the result
    and it is copied.
    """
    values = (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out)
    generic = _checked(ctx, "aten::convolution.out", *values)
    if not out.array.size or out.scalar_type != input.scalar_type:
        return generic
    with torch.inference_mode():
        x, w, y = alias(input), alias(weight), alias(out)
        b = None if bias is None else alias(bias)
        pointwise = (
            not transposed and groups == 1 and input.sizes[0] == 1 and out.sizes[2:] == input.sizes[2:]
        )
        plain = all(size == 1 for size in weight.sizes[2:]) and not any(padding)
        if pointwise and plain and input.scalar_type in (ScalarType.FLOAT, ScalarType.DOUBLE):
            step = _pointwise_product(x, w, b, y)
            if step is not None:
                return step
        arguments = (x, w, b, stride, padding, dilation, transposed, output_padding, groups)
        return _copy_result, (y.copy_, torch.convolution, arguments)


@_special("aten::_native_batch_norm_legit_no_training.out")
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
    """By ``native_batch_norm``, which writes to its output."""
    values = (input, weight, bias, running_mean, running_var, momentum, eps, out0, out1, out2)
    generic = _checked(ctx, "aten::_native_batch_norm_legit_no_training.out", *values)
    if not out0.array.size or out0.scalar_type != input.scalar_type:
        return generic
    with torch.inference_mode():
        x, mean, var = alias(input), alias(running_mean), alias(running_var)
        w, b = (None if tensor is None else alias(tensor) for tensor in (weight, bias))
        outs = (alias(out0), torch.empty(0, dtype=mean.dtype), torch.empty(0, dtype=mean.dtype))
        step = functools.partial(torch.native_batch_norm, x, w, b, mean, var, False, momentum, eps, out=outs)
    return step, ()


@_special("aten::relu.out")
def relu_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """By ``clamp_min``, which writes to its output."""
    generic = _checked(ctx, "aten::relu.out", self, out)
    if not out.array.size or out.scalar_type != self.scalar_type:
        return generic
    with torch.inference_mode():
        return functools.partial(torch.clamp_min, alias(self), 0, out=alias(out)), ()


@_special("aten::embedding.out")
def embedding_out(
    ctx: PrepareContext,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
    out: Tensor,
) -> Step:
    """By ``index_select``, which writes to its output."""
    values = (weight, indices, padding_idx, scale_grad_by_freq, sparse, out)
    generic = _checked(ctx, "aten::embedding.out", *values)
    with torch.inference_mode():
        if not out.array.size or out.scalar_type != weight.scalar_type:
            return generic
        flat, target = alias(indices), alias(out)
        if not (flat.is_contiguous() and target.is_contiguous()):
            return generic
        step = functools.partial(
            torch.index_select, alias(weight), 0, flat.view(-1), out=target.view(-1, weight.sizes[1])
        )
    return step, ()


@_special("aten::masked_fill.Scalar_out")
def masked_fill_scalar_out(
    ctx: PrepareContext, self: Tensor, mask: Tensor, value: Scalar, out: Tensor
) -> Step:
    """By ``where``, which writes to its output."""
    generic = _checked(ctx, "aten::masked_fill.Scalar_out", self, mask, value, out)
    if not out.array.size or out.scalar_type != self.scalar_type:
        return generic
    with torch.inference_mode():
        x = alias(self)
        number = torch.full((), value, dtype=x.dtype)
        return functools.partial(torch.where, alias(mask), number, x, out=alias(out)), ()


@_special("aten::native_layer_norm.out")
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
    generic = _checked(
        ctx, "aten::native_layer_norm.out", input, normalized_shape, weight, bias, eps, out0, out1, out2
    )
    if not out0.array.size:
        return generic
    with torch.inference_mode():
        w, b = (None if tensor is None else alias(tensor) for tensor in (weight, bias))
        call = functools.partial(torch.native_layer_norm, alias(input), normalized_shape, w, b, eps)
        return copy_results, (call, tuple(alias(out).copy_ for out in (out0, out1, out2)))


def _convert(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    out.resize(self.sizes)
    with torch.inference_mode():
        return copy_step(alias(self), alias(out)) if out.array.size else NOTHING


@_special("aten::_to_copy.out")
def to_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, memory_format: int | None, out: Tensor
) -> Step:
    """A copy, in the type and layout that ``out`` was planned with."""
    return _convert(ctx, self, out)


def _check_same_type(ctx: PrepareContext, self: Tensor, out: Tensor) -> None:
    ctx.check(
        out.scalar_type == self.scalar_type,
        arg="out",
        expected=self.scalar_type.torch_name,
        got=out.scalar_type.torch_name,
    )


@_special("aten::clone.out")
def clone_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """A copy, in the layout that ``out`` was planned with."""
    _check_same_type(ctx, self, out)
    return _convert(ctx, self, out)


@_special("et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out")
def device_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """A copy: host and device are one memory here."""
    _check_same_type(ctx, self, out)
    return _convert(ctx, self, out)


def _check_dim_order(ctx: PrepareContext, dim_order: list[int] | None, out: Tensor) -> None:
    if dim_order is not None and tuple(dim_order) != out.dim_order:
        raise ctx.trap(arg="out", expected=f"dim order {dim_order}", got=list(out.dim_order))


@_special("dim_order_ops::_to_dim_order_copy.out")
def to_dim_order_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy in the type of ``out``, laid out as ``dim_order``."""
    _check_dim_order(ctx, dim_order, out)
    return _convert(ctx, self, out)


@_special("dim_order_ops::_clone_dim_order.out")
def clone_dim_order_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy laid out as ``dim_order``."""
    _check_same_type(ctx, self, out)
    _check_dim_order(ctx, dim_order, out)
    return _convert(ctx, self, out)


@_special("dim_order_ops::_empty_dim_order.out")
def empty_dim_order_out(
    ctx: PrepareContext, size: list[int], dim_order: list[int] | None, out: Tensor
) -> Step:
    """Memory as it is, laid out as ``dim_order``."""
    ctx.check(all(extent >= 0 for extent in size), arg="size", expected="non-negative sizes", got=size)
    _check_dim_order(ctx, dim_order, out)
    out.resize(size)
    return NOTHING
