"""Borders around images: a copy with pixels of one value on each side."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_ir.codegen.kernels.host import Host, Number, Operand
from et_ir.codegen.kernels.windows import Window
from et_ir.codegen.loop_builder import Index, LoopBuilder, vector_of

__all__ = ["copy_inside", "copy_row", "fill_row", "padded"]

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
