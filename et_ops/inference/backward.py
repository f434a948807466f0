"""Gradients of layers, as far as they are Core ATen."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.dtypes import I64
from et_ops.inference.convolution import convolution, pooled
from et_ops.inference.meta import Meta, Mismatch, rule
from et_ops.inference.normalization import native_group_norm, native_layer_norm
from et_ops.inference.shapes import Shape, below, numel, sized, unlike


def _check_gradient(arg: str, gradient: Meta, shape: Shape) -> None:
    if unlike(gradient.shape, shape):
        raise Mismatch(arg, f"shape {list(shape)}", gradient)


@rule("_adaptive_avg_pool2d_backward")
def adaptive_pooling_backward(grad_output: Meta, self: Meta) -> Meta:
    if self.rank not in (3, 4):
        raise Mismatch("self", "3 or 4 dimensions", self)
    _check_gradient("grad_output", grad_output, (*self.shape[:-2], *grad_output.shape[-2:]))
    if any(below(size, 1) for size in grad_output.shape[1:]):
        raise Mismatch("grad_output", "a non-empty image", grad_output)
    return self


@rule("avg_pool2d_backward")
def average_pooling_backward(
    grad_output: Meta,
    self: Meta,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Meta:
    if divisor_override == 0:
        raise Mismatch("divisor_override", "a divisor other than zero", 0)
    _check_gradient(
        "grad_output", grad_output, pooled(self, 2, kernel_size, stride, padding, (1,), ceil_mode)
    )
    return self


@rule("max_pool2d_with_indices_backward")
def max_pooling_backward(
    grad_output: Meta,
    self: Meta,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Meta,
) -> Meta:
    shape = pooled(self, 2, kernel_size, stride, padding, dilation, ceil_mode)
    _check_gradient("grad_output", grad_output, shape)
    _check_gradient("indices", indices, shape)
    if indices.dtype is not I64:
        raise Mismatch("indices", "int64", indices.dtype.torch_name)
    return self


def _wanted(gradients: Sequence[Meta], output_mask: Sequence[bool]) -> list[Meta | None]:
    if len(output_mask) != len(gradients):
        raise Mismatch("output_mask", f"{len(gradients)} bools", list(output_mask))
    return [found if wanted else None for found, wanted in zip(gradients, output_mask, strict=True)]


@rule("convolution_backward")
def convolution_backward(
    grad_output: Meta,
    input: Meta,
    weight: Meta,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Sequence[Meta | None]:
    made = convolution(input, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    _check_gradient("grad_output", grad_output, made.shape)
    return _wanted((input, weight, Meta(made.shape[1:2], input.dtype)), output_mask)


@rule("embedding_dense_backward")
def embedding_backward(grad_output: Meta, indices: Meta, num_weights: int, *_: object) -> Meta:
    if not grad_output.shape or unlike(grad_output.shape[:-1], indices.shape):
        raise Mismatch("grad_output", f"shape {[*indices.shape, 'D']}", grad_output)
    return Meta((*sized((num_weights,), "num_weights"), grad_output.shape[-1]), grad_output.dtype)


@rule("native_group_norm_backward")
def group_norm_backward(
    grad_out: Meta,
    input: Meta,
    mean: Meta,
    rstd: Meta,
    weight: Meta | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> Sequence[Meta | None]:
    _check_gradient("grad_out", grad_out, input.shape)
    out, *statistics = native_group_norm(input, weight, None, N, C, HxW, group, 0.0)
    for arg, given, made in zip(("mean", "rstd"), (mean, rstd), statistics, strict=True):
        _check_gradient(arg, given, made.shape)
    channels = Meta((C,), input.dtype)
    return _wanted((out, channels, channels), output_mask)


@rule("native_layer_norm_backward")
def layer_norm_backward(
    grad_out: Meta,
    input: Meta,
    normalized_shape: Sequence[int],
    mean: Meta,
    rstd: Meta,
    weight: Meta | None,
    bias: Meta | None,
    output_mask: Sequence[bool],
) -> Sequence[Meta | None]:
    _check_gradient("grad_out", grad_out, input.shape)
    out, kept, _ = native_layer_norm(input, normalized_shape, weight, bias, 0.0)
    rows = numel(kept.shape)
    for arg, given in (("mean", mean), ("rstd", rstd)):
        if None not in (rows, numel(given.shape)) and rows != numel(given.shape):
            raise Mismatch(arg, f"{rows} elements", given)
    scale = Meta(tuple(normalized_shape), input.dtype)
    return _wanted((out, scale, scale), output_mask)
