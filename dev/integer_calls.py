"""Example calls of the operators of `integer`, which torch does not have."""

from __future__ import annotations

from typing import Final

__all__ = ["INTEGER"]

_INPUT: Final = "input_scale = 0.1, input_zero_point = 0"
_OTHER: Final = "other_scale = 0.2, other_zero_point = 0"
_OUT: Final = "out_scale = 0.3, out_zero_point = 0, out_quant_min = -128, out_quant_max = 127"
_IMAGE: Final = "stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1"
_WINDOW: Final = "kernel_size = [2, 2], stride = [2, 2], padding = [0, 0]"
_LAYER: Final = "%input, %weight, %weight_scales, %bias"

INTEGER: Final = {
    f"integer.{name}": f"%result = edge.integer.{name} {arguments} : {types}"
    for name, arguments, types in (
        ("add", f"%input, %other {{{_INPUT}, {_OTHER}, {_OUT}}}", "tensor<2x3xi8>"),
        (
            "avg_pool2d",
            f"%input {{{_INPUT}, {_WINDOW}, ceil_mode = false, count_include_pad = true, {_OUT}}}",
            "(tensor<1x3x4x4xi8>) -> tensor<1x3x2x2xi8>",
        ),
        (
            "convolution",
            f"{_LAYER} {{{_INPUT}, {_IMAGE}, {_OUT}}}",
            "(tensor<1x3x4x4xi8>, tensor<2x3x1x1xi8>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xi8>",
        ),
        (
            "linear",
            f"{_LAYER} {{{_INPUT}, {_OUT}}}",
            "(tensor<2x3xi8>, tensor<4x3xi8>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xi8>",
        ),
        ("lookup", "%input, %table", "(tensor<2x3xi8>, tensor<256xi8>) -> tensor<2x3xi8>"),
        (
            "max_pool2d",
            f"%input {{{_WINDOW}, dilation = [1, 1], ceil_mode = false}}",
            "(tensor<1x3x4x4xi8>) -> tensor<1x3x2x2xi8>",
        ),
        (
            "mean.dim",
            f"%input {{{_INPUT}, dim = [1], keepdim = false, {_OUT}}}",
            "(tensor<2x3xi8>) -> tensor<2xi8>",
        ),
        ("mul", f"%input, %other {{{_INPUT}, {_OTHER}, {_OUT}}}", "tensor<2x3xi8>"),
    )
}
"""Examples by name."""
