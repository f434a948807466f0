"""Convolution: the operator, its geometry, and the choice of method.

All methods end in BLAS or in long elementwise calls: a 1x1 kernel is a matrix product of the image as it
lies in memory; other dense kernels gather the windows of the padded image into a matrix first
(`convolution_dense`); one filter per channel is a sum of shifted images
(`convolution_depthwise`); a transposed convolution is a product whose result is scattered
(`convolution_transposed`). Every method handles both contiguous and channels-last tensors, and takes
the padding into scratch with the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from et_ops.inference.convolution import convolution
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT, INTEGER
from et_vm.kernels.portable.convolution.convolution_dense import dense
from et_vm.kernels.portable.convolution.convolution_depthwise import depthwise
from et_vm.kernels.portable.convolution.convolution_transposed import transposed as transposed_convolution
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.image.geometry import Window, channels_last, window_over
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.matmul import in_arithmetic_type
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import chain, copy, overlaps
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, DType, Tensor


class Operands(NamedTuple):
    """The arrays of a 2-d or 3-d convolution, in the arithmetic type; a 1-d one has a height of 1."""

    image: Array
    weight: Array
    bias: Array | None
    out: Array


def window_of(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    places: Tensor,
) -> Window:
    """The geometry of a convolution of `input` with `weight`, with a result of the shape of `places`."""
    size, kernel_size = input.sizes[2:], weight.sizes[2:]
    window = window_over(size, kernel_size, stride, padding, dilation, places.sizes[2:])
    window.check_cost(ctx, input.sizes[1], filtered=True, transposed=transposed)
    return window


@kernel("aten::convolution.out")
@inferred(convolution, kinds=(INTEGER, FLOAT), same_type=True)
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
    """`input` (N, C, space...) with `weight` (K, C / groups, space...), or transposed (C, K / groups,
    space...).

    Scratch: the padded image or the part of it that a block needs, the window matrix (at most 16 MB at a
    time) or a few blocks, float32 copies of 16-bit tensors. A constant weight in another layout than the
    method reads is repacked once.
    """
    window = window_of(ctx, input, weight, stride, padding, dilation, transposed, out)
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    calls, image = in_arithmetic_type(ctx, input, dtype, "input")
    more, kernel_array = in_arithmetic_type(ctx, weight, dtype, "weight")
    calls += more
    added: Array | None = None
    if bias is not None:
        more, added = in_arithmetic_type(ctx, bias, dtype, "bias")
        calls += more
    target = out.array
    if out.dtype != dtype or any(overlaps(target, array) for array in (image, kernel_array)):
        target = _scratch_like(ctx, target, dtype)
    elif not (target.flags.c_contiguous or channels_last(target)):
        target = ctx.scratch(target.shape, dtype)
    operands = Operands(image, kernel_array, added, target)
    if len(window.size) == 1:
        window = window.lifted()
        operands = Operands(image[:, :, None, :], kernel_array[:, :, None, :], added, target[:, :, None, :])
    pack_key = weight.version if weight.constant else None
    calls += method(ctx, operands, window, groups, transposed, pack_key)
    if target is not out.array:
        calls.append(copy(target, out.array))
    return chain(calls)


def _scratch_like(ctx: PrepareContext, array: Array, dtype: DType) -> Array:
    """Scratch of the shape of `array`, with the channels last if they are there."""
    if not channels_last(array):
        return ctx.scratch(array.shape, dtype)
    return np.moveaxis(ctx.scratch(np.moveaxis(array, 1, -1).shape, dtype), -1, 1)


def method(
    ctx: PrepareContext,
    operands: Operands,
    window: Window,
    groups: int,
    transposed: bool,
    pack_key: int | None,
) -> list[Step]:
    """Calls that convolve a batch by the method that suits its geometry, whatever the float type of the arrays."""
    image, weight, bias, out = operands
    if transposed:
        return transposed_convolution(ctx, image, weight, bias, out, window, groups)
    if len(window.size) == 2 and groups == image.shape[1] and groups > 1 and max(window.kernel) > 1:
        return depthwise(ctx, image, weight, bias, out, window, pack_key)
    return dense(ctx, image, weight, bias, out, window, groups, pack_key)
