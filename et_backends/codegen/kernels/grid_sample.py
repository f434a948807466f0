"""Kernels that read images at the points of a grid.

Positions and weights are computed for each pixel of the result, as torch's vectors do, for all of its channels. What is
outside of the image is not read: the mask of such a load is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith, math, vector
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.float_rules import Floats
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.panels import PANEL
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.taps import Tap, Taps
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import product, shape_of
from et_ir.dialects.schema import SchemaOp

__all__ = ["GRID_SAMPLES", "grid_sample_kernel", "is_taken"]

GRID_SAMPLES: Final = frozenset({"grid_sampler_2d"})
"""Operators with kernels of this form."""

_BILINEAR, _NEAREST = range(2)
_ZEROS, _BORDER, _REFLECTION = range(3)


def is_taken(op: SchemaOp) -> bool:
    """Whether there is a kernel for the interpolation: bilinear or nearest."""
    return op.arg("interpolation_mode") in (_BILINEAR, _NEAREST)


def grid_sample_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel of images `[batch, row, column, channel]` at points `[batch, row, column, (x, y)]`."""
    anchor = anchor_of(kernel)
    outside = kernel.outside()
    batch, channels, in_height, in_width = shape_of(anchor.arg("input"))
    _, height, width, _ = shape_of(anchor.arg("grid"))
    rows, pixels = product((batch, height)), product((batch, height, width))
    epilogue = Epilogue(kernel, anchor, pixels, channels)
    shape = _Shape(
        anchor.arg("interpolation_mode") == _BILINEAR, anchor.arg("padding_mode"), anchor.arg("align_corners")
    )
    operands = [
        Operand(host.buffer(outside[anchor.arg("input")]), [batch, in_height, in_width, channels]),
        Operand(host.buffer(outside[anchor.arg("grid")]), [rows, width, 2], fixed=[2]),
        *epilogue.operands(host),
        Operand(host.buffer(kernel.outputs[0]), [pixels, channels]),
    ]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, grid, *others, y = buffers
        epilogue.bind(others)
        _build(b, shape, epilogue, x, grid, y)

    host.call("grid_sample", operands, build)


@dataclass(frozen=True)
class _Shape:
    """The parameters that the code of a kernel depends on."""

    bilinear: bool
    padding: int
    align_corners: bool


def _build(
    b: LoopBuilder, shape: _Shape, epilogue: Epilogue, x: SSAValue, grid: SSAValue, y: SSAValue
) -> None:
    rows, width, channels = b.dim(grid, 0), b.dim(grid, 1), b.dim(y, 1)
    height = b.quotient(rows, b.dim(x, 0))
    positions = [_Axis(b, shape, b.dim(x, 1 + axis)) for axis in range(2)]
    with b.parallel(rows) as row:
        number = b.quotient(row, height)
        with b.for_(0, width) as loop:
            pixel = b.add(b.mul(row, width), loop.index)
            # x before y.
            down, across = (
                one.taps(b.load(grid, [row, loop.index, 1 - axis], vector_of(1)))
                for axis, one in enumerate(positions)
            )
            corners = [_corner(b, x, number, above, left) for above in down for left in across]
            with b.for_(0, channels, PANEL) as inner:
                left_over = b.sub(channels, inner.index)
                total = b.splat(0.0, vector_of(PANEL))
                for corner in corners:
                    # Of a corner outside of the image no channel is there.
                    mask = b.mask(b.choose(corner.inside, left_over, 0), PANEL)
                    value = b.load_row(x, [*corner.at, inner.index], mask, PANEL)
                    if corner.weight is None:
                        total = value
                    else:
                        weight = b.broadcast(corner.weight, vector_of(PANEL))
                        total = b.value(vector.FMAOp(value, weight, total))
                epilogue.store_row(b, total, y, [pixel, inner.index], b.mask(left_over, PANEL))


@dataclass(frozen=True)
class _Corner:
    inside: SSAValue
    at: Sequence[Index]
    weight: SSAValue | None


def _corner(b: LoopBuilder, x: SSAValue, number: Index, row: Tap, column: Tap) -> _Corner:
    inside: SSAValue | None = None
    for axis, tap in enumerate((row, column)):
        for one in (b.at_least(tap.place, 0), b.below(tap.place, b.dim(x, 1 + axis))):
            inside = one if inside is None else b.both(inside, one)
    assert inside is not None
    weight = None
    if row.weight is not None and column.weight is not None:
        weight = b.value(arith.MulfOp(column.weight, row.weight))
    return _Corner(inside, [number, row.place, column.place], weight)


class _Axis:
    """A dimension of the image: the places that a coordinate is between."""

    def __init__(self, b: LoopBuilder, shape: _Shape, size: Index):
        self._b, self._shape, self._size = b, shape, size
        self._taps = Taps(b)
        length = b.to_float(size)
        half = b.number(0.5, length.type)
        first = b.value(arith.SubfOp(length, b.number(1.0, length.type)))
        self._last = b.broadcast(first, vector_of(1))
        self._length = b.broadcast(length, vector_of(1))
        self._half = b.broadcast(b.value(arith.MulfOp(length, half)), vector_of(1))

    def taps(self, unit: SSAValue) -> list[Tap]:
        """The places for a coordinate from -1 to 1, a vector of one element."""
        b, v = self._b, Floats(self._b)
        position = self._padded(self._position(unit))
        if not self._shape.bilinear:
            return [Tap(self._index(b.value(math.RoundEvenOp(position))))]
        low = b.value(math.FloorOp(position))
        first = self._index(low)
        weights = v.sub(v.add(low, 1.0), position), v.sub(position, low)
        return self._taps.two((first, b.add(first, 1)), weights)

    def _position(self, unit: SSAValue) -> SSAValue:
        """In pixels, rounded as torch's vectors do."""
        b, v = self._b, Floats(self._b)
        if self._shape.align_corners:
            return v.mul(v.mul(v.add(unit, 1.0), 0.5), self._last)
        return b.value(vector.FMAOp(v.add(unit, 1.0), self._half, b.splat(-0.5, vector_of(1))))

    def _padded(self, position: SSAValue) -> SSAValue:
        """Positions outside of the image brought where the padding says."""
        v, padding = Floats(self._b), self._shape.padding
        if padding == _ZEROS:
            return position
        if padding == _REFLECTION:
            position = self._reflected(position)
        # A NaN goes to the first pixel, as in torch.
        position = v.choose(position, "ogt", 0.0, position, 0.0)
        return v.choose(position, "olt", self._last, position, self._last)

    def _reflected(self, position: SSAValue) -> SSAValue:
        """Folded between the centers or the outer edges of the first and the last pixel."""
        b, v = self._b, Floats(self._b)
        least = 0.0 if self._shape.align_corners else -0.5
        span = self._last if self._shape.align_corners else self._length
        both = v.add(span, span)
        inside = v.abs(v.sub(position, least))
        turns = b.value(math.TruncOp(v.div(inside, both)))
        rest = b.value(vector.FMAOp(b.value(arith.NegfOp(turns)), both, inside))
        other = v.sub(both, rest)
        folded = v.add(v.choose(rest, "olt", other, rest, other), least)
        return v.choose(span, "oeq", 0.0, 0.0, folded)

    def _index(self, position: SSAValue) -> Index:
        """A whole position as an index; what no index can be is outside, and so is its successor."""
        v = Floats(self._b)
        position = v.choose(position, "oge", -1.0, position, -2.0)
        return self._taps.index(v.choose(position, "ole", self._length, position, -2.0))
