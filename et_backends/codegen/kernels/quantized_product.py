"""Product kernels with quantized weights: of floats by dequantized weights, or of rows of bytes by bytes.

Weights stay as narrow as they are in memory, and are widened in registers; each group of the shared dimension is added
up before it is scaled. Panels for products of floats are `[panel][inner][16]`, with two rows to a byte where weights
have four bits, the first in the low bits. Panels for products of bytes have fours of neighbors in a lane, as the
instructions that multiply bytes take them: `[panel][inner / 4][16][4]`, or two such fours where weights have four bits,
each with the first in the low bits of its bytes. Of groups with an odd number of them, the last has a byte alone. Of
matrices with many columns, panels of such halves have 64.

Scales of groups are stored as the high halves of f32 (bf16) where the other bits are zeros: for groups of 32 weights of
four bits, they are a ninth of what a product reads, not a fifth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.groups import ends_operand, of_group, visit_groups, with_single_rows
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.integer_product import QUAD, integer_tile_rows
from et_backends.codegen.kernels.panels import PANEL, panel_columns, tile_rows
from et_backends.codegen.kernels.pointwise_rules import add
from et_backends.codegen.kernels.product import (
    PREFETCHING_ROWS,
    Sizes,
    in_panels,
    prefetch_ahead,
    shared_rows,
)
from et_backends.codegen.kernels.quantization_rules import i8
from et_backends.codegen.kernels.quantized_operands import QuantizedOperands, kernel_quantized_operands
from et_backends.codegen.kernels.row_tiles import visit_rows
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import product, shape_of
from et_ir.data import Blob

__all__ = ["quantized_product_kernel"]

Array = np.ndarray[Any, np.dtype[Any]]

i16: Final = IntegerType(16)
NIBBLE: Final = 4
HIGH: Final = -0x0F0F0F10
"""The high halves of four bytes, as i32: 0xF0F0F0F0."""
BYTE_LOW: Final = 0x0F0F0F0F
"""The low halves of four bytes."""
HALF: Final = 16
LOW: Final = np.uint32(0xFFFF)
"""The half of the bits of f32 that bf16 does not have."""
STEP: Final = 1 << 20
"""About how many weights are added up at a time."""
GROUPED_ROWS: Final = 6
"""Rows of a tile at most where groups are scaled: sums of all groups take registers beside those of one."""
UNROLLED: Final = 32
"""Units of a group up to which there is no loop over them for one row."""
FEW_ROWS: Final = 4
"""Rows below which a second accumulator hides the latency of additions."""

WIDE: Final = 64
"""Columns of a panel of weights that are multiplied by bytes. The bytes of a row are loaded once for all of them: the
fewer instructions there are for a byte of weights, the more memory the processor reads ahead."""
WIDE_PANELS: Final = 8
"""Wide panels of a matrix, at least, as threads share them; others have panels of `PANEL`."""

_Tile = Callable[[LoopBuilder, Index, int, Index, int], list[SSAValue]]
"""Rows of results of a tile: of its first row, height, first column and width."""


def quantized_product_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a linear layer with quantized weights."""
    found = kernel_quantized_operands(host.symbols, kernel)
    outside = kernel.outside()
    inner = found.weights.shape[1]
    *outer, columns = shape_of(found.op.results[0])
    assert isinstance(columns, int)
    rows = product(outer)
    most = host.most(rows)
    by_bytes = found.activation is not None
    tile = integer_tile_rows(most, host) if by_bytes else tile_rows(most, host)
    if found.group < inner:
        tile = min(tile, GROUPED_ROWS)
    panel = host.panel(PANEL, bytes=by_bytes)
    sizes = in_panels(Sizes(1, rows, inner, columns, tile, panel_columns(host), most), panel)
    ends, bias = found.ends, found.bias
    if ends is not None:
        sizes = with_single_rows(sizes, found.matrices)
    if panel == PANEL and not host.fine and _has_wide_panels(found):
        panel = WIDE
        # One row is read in one stream of whole panels.
        if sizes.tile_columns == PANEL and (sizes.most_rows == 1 or host.lanes == PANEL):
            sizes = replace(sizes, tile_columns=WIDE)
    epilogue = Epilogue(
        kernel,
        found.op,
        rows,
        columns,
        lambda b, total, values: total if bias is None else add(b, total, values[bias]),
        [] if bias is None else [bias],
    )
    if found.activation is None:
        left = [Operand(host.buffer(outside[found.op.arg("input")]), [rows, inner])]
    else:
        host.multiplies_bytes = True
        stored, *numbers = (host.buffer(outside[one]) for one in found.activation.operands)
        left = [Operand(stored, [product((rows, inner))]), *(Operand(one, [rows]) for one in numbers)]
    right = [_packed(host, found, panel), _scales(host, found, panel)]
    if by_bytes:
        right.append(_sums(host, found, panel))
    if ends is not None:
        left.append(ends_operand(host, outside[ends]))
    result = Operand(host.buffer(kernel.outputs[0]), [rows, columns])

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        stored, w, y = buffers[: len(left)], buffers[len(left) : len(left) + len(right)], buffers[-1]
        epilogue.bind(buffers[len(left) + len(right) : -1])
        limits = None if ends is None else stored[-1]
        x = stored if ends is None else stored[:-1]
        count = b.dim(y, 0)

        def tiles(panels: Sequence[SSAValue]) -> _Tile:
            if by_bytes:
                return _Bytes(b, found, x, panels, count, host.lanes).rows
            return _Floats(found, *x, *panels).rows

        def visit(
            compute: _Tile,
            start: Index,
            end: Index,
            column: Index,
            width: int,
            mask: SSAValue | None,
            least: Index,
        ) -> None:
            def one(row: Index, height: int) -> None:
                for place, total in enumerate(compute(b, row, height, column, width)):
                    epilogue.store_row(b, total, y, [b.add(row, place), column], mask)

            # Sums of floats are added in an order that the height of a tile decides.
            is_unknown = ends is not None or not isinstance(rows, int)
            visit_rows(b, start, end, tile, one, any_number=is_unknown, least=least)

        if limits is None:
            compute = tiles(w)

            def of_all(start: Index, end: Index, column: Index, width: int, mask: SSAValue | None) -> None:
                visit(compute, start, end, column, width, mask, 0)

            shared_rows(b, sizes, count, b.dim(y, 1), of_all)
            return

        def of_matrix(
            number: Index | None, start: Index, end: Index, column: Index, width: int, mask: SSAValue | None
        ) -> None:
            compute = _zeros
            if number is not None:
                compute = tiles([of_group(b, one, b.dim(limits, 0), number) for one in w])
            visit(compute, start, end, column, width, mask, start)

        visit_groups(b, sizes, limits, count, b.dim(y, 1), of_matrix)

    operands = [*left, *right, *epilogue.operands(host), result]
    host.call("quantized_product", operands, build)


