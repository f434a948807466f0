"""Softmax and normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from et_ops.dtypes import F16, F32, DType, as_float
from et_ops.inference.meta import Meta, Mismatch, rule
from et_ops.inference.shapes import wrap_dim


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


@rule("native_layer_norm")
def native_layer_norm(
    input: Meta, normalized_shape: Sequence[int], weight: Meta | None, bias: Meta | None, eps: float
) -> tuple[Meta, Meta, Meta] | None:
    count = len(normalized_shape)
    if count > input.rank or count == 0:
        raise ValueError(f"cannot normalize {count} dimensions of shape {input.shape}")
    for size, wanted in zip(input.shape[-count:], normalized_shape, strict=True):
        if size >= 0 and wanted >= 0 and size != wanted:
            raise ValueError(f"normalized_shape {tuple(normalized_shape)} does not fit shape {input.shape}")
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
    saved = Meta((0,), _statistics(input, weight))
    return Meta(input.shape, input.dtype), saved, saved


@rule("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(
    input: Meta, weight: Meta | None, bias: Meta | None, training: bool, momentum: float, eps: float
) -> tuple[Meta, Meta, Meta]:
    saved = Meta((input.shape[1],), _statistics(input, weight))
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
    size = (input.shape[1],) if training else (0,)
    saved = Meta(size, _statistics(input, weight))
    return Meta(input.shape, input.dtype), saved, saved, running_mean, running_var
