"""Borders around images: a copy with pixels of one value on each side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.host import Host, Number, Operand
from et_backends.codegen.kernels.pointwise_rules import anchor_of
from et_backends.codegen.kernels.windows import Window
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Part", "copy_inside", "copy_row", "fill_row", "image_parts", "padded", "padded_parts"]

VECTORS = 4


def padded(host: Host, image: SSAValue, window: Window, channels: int, border: float) -> SSAValue:
    """A buffer with the image, channels innermost, and all that windows cover around it."""
    if not window.needs_border:
        return image
    height, width = window.padded_height, window.padded_width
    target = host.scratch(window.batch * height * width * channels)
    source = Operand(image, [window.batch, window.in_height, window.in_width * channels])
    result = Operand(target, [window.batch * height, width * channels])
    numbers = height, window.in_height, window.border_y, window.border_x * channels
    # One kernel for images of all sizes, unless code is to be small or fine: that is for the numbers of its call.
    told = not (host.fine or host.small or host.few)
    lanes = host.lanes

    def build(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        x, y, *given = arguments
        height, lines, above, before = given if told else numbers
        inner = b.dim(x, 2)
        if b.fine:
            with b.each([b.dim(y, 0), b.dim(y, 1)]) as (row, column):
                line = b.sub(b.remainder(row, height), above)
                place = b.sub(column, before)
                bounds = [(line, lines), (place, inner)]
                here = [b.quotient(row, height), line, place]
                copy_inside(b, x, here, bounds, y, [row, column], border)
            return
        with b.parallel(b.dim(y, 0)) as row:
            number = b.quotient(row, height)
            line = b.sub(b.remainder(row, height), above)
            with b.if_(b.both(b.at_least(line, 0), b.below(line, lines))) as otherwise:
                fill_row(b, y, row, 0, before, border, lanes)
                copy_row(b, x, [number, line, 0], y, [row, before], inner, lanes)
                fill_row(b, y, row, b.add(inner, before), b.dim(y, 1), border, lanes)
                with otherwise():
                    fill_row(b, y, row, 0, b.dim(y, 1), border, lanes)

    operands = [source, result, *(map(Number, numbers) if told else ())]
    host.call("pad", operands, build, border if told else None)
    return target


@dataclass(frozen=True)
class Part:
    """Some channels of an image: a value with channels innermost, and how many these are."""

    value: SSAValue
    channels: int


def image_parts(kernel: KernelOp, image: SSAValue) -> list[Part]:
    """The parts that a kernel's image is concatenated of, in the order of channels; itself if it is not."""
    outside = kernel.outside()
    values = [image]
    if isinstance(image.owner, KernelOp):
        inside = image.owner.outside()
        values = [inside[value] for value in anchor_of(image.owner).operands]
    return [Part(outside[value], tensor_type(value).get_shape()[1]) for value in values]


def padded_parts(host: Host, parts: Sequence[Part], window: Window, channels: int, border: float) -> SSAValue:
    """As `padded`, of an image of several parts, which have no memory in common before."""
    if len(parts) == 1:
        return padded(host, host.buffer(parts[0].value), window, channels, border)
    height, width = window.padded_height, window.padded_width
    target = host.scratch(window.batch * height * width * channels)
    lines = Operand(target, [window.batch * height, width * channels])
    pixels = Operand(target, [window.batch * height, width, channels])
    inner = window.in_width * channels
    numbers = [height, window.in_height, window.border_y, window.border_x * channels, inner]
    lanes = host.lanes

    def fill(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        y, height, lines, above, before, inner = arguments
        with b.parallel(b.dim(y, 0)) as row:
            line = b.sub(b.remainder(row, height), above)
            with b.if_(b.both(b.at_least(line, 0), b.below(line, lines))) as otherwise:
                fill_row(b, y, row, 0, before, border, lanes)
                fill_row(b, y, row, b.add(before, inner), b.dim(y, 1), border, lanes)
                with otherwise():
                    fill_row(b, y, row, 0, b.dim(y, 1), border, lanes)

    def copy(b: LoopBuilder, arguments: Sequence[SSAValue]) -> None:
        x, y, height, lines, above, left, first = arguments
        count = b.dim(x, 2)
        whole = b.multiple_below(count, lanes)
        with b.parallel(b.dim(x, 0)) as row:
            line = b.add(b.add(b.mul(b.quotient(row, lines), height), b.remainder(row, lines)), above)
            with b.for_(0, b.dim(x, 1)) as pixel:
                place = b.add(pixel.index, left)
                with b.for_(0, whole, lanes) as loop:
                    value = b.load(x, [row, pixel.index, loop.index], vector_of(lanes))
                    b.store(value, y, [line, place, b.add(loop.index, first)])
                with b.if_(b.below(whole, count)):
                    mask = b.mask(b.sub(count, whole), lanes)
                    value = b.load_row(x, [row, pixel.index, whole], mask, lanes)
                    b.masked_store(value, y, [line, place, b.add(whole, first)], mask)

    host.call("border", [lines, *map(Number, numbers)], fill, border)
    first = 0
    for part in parts:
        rows = window.batch * window.in_height
        source = Operand(host.buffer(part.value), [rows, window.in_width, part.channels])
        places = [height, window.in_height, window.border_y, window.border_x, first]
        host.call("cat", [source, pixels, *map(Number, places)], copy, "into a border")
        first += part.channels
    return target


def copy_inside(
    b: LoopBuilder,
    x: SSAValue,
    source: Sequence[Index],
    bounds: Sequence[tuple[Index, Index]],
    y: SSAValue,
    target: Sequence[Index],
    border: float,
) -> None:
    """Copy an element if each place of `bounds` is from 0 on and below its size, else write the border."""
    inside: SSAValue | None = None
    for place, size in bounds:
        for bound in (b.at_least(place, 0), b.below(place, size)):
            inside = bound if inside is None else b.both(inside, bound)
    assert inside is not None
    with b.if_(inside) as otherwise:
        b.set_element(b.element(x, source), y, target)
        with otherwise():
            b.set_element(b.number(border, b.element_type(y)), y, target)


def fill_row(
    b: LoopBuilder, y: SSAValue, row: Index, start: Index, end: Index, border: float, lanes: int
) -> None:
    """Fill a row with a value, from `start` to `end`."""
    if start == end:
        return
    value = b.splat(border, vector_of(lanes))
    whole = b.add(start, b.multiple_below(b.sub(end, start), lanes))
    with b.for_(start, whole, lanes) as loop:
        b.store(value, y, [row, loop.index])
    with b.if_(b.below(whole, end)):
        b.masked_store(value, y, [row, whole], b.mask(b.sub(end, whole), lanes))


def copy_row(
    b: LoopBuilder,
    x: SSAValue,
    source: Sequence[Index],
    y: SSAValue,
    target: Sequence[Index],
    count: Index,
    lanes: int,
) -> None:
    """Copy `count` elements of a row, from the last place of `source` on."""
    row, start = target
    *source, first = source
    width = lanes * VECTORS
    whole = b.multiple_below(count, width)
    with b.for_(0, whole, width) as loop:
        b.store(
            b.load(x, [*source, b.add(first, loop.index)], vector_of(width)),
            y,
            [row, b.add(start, loop.index)],
        )
    with b.for_(whole, count, lanes) as loop:
        mask = b.mask(b.sub(count, loop.index), lanes)
        value = b.masked_load(x, [*source, b.add(first, loop.index)], mask, b.splat(0.0, vector_of(lanes)))
        b.masked_store(value, y, [row, b.add(start, loop.index)], mask)
