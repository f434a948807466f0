"""Product kernels: register tiles of the result, accumulated over the shared dimension, with fused arithmetic.

The loop structure is that of Goto and van de Geijn (Anatomy of High-Performance Matrix Multiplication, 2008): a tile of
rows by panels of the result stays in registers while columns of the left and rows of the right matrix stream by. A
constant right matrix is packed in panels of 16 columns when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import BarrierOp, KernelOp
from et_backends.codegen.dialect.types import memref_type
from et_backends.codegen.kernels.epilogue import Epilogue
from et_backends.codegen.kernels.host import Host, Number, Operand, kernel_key
from et_backends.codegen.kernels.matrices import Matrices, packed_matrices
from et_backends.codegen.kernels.panels import (
    PANEL,
    constant_array,
    panel_columns,
    panels_of,
    tile_rows,
)
from et_backends.codegen.kernels.pointwise_rules import add, anchor_of, mul, operator_name
from et_backends.codegen.kernels.row_tiles import low_tiles, visit_rows
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, product, shape_of
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = [
    "BLOCK_ROWS",
    "Sizes",
    "accumulate",
    "build_product",
    "build_sequential_product",
    "column_groups",
    "in_panels",
    "last_columns",
    "packed_operand",
    "prefetch_ahead",
    "prefetch_panels",
    "product_kernel",
    "right_argument",
    "shared_rows",
    "shared_tiles",
]

BLOCK_ROWS: Final = 96
"""Rows that a thread computes of all panels before the next: their part of the left matrix stays in the L2 cache."""
BLOCK_INNER: Final = 256
"""Steps of the shared dimension after which sums are stored: as many rows of two panels stay in the first cache."""
PREFETCHING_ROWS: Final = 8
"""Rows of a tile from which on the next panels are prefetched; with fewer, what is `AHEAD` in the same ones."""
AHEAD: Final = 4096
"""Bytes by which the panels of few rows are prefetched ahead: processors foresee a stream up to the end of a page."""
SUMS: Final = 4
"""Sums of a row of the product with a panel: a multiply-add takes about as many cycles."""
PACKED_ROWS: Final = 32
PACKED_COLUMNS: Final = 384
"""Right matrices of as many columns that are no constants are packed, if they meet as many rows."""


@dataclass(frozen=True)
class Sizes:
    """A batch of products of matrices of `rows` by `inner` and `inner` by `columns`, and the tile of results."""

    batch: Size
    rows: Size
    inner: Size
    columns: Size
    tile_rows: int
    tile_columns: int
    most_rows: int = 0
    """Rows that there may be at most, where their number is not known."""
    panel: int = PANEL
    """Columns of a panel of the right matrix, if it is packed."""
    fine: bool = False
    """Whether tiles are shared, however many rows there are."""
    repeated: bool = False
    """Whether the product is one of a loop, with the same right matrix in each turn: it is in a cache then."""

    @property
    def row_bound(self) -> int:
        """Rows that there are, or may be at most."""
        return self.rows if isinstance(self.rows, int) else self.most_rows

    @property
    def many_rows(self) -> bool:
        """Whether threads share the rows, and not the columns."""
        return not self.fine and self.row_bound >= 2 * BLOCK_ROWS


class _Anchor:
    """The product of a kernel: its operands, and whether the right matrix is stored by columns."""

    def __init__(self, op: SchemaOp):
        self.op = op
        self.name = operator_name(op)
        self.bias: SSAValue | None = None
        match self.name:
            case "mm" | "bmm":
                self.left, self.right = op.operands
            case "addmm":
                self.bias, self.left, self.right = op.operands
            case "linear":
                self.left, self.right = op.arg("input"), op.arg("weight")
                self.bias = op.arg("bias")
            case _:
                raise ValueError(f"no product: {self.name}")
        self.by_columns = self.name == "linear"

    def sizes(self, host: Host) -> Sizes:
        result = shape_of(self.op.results[0])
        batch, rows = (result[0], result[1]) if self.name == "bmm" else (1, product(result[:-1]))
        inner = shape_of(self.left)[-1]
        most = host.most(rows)
        tile = tile_rows(most, host)
        return Sizes(
            batch,
            rows,
            inner,
            result[-1],
            tile,
            panel_columns(host),
            most,
            fine=host.fine,
            repeated=host.turn is not None,
        )

    def tail(self, b: LoopBuilder, total: SSAValue, values: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """The product and its bias, scaled; a bias that is scaled by 0 is not read, whatever it is."""
        if self.bias is None:
            return total
        bias = values[self.bias]
        if self.name == "addmm":
            alpha, beta = float(self.op.arg("alpha")), float(self.op.arg("beta"))
            total = total if alpha == 1 else mul(b, total, b.number(alpha, total.type))
            if beta == 0:
                return total
            bias = bias if beta == 1 else mul(b, bias, b.number(beta, bias.type))
        return add(b, total, bias)


def product_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a product of matrices."""
    anchor = _Anchor(anchor_of(kernel))
    sizes = anchor.sizes(host)
    outside = kernel.outside()
    array = constant_array(host, outside[anchor.right])
    if array is not None and array.ndim == 2:
        sizes = in_panels(sizes, host.panel(PANEL))
    right = _right_operand(host, anchor, outside[anchor.right], sizes)
    rows = product((sizes.batch, sizes.rows))
    left = Operand(host.buffer(outside[anchor.left]), [rows, sizes.inner])
    tail_operands = [] if anchor.bias is None else [anchor.bias]
    epilogue = Epilogue(kernel, anchor.op, rows, sizes.columns, anchor.tail, tail_operands)
    result = Operand(host.buffer(kernel.outputs[0]), [rows, sizes.columns])

    turns = [] if host.turn is None else [Number(host.turn)]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        turn = buffers[0] if turns else None
        x, w, *others, y = buffers[len(turns) :]
        epilogue.bind(others)
        build_product(b, sizes, epilogue, x, w, y, turn)

    operands = [*turns, left, right, *epilogue.operands(host), result]
    key = kernel_key(kernel)
    host.call("product", operands, build, key if key is None else (key, sizes.repeated))


