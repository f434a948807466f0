"""Result types of the operators of `quantized_decomposed`: integers with a scale and a zero point, and back.

Source: PyTorch's `torch/ao/quantization/fx/_decomposed.py`. Where its shape functions say another element type than
its kernels give, which is in `choose_qparams_per_token`, the types are those of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final, TypeVar

from et_ops.dtypes import BF16, BY_NAME, F16, F32, F64, I8, I16, I32, I64, U8, DType
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, Rule, rule
from et_ops.inference.shapes import below, broadcast, differ, unlike

_RANGES: Final = {
    U8: (0, 255),
    I8: (-128, 127),
    BY_NAME["ui16"]: (0, (1 << 16) - 1),
    I16: (-(1 << 15), (1 << 15) - 1),
    I32: (-(1 << 31), (1 << 31) - 1),
}
"""The types of quantized numbers, with their limits."""

_F = TypeVar("_F", bound=Rule)

_NAMESPACE: Final = "quantized_decomposed."


def _rules(names: str) -> Callable[[_F], _F]:
    return rule(*(_NAMESPACE + name for name in names.split()))


def _one_of(name: str, dtype: DType, expected: tuple[DType, ...]) -> None:
    if dtype not in expected:
        raise Mismatch(name, " or ".join(known.torch_name for known in expected), dtype.torch_name)


def _quantised(dtype: DType, **limits: int) -> DType:
    """A type of quantized numbers, which hold the limits."""
    _one_of("dtype", dtype, tuple(_RANGES))
    least, most = _RANGES[dtype]
    for name, limit in limits.items():
        if not least <= limit <= most:
            raise Mismatch(name, f"a number in [{least}, {most}]", limit)
    return dtype


def _single(**tensors: Meta) -> None:
    for name, tensor in tensors.items():
        if UNKNOWN not in tensor.shape and prod(tensor.shape) != 1:
            raise Mismatch(name, "one element", tensor)


def _floats(**tensors: Meta | None) -> None:
    for name, tensor in tensors.items():
        if tensor is not None and not tensor.dtype.is_float:
            raise Mismatch(name, "a float type", tensor.dtype.torch_name)


def _matrix(**tensors: Meta) -> None:
    for name, tensor in tensors.items():
        if tensor.rank != 2:
            raise Mismatch(name, "2 dimensions", tensor)


def _narrow(input: Meta) -> None:
    _one_of("input", input.dtype, (F32, F16, BF16))


# -- one scale


@_rules("quantize_per_tensor")
def quantize(input: Meta, scale: float, zero_point: int, least: int, most: int, dtype: DType) -> Meta:
    _narrow(input)
    if not scale:
        raise Mismatch("scale", "a number other than zero", scale)
    return Meta(input.shape, _quantised(dtype, quant_min=least, quant_max=most))


@_rules("quantize_per_tensor.tensor")
def quantize_by_tensor(
    input: Meta, scale: Meta, zero_point: Meta, least: int, most: int, dtype: DType
) -> Meta:
    _narrow(input)
    _single(scale=scale, zero_point=zero_point)
    return Meta(input.shape, _quantised(dtype, quant_min=least, quant_max=most))


@_rules("quantize_per_tensor.tensor2")
def quantize_by_tensors(
    input: Meta, scale: Meta, zero_point: Meta, least: Meta, most: Meta, dtype: DType
) -> Meta:
    _narrow(input)
    _single(scale=scale, zero_point=zero_point, quant_min=least, quant_max=most)
    return Meta(input.shape, _quantised(dtype))


def _restored(input: Meta, dtype: DType, out: DType | None) -> Meta:
    _one_of("input", input.dtype, (_quantised(dtype),))
    result = F32 if out is None else out
    _one_of("out_dtype", result, (F32, F16, BF16, F64))
    return Meta(input.shape, result)


@_rules("dequantize_per_tensor")
def dequantize(
    input: Meta, scale: float, zero_point: int, least: int, most: int, dtype: DType, out: DType | None
) -> Meta:
    return _restored(input, dtype, out)


@_rules("dequantize_per_tensor.tensor dequantize_per_tensor.tensor2")
def dequantize_by_tensor(
    input: Meta,
    scale: Meta,
    zero_point: Meta,
    least: int | Meta,
    most: int | Meta,
    dtype: DType,
    out: DType | None,
) -> Meta:
    _single(scale=scale, zero_point=zero_point)
    return _restored(input, dtype, out)


@_rules("convert_element_type.no_fuse")
def convert(input: Meta, dtype: DType) -> Meta:
    return Meta(input.shape, dtype)


# -- a scale for each index of a dimension, each row, or each group of a row


def _channels(input: Meta, scales: Meta, zero_points: Meta | None, axis: int) -> None:
    if not -input.rank <= axis < input.rank:
        raise Mismatch("axis", f"a dimension of a tensor of rank {input.rank}", axis)
    _floats(scales=scales)
    for name, tensor in (("scales", scales), ("zero_points", zero_points)):
        if tensor is None:
            continue
        if unlike(tensor.shape, (input.shape[axis],)):
            raise Mismatch(name, f"shape {[input.shape[axis]]}, that of dimension {axis}", tensor)


@_rules("quantize_per_channel")
def quantize_channels(
    input: Meta, scales: Meta, zero_points: Meta, axis: int, least: int, most: int, dtype: DType
) -> Meta:
    _narrow(input)
    _channels(input, scales, zero_points, axis)
    return Meta(input.shape, _quantised(dtype, quant_min=least, quant_max=most))


@_rules("dequantize_per_channel")
def dequantize_channels(
    input: Meta,
    scales: Meta,
    zero_points: Meta | None,
    axis: int,
    least: int,
    most: int,
    dtype: DType,
    out: DType | None,
) -> Meta:
    _channels(input, scales, zero_points, axis)
    _quantised(dtype, quant_min=least, quant_max=most)
    return _restored(input, dtype, out)


@_rules("fake_quant_per_channel")
def fake_quantise_channels(
    input: Meta, scales: Meta, zero_points: Meta, axis: int, least: int, most: int
) -> Meta:
    _one_of("input", input.dtype, (F32,))
    _channels(input, scales, zero_points, axis)
    return Meta(input.shape, F32)


def _rows(input: Meta, scales: Meta, zero_points: Meta) -> None:
    if not input.rank:
        raise Mismatch("input", "at least one dimension", "a 0-d tensor")
    _floats(scales=scales)
    for name, tensor in (("scales", scales), ("zero_points", zero_points)):
        known = UNKNOWN not in (*tensor.shape, *input.shape[:-1])
        if known and prod(tensor.shape) != prod(input.shape[:-1]):
            raise Mismatch(name, f"{prod(input.shape[:-1])} elements", tensor)
        if unlike(broadcast(input.shape, tensor.shape), input.shape):
            raise Mismatch(name, f"a shape that broadcasts to {list(input.shape)}", tensor)


@_rules("quantize_per_token")
def quantize_rows(input: Meta, scales: Meta, zero_points: Meta, least: int, most: int, dtype: DType) -> Meta:
    _floats(input=input)
    _rows(input, scales, zero_points)
    return Meta(input.shape, _quantised(dtype, quant_min=least, quant_max=most))


@_rules("dequantize_per_token")
def dequantize_rows(
    input: Meta, scales: Meta, zero_points: Meta, least: int, most: int, dtype: DType, out: DType
) -> Meta:
    _rows(input, scales, zero_points)
    return _restored(input, dtype, out)


def _groups(input: Meta, scales: Meta, zero_points: Meta | None, size: int) -> None:
    _matrix(input=input)
    if size <= 1:
        raise Mismatch("group_size", "a number above 1", size)
    _floats(scales=scales)
    rows, columns = input.shape
    if columns == UNKNOWN:
        return
    if size > columns and scales.shape[-1:] == (1,):
        size = columns
    if size == 0 or columns % size:
        raise Mismatch("group_size", f"a divisor of {columns}", size)
    for name, tensor in (("scales", scales), ("zero_points", zero_points)):
        if tensor is None or UNKNOWN in (rows, *tensor.shape):
            continue
        if prod(tensor.shape) != rows * columns // size:
            raise Mismatch(name, f"{rows * columns // size} elements", tensor)


@_rules("quantize_per_channel_group")
def quantize_groups(
    input: Meta, scales: Meta, zero_points: Meta, least: int, most: int, dtype: DType, size: int
) -> Meta:
    _floats(input=input)
    _groups(input, scales, zero_points, size)
    return Meta(input.shape, _quantised(dtype, quant_min=least, quant_max=most))


@_rules("dequantize_per_channel_group")
def dequantize_groups(
    input: Meta,
    scales: Meta,
    zero_points: Meta | None,
    least: int,
    most: int,
    dtype: DType,
    size: int,
    out: DType,
) -> Meta:
    _groups(input, scales, zero_points, size)
    return _restored(input, input.dtype, out)


# -- scales and zero points of what is to be quantized


@_rules("choose_qparams.tensor choose_qparams_symmetric.tensor")
def choose(input: Meta, least: int, most: int, eps: float, dtype: DType) -> tuple[Meta, Meta]:
    _narrow(input)
    _quantised(dtype)
    if not least <= 0 <= most or least == most:
        raise Mismatch("quant_min", "limits on both sides of 0", [least, most])
    if input.shape and not all(size < 0 or size for size in input.shape):
        raise Mismatch("input", "at least one element", input)
    return Meta((1,), F64), Meta((1,), I64)


def _per_row(input: Meta) -> tuple[int, ...]:
    _floats(input=input)
    if not input.rank or below(input.shape[-1], 1):
        raise Mismatch("input", "rows that are not empty", input)
    return (*input.shape[:-1], 1)


@_rules("choose_qparams_per_token_asymmetric _choose_qparams_per_token_asymmetric_impl")
def choose_for_rows(input: Meta, dtype: DType) -> tuple[Meta, Meta]:
    _quantised(dtype)
    shape = _per_row(input)
    return Meta(shape, F64), Meta(shape, I64)


@_rules("choose_qparams_per_token")
def choose_scales_for_rows(input: Meta, dtype: DType) -> tuple[Meta, Meta]:
    _one_of("dtype", dtype, (I8,))
    shape = _per_row(input)
    kind = F32 if input.dtype is F16 else input.dtype
    return Meta(shape, kind), Meta(shape, kind)


# -- what runtimes have of their own


@_rules("add")
def add(
    a: Meta, a_scale: float, a_zero_point: int, a_least: int, a_most: int,
    b: Meta, b_scale: float, b_zero_point: int, b_least: int, b_most: int,
    scale: float, zero_point: int, least: int, most: int,
) -> Meta:  # fmt: skip
    _one_of("b", b.dtype, (a.dtype,))
    if unlike(a.shape, b.shape):
        raise Mismatch("b", f"shape {list(a.shape)}", b)
    shape = tuple(n if m == UNKNOWN else m for m, n in zip(a.shape, b.shape, strict=True))
    if not scale:
        raise Mismatch("out_scale", "a number other than zero", scale)
    dtype = _quantised(
        a.dtype, a_quant_min=a_least, a_quant_max=a_most, b_quant_min=b_least, b_quant_max=b_most,
        out_quant_min=least, out_quant_max=most,
    )  # fmt: skip
    return Meta(shape, dtype)


def _looked_up(
    bits: int,
    weight: Meta,
    scales: Meta,
    zero_points: Meta | None,
    limits: tuple[int, int],
    indices: Meta,
    dtype: DType | None,
) -> Meta:
    _one_of("weight", weight.dtype, (U8, I8) if bits == 8 else (U8,))
    _matrix(weight=weight)
    half = 1 << (bits - 1)
    if bits < 8 and limits != (-half, half - 1):
        raise Mismatch("weight_quant_min", f"the limits {[-half, half - 1]}", list(limits))
    if bits == 8:
        _quantised(weight.dtype, weight_quant_min=limits[0], weight_quant_max=limits[1])
    _floats(weight_scales=scales)
    _one_of("indices", indices.dtype, (I32, I64))
    rows, columns = weight.shape
    width = columns if columns == UNKNOWN else columns * 8 // bits
    groups = scales.shape[1] if scales.rank == 2 else 1
    if (
        scales.rank not in (1, 2)
        or differ(scales.shape[0], rows)
        or (min(groups, width) >= 0 and (groups == 0 or width % groups))
    ):
        raise Mismatch(
            "weight_scales", f"{rows} rows, of a number for each group of the {width} columns", scales
        )
    if zero_points is not None and (
        zero_points.dtype is not scales.dtype or unlike(zero_points.shape, scales.shape)
    ):
        expected = f"{scales.dtype.torch_name} of shape {list(scales.shape)}"
        raise Mismatch("weight_zero_points", expected, zero_points)
    return Meta((*indices.shape, width), dtype or scales.dtype)


def _declare_embedding(name: str, bits: int) -> None:
    @_rules(name)
    def plain(  # pyright: ignore[reportUnusedFunction]  (registered)
        weight: Meta, scales: Meta, zero_points: Meta | None, least: int, most: int, indices: Meta
    ) -> Meta:
        return _looked_up(bits, weight, scales, zero_points, (least, most), indices, None)

    @_rules(f"{name}.dtype")
    def typed(  # pyright: ignore[reportUnusedFunction]  (registered)
        weight: Meta,
        scales: Meta,
        zero_points: Meta | None,
        least: int,
        most: int,
        indices: Meta,
        dtype: DType | None,
    ) -> Meta:
        return _looked_up(bits, weight, scales, zero_points, (least, most), indices, dtype)


for _name, _bits in (("embedding_byte", 8), ("embedding_4bit", 4), ("embedding_2bit", 2)):
    _declare_embedding(_name, _bits)


def _mixed(input: Meta, weight: Meta, scales: Meta, zero_points: Meta | None) -> None:
    _one_of("input", input.dtype, (F32, F16))
    _one_of("weight", weight.dtype, (I8,))
    _matrix(input=input, weight=weight)
    _one_of("weight_scales", scales.dtype, (input.dtype,))
    if unlike(scales.shape, weight.shape[:1]):
        raise Mismatch("weight_scales", f"shape {[weight.shape[0]]}", scales)
    # The operator has a place for zero points, and no meaning.
    if zero_points is not None:
        raise Mismatch("weight_zero_points", "None", "a tensor")


@_rules("mixed_mm")
def mixed_mm(input: Meta, weight: Meta, scales: Meta, zero_points: Meta | None) -> Meta:
    _mixed(input, weight, scales, zero_points)
    if differ(input.shape[1], weight.shape[0]):
        raise Mismatch("weight", f"{input.shape[1]} rows", weight)
    return Meta((input.shape[0], weight.shape[1]), input.dtype)


@_rules("mixed_linear")
def mixed_linear(
    input: Meta, weight: Meta, scales: Meta, zero_points: Meta | None, dtype: DType | None
) -> Meta:
    _mixed(input, weight, scales, zero_points)
    if differ(input.shape[1], weight.shape[1]):
        raise Mismatch("weight", f"{input.shape[1]} columns", weight)
    return Meta((input.shape[0], weight.shape[0]), dtype or input.dtype)
