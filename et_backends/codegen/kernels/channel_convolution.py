"""Convolutions of each channel by itself, of any kind: vectors of channels, a few neighboring pixels at a time.

Where a channel is the source of several, it is repeated before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.filter_convolution import bias_epilogue, padded_image
from et_backends.codegen.kernels.filters import Convolution, Phase, channel_filters
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.panels import PANEL
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of

__all__ = ["MOST_REPEATED", "channel_convolution_kernel"]

MOST_REPEATED: Final = 8
"""Results of a channel up to which it is repeated; with more, panels of filters are filled well enough."""


def channel_convolution_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a convolution with one channel in each group."""
    anchor = anchor_of(kernel)
    sizes = Convolution.of(anchor)
    outside = kernel.outside()
    weight = outside[anchor.arg("weight")]
    sizes = sizes.cut_to_image(host, weight)
    epilogue = bias_epilogue(kernel, sizes)
    source = padded_image(host, host.buffer(outside[anchor.arg("input")]), sizes)
    depth, height, width = sizes.padded
    if sizes.columns != sizes.channels:
        source = _repeated(host, source, sizes)
    image = Operand(source, [sizes.batch * depth, height, width, sizes.columns])
    result = Operand(host.buffer(kernel.outputs[0]), [sizes.rows, sizes.columns])
    for phase in sizes.phases:
        filters = channel_filters(host, sizes, phase, weight)
        tile = 1 if sizes.cut else min(phase[2].count, host.tile_pixels)
        shape = _Shape(sizes, phase, tile)

        def build(b: LoopBuilder, buffers: Sequence[SSAValue], shape: _Shape = shape) -> None:
            x, w, *others, y = buffers
            epilogue.bind(others)
            _build(b, shape, epilogue, x, w, y)

        host.call("depthwise", [image, filters, *epilogue.operands(host), result], build)


@dataclass(frozen=True)
class _Shape:
    """The parameters that the code of a kernel depends on."""

    sizes: Convolution
    phase: Phase
    tile: int


def _repeated(host: Host, image: SSAValue, sizes: Convolution) -> SSAValue:
    """A buffer with each channel of an image as many times as it has results."""
    each = sizes.columns // sizes.channels
    depth, height, width = sizes.padded
    rows = sizes.batch * depth * height
    target = host.scratch(rows * width * sizes.columns)
    operands = [
        Operand(image, [rows, width * sizes.channels]),
        Operand(target, [rows, width * sizes.columns]),
    ]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, y = buffers
        with b.parallel(b.dim(x, 0)) as row, b.for_(0, b.dim(x, 1)) as loop:
            value = b.element(x, [row, loop.index])
            for number in range(each):
                b.set_element(value, y, [row, b.add(b.mul(loop.index, each), number)])

    host.call("repeat", operands, build)
    return target


def _build(b: LoopBuilder, shape: _Shape, epilogue: Epilogue, x: SSAValue, w: SSAValue, y: SSAValue) -> None:
    sizes, tile = shape.sizes, shape.tile
    depth, height, pixels = shape.phase
    channels = b.dim(y, 1)
    whole = b.multiple_below(channels, PANEL)
    with b.parallel(sizes.batch * depth.count * height.count) as row:
        line = b.remainder(row, height.count)
        plane = b.remainder(b.quotient(row, height.count), depth.count)
        number = b.quotient(row, height.count * depth.count)
        top = b.add(b.mul(line, height.step), height.start + sizes.before[1])
        near = b.add(b.mul(plane, depth.step), depth.start + sizes.before[0])
        first = b.add(b.mul(plane, depth.out_step), depth.out_first)
        first = b.add(b.mul(number, sizes.target[0]), first)
        first = b.mul(first, sizes.target[1])
        first = b.add(first, b.add(b.mul(line, height.out_step), height.out_first))
        first = b.add(b.mul(first, sizes.target[2]), pixels.out_first)
        with b.for_(0, pixels.count, tile) as loop:
            left = b.min(loop.index, pixels.count - tile)
            start = b.add(b.mul(left, pixels.step), pixels.start + sizes.before[2])
            place = b.add(first, b.mul(left, pixels.out_step))

            def vectors(
                channel: Index,
                mask: SSAValue | None,
                at: Sequence[Index] = (number, near, top, start),
                place: Index = place,
            ) -> None:
                for pixel, total in enumerate(_tile(b, shape, x, w, [*at, channel], mask)):
                    here = [b.add(place, pixel * pixels.out_step), channel]
                    epilogue.store_row(b, total, y, here, mask)

            with b.for_(0, whole, PANEL) as inner:
                vectors(inner.index, None)
            if sizes.columns % PANEL:
                vectors(whole, b.mask(b.sub(channels, whole), PANEL))


def _tile(
    b: LoopBuilder,
    shape: _Shape,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    mask: SSAValue | None,
) -> list[SSAValue]:
    """A vector of channels of each pixel of a tile."""
    number, near, top, start, channel = at
    sizes = shape.sizes
    depth, height, pixels = shape.phase
    zeros = [b.splat(0.0, vector_of(PANEL))] * shape.tile
    if not depth.taps * height.taps * pixels.taps:
        return zeros
    first_plane = b.add(b.mul(number, sizes.padded[0]), near)
    within = sizes.taps_within(b, 2, pixels, start)
    with b.for_(*sizes.taps_within(b, 0, depth, near), 1, zeros) as planes:
        plane = b.add(first_plane, b.mul(planes.index, depth.apart))
        with b.for_(*sizes.taps_within(b, 1, height, top), 1, planes.args) as lines:
            line = b.add(top, b.mul(lines.index, height.apart))
            before = b.mul(b.add(b.mul(planes.index, height.taps), lines.index), pixels.taps)
            with b.for_(*within, 1, lines.args) as places:
                column = b.add(start, b.mul(places.index, pixels.apart))
                taps = b.load_row(w, [b.add(before, places.index), channel], mask, PANEL)
                totals: list[SSAValue] = []
                for pixel, total in enumerate(places.args):
                    here = [plane, line, b.add(column, pixel * pixels.step), channel]
                    value = b.load_row(x, here, mask, PANEL)
                    totals.append(b.value(vector.FMAOp(value, taps, total)))
                places.next = totals
            lines.next = list(places.results)
        planes.next = list(lines.results)
    return list(planes.results)
