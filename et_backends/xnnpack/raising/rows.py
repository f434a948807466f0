"""Rows that XNNPACK quantizes while a graph runs, as ops: each with a scale and a zero point of its own.

The ops are those that `quantize_` of torchao comes down to, which partitioners know
(`et_backends.xnnpack.compiler.dynamic`). XNNPACK takes the end of the range with the smaller error for the zero point,
torchao the lower one: integers that are at a tie may differ by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import f32, i8, i64
from xdsl.ir import SSAValue

__all__ = ["quantized_image", "quantized_rows"]

Make = Callable[..., SSAValue]
"""Makes an edge op by name, and returns its first result."""

_Q: Final = "quantized_decomposed"
_LOW, _HIGH = -128, 127
_EPS: Final = float(np.finfo(np.float32).eps)
"""The least scale."""


def quantized_rows(make: Make, x: SSAValue) -> SSAValue:
    """A matrix whose rows have been quantized to 8 bits and restored."""

    def to(dtype: Any, value: SSAValue) -> SSAValue:
        return make("dim_order_ops._to_dim_order_copy", value, dtype=dtype)

    least, most = (make(name, x, [-1]) for name in ("amin", "amax"))
    low = make("minimum", least, make("full_like", least, 0.0))
    high = make("maximum", most, make("full_like", most, 0.0))
    width = make("div.Scalar", make("sub.Tensor", high, low), float(_HIGH - _LOW))
    scale = make("clamp", width, _EPS)
    offset = make("rsub.Scalar", make("round", make("div.Tensor", low, scale)), _LOW)
    zero_point = to(i8, make("clamp", offset, _LOW, _HIGH))
    scales = make("view_copy", scale, [-1, 1])
    zero_points = to(f32, make("view_copy", zero_point, [-1, 1]))
    whole = make("round", make("mul.Tensor", x, make("reciprocal", scales)))
    integers = to(i8, make("clamp", make("add.Tensor", whole, zero_points), _LOW, _HIGH))
    points = to(i64, zero_point)
    return make(f"{_Q}.dequantize_per_channel", integers, scale, points, 0, _LOW, _HIGH, i8)


def quantized_image(choose: Callable[..., tuple[SSAValue, SSAValue]], make: Make, x: SSAValue) -> SSAValue:
    """One image that has been quantized to 8 bits by the range of its numbers, and restored; `choose` makes an op of
    two results.
    """
    scale, zero_point = choose(f"{_Q}.choose_qparams.tensor", x, _LOW, _HIGH, _EPS, i8)
    limits = scale, zero_point, _LOW, _HIGH, i8
    return make(
        f"{_Q}.dequantize_per_tensor.tensor", make(f"{_Q}.quantize_per_tensor.tensor", x, *limits), *limits
    )
