"""Bordered copies of images of bytes, with channels padded to fours."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.quantization_rules import i8
from et_backends.codegen.kernels.windows import Window
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of

__all__ = ["bordered", "bordered_planes", "bordered_runs"]

WIDTH = 64
"""Bytes that are copied at once."""


def bordered(host: Host, image: SSAValue, window: Window, channels: int, padded: int, value: int) -> SSAValue:
    """A buffer with an image, channels innermost, and all that windows cover around it; the image itself if that is it.

    Pixels of the border, and channels from `channels` up to `padded`, are `value`.
    """
    if not window.needs_border and channels == padded:
        return image
    height, width = window.padded_height, window.padded_width
    target = host.scratch(window.batch * height * width * padded, i8)
    source = Operand(image, [window.batch, window.in_height, window.in_width * channels])
    result = Operand(target, [window.batch * height, width * padded])
    fill = value if value < 128 else value - 256

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, y = buffers
        end = width * padded
        inner = window.in_width * padded
        before = window.border_x * padded
        with b.parallel(b.dim(y, 0)) as row:
            number = b.quotient(row, height)
            line = b.sub(b.remainder(row, height), window.border_y)
            with b.if_(b.both(b.at_least(line, 0), b.below(line, window.in_height))) as otherwise:
                _fill(b, y, row, 0, before, fill)
                if channels == padded:
                    _copy(b, x, [number, line, 0], y, [row, before], inner)
                else:
                    _copy_pixels(
                        b, x, [number, line], y, row, before, window.in_width, channels, padded, fill
                    )
                _fill(b, y, row, before + inner, end, fill)
                with otherwise():
                    _fill(b, y, row, 0, end, fill)

    host.call("border", [source, result], build)
    return target


def bordered_planes(host: Host, image: SSAValue, window: Window, channels: int, value: int) -> SSAValue:
    """As `bordered`, of up to four channels that follow each other in memory; pixels of the result have four."""
    height, width = window.padded_height, window.padded_width
    lanes = 1 if host.small else 16
    target = host.scratch(window.batch * height * width * 4, i8)
    source = Operand(image, [window.batch, channels, window.in_height, window.in_width])
    result = Operand(target, [window.batch * height * width * 4])
    fill = int.from_bytes(bytes([value] * 4), "little", signed=True)
    type = vector_of(lanes, element=i32)

    def fill_quads(b: LoopBuilder, y: SSAValue, row: Index, start: int, end: int) -> None:
        with b.for_(start, end, lanes) as loop:
            mask = b.mask(b.sub(end, loop.index), lanes)
            b.masked_store(b.splat(fill, type), y, [row, loop.index], mask)

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, held = buffers
        y = b.quads(held, [window.batch * height, width])
        with b.parallel(window.batch * height) as row:
            number = b.quotient(row, height)
            line = b.sub(b.remainder(row, height), window.border_y)
            with b.if_(b.both(b.at_least(line, 0), b.below(line, window.in_height))) as otherwise:
                fill_quads(b, y, row, 0, window.border_x)
                with b.for_(0, window.in_width, lanes) as loop:
                    mask = b.mask(b.sub(window.in_width, loop.index), lanes)
                    planes = [
                        b.load_row(x, [number, channel, line, loop.index], mask, lanes, i8)
                        for channel in range(channels)
                    ]
                    at = [row, b.add(loop.index, window.border_x)]
                    b.masked_store(b.joined_bytes(planes), y, at, mask)
                fill_quads(b, y, row, window.border_x + window.in_width, width)
                with otherwise():
                    fill_quads(b, y, row, 0, width)

    host.call("border", [source, result], build)
    return target


def bordered_runs(host: Host, image: SSAValue, window: Window, value: int) -> SSAValue:
    """As `bordered`, of images of one channel: pixels of the result have the bytes of four neighbors, their own first.

    A window over these has neighbors of every fourth pixel.
    """
    height, width = window.padded_height, window.padded_width
    target = host.scratch(window.batch * height * width * 4, i8)
    source = Operand(image, [window.batch, window.in_height, window.in_width])
    result = Operand(target, [window.batch * height * width * 4])
    fill = int.from_bytes(bytes([value] * 4), "little", signed=True)
    type = vector_of(1, element=i32)

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, held = buffers
        y = b.quads(held, [window.batch * height, width])
        with b.parallel(window.batch * height) as row:
            number = b.quotient(row, height)
            line = b.sub(b.remainder(row, height), window.border_y)
            border = b.splat(fill, type)
            with b.if_(b.both(b.at_least(line, 0), b.below(line, window.in_height))) as otherwise:
                end = window.border_x + window.in_width
                # From the last pixel to the first, each of which has three of the one before.
                for column in range(end, width):
                    b.store(border, y, [row, column])
                with b.for_(0, window.in_width, 1, [border]) as loop:
                    (before,) = loop.args
                    place = b.sub(window.in_width - 1, loop.index)
                    byte = b.load_row(x, [number, line, place], None, 1, i8)
                    run = _pushed(b, before, b.convert("zext", byte, i32))
                    b.store(run, y, [row, b.add(place, window.border_x)])
                    loop.next = [run]
                (run,) = loop.results
                for column in reversed(range(window.border_x)):
                    run = _pushed(b, run, b.splat(value, type))
                    b.store(run, y, [row, column])
                with otherwise(), b.for_(0, width) as loop:
                    b.store(border, y, [row, loop.index])

    host.call("border", [source, result], build)
    return target


def _pushed(b: LoopBuilder, run: SSAValue, byte: SSAValue) -> SSAValue:
    """Four bytes with another one in front."""
    shifted = b.value(arith.ShLIOp(run, b.number(8, run.type)))
    return b.value(arith.OrIOp(shifted, byte))


def _fill(b: LoopBuilder, y: SSAValue, row: Index, start: int, end: int, value: int) -> None:
    """Fill bytes of a row from `start` to `end`: of small code by whole vectors, and what is left with a mask."""
    width = _small_width(end - start) if b.small else WIDTH
    bytes = b.splat(value, vector_of(width, element=i8))
    whole = end - (end - start) % width if b.small else start
    if start < whole:
        with b.for_(start, whole, width) as loop:
            b.store(bytes, y, [row, loop.index])
    if whole < end:
        with b.for_(whole, end, width) as loop:
            b.masked_store(bytes, y, [row, loop.index], b.mask(b.sub(end, loop.index), width))


def _small_width(count: int) -> int:
    """Bytes that a processor without vectors moves in a turn of a loop: words, several where these are all."""
    return 16 if count % 16 == 0 else 4


def _copy(
    b: LoopBuilder, x: SSAValue, source: list[Index], y: SSAValue, target: list[Index], count: int
) -> None:
    """Copy a row; what is left after whole vectors, with a mask."""
    width = _small_width(count) if b.small else WIDTH
    type = vector_of(width, element=i8)
    *before, first = source
    whole = count // width * width
    with b.for_(0, whole, width) as loop:
        value = b.load(x, [*before, b.add(first, loop.index)], type)
        b.store(value, y, [target[0], b.add(target[1], loop.index)])
    if whole < count:
        mask = b.mask(count - whole, width)
        value = b.masked_load(x, [*before, b.add(first, whole)], mask, b.splat(0, type))
        b.masked_store(value, y, [target[0], b.add(target[1], whole)], mask)


def _copy_pixels(
    b: LoopBuilder,
    x: SSAValue,
    source: list[Index],
    y: SSAValue,
    row: Index,
    before: int,
    count: int,
    channels: int,
    padded: int,
    fill: int,
) -> None:
    """Copy pixels, each with channels beyond its own."""
    with b.for_(0, count) as pixel:
        from_, to = b.mul(pixel.index, channels), b.add(b.mul(pixel.index, padded), before)
        for start in range(0, padded, 16):
            some, all_ = max(min(channels - start, 16), 0), min(padded - start, 16)
            value = b.splat(fill, vector_of(16, element=i8))
            if some:
                value = b.masked_load(x, [*source, b.add(from_, start)], b.mask(some, 16), value)
            b.masked_store(value, y, [row, b.add(to, start)], b.mask(all_, 16))
