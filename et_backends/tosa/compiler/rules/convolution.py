"""Rules of convolutions of one and two dimensions, grouped, depthwise and transposed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import CannotLegalize, Legalizer
from et_backends.tosa.compiler.rules.rule import Rule, require_float
from et_backends.tosa.compiler.rules.windows import fitted
from et_backends.tosa.format.graph import DType, Op
from et_ir.dialects.schema import SchemaOp
from et_ir.evaluation.arrays import Array

__all__ = ["RULES", "convolved"]


def _square(op: SchemaOp, name: str, flat: bool, one: int) -> list[int]:
    """A pair for rows and columns; a convolution of one dimension has one row."""
    found = [int(number) for number in op.arg(name)]
    if flat:
        return [one, found[0]]
    return found * 2 if len(found) == 1 else found


def convolved(
    t: Legalizer,
    op: SchemaOp,
    image: SSAValue,
    filters: Array,
    bias: SSAValue,
    zero_points: tuple[int, int] = (0, 0),
) -> SSAValue:
    """A convolution of an image with its channels last; filters are in the order of the edge level.

    `bias` is of the type of the sums. Zero points are those of the image and of the filters.
    """
    flat = len(t.shape_of(op.arg("input"))) == 3
    stride, padding, dilation, adjustment = (
        _square(op, name, flat, one)
        for name, one in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0))
    )
    groups = int(op.arg("groups"))
    kind = t.dtype(image)
    sums = {DType.INT8: DType.INT32, DType.INT16: DType.INT48}.get(kind, kind)
    acc = DType.FP32 if sums is DType.FP16 else sums
    ends = (t.zero_point(image, zero_points[0]), t.splat(zero_points[1], kind))
    key = "filters"
    if op.arg("transposed"):
        if groups != 1 or dilation != [1, 1]:
            raise CannotLegalize("a transposed convolution in groups, or with dilation")
        pads = [-padding[0], adjustment[0] - padding[0], -padding[1], adjustment[1] - padding[1]]
        weight = t.const(filters.transpose(1, 2, 3, 0), kind, key)
        return t.emit(
            Op.TRANSPOSE_CONV2D, image, weight, bias, *ends, out_pad=pads, stride=stride, acc_type=acc
        )
    outputs, depth, rows, columns = filters.shape
    image, pads = fitted(t, image, (rows, columns), stride, padding, dilation)
    settings: dict[str, Any] = {"pad": pads, "stride": stride, "dilation": dilation, "acc_type": acc}
    channels = t.shape_of(image)[3]
    if groups == channels and depth == 1 and groups > 1:
        # Output channel `c * M + m` is of input channel `c`.
        packed = filters.reshape(channels, outputs // channels, rows, columns).transpose(2, 3, 0, 1)
        return t.emit(Op.DEPTHWISE_CONV2D, image, t.const(packed, kind, key), bias, *ends, **settings)
    packed = filters.transpose(0, 2, 3, 1)
    if groups == 1:
        return t.emit(Op.CONV2D, image, t.const(packed, kind, key), bias, *ends, **settings)
    parts: list[SSAValue] = []
    step = outputs // groups
    for group in range(groups):
        part = t.part(image, 3, group * depth, depth)
        weight = t.const(packed[group * step : (group + 1) * step], kind, key)
        added = bias if t.shape_of(bias) == (1,) else t.part(bias, 0, group * step, step)
        parts.append(t.emit(Op.CONV2D, part, weight, added, *ends, **settings))
    return t.emit(Op.CONCAT, *parts, axis=3)


def as_image(t: Legalizer, x: SSAValue) -> SSAValue:
    """The operand of a convolution with its channels last: a signal is an image of one row."""
    shape = t.shape_of(x)
    if len(shape) == 3:
        return t.reshape(t.transpose(x, (0, 2, 1)), (shape[0], 1, shape[2], shape[1]))
    return t.to_nhwc(x)


def as_result(t: Legalizer, op: SchemaOp, made: SSAValue) -> SSAValue:
    """The result of a convolution in the order of the edge level."""
    shape = t.shape_of(op.results[0])
    if len(shape) == 3:
        return t.transpose(t.reshape(made, (shape[0], shape[2], shape[1])), (0, 2, 1))
    return t.to_nchw(made)


def filters_of(t: Legalizer, op: SchemaOp, weight: SSAValue | None = None) -> Array:
    """The filters of a convolution, with a row of one where there are no rows. Raises `CannotLegalize`."""
    filters = t.constant(op.arg("weight") if weight is None else weight)
    if filters is None:
        raise CannotLegalize("the weight is not a constant")
    if filters.ndim not in (3, 4):
        raise CannotLegalize(f"a convolution of {filters.ndim - 2} dimensions")
    return filters[:, :, np.newaxis] if filters.ndim == 3 else filters


def _convolution(t: Legalizer, op: SchemaOp) -> SSAValue:
    x: SSAValue = op.arg("input")
    require_float(t, x)
    filters = filters_of(t, op)
    bias: SSAValue | None = op.arg("bias")
    added = t.splat(0, t.dtype(x)) if bias is None else bias
    return as_result(t, op, convolved(t, op, as_image(t, x), filters, added))


RULES: Final[dict[str, Rule]] = {"convolution": _convolution}
