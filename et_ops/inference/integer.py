"""Result types of the operators of `integer`: arithmetic on quantized tensors without floats in between.

A tensor of i8 stands for `(q - zero_point) * scale`. The numbers that an operator takes for its result are those of the
`quantize_per_tensor` that it takes the place of.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from et_ops.dtypes import F32, F64, I8, I32, DType
from et_ops.inference.convolution import POOLING
from et_ops.inference.convolution import convolution as float_convolution
from et_ops.inference.meta import Meta, Mismatch, rule
from et_ops.inference.shapes import broadcast, differ, reduced, unlike, wrap_dims

__all__ = ["add", "average_pool", "convolution", "linear", "lookup", "maximum_pool", "mean", "multiply"]

_LEAST, _MOST = -128, 127
ENTRIES = 256
"""Entries of the table of a lookup: one for each number of 8 bits."""


def _integers(**tensors: Meta) -> None:
    for name, tensor in tensors.items():
        _typed(name, tensor, I8)


def _typed(name: str, tensor: Meta, *expected: DType) -> None:
    if tensor.dtype not in expected:
        names = " or ".join(dtype.torch_name for dtype in expected)
        raise Mismatch(name, names, tensor.dtype.torch_name)


def _scale(**scales: float) -> None:
    for name, scale in scales.items():
        if not 0 < abs(scale) < inf:
            raise Mismatch(name, "a finite number other than zero", scale)


def _points(**points: int) -> None:
    for name, point in points.items():
        if not _LEAST <= point <= _MOST:
            raise Mismatch(name, f"a number in [{_LEAST}, {_MOST}]", point)


def _result(shape: tuple[int, ...], scale: float, zero_point: int, least: int, most: int) -> Meta:
    _scale(out_scale=scale)
    _points(out_zero_point=zero_point, out_quant_min=least, out_quant_max=most)
    if least > most:
        raise Mismatch("out_quant_max", f"at least out_quant_min, which is {least}", most)
    return Meta(shape, I8)


def _filters(weight: Meta, scales: Meta, bias: Meta | None) -> None:
    """A scale for each output channel or one for all, and a bias of real numbers, or of the integers of the sums."""
    _integers(weight=weight)
    _typed("weight_scales", scales, F32, F64)
    channels = weight.shape[0]
    if scales.rank != 1 or (differ(scales.shape[0], 1) and differ(scales.shape[0], channels)):
        raise Mismatch("weight_scales", f"shape [1] or {[channels]}", scales)
    if bias is not None:
        _typed("bias", bias, F32, I32)
        if unlike(bias.shape, (channels,)):
            raise Mismatch("bias", f"shape {[channels]}", bias)


@rule("integer.linear")
def linear(
    input: Meta,
    input_scale: float,
    input_zero_point: int,
    weight: Meta,
    weight_scales: Meta,
    bias: Meta | None,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
) -> Meta:
    _integers(input=input)
    _scale(input_scale=input_scale)
    _points(input_zero_point=input_zero_point)
    if not input.rank:
        raise Mismatch("input", "at least one dimension", "a 0-d tensor")
    if weight.rank != 2:
        raise Mismatch("weight", "2 dimensions", weight)
    _filters(weight, weight_scales, bias)
    if differ(input.shape[-1], weight.shape[1]):
        raise Mismatch("weight", f"{input.shape[-1]} columns", weight)
    shape = (*input.shape[:-1], weight.shape[0])
    return _result(shape, out_scale, out_zero_point, out_quant_min, out_quant_max)


@rule("integer.convolution")
def convolution(
    input: Meta,
    input_scale: float,
    input_zero_point: int,
    weight: Meta,
    weight_scales: Meta,
    bias: Meta | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
) -> Meta:
    _integers(input=input)
    _scale(input_scale=input_scale)
    _points(input_zero_point=input_zero_point)
    found = float_convolution(input, weight, None, stride, padding, dilation, False, [0], groups)
    _filters(weight, weight_scales, bias)
    return _result(found.shape, out_scale, out_zero_point, out_quant_min, out_quant_max)


def _binary(
    input: Meta,
    input_scale: float,
    input_zero_point: int,
    other: Meta,
    other_scale: float,
    other_zero_point: int,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
) -> Meta:
    _integers(input=input, other=other)
    _scale(input_scale=input_scale, other_scale=other_scale)
    _points(input_zero_point=input_zero_point, other_zero_point=other_zero_point)
    shape = broadcast(input.shape, other.shape)
    return _result(shape, out_scale, out_zero_point, out_quant_min, out_quant_max)


add = rule("integer.add")(_binary)
multiply = rule("integer.mul")(_binary)


@rule("integer.mean.dim")
def mean(
    input: Meta,
    input_scale: float,
    input_zero_point: int,
    dim: Sequence[int],
    keepdim: bool,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
) -> Meta:
    _integers(input=input)
    _scale(input_scale=input_scale)
    _points(input_zero_point=input_zero_point)
    dims = wrap_dims(dim, input.rank)
    if any(input.shape[at] == 0 for at in dims):
        raise Mismatch("input", "elements in the dimensions that are reduced", input)
    shape = reduced(input.shape, dims, keepdim)
    return _result(shape, out_scale, out_zero_point, out_quant_min, out_quant_max)


@rule("integer.lookup")
def lookup(input: Meta, table: Meta) -> Meta:
    _integers(input=input, table=table)
    if unlike(table.shape, (ENTRIES,)):
        raise Mismatch("table", f"shape {[ENTRIES]}", table)
    return Meta(input.shape, I8)


@rule("integer.max_pool2d")
def maximum_pool(
    input: Meta,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Meta:
    _integers(input=input)
    found = POOLING[2].maximum(input, kernel_size, stride, padding, dilation, ceil_mode)
    assert isinstance(found, tuple)
    largest = found[0]
    assert isinstance(largest, Meta)
    return Meta(largest.shape, I8)


@rule("integer.avg_pool2d")
def average_pool(
    input: Meta,
    input_scale: float,
    input_zero_point: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out_scale: float,
    out_zero_point: int,
    out_quant_min: int,
    out_quant_max: int,
) -> Meta:
    _integers(input=input)
    _scale(input_scale=input_scale)
    _points(input_zero_point=input_zero_point)
    numbers = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    found = POOLING[2].average(input, *numbers)
    assert isinstance(found, Meta)
    return _result(found.shape, out_scale, out_zero_point, out_quant_min, out_quant_max)
