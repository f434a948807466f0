"""Tensors from sizes and numbers, and conversions of element type."""

from __future__ import annotations

import math
from collections.abc import Sequence

from et_ops.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Number, check_number, number_dtype, rule
from et_ops.inference.shapes import Shape, below, broadcast, ceil_div, numel, sized, wrap_dim


def _of_number(number: Number) -> DType:
    """The type a factory gives to a number: floats become the default float."""
    dtype = number_dtype(number)
    return F32 if dtype is F64 else dtype


def _filled(arg: str, number: Number, result: Meta) -> Meta:
    """A result that a number fills. Torch makes an infinity of a number that is too large for a 16-bit float where it
    makes a single element, and refuses it elsewhere.
    """
    infinite = result.dtype in (F16, BF16)
    if (
        isinstance(number, Meta)
        or result.dtype.holds(number)
        or (infinite and numel(result.shape) in (None, 1))
    ):
        return result
    raise Mismatch(arg, f"a number that fits {result.dtype.torch_name}", number)


@rule("full")
def full(size: Sequence[int], fill_value: Number, dtype: DType | None, *_: object) -> Meta:
    return _filled("fill_value", fill_value, Meta(sized(size), dtype or _of_number(fill_value)))


@rule("empty.memory_format", "ones", "rand", "randn", "zeros", "dim_order_ops._empty_dim_order")
def filled(size: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or F32)


@rule("empty_strided")
def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    _check_strides(size, stride)
    return Meta(sized(size), dtype or F32)


def _check_strides(size: Sequence[int], stride: Sequence[int]) -> None:
    if len(stride) != len(size) or any(step < 0 and step != UNKNOWN for step in stride):
        raise Mismatch("stride", f"{len(size)} non-negative strides", list(stride))


@rule("empty_like", "ones_like", "zeros_like", "rand_like", "randn_like")
def like(self: Meta, dtype: DType | None, *_: object) -> Meta:
    return Meta(self.shape, dtype or self.dtype)


@rule("full_like")
def full_like(self: Meta, fill_value: Number, dtype: DType | None, *_: object) -> Meta:
    return _filled("fill_value", fill_value, Meta(self.shape, dtype or self.dtype))


@rule("fill.Scalar")
def fill(self: Meta, value: Number) -> Meta:
    return _filled("value", value, self)


@rule("fill.Tensor")
def fill_with_tensor(self: Meta, value: Meta) -> Meta:
    if numel(value.shape) not in (None, 1):
        raise Mismatch("value", "one element", value)
    return self


@rule("new_empty", "new_ones", "new_zeros")
def new_filled(self: Meta, size: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or self.dtype)


