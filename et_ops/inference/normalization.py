"""Softmax and normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.dtypes import F16, F32, DType, as_float
from et_ops.inference.meta import Meta, Mismatch, rule
from et_ops.inference.shapes import Shape, differ, known, numel, sized, unlike, wrap_dim


@rule("_softmax", "_log_softmax")
def softmax(self: Meta, dim: int, half_to_float: bool) -> Meta:
    wrap_dim(dim, self.rank)
    if half_to_float and self.dtype is not F16:
        raise Mismatch("self", "float16, as half_to_float is true", self.dtype)
    return Meta(self.shape, F32 if half_to_float else self.dtype)


@rule("softmax.int", "log_softmax.int", "special_softmax", "special_log_softmax", "_safe_softmax")
def softmax_dtype(self: Meta, dim: int, dtype: DType | None) -> Meta:
    return Meta(self.shape, dtype or as_float(self.dtype))


def _statistics(input: Meta, weight: Meta | None) -> DType:
    """The type of mean and deviation: that of the weights where they are wider than a narrow input."""
    return input.dtype if weight is None else weight.dtype


@rule("layer_norm", "rms_norm", "group_norm", "batch_norm", "instance_norm")
def normalized(input: Meta, *_: object) -> Meta:
    return Meta(input.shape, input.dtype)


def _check_affine(shape: Shape, **tensors: Meta | None) -> None:
    for arg, tensor in tensors.items():
        if tensor is not None and unlike(tensor.shape, shape):
            raise Mismatch(arg, f"shape {list(shape)}", tensor)


@rule("native_layer_norm")
def native_layer_norm(
    input: Meta, normalized_shape: Sequence[int], weight: Meta | None, bias: Meta | None, eps: float
) -> tuple[Meta, Meta, Meta]:
    shape, count = sized(normalized_shape, "normalized_shape"), len(normalized_shape)
    if not 0 < count <= input.rank or unlike(input.shape[-count:], shape):
        raise Mismatch("normalized_shape", f"the last dimensions of {list(input.shape)}", list(shape))
    _check_affine(shape, weight=weight, bias=bias)
    dtype = _statistics(input, weight)
    statistics = Meta((*input.shape[: input.rank - count], *(1,) * count), dtype)
    return Meta(input.shape, input.dtype), statistics, statistics


@rule("_fused_rms_norm")
def fused_rms_norm(
    input: Meta, normalized_shape: Sequence[int], weight: Meta | None, eps: float | None
) -> tuple[Meta, Meta]:
    count = len(normalized_shape)
    kept = (*input.shape[: input.rank - count], *(1,) * count)
    return Meta(input.shape, input.dtype), Meta(kept, F32 if input.dtype.bits == 16 else input.dtype)


@rule("native_group_norm")
def native_group_norm(
    input: Meta, weight: Meta | None, bias: Meta | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Meta, Meta, Meta]:
    for arg, number in (("N", N), ("C", C), ("HxW", HxW)):
        sized((number,), arg)
    if input.rank < 2:
        raise Mismatch("input", "at least 2 dimensions", input)
    space = numel(input.shape[2:])
    if unlike(input.shape[:2], (N, C)) or (space is not None and differ(space, HxW)):
        raise Mismatch("input", f"{N} x {C} x {HxW} elements", input)
    if group < 1 or (known(C) and C % group):
        raise Mismatch("group", f"a divisor of {C} channels", group)
    _check_affine((C,), weight=weight, bias=bias)
    statistics = Meta((N, group), _statistics(input, weight))
    return Meta(input.shape, input.dtype), statistics, statistics


@rule("_native_batch_norm_legit_no_training")
def batch_norm_no_training(
    input: Meta,
    weight: Meta | None,
    bias: Meta | None,
    running_mean: Meta,
    running_var: Meta,
    momentum: float,
    eps: float,
) -> tuple[Meta, Meta, Meta]:
    return batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


@rule("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(
    input: Meta, weight: Meta | None, bias: Meta | None, training: bool, momentum: float, eps: float
) -> tuple[Meta, Meta, Meta]:
    return batch_norm(input, weight, bias, None, None, True, momentum, eps)


def batch_norm(
    input: Meta,
    weight: Meta | None,
    bias: Meta | None,
    running_mean: Meta | None,
    running_var: Meta | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Meta, Meta, Meta]:
    """The normalized batch and the statistics saved of it, which are empty outside of training."""
    # Torch takes a vector without elements.
    if input.rank < 2 and 0 not in input.shape:
        raise Mismatch("input", "at least 2 dimensions", input)
    channels = input.shape[1:2] or (0,)
    _check_affine(channels, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    saved = Meta(channels if training else (0,), _statistics(input, weight))
    return Meta(input.shape, input.dtype), saved, saved


@rule("_native_batch_norm_legit_functional")
def batch_norm_functional(
    input: Meta,
    weight: Meta | None,
    bias: Meta | None,
    running_mean: Meta,
    running_var: Meta,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Meta, ...]:
    made = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    return *made, running_mean, running_var