def _has_wide_panels(found: QuantizedOperands) -> bool:
    """Whether weights are multiplied by bytes, and each matrix has enough columns."""
    return found.activation is not None and len(found.weights) // found.matrices >= WIDE * WIDE_PANELS


def _zeros(b: LoopBuilder, row: Index, height: int, column: Index, width: int) -> list[SSAValue]:
    """Rows of results that no matrix is for."""
    return [b.splat(0.0, vector_of(width))] * height


@dataclass(frozen=True)
class _Floats:
    """Products of rows of floats with weights of `found`."""

    found: QuantizedOperands
    x: SSAValue
    w: SSAValue
    scales: SSAValue

    def rows(self, b: LoopBuilder, row: Index, height: int, column: Index, width: int) -> list[SSAValue]:
        """Rows of a tile of the product."""
        type = vector_of(height, width)

        def scale(total: SSAValue, group: Index, before: SSAValue | None) -> SSAValue:
            scales = b.broadcast(_loaded_scales(b, self.scales, column, group, width), type)
            if before is None:
                return b.value(arith.MulfOp(total, scales))
            return b.value(vector.FMAOp(total, scales, before))

        def group(index: Index) -> SSAValue:
            return self._group(b, row, height, column, width, index)

        groups = self.found.weights.shape[1] // self.found.group
        if groups == 1:
            made = scale(group(0), 0, None)
        else:
            with b.for_(0, groups, 1, [b.splat(0.0, type)]) as loop:
                total = group(loop.index)
                loop.next = [scale(total, loop.index, loop.args[0])]
            made = loop.results[0]
        return [b.value(vector.ExtractOp(made, [place], vector_of(width))) for place in range(height)]

    def _group(
        self, b: LoopBuilder, row: Index, height: int, column: Index, width: int, group: Index
    ) -> SSAValue:
        """Sums of a group of the shared dimension before they are scaled."""
        length, nibbles = self.found.group, self.found.has_nibbles
        few = height < FEW_ROWS and (nibbles or length % 2 == 0)
        steps = 2 if nibbles or few else 1
        start, stored = b.mul(group, length), b.mul(group, self.found.stored_units)

        def added(index: Index, count: int, totals: Sequence[SSAValue]) -> list[SSAValue]:
            place = b.add(start, index)
            places = [b.add(place, number) for number in range(count)]
            if nibbles:
                bytes = b.panels(self.w, column, [b.add(stored, b.quotient(index, 2))], width)
                weights = _halves(b, bytes)[:count]
            else:
                weights = [b.convert("sext", b.panels(self.w, column, [at], width), i32) for at in places]
            totals = list(totals)
            for number, (at, one) in enumerate(zip(places, weights, strict=True)):
                left = b.column(self.x, [row, at], 0, 1, vector_of(height))
                which = number % len(totals)
                totals[which] = b.outer_product(left, b.convert("sitofp", one, f32), totals[which])
            return totals

        zero = b.splat(0.0, vector_of(height, width))
        whole = length - length % steps
        with b.for_(0, whole, steps, [zero] * (2 if few else 1)) as loop:
            loop.next = added(loop.index, steps, loop.args)
        total, *others = loop.results if whole == length else added(whole, 1, loop.results)
        for other in others:
            total = add(b, total, other)
        return total


