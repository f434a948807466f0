"""Rules of pooling."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import FLOATS, CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, pair, require_float
from et_backends.tosa.compiler.rules.windows import fitted
from et_backends.tosa.format.graph import DType, Op
from et_ir.dialects.schema import SchemaOp

__all__ = ["RULES", "max_pooled"]


def max_pooled(t: Legalizer, op: SchemaOp, image: SSAValue) -> SSAValue:
    """The maxima of windows of an image with its channels last."""
    if pair(op.arg("dilation")) != [1, 1]:
        raise CannotLegalize("pooling with dilation")
    kernel, padding = pair(op.arg("kernel_size")), pair(op.arg("padding"))
    stride = pair(op.arg("stride") or op.arg("kernel_size"))
    _whole(t, op, image, kernel, stride, padding)
    image, pads = fitted(t, image, kernel, stride, padding)
    return t.emit(Op.MAX_POOL2D, image, kernel=kernel, stride=stride, pad=pads)


def _whole(
    t: Legalizer, op: SchemaOp, image: SSAValue, kernel: list[int], stride: list[int], padding: list[int]
) -> None:
    """Raise `CannotLegalize` where `ceil_mode` adds windows that begin in the image and end outside its padding."""
    have, want = t.shape_of(image)[1:3], t.shape_of(op.results[0])[-2:]
    for number in range(2):
        count = (have[number] + 2 * padding[number] - kernel[number]) // stride[number] + 1
        if count != want[number]:
            raise CannotLegalize("windows beyond the padding (ceil_mode)")


def _max_pool(t: Legalizer, op: SchemaOp) -> list[SSAValue | None]:
    if op.results[1].uses:
        raise CannotLegalize("the places of the maxima are used")
    x: SSAValue = op.arg("self")
    if t.dtype(x) not in (*FLOATS, DType.INT8):
        raise CannotLegalize(f"element type {t.dtype(x).name}")
    return [t.to_nchw(max_pooled(t, op, t.to_nhwc(x))), None]


def _avg_pool(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    if op.arg("divisor_override") is not None:
        raise CannotLegalize("a divisor that is not the size of the window")
    kernel, padding = pair(op.arg("kernel_size")), pair(op.arg("padding"))
    stride = pair(op.arg("stride") or op.arg("kernel_size"))
    image = t.to_nhwc(x)
    _whole(t, op, image, kernel, stride, padding)
    if any(padding) and op.arg("count_include_pad"):
        # AVG_POOL2D divides by the number of elements in the image.
        image = t.pad(image, [0, 0, padding[0], padding[0], padding[1], padding[1], 0, 0])
        padding = [0, 0]
    image, pads = fitted(t, image, kernel, stride, padding)
    zero = t.zero_point(image)
    made = t.emit(
        Op.AVG_POOL2D, image, zero, zero, kernel=kernel, stride=stride, pad=pads, acc_type=DType.FP32
    )
    return t.to_nchw(made)


def _adaptive_avg_pool(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("self")
    require_float(t, x)
    image = t.to_nhwc(x)
    have, want = t.shape_of(image)[1:3], t.shape_of(op.results[0])[-2:]
    if have[0] % want[0] or have[1] % want[1]:
        raise CannotLegalize("windows of several sizes")
    kernel = [have[0] // want[0], have[1] // want[1]]
    zero = t.zero_point(image)
    made = t.emit(
        Op.AVG_POOL2D, image, zero, zero, kernel=kernel, stride=kernel, pad=[0] * 4, acc_type=DType.FP32
    )
    return t.to_nchw(made)


RULES: Final[dict[str, Rule]] = {
    "_adaptive_avg_pool2d": _adaptive_avg_pool,
    "avg_pool2d": _avg_pool,
    "max_pool2d_with_indices": _max_pool,
}
