"""Convolutions: one `convolution` for all ranks, transposed or not."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.dialects.aten import ops as aten
from et_ir.passes.aten_to_core.decompose.chain import Chain, Reason, Size, decomposes, meta
from et_ops.inference.shapes import spatial


def convolve(
    b: Chain,
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: Sequence[Size],
    padding: Sequence[Size],
    dilation: Sequence[Size],
    groups: Size,
    output_padding: Sequence[Size] | None = None,
) -> SSAValue | None:
    """A convolution, transposed if it has an output padding. An input without batch dimension is given
    one.
    """
    if meta(x).dtype.is_complex:
        return None
    rank = meta(weight).rank - 2
    arguments = [_sizes(a, rank) for a in (stride, padding, dilation, output_padding or (0,))]
    if any(a is None for a in arguments):
        return None
    unbatched = meta(x).rank == rank + 1
    if unbatched:
        x = b(aten.UnsqueezeOp, x, 0)
    strides, paddings, dilations, extra = arguments
    transposed = output_padding is not None
    y = b(aten.ConvolutionOp, x, weight, bias, strides, paddings, dilations, transposed, extra, groups)
    return b(aten.SqueezeDimsOp, y, (0,)) if unbatched else y


def _sizes(values: Sequence[Size], rank: int) -> tuple[int, ...] | None:
    """An argument for each spatial dimension; `None` if one is known at run time only."""
    known = [value for value in values if isinstance(value, int)]
    return spatial(known, rank) if len(known) == len(values) else None


@decomposes(Reason.COMMON, aten.Conv1dOp, aten.Conv2dOp, aten.Conv3dOp)
def conv(b: Chain, op: aten.Conv2dOp) -> SSAValue | None:
    return convolve(b, op.input, op.weight, op.bias, op.stride, op.padding, op.dilation, op.groups)


@decomposes(Reason.COMMON, aten.Conv1dPaddingOp, aten.Conv2dPaddingOp, aten.Conv3dPaddingOp)
def conv_with_named_padding(b: Chain, op: aten.Conv2dPaddingOp) -> SSAValue | None:
    kernel = meta(op.weight).shape[2:]
    dilation = _sizes(op.dilation, len(kernel))
    if dilation is None or min(kernel) < 0 or meta(op.input).dtype.is_complex:
        return None
    x, padding = op.input, [0] * len(kernel)
    if op.padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        padding = [total // 2 for total in totals]
        # Padding that cannot be the same on both sides is one larger at the end.
        odd = [total % 2 for total in totals]
        if any(odd):
            pairs = [side for extra in reversed(odd) for side in (0, extra)]
            x = b(aten.ConstantPadNdOp, x, pairs, 0)
    return convolve(b, x, op.weight, op.bias, op.stride, padding, dilation, op.groups)


@decomposes(Reason.COMMON, aten.ConvTranspose1dOp, aten.ConvTranspose2dInputOp, aten.ConvTranspose3dInputOp)
def conv_transpose(b: Chain, op: aten.ConvTranspose2dInputOp) -> SSAValue | None:
    return convolve(
        b,
        op.input,
        op.weight,
        op.bias,
        op.stride,
        op.padding,
        op.dilation,
        op.groups,
        output_padding=op.output_padding,
    )