def _halves(b: LoopBuilder, bytes: SSAValue) -> list[SSAValue]:
    """The low and the high halves of bytes, as numbers with a sign, i32."""
    wide = b.convert("sext", bytes, i32)
    up = b.value(arith.ShLIOp(wide, b.number(32 - NIBBLE, wide.type)))
    low = b.value(arith.ShRSIOp(up, b.number(32 - NIBBLE, wide.type)))
    return [low, b.value(arith.ShRSIOp(wide, b.number(NIBBLE, wide.type)))]


class _Bytes:
    """Products of rows of bytes, each row with a scale and a zero point, with weights of `found`."""

    def __init__(
        self,
        b: LoopBuilder,
        found: QuantizedOperands,
        read: Sequence[SSAValue],
        panels: Sequence[SSAValue],
        rows: Index,
        lanes: int,
    ):
        """`read` are the rows with their scales and points; `lanes` are those of a vector register."""
        x, self._row_scales, self._points = read
        self._most_lanes = WIDE if lanes == PANEL else PANEL
        self._w, self._scales, self._sums = panels
        self._found = found
        self._x = b.quads(x, [rows, found.weights.shape[1] // QUAD])

    def rows(self, b: LoopBuilder, row: Index, height: int, column: Index, width: int) -> list[SSAValue]:
        """Rows of a tile of the product."""
        type = vector_of(width)
        groups = self._found.weights.shape[1] // self._found.group

        def scaled(group: Index, before: Sequence[SSAValue]) -> list[SSAValue]:
            scales = _loaded_scales(b, self._scales, column, group, width)
            sums = self._group(b, row, height, column, width, group)
            floats = [b.convert("sitofp", one, f32) for one in sums]
            return [
                b.value(vector.FMAOp(one, scales, other)) for one, other in zip(floats, before, strict=True)
            ]

        zeros = [b.splat(0.0, type)] * height
        if groups == 1:
            totals = scaled(0, zeros)
        else:
            with b.for_(0, groups, 1, zeros) as loop:
                loop.next = scaled(loop.index, loop.args)
            totals = list(loop.results)
        sums = b.panels(self._sums, column, [0], width)
        return [self._restored(b, total, sums, b.add(row, place)) for place, total in enumerate(totals)]

    def _restored(self, b: LoopBuilder, total: SSAValue, sums: SSAValue, row: Index) -> SSAValue:
        """A row of the product in floats."""
        type = vector_type(total)
        point = b.broadcast(b.element(self._points, [row]), type)
        scale = b.broadcast(b.element(self._row_scales, [row]), type)
        moved = b.value(arith.SubfOp(total, b.value(arith.MulfOp(point, sums))))
        return b.value(arith.MulfOp(moved, scale))

    def _group(
        self, b: LoopBuilder, row: Index, height: int, column: Index, width: int, group: Index
    ) -> list[SSAValue]:
        """i32 sums of a group: times 16 where weights have four bits."""
        steps = 2 if self._found.has_nibbles else 1
        type = vector_of(width, element=i32)
        start, stored = b.mul(group, self._found.units), b.mul(group, self._found.stored_units)

        def added(index: Index, count: int, totals: Sequence[SSAValue]) -> list[SSAValue]:
            place = b.add(start, index)
            unit = b.add(stored, b.quotient(index, steps))
            right = [b.panels(self._w, column, [unit], width)]
            if height < PREFETCHING_ROWS:
                prefetch_ahead(b, self._w, column, unit, width)
            if self._found.has_nibbles:
                high = b.splat(HIGH, type)
                up = b.value(arith.ShLIOp(right[0], b.number(NIBBLE, type)))
                right = [b.value(arith.AndIOp(one, high)) for one in (up, right[0])]
            totals = list(totals)
            for number, weights in enumerate(right[:count]):
                quad = b.add(place, number)
                for at in range(height):
                    left = b.broadcast(b.element(self._x, [b.add(row, at), quad]), type)
                    totals[at] = b.dot(left, weights, totals[at])
            return totals

        units, groups = self._found.units, self._found.weights.shape[1] // self._found.group
        # Additions to one sum wait for each other; other rows and groups are computed meanwhile, where there are any,
        # and other vectors of a panel, where it has several.
        is_alone = height == 1 and width <= self._most_lanes and not b.small
        if height == 1 and groups > 1 and units <= UNROLLED and not b.small:
            # No loop: the fewer instructions, the more of memory is asked for ahead.
            sums = [b.splat(0, type)] * (2 if is_alone else 1)
            for number, index in enumerate(range(0, units, steps)):
                which = number % len(sums)
                sums[which : which + 1] = added(index, min(steps, units - index), sums[which : which + 1])
            return [b.combined(arith.AddiOp, *sums) if len(sums) > 1 else sums[0]]
        parts = FEW_ROWS if is_alone and groups == 1 else 1
        step = steps * parts
        whole = units - units % step
        with b.for_(0, whole, step, [b.splat(0, type)] * height * parts) as loop:
            made: list[SSAValue] = []
            for part in range(parts):
                totals = loop.args[part * height : (part + 1) * height]
                made += added(b.add(loop.index, part * steps), steps, totals)
            loop.next = made
        totals = list(loop.results[:height])
        for other in range(height, len(loop.results)):
            totals[other % height] = b.combined(arith.AddiOp, totals[other % height], loop.results[other])
        for index in range(whole, units, steps):
            totals = added(index, min(steps, units - index), totals)
        return totals


def _loaded_scales(b: LoopBuilder, scales: SSAValue, column: Index, group: Index, width: int) -> SSAValue:
    """f32 scales of a group for neighboring columns."""
    stored = b.panels(scales, column, [group], width)
    if b.element_type(scales) == f32:
        return stored
    wide = b.convert("zext", stored, i32)
    bits = b.value(arith.ShLIOp(wide, b.number(HALF, wide.type)))
    return b.value(vector.BitcastOp(bits, vector_of(width)))


def _scales(host: Host, found: QuantizedOperands, panel: int) -> Operand:
    """Scales in panels as the weights are, `[panel][group][16]`.

    Those of sums of bytes by halves of bytes are 16 times as large as they should be.
    """
    groups = found.scales.shape[1]
    by_halves = found.has_nibbles and found.activation is not None
    sizes = [_panels(found, panel), groups, panel]
    form = f"scales in panels of {panel}{', by 16' if by_halves else ''}"
    is_short = groups > 1 and not (np.ascontiguousarray(found.scales).view(np.uint32) & LOW).any()

    def pack(scales: Array) -> Array:
        rows = scales * np.float32(2.0**-NIBBLE) if by_halves else scales
        whole = _in_columns(rows, panel)
        return (whole.view(np.uint32) >> HALF).astype(np.uint16) if is_short else whole

    blob = _blob(host, found, form, [found.scales], pack)
    return Operand(host.constant(blob, prod(sizes), i16 if is_short else f32), sizes, fixed=[2])


def _sums(host: Host, found: QuantizedOperands, panel: int) -> Operand:
    """f32 of each column, in panels as the weights are: the dequantized weights of all rows, added up."""
    sizes, group = [_panels(found, panel), 1, panel], found.group

    def pack(weights: Array, scales: Array) -> Array:
        # Sums of groups are exact in f32, whose products are fast.
        ones = np.ones(group, np.float32)
        step = max(1, STEP // weights.shape[1])
        made = np.empty(len(weights), np.float32)
        for first in range(0, len(weights), step):
            part = weights[first : first + step].astype(np.float32)
            sums = (part.reshape(-1, group) @ ones).reshape(len(part), -1)
            made[first : first + step] = (sums * scales[first : first + step].astype(np.float64)).sum(1)
        return _in_columns(made.reshape(-1, 1), panel)

    form = f"sums in panels of {panel} of groups of {group}"
    blob = _blob(host, found, form, [found.weights, found.scales], pack)
    return Operand(host.constant(blob, prod(sizes)), sizes, fixed=[2])


def _panels(found: QuantizedOperands, panel: int) -> int:
    """Panels of all matrices: each is padded to whole ones."""
    return found.matrices * -(-found.weights.shape[0] // found.matrices // panel)


def _blob(
    host: Host,
    found: QuantizedOperands,
    form: str,
    sources: Sequence[Array],
    pack: Callable[..., Array],
) -> Blob:
    """Arrays packed matrix by matrix, of which they have as many rows each."""
    matrices = found.matrices

    def pack_each(*sources: Array) -> Array:
        return np.concatenate(
            [pack(*one) for one in zip(*(np.split(a, matrices) for a in sources), strict=True)]
        )

    if matrices == 1:
        return host.packed(form, sources, pack)
    return host.packed(f"{form}, of {matrices} matrices", sources, pack_each)


def _in_columns(rows: Array, panel: int) -> Array:
    """Panels of the columns that are the rows of a matrix, padded with zeros: `[panel][row][column]`."""
    columns, inner = rows.shape
    whole = np.zeros((-(-columns // panel) * panel, inner), rows.dtype)
    whole[:columns] = rows
    return np.ascontiguousarray(whole.reshape(-1, panel, inner).transpose(0, 2, 1))


def _packed(host: Host, found: QuantizedOperands, panel: int) -> Operand:
    """Panels of the weights, as a kernel takes them."""
    inner = found.weights.shape[1]
    by_bytes, has_nibbles = found.activation is not None, found.has_nibbles
    # Neighbors of the shared dimension that follow each other in a lane.
    lane, element = (np.int32, i32) if by_bytes else (np.int8, i8)

    def pack(weights: Array) -> Array:
        rows = np.ascontiguousarray(weights).view(lane)
        if has_nibbles:
            grouped = rows.reshape(len(rows), -1, found.units)
            even = np.zeros((*grouped.shape[:2], 2 * found.stored_units), lane)
            even[..., : found.units] = grouped
            low, high = (even[..., first::2].reshape(len(rows), -1) for first in (0, 1))
            halves = lane(BYTE_LOW if by_bytes else 15)
            rows = (low & halves) | ((high & halves) << lane(NIBBLE))
        return _in_columns(rows, panel)

    odd = f", groups of {found.group} alone" if has_nibbles and found.units % 2 else ""
    form = f"{lane.__name__} in panels of {panel}, {1 + has_nibbles} to a byte{odd}"
    blob = _blob(host, found, form, [found.weights], pack)
    sizes = [_panels(found, panel), inner // found.group * found.stored_units, panel]
    return Operand(host.constant(blob, prod(sizes), element), sizes, fixed=[2])
