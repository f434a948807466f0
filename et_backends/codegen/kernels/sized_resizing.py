"""Resizes of images whose sizes are known at run time only: pixels and weights are computed where tables hold them for
known sizes, with the same roundings (`et_backends.codegen.kernels.resampling`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.float_rules import Floats
from et_backends.codegen.kernels.host import Host, Number, Operand
from et_backends.codegen.kernels.panels import PANEL
from et_backends.codegen.kernels.pointwise_rules import anchor_of, mul, operator_name
from et_backends.codegen.kernels.taps import Tap, Taps
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, product, shape_of
from et_ir.dialects.edge.attributes import is_channels_last
from et_ir.dialects.edge.resampling import factors_of
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.resampling import FEWEST_CHANNELS, LARGEST_SUM

__all__ = ["sized_resize_kernel"]


def sized_resize_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel of images `[batch, row, column, channel]`, resized to the nearest pixels or linearly."""
    anchor = anchor_of(kernel)
    outside = kernel.outside()
    image = anchor.operands[0]
    batch, channels, in_height, in_width = shape_of(image)
    _, _, height, width = shape_of(anchor.results[0])
    pixels = product((batch, height, width))
    epilogue = Epilogue(kernel, anchor, pixels, channels)
    linear = "bilinear" in operator_name(anchor)
    corners = linear and bool(anchor.arg("align_corners"))
    by_sizes = is_channels_last(tensor_type(image)) and _has_many(channels)
    shapes = [_Shape(linear, corners, factor, by_sizes) for factor in factors_of(anchor)]
    operands = [
        Operand(host.buffer(outside[image]), [batch, in_height, in_width, channels]),
        *epilogue.operands(host),
        Operand(host.buffer(kernel.outputs[0]), [pixels, channels]),
        Number(height),
        Number(width),
    ]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, *others, y, height, width = buffers
        epilogue.bind(others)
        _build(b, shapes, epilogue, x, y, (height, width))

    host.call("resize", operands, build)


def _has_many(channels: Size) -> bool:
    return isinstance(channels, int) and channels >= FEWEST_CHANNELS


@dataclass(frozen=True)
class _Shape:
    """The parameters that the code for a dimension depends on."""

    linear: bool
    corners: bool
    factor: float | None
    """That of the sizes, if it is given."""
    by_sizes: bool
    """Whether nearest neighbors of a dimension that keeps or doubles its size go by the sizes, also of large images."""


def _build(
    b: LoopBuilder,
    shapes: Sequence[_Shape],
    epilogue: Epilogue,
    x: SSAValue,
    y: SSAValue,
    sizes: tuple[Index, Index],
) -> None:
    height, width = sizes
    channels = b.dim(y, 1)
    is_small = b.below(b.add(height, width), LARGEST_SUM + 1)
    down, across = (
        _Axis(b, shape, b.dim(x, 1 + axis), size, is_small)
        for axis, (shape, size) in enumerate(zip(shapes, sizes, strict=True))
    )
    with b.parallel(b.mul(b.dim(x, 0), height)) as row:
        number = b.quotient(row, height)
        rows = down.taps(b.remainder(row, height))
        with b.for_(0, width) as loop:
            columns = across.taps(loop.index)
            pixel = b.add(b.mul(row, width), loop.index)
            with b.for_(0, channels, PANEL) as inner:
                mask = b.mask(b.sub(channels, inner.index), PANEL)
                lines = [
                    _weighted(
                        b,
                        columns,
                        [
                            b.load_row(x, [number, one.place, other.place, inner.index], mask, PANEL)
                            for other in columns
                        ],
                    )
                    for one in rows
                ]
                epilogue.store_row(b, _weighted(b, rows, lines), y, [pixel, inner.index], mask)


def _weighted(b: LoopBuilder, taps: Sequence[Tap], values: Sequence[SSAValue]) -> SSAValue:
    """The sum of vectors by the weights of taps; the vector of one without a weight."""
    total: SSAValue | None = None
    for tap, value in zip(taps, values, strict=True):
        if tap.weight is None:
            return value
        weight = b.broadcast(tap.weight, vector_of(PANEL))
        total = mul(b, value, weight) if total is None else b.value(vector.FMAOp(value, weight, total))
    assert total is not None
    return total


class _Axis:
    """A dimension of the image and of the result."""

    def __init__(self, b: LoopBuilder, shape: _Shape, source: Index, target: Index, is_small: SSAValue):
        self._b, self._shape, self._is_small = b, shape, is_small
        self._last = b.sub(source, 1)
        self._taps = Taps(b)
        self._kept = b.value(arith.CmpiOp(b.index(source), b.index(target), "eq"))
        self._step = b.broadcast(self._distance(source, target), vector_of(1))

    def _distance(self, source: Index, target: Index) -> SSAValue:
        """Between neighbors of the result, in pixels of the image."""
        b, shape = self._b, self._shape
        if shape.corners:
            # Of one pixel, the first is taken; the divisor does not matter.
            divisor = b.to_float(b.max(b.sub(target, 1), 1))
            step = b.value(arith.DivfOp(b.to_float(b.sub(source, 1)), divisor))
            return b.value(arith.SelectOp(b.below(1, target), step, b.number(0.0, f32)))
        if shape.factor is not None and shape.factor > 0:
            step = b.number(float(np.float32(1.0 / shape.factor)), f32)
        else:
            return b.value(arith.DivfOp(b.to_float(source), b.to_float(target)))
        if not shape.linear:
            # One of torch's kernels copies and repeats pixels there (`et_ops.resampling`).
            for times in (1, 2):
                alike = b.value(arith.CmpiOp(b.index(b.mul(source, times)), b.index(target), "eq"))
                chosen = alike if shape.by_sizes else b.value(arith.AndIOp(alike, self._is_small))
                step = b.value(arith.SelectOp(chosen, b.number(1.0 / times, f32), step))
            return step
        # A size that is kept is copied by torch, whatever the factor.
        return b.value(arith.SelectOp(self._kept, b.number(1.0, f32), step))

    def taps(self, place: Index) -> list[Tap]:
        """The pixels for a place of the result."""
        b, v = self._b, Floats(self._b)
        at = b.broadcast(b.to_float(place), vector_of(1))
        if not self._shape.linear:
            nearest = self._taps.index(b.value(math.FloorOp(v.mul(at, self._step))))
            return [Tap(b.min(nearest, self._last))]
        exact = v.mul(self._step, at if self._shape.corners else v.add(at, 0.5))
        if not self._shape.corners:
            exact = v.sub(exact, 0.5)
            exact = v.choose(exact, "ogt", 0.0, exact, 0.0)
        low = b.value(math.FloorOp(exact))
        first = b.min(self._taps.index(low), self._last)
        share = v.sub(exact, b.broadcast(b.to_float(first), vector_of(1)))
        share = v.choose(share, "olt", 1.0, share, 1.0)
        second = b.choose(self._kept, first, b.min(b.add(first, 1), self._last))
        return self._taps.two((first, second), (v.sub(b.splat(1.0, vector_of(1)), share), share))
