"""Gradients of layers, as far as they are Core ATen."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.inference.meta import Meta, rule
from et_ops.inference.shapes import sized


@rule("_adaptive_avg_pool2d_backward", "avg_pool2d_backward", "max_pool2d_with_indices_backward")
def pooling_backward(grad_output: Meta, self: Meta, *_: object) -> Meta:
    return Meta(self.shape, self.dtype)


@rule("convolution_backward")
def convolution_backward(
    grad_output: Meta, input: Meta, weight: Meta, bias_sizes: Sequence[int] | None, *rest: object
) -> tuple[Meta, Meta, Meta] | None:
    if rest[-1] != (True, True, True):
        return None  # a gradient that is not asked for is no tensor
    return (
        Meta(input.shape, input.dtype),
        Meta(weight.shape, weight.dtype),
        Meta((grad_output.shape[1],) if bias_sizes is None else sized(bias_sizes), grad_output.dtype),
    )


@rule("embedding_dense_backward")
def embedding_backward(grad_output: Meta, indices: Meta, num_weights: int, *_: object) -> Meta:
    return Meta((*sized((num_weights,)), grad_output.shape[-1]), grad_output.dtype)


@rule("native_group_norm_backward")
def group_norm_backward(
    grad_out: Meta, input: Meta, mean: Meta, rstd: Meta, weight: Meta | None, n: int, c: int, *rest: object
) -> tuple[Meta, Meta, Meta] | None:
    if rest[-1] != (True, True, True):
        return None
    channels = Meta(sized((c,)), input.dtype)
    return Meta(input.shape, input.dtype), channels, channels


@rule("native_layer_norm_backward")
def layer_norm_backward(
    grad_out: Meta, input: Meta, normalized_shape: Sequence[int], *rest: object
) -> tuple[Meta, Meta, Meta] | None:
    if rest[-1] != (True, True, True):
        return None
    scale = Meta(sized(normalized_shape), input.dtype)
    return Meta(input.shape, input.dtype), scale, scale
