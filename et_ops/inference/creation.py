"""Operators that make tensors from sizes and numbers, and conversions of element type."""

from __future__ import annotations

import math
from collections.abc import Sequence

from et_ops.dtypes import F16, F32, F64, I8, I16, I32, I64, U8, DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, number_dtype, rule
from et_ops.inference.shapes import ceil_div, numel, sized, wrap_dim


def _of_number(number: Number) -> DType:
    """The type a factory gives to a number: floats become the default float."""
    dtype = number_dtype(number)
    return F32 if dtype is F64 else dtype


@rule("full")
def full(size: Sequence[int], fill_value: Number, dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or _of_number(fill_value))


@rule("empty.memory_format", "ones", "rand", "randn", "zeros")
def filled(size: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or F32)


@rule("empty_strided")
def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or F32)


@rule("empty_like", "ones_like", "zeros_like", "rand_like", "randn_like")
def like(self: Meta, dtype: DType | None, *_: object) -> Meta:
    return Meta(self.shape, dtype or self.dtype)


@rule("full_like")
def full_like(self: Meta, fill_value: Number, dtype: DType | None, *_: object) -> Meta:
    return Meta(self.shape, dtype or self.dtype)


@rule("new_empty", "new_ones", "new_zeros")
def new_filled(self: Meta, size: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or self.dtype)


@rule("empty_permuted")
def empty_permuted(size: Sequence[int], layout: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or F32)


@rule("new_empty_strided")
def new_empty_strided(
    self: Meta, size: Sequence[int], stride: Sequence[int], dtype: DType | None, *_: object
) -> Meta:
    return Meta(sized(size), dtype or self.dtype)


@rule("new_full")
def new_full(self: Meta, size: Sequence[int], fill_value: Number, dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or self.dtype)


@rule("scalar_tensor")
def scalar_tensor(s: Number, dtype: DType | None, *_: object) -> Meta:
    return Meta((), dtype or F32)


@rule("arange")
def arange_end(end: Number, dtype: DType | None, *_: object) -> Meta:
    return arange(0, end, 1, dtype)


@rule("arange.start")
def arange_start(start: Number, end: Number, dtype: DType | None, *_: object) -> Meta:
    return arange(start, end, 1, dtype)


@rule("arange.start_step")
def arange(start: Number, end: Number, step: Number, dtype: DType | None, *_: object) -> Meta:
    if dtype is None:
        dtype = I64 if all(number_dtype(n).is_integral for n in (start, end, step)) else F32
    if isinstance(start, Meta) or isinstance(end, Meta) or isinstance(step, Meta):
        return Meta((UNKNOWN,), dtype)
    if dtype is I64:
        start, end, step = (int(n) if isinstance(n, float) else n for n in (start, end, step))
    if step == 0 or (end - start) * step < 0:
        raise ValueError(f"arange from {start} to {end} by {step} has the wrong sign of step")
    if isinstance(start, float) or isinstance(end, float) or isinstance(step, float):
        return Meta((math.ceil((end - start) / step),), dtype)
    return Meta((ceil_div(end - start, step),), dtype)


@rule("linspace", "linspace.Scalar_Tensor", "linspace.Tensor_Scalar", "linspace.Tensor_Tensor")
def linspace(start: object, end: object, steps: int, dtype: DType | None, *_: object) -> Meta:
    return Meta((steps,), dtype or F32)


@rule("logspace", "logspace.Scalar_Tensor", "logspace.Tensor_Scalar", "logspace.Tensor_Tensor")
def logspace(start: object, end: object, steps: int, base: float, dtype: DType | None, *_: object) -> Meta:
    return Meta((steps,), dtype or F32)


@rule("eye")
def eye(n: int, dtype: DType | None, *_: object) -> Meta:
    return Meta(sized((n, n)), dtype or F32)


@rule("eye.m")
def eye_rectangular(n: int, m: int, dtype: DType | None, *_: object) -> Meta:
    return Meta(sized((n, m)), dtype or F32)


@rule("randperm")
def randperm(n: int, dtype: DType | None, *_: object) -> Meta:
    return Meta(sized((n,)), dtype or I64)


@rule("hann_window")
def hann_window(window_length: int, dtype: DType | None, *_: object) -> Meta:
    return Meta((window_length,), dtype or F32)


@rule("hann_window.periodic")
def hann_window_periodic(window_length: int, periodic: bool, dtype: DType | None, *_: object) -> Meta:
    return Meta((window_length,), dtype or F32)


@rule("_dim_arange")
def dim_arange(like: Meta, dim: int) -> Meta:
    return Meta((like.shape[wrap_dim(dim, like.rank)],), I64)


# -- conversions


@rule("_to_copy", "to.dtype_layout")
def to_copy(self: Meta, dtype: DType | None, *_: object) -> Meta:
    return Meta(self.shape, dtype or self.dtype)


@rule("to.dtype")
def to_dtype(self: Meta, dtype: DType, *_: object) -> Meta:
    return Meta(self.shape, dtype)


@rule("to.device")
def to_device(self: Meta, device: str, dtype: DType, *_: object) -> Meta:
    return Meta(self.shape, dtype)


@rule("to.other", "type_as")
def to_other(self: Meta, other: Meta, *_: object) -> Meta:
    return Meta(self.shape, other.dtype)


@rule("resize_as")
def resize_as(self: Meta, the_template: Meta, *_: object) -> Meta:
    return Meta(the_template.shape, self.dtype)


def _cast(name: str, dtype: DType) -> None:
    @rule(name)
    def cast(self: Meta, non_blocking: bool) -> Meta:  # pyright: ignore[reportUnusedFunction]
        return Meta(self.shape, dtype)


_CASTS = {
    "Byte": U8, "Char": I8, "Double": F64, "Float": F32, "Half": F16, "Int": I32, "Long": I64, "Short": I16,
}  # fmt: skip
for _name, _dtype in _CASTS.items():
    _cast(f"_cast_{_name}", _dtype)


@rule("one_hot")
def one_hot(self: Meta, num_classes: int) -> Meta:
    return Meta((*self.shape, num_classes if num_classes >= 0 else UNKNOWN), I64)


@rule("nonzero", "argwhere")
def nonzero(self: Meta) -> Meta:
    return Meta((UNKNOWN, self.rank), I64)


@rule("nonzero_numpy")
def nonzero_numpy(self: Meta) -> list[Meta]:
    return [Meta((UNKNOWN,), I64)] * max(self.rank, 1)


@rule("masked_select")
def masked_select(self: Meta, mask: Meta) -> Meta:
    return Meta((UNKNOWN,), self.dtype)


@rule("cartesian_prod")
def cartesian_prod(tensors: Sequence[Meta]) -> Meta:
    if len(tensors) == 1:
        return tensors[0]
    sizes = [t.shape[0] for t in tensors]
    count = numel(sizes)
    return Meta((UNKNOWN if count is None else count, len(tensors)), tensors[0].dtype)


@rule("diag_embed")
def diag_embed(self: Meta, offset: int, dim1: int, dim2: int) -> Meta:
    if not self.shape:
        raise Mismatch("self", "at least one dimension", self)
    rank = self.rank + 1
    a, b = sorted((wrap_dim(dim1, rank), wrap_dim(dim2, rank)))
    if a == b:
        raise Mismatch("dim2", f"another dimension than {a}", dim2)
    last = self.shape[-1]
    size = last + abs(offset) if last >= 0 and offset != UNKNOWN else UNKNOWN
    shape = list(self.shape[:-1])
    shape.insert(a, size)
    shape.insert(b, size)
    return Meta(tuple(shape), self.dtype)
