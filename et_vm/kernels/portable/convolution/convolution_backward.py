"""Gradients of a convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from et_ops.inference.backward import convolution_backward
from et_schema.scalar_type import numpy_dtype
from et_vm.kernels.portable.arguments import FLOAT
from et_vm.kernels.portable.convolution.convolution import window_of
from et_vm.kernels.portable.convolution.convolution_dense import dense
from et_vm.kernels.portable.convolution.convolution_transposed import transposed as transposed_convolution
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.image.geometry import Padded, Window, windows
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.matmul import in_arithmetic_type, product
from et_vm.kernels.portable.movement.move import contiguous
from et_vm.kernels.portable.promotion import arithmetic
from et_vm.kernels.portable.steps import call, chain, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


@kernel("aten::convolution_backward.out", any_layout=True)
@inferred(convolution_backward, kinds=(FLOAT,), same_type=True, outs=3)
def convolution_backward_out(
    ctx: PrepareContext,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: list[int] | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    output_mask: list[bool],
    out0: Tensor,
    out1: Tensor,
    out2: Tensor,
) -> Step:
    """Gradients by the input, the weight and the bias; those that `output_mask` leaves out are not written.

    Scratch: the gradients wanted, the window matrix of one sample, and what convolution takes.
    """
    window = window_of(ctx, input, weight, stride, padding, dilation, transposed, grad_output)
    dtype = numpy_dtype(arithmetic(input.scalar_type))
    calls, image = in_arithmetic_type(ctx, input, dtype, "input")
    more, filters = in_arithmetic_type(ctx, weight, dtype, "weight")
    third, grad = in_arithmetic_type(ctx, grad_output, dtype, "grad_output")
    calls += more + third
    # The backward of a transposed convolution is a plain one over the output's extent, and the other way
    # round.
    plain = window._replace(size=window.out, out=window.size) if transposed else window
    if output_mask[0] and out0.array.size:
        target = ctx.scratch(input.sizes, dtype)
        if transposed:
            calls += dense(ctx, grad, filters, None, target, plain, groups, None)
        else:
            calls += transposed_convolution(
                ctx, grad, filters, None, target, window._replace(size=window.out, out=window.size), groups
            )
        calls.append(copy(target, out0.array))
    if output_mask[1] and out1.array.size:
        over, other = (grad, image) if transposed else (image, grad)
        calls += _weight_gradient(ctx, over, other, plain, groups, out1)
    if output_mask[2] and out2.array.size:
        axes = (0, *range(2, len(input.sizes)))
        sums = ctx.scratch(out2.sizes, dtype)
        calls += [(np.add.reduce, (grad, axes, dtype, sums)), copy(sums, out2.array)]
    return chain(calls)


def _weight_gradient(
    ctx: PrepareContext, image: Array, grad: Array, window: Window, groups: int, out: Tensor
) -> list[Step]:
    """Sum over samples of (filters, places) x (places, taps): `grad` with the windows of `image`."""
    samples, channels = image.shape[:2]
    places, taps = math.prod(window.out), math.prod(window.kernel)
    filters = grad.shape[1] // groups
    pad = Padded(ctx, image[0], 1, window) if samples else None
    columns = ctx.scratch((groups, channels // groups * taps, places), image.dtype)
    part = ctx.scratch((groups, filters, channels // groups * taps), image.dtype)
    total = ctx.scratch(part.shape, image.dtype)
    calls: list[Step] = [copy(filled(image.dtype, 0), total)]
    if pad is not None:
        calls += pad.edges
    for sample in range(samples):
        bring, inside = pad.calls(ctx, image[sample]) if pad is not None else ([], image)
        calls += bring
        view = windows(inside, 1, window)
        calls.append(copy(view, columns.reshape(view.shape)))
        first, rows = contiguous(ctx, grad[sample])
        calls += first
        calls += product(ctx, rows.reshape(groups, filters, places), columns.swapaxes(1, 2), part)
        calls.append(call(np.add, total, part, total))
    return [*calls, copy(total.reshape(_weight_shape(total, window)), out.array)]


def _weight_shape(total: Array, window: Window) -> Sequence[int]:
    groups, filters, _ = total.shape
    return (groups * filters, -1, *window.kernel)