@rule("empty_permuted")
def empty_permuted(size: Sequence[int], layout: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    if sorted(layout) != list(range(len(size))):
        raise Mismatch("physical_layout", f"an order of {len(size)} dimensions", list(layout))
    return Meta(sized(size), dtype or F32)


@rule("new_empty_strided")
def new_empty_strided(
    self: Meta, size: Sequence[int], stride: Sequence[int], dtype: DType | None, *_: object
) -> Meta:
    _check_strides(size, stride)
    return Meta(sized(size), dtype or self.dtype)


@rule("new_full")
def new_full(self: Meta, size: Sequence[int], fill_value: Number, dtype: DType | None, *_: object) -> Meta:
    return _filled("fill_value", fill_value, Meta(sized(size), dtype or self.dtype))


@rule("scalar_tensor")
def scalar_tensor(s: Number, dtype: DType | None, *_: object) -> Meta:
    return _filled("s", s, Meta((), dtype or F32))


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
    for arg, number in (("start", start), ("end", end), ("step", step)):
        if isinstance(number, float) and not math.isfinite(number):
            raise Mismatch(arg, "a finite number", number)
    if isinstance(start, Meta) or isinstance(end, Meta) or isinstance(step, Meta):
        return Meta((UNKNOWN,), dtype)
    # Torch drops fractions before it counts in int64, and afterwards in narrower types.
    if dtype is I64:
        start, end, step = (int(n) if isinstance(n, float) else n for n in (start, end, step))
    if (int(step) if dtype.is_integral and isinstance(step, float) else step) == 0:
        raise Mismatch(
            "step", "an integer other than zero" if dtype.is_integral else "a step other than zero", step
        )
    if (end - start) * step < 0:
        limit = f"at {'least' if step > 0 else 'most'} {start}"
        raise Mismatch("end", f"a bound of {limit} for steps of {step}", end)
    if not (isinstance(start, float) or isinstance(end, float) or isinstance(step, float)):
        return Meta((ceil_div(end - start, step),), dtype)
    steps = (end - start) / step
    if not math.isfinite(steps):
        raise Mismatch("end", f"a bound in reach of steps of {step} from {start}", end)
    return Meta((math.ceil(steps),), dtype)


@rule("linspace", "linspace.Scalar_Tensor", "linspace.Tensor_Scalar", "linspace.Tensor_Tensor")
def linspace(start: Number, end: Number, steps: int, dtype: DType | None, *_: object) -> Meta:
    if dtype is not None and dtype.is_integral:
        check_number("start", start, dtype)
        check_number("end", end, dtype)
    return Meta(sized((steps,), "steps"), dtype or F32)


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
    return Meta(sized((n,), "n"), dtype or I64)


@rule("randint")
def randint(high: int, size: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or I64)


@rule("randint.low")
def randint_from(low: int, high: int, size: Sequence[int], dtype: DType | None, *_: object) -> Meta:
    return Meta(sized(size), dtype or I64)


@rule("randint_like")
def randint_like(self: Meta, high: int, dtype: DType | None, *_: object) -> Meta:
    return like(self, dtype)


@rule("randint_like.low_dtype")
def randint_like_from(self: Meta, low: int, high: int, dtype: DType | None, *_: object) -> Meta:
    return like(self, dtype)


@rule("normal.float_Tensor")
def normal_of_deviations(mean: float, std: Meta, *_: object) -> Meta:
    return std


@rule("normal.Tensor_Tensor", "binomial")
def drawn_for_both(self: Meta, other: Meta, *_: object) -> Meta:
    return Meta(broadcast(self.shape, other.shape), self.dtype)


@rule("normal.float_float")
def normal(
    mean: float, std: float, size: Sequence[int], generator: object, dtype: DType | None, *_: object
) -> Meta:
    return Meta(sized(size), dtype or F32)


@rule("multinomial")
def multinomial(self: Meta, num_samples: int, replacement: bool, *_: object) -> Meta:
    if self.rank not in (1, 2) or below(2**24, self.shape[-1]):
        raise Mismatch("self", "1 or 2 dimensions, of at most 2^24 weights", self)
    few = not replacement and below(self.shape[-1], num_samples)
    if few or (num_samples < 1 and num_samples != UNKNOWN):
        most = "" if replacement else f" of at most {self.shape[-1]}"
        raise Mismatch("num_samples", f"a positive number{most}", num_samples)
    return Meta((*self.shape[:-1], num_samples), I64)


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


@rule("_to_copy", "to.dtype_layout", "dim_order_ops._to_dim_order_copy")
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


@rule("nonzero_static")
def nonzero_static(self: Meta, size: int, fill_value: int) -> Meta:
    return Meta((*sized((size,)), self.rank), I64)


@rule("nonzero_numpy")
def nonzero_numpy(self: Meta) -> list[Meta]:
    return [Meta((UNKNOWN,), I64)] * max(self.rank, 1)


def _check_mask(self: Meta, mask: Meta) -> Shape:
    if mask.dtype is not BOOL:
        raise Mismatch("mask", "bool", mask.dtype.torch_name)
    return broadcast(self.shape, mask.shape)


@rule("masked_scatter")
def masked_scatter(self: Meta, mask: Meta, source: Meta) -> Meta:
    if source.dtype is not self.dtype:
        raise Mismatch("source", self.dtype.torch_name, source.dtype.torch_name)
    return Meta(_check_mask(self, mask), self.dtype)


@rule("masked_select")
def masked_select(self: Meta, mask: Meta) -> Meta:
    _check_mask(self, mask)
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