def in_panels(sizes: Sizes, panel: int) -> Sizes:
    """A product whose right matrix is in panels of a width; tiles are as wide if these are narrow.

    So are those of a single row, which waits for memory: it is read in one stream then, panel after panel. In a loop,
    two panels share what is read of the row.
    """
    if panel == PANEL and sizes.most_rows == 1 and sizes.repeated:
        return replace(sizes, tile_columns=2 * PANEL, panel=panel)
    narrow = panel != PANEL or sizes.most_rows == 1
    return replace(sizes, tile_columns=panel, panel=panel) if narrow else sizes


def right_argument(kernel: KernelOp) -> SSAValue | None:
    """The right matrix of a product, as the body has it, if it may be in memory by columns, as it is packed then."""
    anchor = _Anchor(anchor_of(kernel))
    value = kernel.outside()[anchor.right]
    packs = not isinstance(value.owner, GetOp) and tensor_type(value).has_static_shape()
    return anchor.right if packs and anchor.right.has_one_use() and not anchor.by_columns else None


def _right_operand(host: Host, anchor: _Anchor, value: SSAValue, sizes: Sizes) -> Operand:
    """The right matrix: packed when compiled or by a kernel, or as it is where that is as fast."""
    array = constant_array(host, value)
    if array is not None and array.ndim == 2:
        return packed_operand(panels_of(host, array.T if anchor.by_columns else array, sizes.panel), sizes)
    plain = Operand(host.buffer(value), [sizes.batch, sizes.inner, sizes.columns])
    if not tensor_type(value).has_static_shape():
        return plain
    matrices = Matrices.of(value)
    short = host.most(sizes.rows) < PACKED_ROWS or matrices.columns < PACKED_COLUMNS
    if matrices.is_contiguous and short:
        return plain
    panels = packed_matrices(host, matrices)
    if sizes.batch == 1:
        return packed_operand(panels, sizes)
    return Operand(panels, [sizes.batch, -(-matrices.columns // PANEL), sizes.inner, PANEL], fixed=[3])


def packed_operand(panels: SSAValue, sizes: Sizes) -> Operand:
    """Panels of a right matrix, as a kernel takes them."""
    assert isinstance(sizes.columns, int)
    return Operand(panels, [-(-sizes.columns // sizes.panel), sizes.inner, sizes.panel], fixed=[2])


def build_product(
    b: LoopBuilder,
    sizes: Sizes,
    epilogue: Epilogue,
    x: SSAValue,
    w: SSAValue,
    y: SSAValue,
    turn: SSAValue | None = None,
) -> None:
    """Loops of a product of `x`, `[row][inner]`, with `w`: in panels, or `[batch][inner][column]`.

    Panels are `[panel][inner][16]`, after a batch if there is one. `turn` is the number of a loop's turn.
    """
    packed = sizes.batch == 1 and b.static_dim(w, 2) == sizes.panel
    matrix = None if packed else 0

    def rows(
        start: Index, end: Index, column: Index, width: int, mask: SSAValue | None, number: Index | None
    ) -> None:
        _rows(b, sizes, epilogue, x, w, y, (start, end), (column, width, mask), number)

    count = b.dim(x, 0)
    if sizes.batch != 1:
        each = b.quotient(count, b.dim(w, 0))
        if b.fine and isinstance(sizes.columns, int):
            tile = sizes.tile_rows
            tiles = b.quotient(b.add(each, tile - 1), tile)

            def one_tile(place: Index, column: Index, width: int, mask: SSAValue | None) -> None:
                number = b.quotient(place, tiles)
                first = b.add(b.mul(number, each), b.mul(b.remainder(place, tiles), tile))
                end = b.min(b.add(first, tile), b.mul(b.add(number, 1), each))
                rows(first, end, column, width, mask, number)

            shared_tiles(b, sizes, b.dim(y, 1), b.mul(b.dim(w, 0), tiles), one_tile)
            return
        with b.parallel(b.dim(w, 0)) as number:
            start = b.mul(number, each)
            column_groups(
                b,
                sizes,
                b.dim(y, 1),
                lambda at, width, mask: rows(start, b.add(start, each), at, width, mask, number),
            )
        return
    in_blocks = packed and _is_long(sizes) and b.large_stack
    shared_rows(
        b,
        sizes,
        count,
        b.dim(y, 1),
        lambda first, end, at, width, mask: rows(first, end, at, width, mask, matrix),
        many=(lambda: _build_blocks(b, sizes, epilogue, x, w, y)) if in_blocks else None,
        turn=turn,
    )


def shared_rows(
    b: LoopBuilder,
    sizes: Sizes,
    count: Index,
    columns: Index,
    visit: Callable[[Index, Index, Index, int, SSAValue | None], None],
    *,
    many: Callable[[], None] | None = None,
    turn: SSAValue | None = None,
) -> None:
    """Visit the result by ranges of rows and groups of columns, that threads share: of `count` rows.

    They share rows where these are many, and visit them in blocks, or do what `many` builds; else tiles of a known
    number of rows, else groups of columns. Ranges of rows are told by their start and end; columns as `column_groups`
    does.
    """
    tile = sizes.tile_rows
    if sizes.many_rows and many is not None:
        many()
    elif sizes.many_rows:
        with row_ranges(b, sizes, count, columns, BLOCK_ROWS) as (first, end, part):
            column_groups(
                b, sizes, columns, lambda at, width, mask: visit(first, end, at, width, mask), part=part
            )
    elif isinstance(sizes.rows, int) and sizes.rows > tile and isinstance(sizes.columns, int):

        def one_tile(number: Index, column: Index, width: int, mask: SSAValue | None) -> None:
            first = b.mul(number, tile)
            if sizes.rows % tile:
                first = b.min(first, b.sub(count, tile))
            visit(first, b.add(first, tile), column, width, mask)

        shared_tiles(b, sizes, columns, b.quotient(b.add(count, tile - 1), tile), one_tile)
    else:
        column_groups(
            b,
            sizes,
            columns,
            lambda at, width, mask: visit(0, count, at, width, mask),
            shared=True,
            turn=turn,
        )


@contextmanager
def row_ranges(
    b: LoopBuilder, sizes: Sizes, count: Index, columns: Index, most: int
) -> Generator[tuple[Index, Index, tuple[Index, Index] | None]]:
    """A loop over ranges of rows, of about `most`, with the thread's part of the groups of columns.

    Threads share the rows, and each visits all columns of its own, for which there is None. If the number of rows is
    known at run time, and there are few, they share the columns: most prompts have less than a hundred tokens, and
    fewer tiles than there are threads, or one more.
    """
    tile, width = sizes.tile_rows, sizes.tile_columns
    block = -(-most // tile) * tile
    if isinstance(sizes.rows, int):
        with b.parallel_ranges(count, tile, block) as (first, end):
            yield first, end, None
        return
    groups = b.quotient(b.add(columns, width - 1), width)
    part = b.own_part(groups, b.below(count, BLOCK_ROWS))
    with b.parallel_ranges(count, tile, block, b.at_least(count, BLOCK_ROWS)) as (first, end):
        yield first, end, part


def shared_tiles(
    b: LoopBuilder,
    sizes: Sizes,
    columns: Index,
    tiles: Index,
    visit: Callable[[Index, Index, int, SSAValue | None], None],
) -> None:
    """Visit all tiles of the result: by groups of columns as `column_groups` has them, and in a group by rows.

    Threads share tiles, not groups, of which there may be fewer than threads or a few more. The number of a tile in its
    group is below `tiles`.
    """
    width = sizes.tile_columns
    whole = b.multiple_below(columns, width)
    if b.small and not b.fine:
        # There are no threads, and a division for each tile would show.
        with b.for_(0, whole, width) as group, b.for_(0, tiles) as inner:
            visit(inner.index, group.index, width, None)
        if sizes.columns % width:
            with b.for_(0, tiles) as inner:
                number = inner.index
                last_columns(b, sizes, columns, whole, lambda at, some, mask: visit(number, at, some, mask))
        return
    with b.parallel(b.mul(b.quotient(whole, width), tiles)) as number:
        group = b.quotient(number, tiles)
        visit(b.sub(number, b.mul(group, tiles)), b.mul(group, width), width, None)
    if sizes.columns % width:
        with b.parallel(tiles) as number:
            last_columns(b, sizes, columns, whole, lambda at, some, mask: visit(number, at, some, mask))


def last_columns(
    b: LoopBuilder,
    sizes: Sizes,
    columns: Index,
    whole: Index,
    visit: Callable[[Index, int, SSAValue | None], None],
) -> None:
    """Visit the columns after whole groups, whose number is known, with a mask where they are no whole panel."""
    assert isinstance(sizes.columns, int)
    # One tile, masked: each element of the left matrix is read once for all of its panels.
    left = sizes.columns % sizes.tile_columns
    padded = -(-left // sizes.panel) * sizes.panel
    visit(whole, padded, b.mask(b.sub(columns, whole), padded) if left % sizes.panel else None)


def _is_long(sizes: Sizes) -> bool:
    """Whether the shared dimension is worth blocks, and known."""
    return isinstance(sizes.inner, int) and sizes.inner > BLOCK_INNER


def _build_blocks(
    b: LoopBuilder, sizes: Sizes, epilogue: Epilogue, x: SSAValue, w: SSAValue, y: SSAValue
) -> None:
    """Loops of a product whose shared dimension is too long for the first cache: in blocks of it.

    A block of the left matrix is copied to the stack, as its rows may be so far apart that they meet in the cache. The
    sums of the blocks before are in the result; the last block finishes them.
    """
    tile = sizes.tile_rows
    assert isinstance(sizes.inner, int)
    inner = sizes.inner
    # Rows are not computed twice here, as their sums are added to what is there.
    rest = (sizes.rows % tile,) if isinstance(sizes.rows, int) else low_tiles(tile)
    heights = [tile, *filter(None, rest)]
    # All panels are read for each block, so that larger ones are better where there are many rows.
    most = 2 * BLOCK_ROWS if sizes.row_bound >= 8 * BLOCK_ROWS else BLOCK_ROWS
    count, columns = b.dim(x, 0), b.dim(y, 1)
    local = b.local(-(-most // tile) * tile, BLOCK_INNER)
    end = (inner - 1) // BLOCK_INNER * BLOCK_INNER
    vectors = PANEL * 4

    def copy(first: Index, many: Index, start: Index, depth: int) -> None:
        with b.for_(0, many) as row:
            for place in range(0, depth, vectors):
                mask = None if depth - place >= vectors else b.mask(depth - place, vectors)
                here = [b.add(first, row.index), b.add(start, place)]
                b.store(b.load_row(x, here, mask, vectors), local, [row.index, place])

    def step(start: Index, depth: int, *, begins: bool, ends: bool) -> None:
        copy(first, many, start, depth)

        def group(column: Index, width: int, mask: SSAValue | None) -> None:
            def tiles(row: Index, height: int) -> None:
                at = [b.add(first, row), column]
                type = vector_of(height, width)
                if mask is not None:
                    # Its sums would be loaded with a mask: the few columns are computed at once.
                    if ends:
                        epilogue.store(b, accumulate(b, x, w, at, height, width, None, mask), y, at, mask)
                    return
                total = b.splat(0.0, type) if begins else b.load(y, at, type)
                with b.for_(0, depth, 1, [total]) as loop:
                    left = b.column(local, [row, loop.index], 0, 1, vector_of(height))
                    right = b.panels(w, column, [b.add(start, loop.index)], width)
                    if height >= PREFETCHING_ROWS:
                        prefetch_panels(b, w, b.add(column, width), b.add(start, loop.index), width)
                    loop.next = [b.outer_product(left, right, loop.args[0])]
                if ends:
                    epilogue.store(b, loop.results[0], y, at, None)
                else:
                    b.store(loop.results[0], y, at)

            reached: Index = 0
            for height in heights:
                stop = b.add(reached, b.multiple_below(b.sub(many, reached), height))
                with b.for_(reached, stop, height) as loop:
                    tiles(loop.index, height)
                reached = stop

        column_groups(b, sizes, columns, group, part=part)

    with row_ranges(b, sizes, count, columns, most) as (first, stop, part):
        many = b.sub(stop, first)
        step(0, BLOCK_INNER, begins=True, ends=False)
        with b.for_(BLOCK_INNER, end, BLOCK_INNER) as loop:
            step(loop.index, BLOCK_INNER, begins=False, ends=False)
        step(end, inner - end, begins=False, ends=True)


def build_sequential_product(
    b: LoopBuilder, sizes: Sizes, epilogue: Epilogue, x: SSAValue, w: SSAValue, y: SSAValue
) -> None:
    """As `build_product`, of all rows by one thread, with packed panels."""
    end = b.dim(x, 0)
    column_groups(
        b,
        sizes,
        b.dim(y, 1),
        lambda at, width, mask: _rows(b, sizes, epilogue, x, w, y, (0, end), (at, width, mask), None),
    )


def _rows(
    b: LoopBuilder,
    sizes: Sizes,
    epilogue: Epilogue,
    x: SSAValue,
    w: SSAValue,
    y: SSAValue,
    span: tuple[Index, Index],
    columns: tuple[Index, int, SSAValue | None],
    number: Index | None,
) -> None:
    """Tiles of a span of rows; `number` is that of the right matrix in a batch, None for packed panels."""
    column, width, mask = columns

    # Of several rows, each has the same bits in a tile of any height.
    is_row = sizes.row_bound == 1 and number is None and not (b.small or b.few or b.fine)

    def one(row: Index, height: int) -> None:
        if is_row:
            total = _accumulate_row(b, x, w, [row, column], width, is_repeated=sizes.repeated)
        else:
            total = accumulate(b, x, w, [row, column], height, width, number, mask)
        epilogue.store(b, total, y, [row, column], mask)

    visit_rows(b, *span, sizes.tile_rows, one, any_number=not isinstance(sizes.rows, int))


def column_groups(
    b: LoopBuilder,
    sizes: Sizes,
    columns: Index,
    visit: Callable[[Index, int, SSAValue | None], None],
    *,
    shared: bool = False,
    part: tuple[Index, Index] | None = None,
    turn: SSAValue | None = None,
) -> None:
    """Visit groups of columns of a tile's width, then what is left, with a mask where it is no whole panel.

    With `shared`, threads share them; in every other turn of a loop, whose number is `turn`, they begin with the last:
    what was read last is in the cache still, where it does not hold all. With `part`, groups from a first one to the
    end of some are visited, where what is left counts as one.
    """
    width = sizes.tile_columns
    whole = b.multiple_below(columns, width)
    if shared and turn is not None:
        first, last = b.own_part(b.quotient(whole, width))
        is_odd = b.remainder(turn, 2)
        with b.for_(first, last) as loop:
            # first + last - 1 - index in odd turns, index in even ones
            further = b.sub(b.sub(b.add(first, last), 1), b.mul(2, loop.index))
            visit(b.mul(b.add(loop.index, b.mul(is_odd, further)), width), width, None)
        b.add_op(BarrierOp())
    elif shared:
        with b.parallel(whole, width) as column:
            visit(column, width, None)
    else:
        first, last = (0, whole) if part is None else (b.mul(one, width) for one in part)
        with b.for_(first, b.min(last, whole), width) as loop:
            visit(loop.index, width, None)
    left = sizes.columns % width if isinstance(sizes.columns, int) else width

    def rest() -> None:
        if not isinstance(sizes.columns, int):
            some = b.multiple_below(columns, PANEL)
            with b.for_(whole, some, PANEL) as loop:
                visit(loop.index, PANEL, None)
            with b.if_(b.below(some, columns)):
                visit(some, PANEL, b.mask(b.sub(columns, some), PANEL))
            return
        last_columns(b, sizes, columns, whole, visit)

    if left and shared:
        # One iteration, so that one thread computes it.
        with b.parallel(1):
            rest()
    elif left and part is not None:
        with b.if_(b.below(whole, b.mul(part[1], width))):
            rest()
    elif left:
        rest()


def accumulate(
    b: LoopBuilder,
    x: SSAValue,
    w: SSAValue,
    at: Sequence[Index],
    tile: int,
    width: int,
    number: Index | None,
    mask: SSAValue | None,
) -> SSAValue:
    """A tile of the product: of `x` with panels, or with matrix `number` of a batch."""
    row, column = at
    with b.for_(0, b.dim(x, 1), 1, [b.splat(0.0, vector_of(tile, width))]) as loop:
        left = b.column(x, [row, loop.index], 0, 1, vector_of(tile))
        if number is None:
            right = b.panels(w, column, [loop.index], width)
            if tile >= PREFETCHING_ROWS:
                prefetch_panels(b, w, b.add(column, width), loop.index, width)
            else:
                prefetch_ahead(b, w, column, loop.index, width)
        elif memref_type(w).get_num_dims() == 4:
            first = b.quotient(column, PANEL)
            places = [[number, b.add(first, panel), loop.index, 0] for panel in range(width // PANEL)]
            right = b.concat([b.load(w, place, vector_of(PANEL)) for place in places])
        else:
            right = b.load_row(w, [number, loop.index, column], mask, width)
        loop.next = [b.outer_product(left, right, loop.args[0])]
    return loop.results[0]


def _accumulate_row(
    b: LoopBuilder, x: SSAValue, w: SSAValue, at: Sequence[Index], width: int, *, is_repeated: bool
) -> SSAValue:
    """One row of the product with panels, in several sums: each multiply-add waits for the one before in its sum."""
    row, column = at
    count = max(SUMS * PANEL // width, 1)
    inner = b.dim(x, 1)
    whole = b.multiple_below(inner, count)

    def added(place: Index, total: SSAValue) -> SSAValue:
        right = b.panels(w, column, [place], width)
        return b.outer_product(b.column(x, [row, place], 0, 1, vector_of(1)), right, total)

    with b.for_(0, whole, count, [b.splat(0.0, vector_of(1, width))] * count) as loop:
        for number in range(0 if is_repeated else count):
            prefetch_ahead(b, w, column, b.add(loop.index, number), width)
        loop.next = [added(b.add(loop.index, number), total) for number, total in enumerate(loop.args)]
    totals = list(loop.results)
    while len(totals) > 1:
        totals = [add(b, one, other) for one, other in zip(totals[::2], totals[1::2], strict=True)]
    with b.for_(whole, inner, 1, totals) as loop:
        loop.next = [added(loop.index, loop.args[0])]
    return loop.results[0]


def prefetch_ahead(b: LoopBuilder, w: SSAValue, column: Index, row: Index, width: int) -> None:
    """Prefetch what comes `AHEAD` bytes after a row of whole panels, of elements of four bytes, that is read now."""
    panel = b.static_dim(w, 2)
    first = b.quotient(column, panel)
    for place in range(width // panel):
        for lane in range(0, panel, PANEL):
            b.prefetch(w, [b.add(first, place), b.add(row, AHEAD // (4 * panel)), lane])


def prefetch_panels(b: LoopBuilder, w: SSAValue, column: Index, row: Index, width: int) -> None:
    """Prefetch a row of the next panels: while the first tile of rows reads them from memory, little else is done."""
    first = b.quotient(column, PANEL)
    for panel in range(width // PANEL):
        b.prefetch(w, [b.add(first, panel), row, 0])
