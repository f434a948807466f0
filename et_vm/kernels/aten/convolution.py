"""Convolution into a given output. Torch has no function for it."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch

from et_schema.scalar_type import ScalarType
from et_vm.kernels.aten.binding import alias
from et_vm.kernels.aten.declare import checked, special
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Tensor

_WORTH_PACKING = 1 << 14
"""Elements below which reordering weights takes no time."""


def _pointwise_product(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor
) -> Step | None:
    """A 1x1 convolution of one sample as a matrix product into `out`; None when the memory is not that of
    matrices.
    """
    filters, channels = weight.shape[:2]
    places = x[0, 0].numel()
    if x.is_contiguous() and out.is_contiguous():
        a, b = weight.reshape(filters, channels), x.view(channels, places)
        target = out.view(filters, places)
        line = None if bias is None else bias.view(filters, 1)
    elif x.dim() == 4 and all(t.is_contiguous(memory_format=torch.channels_last) for t in (x, out)):
        a = x.permute(0, 2, 3, 1).view(places, channels)
        b = weight.reshape(filters, channels).t()
        target = out.permute(0, 2, 3, 1).view(places, filters)
        line = bias
    else:
        return None
    product = functools.partial(torch.mm, a, b, out=target)
    if line is None:
        return product, ()
    return _then, (product, target.add_, line)


def _then(first: Callable[[], object], second: Callable[[torch.Tensor], object], value: torch.Tensor) -> None:
    first()
    second(value)


def _copy_result(
    target: Callable[[torch.Tensor], object], function: Callable[..., torch.Tensor], args: tuple[Any, ...]
) -> None:
    target(function(*args))


def _packed(
    ctx: PrepareContext,
    input: Tensor,
    weight: Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    out: Tensor,
) -> Step | None:
    """A convolution by oneDNN with its weights in oneDNN's order; None when that does not pay or torch has no
    oneDNN.

    Torch's own `convolution` reorders them in every call, which for the last layers of a ResNet takes as
    long as the arithmetic. The price is that the result is channels-last: worth it while the weights
    outnumber the results.
    """
    pays = weight.constant and weight.numel >= max(_WORTH_PACKING, out.numel)
    if not pays or len(weight.sizes) != 4 or input.scalar_type != ScalarType.FLOAT:
        return None
    if weight.scalar_type != ScalarType.FLOAT or not torch.backends.mkldnn.is_available():
        return None

    def pack() -> torch.Tensor:
        reorder = importlib.import_module("torch._C._nn").mkldnn_reorder_conv2d_weight
        dense = alias(weight).to_mkldnn()
        made: torch.Tensor = reorder(dense, padding, stride, dilation, groups, list(input.sizes))
        return made

    geometry = (*stride, *padding, *dilation, groups, *input.sizes)
    packed = ctx.memo(("packed", weight.version, geometry), pack)
    arguments: tuple[Any, ...] = (
        alias(input),
        packed,
        bias,
        padding,
        stride,
        dilation,
        groups,
        "none",
        [],
        "",
    )
    return _copy_result, (alias(out).copy_, torch.ops.mkldnn._convolution_pointwise.default, arguments)


@special("aten::convolution.out")
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
    """A 1x1 kernel on one sample is a product straight into `out`. Otherwise torch allocates the result
    and it is copied; weights that outnumber the results are brought in order beforehand, as a second copy.
    """
    values = (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, out)
    generic = checked(ctx, "aten::convolution.out", *values)
    if not out.array.size or out.scalar_type != input.scalar_type:
        return generic
    with torch.inference_mode():
        x, w, y = alias(input), alias(weight), alias(out)
        b = None if bias is None else alias(bias)
        pointwise = (
            not transposed and groups == 1 and input.sizes[0] == 1 and out.sizes[2:] == input.sizes[2:]
        )
        plain = all(size == 1 for size in weight.sizes[2:]) and not any(padding)
        if pointwise and plain and input.scalar_type in (ScalarType.FLOAT, ScalarType.DOUBLE):
            step = _pointwise_product(x, w, b, y)
            if step is not None:
                return step
        if not transposed:
            step = _packed(ctx, input, weight, b, stride, padding, dilation, groups, out)
            if step is not None:
                return step
        arguments = (x, w, b, stride, padding, dilation, transposed, output_padding, groups)
        return _copy_result, (y.copy_, torch.convolution, arguments)
