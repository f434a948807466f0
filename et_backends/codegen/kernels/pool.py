"""Pooling kernels: the maximum or the average under a window, for vectors of channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.elements import element_of, in_registers, width_of
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.images import image_sizes
from et_backends.codegen.kernels.panels import PANEL
from et_backends.codegen.kernels.pointwise_rules import add, anchor_of, div, operator_name
from et_backends.codegen.kernels.windows import Window, window_of
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8

__all__ = ["pool_kernel"]


def pool_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a pool: windows are cut to the image."""
    anchor = anchor_of(kernel)
    window = window_of(anchor)
    outside = kernel.outside()
    channels = image_sizes(anchor, anchor.operands[0])[-1]
    rows = window.batch * window.out_height * window.out_width
    epilogue = Epilogue(kernel, anchor, rows, channels)
    image = Operand(
        host.buffer(outside[anchor.operands[0]]), [window.batch, window.in_height, window.in_width, channels]
    )
    result = Operand(host.buffer(kernel.outputs[0]), [rows, channels])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, *others, y = buffers
        epilogue.bind(others)
        _Pool(b, anchor, window, epilogue, x, y).build()

    host.call("pool", [image, *epilogue.operands(host), result], build)


class _Pool:
    """The loops of one pool."""

    def __init__(
        self, b: LoopBuilder, op: SchemaOp, window: Window, epilogue: Epilogue, x: SSAValue, y: SSAValue
    ):
        self.b, self.op, self.window, self.epilogue, self.x, self.y = b, op, window, epilogue, x, y
        self.is_average = operator_name(op) == "avg_pool2d"
        self.lanes = 1 if b.small else PANEL

    def build(self) -> None:
        b, window = self.b, self.window
        channels = b.dim(self.y, 1)
        if b.fine:
            with b.each([window.batch * window.out_height, window.out_width, channels]) as (row, place, at):
                number = b.quotient(row, window.out_height)
                line = b.remainder(row, window.out_height)
                rows = self._span(
                    line, window.step_y, window.border_y, window.height, window.apart_y, window.in_height
                )
                self._pixel(row, number, line, rows, place, lambda visit: visit(at))
            return
        with b.parallel(window.batch * window.out_height) as row:
            number = b.quotient(row, window.out_height)
            line = b.remainder(row, window.out_height)
            rows = self._span(
                line, window.step_y, window.border_y, window.height, window.apart_y, window.in_height
            )
            with b.for_(0, window.out_width) as loop:

                def all_channels(visit: Callable[[Index], None]) -> None:
                    with b.for_(0, channels, self.lanes) as inner:
                        visit(inner.index)

                self._pixel(row, number, line, rows, loop.index, all_channels)

    def _pixel(
        self,
        row: Index,
        number: Index,
        line: Index,
        rows: tuple[Index, Index],
        place: Index,
        channels: Callable[[Callable[[Index], None]], None],
    ) -> None:
        """A pixel of the result, for those channels that what is passed is called with."""
        b, window = self.b, self.window
        columns = self._span(
            place, window.step_x, window.border_x, window.width, window.apart_x, window.in_width
        )
        pixel = b.add(b.mul(row, window.out_width), place)
        divisor = self._divisor(line, place, rows, columns) if self.is_average else None

        def visit(channel: Index) -> None:
            mask = b.mask(b.sub(b.dim(self.y, 1), channel), self.lanes)
            total = self._under(number, rows, columns, channel, mask)
            if divisor is not None:
                total = div(b, total, b.broadcast(divisor, vector_of(self.lanes)))
            self.epilogue.store_row(b, total, self.y, [pixel, channel], mask)

        channels(visit)

    def _span(
        self, place: Index, step: int, border: int, count: int, apart: int, size: int
    ) -> tuple[Index, Index]:
        """First place under the window that is in the image, and the end; both a multiple of `apart` from its start."""
        b = self.b
        start = b.sub(b.mul(place, step), border)
        end = b.min(b.add(start, (count - 1) * apart + 1), size)
        if not border:
            return start, end
        # The number of places before the image, rounded up to a whole step.
        outside = b.max(b.sub(0, start), 0)
        return b.add(start, b.mul(b.ceildiv(outside, apart), apart)), end

    def _under(
        self,
        number: Index,
        rows: tuple[Index, Index],
        columns: tuple[Index, Index],
        channel: Index,
        mask: SSAValue,
    ) -> SSAValue:
        """The sum or the maximum of the pixels under the window."""
        b, window = self.b, self.window
        element = element_of(self.op.operands[0])
        type = vector_of(self.lanes, element=in_registers(element))
        start = b.splat(0.0 if self.is_average else _least(element), type)
        with b.for_(*rows, window.apart_y, [start]) as lines:
            with b.for_(*columns, window.apart_x, [lines.args[0]]) as pixels:
                value = b.masked_load(self.x, [number, lines.index, pixels.index, channel], mask, start)
                (total,) = pixels.args
                made = add(b, total, value) if self.is_average else b.value(_larger(element)(total, value))
                pixels.next = [made]
            lines.next = [pixels.results[0]]
        return lines.results[0]

    def _divisor(
        self, line: Index, place: Index, rows: tuple[Index, Index], columns: tuple[Index, Index]
    ) -> SSAValue:
        """The divisor of a sum, as torch counts the pixels under a window."""
        b, window, op = self.b, self.window, self.op
        override = op.arg("divisor_override")
        if override is not None:
            return b.number(float(override), vector_of(1).element_type)
        if not op.arg("count_include_pad"):
            return b.to_float(b.mul(b.sub(rows[1], rows[0]), b.sub(columns[1], columns[0])))
        counts: list[Index] = []
        for at, step, border, count, size in (
            (line, window.step_y, window.border_y, window.height, window.in_height),
            (place, window.step_x, window.border_x, window.width, window.in_width),
        ):
            # The border counts, but not what a last window covers beyond it.
            start = b.sub(b.mul(at, step), border)
            counts.append(b.sub(b.min(b.add(start, count), size + border), start))
        return b.to_float(b.mul(*counts))


def _least(element: Attribute) -> float:
    """The number of a type that no other is below."""
    if element == f32:
        return float("-inf")
    return 0 if element == ui8 else -(2 ** (width_of(element) - 1))


def _larger(element: Attribute) -> Callable[[SSAValue, SSAValue], Operation]:
    """The op that computes the larger one of two numbers."""
    return arith.MaximumfOp if element == f32 else arith.MaxUIOp if element == ui8 else arith.MaxSIOp
