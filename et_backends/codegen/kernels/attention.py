"""Attention kernels: softmax(q kᵀ) v, without the matrix of scores.

A tile of rows of queries goes by blocks of keys. Its scores of a block, their exponentials, and the sums so far of
these and of the values that they weigh are all that there is of them, and stay in the first cache. What is known after
a block is scaled when the next one has a larger maximum (Milakov and Gimelshein, Online normalizer calculation for
softmax, 2018; Dao et al., FlashAttention, 2022). Keys behind the last one that a mask leaves to a tile are not read:
those of a cache that are not written yet, and those of later tokens.

Where there are more than a few rows of queries, a thread packs a block of keys and values into panels on its stack, and
goes through tiles with it (Dao, FlashAttention-2, 2023); where stacks are small, all are packed first. A mask may be
computed in a tile, of positions.

Keys and values may be bytes, with a scale for each, which are dequantized where they are packed. Few queries read them
as they are: scores and weights are scaled.

The number of queries may be known at run time only. Rows of the last tile that are too many repeat the last query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IndexType, f32, i1, i32, i64
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import CompareOp, KernelOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.elements import element_of, in_registers, nbytes
from et_backends.codegen.kernels.attention_masks import MASKED, KeyBound, bounds_of_keys, reach_of_queries
from et_backends.codegen.kernels.attention_operands import FEW, Attention, attention_of, times_of
from et_backends.codegen.kernels.exponential import exp_of_difference
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.lane_sums import lane_sums
from et_backends.codegen.kernels.matrices import Matrices, Packing, packed_matrices
from et_backends.codegen.kernels.panels import PANEL, panel_columns, tile_rows
from et_backends.codegen.kernels.pointwise_rules import add, choose, div, evaluate, mul
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, shape_of
from et_ir.dialects.schema import SchemaOp

__all__ = ["attention_kernel"]

KEYS: Final = 256
"""Keys of a block, whose scores with a tile of queries stay in the first cache."""
STEP: Final = 64
"""Keys of a block are a multiple of as many."""
PACKED: Final = 256 << 10
"""Bytes of a block of keys and values that is packed, in the second cache and on the stack of a thread."""
TOTALS: Final = 256 << 10
"""Bytes of the sums so far of tiles that read a block of keys and values while it is packed, on the same stack."""
VECTORS: Final = 4
"""Vector registers of scores that are computed together."""
LINE: Final = 64
"""Bytes of a line of a cache."""
TOGETHER: Final = 4
"""Queries whose products with a key or value share its load, where there are `FEW`."""


@dataclass
class _Block:
    """The values computed of a block of keys."""

    first: Index
    count: Index
    """Of keys."""
    end: Index
    """Of the keys of all blocks."""
    carried: bool
    """Whether there are blocks before or after it."""


@dataclass
class _Loops:
    """The loops of one kernel."""

    b: LoopBuilder
    buffers: Mapping[SSAValue, SSAValue]
    """Of masks."""
    lanes: int
    attention: Attention
    query: Matrices
    result: Matrices
    keys: int
    depth: int
    width: int
    sharing: int
    """Heads of queries that read the same keys and values."""
    rows: int
    """Of a tile."""
    columns: int
    reach: int | None
    """Keys after the number of its query that a query reads, by constant masks; None where these tell nothing."""
    bounds: Mapping[SSAValue, Sequence[KeyBound]]
    """Of masks that are computed of numbers of keys."""
    unpacked: tuple[Matrices, Matrices] | None
    """Keys and values that are read as they are, by few queries; None if they are packed."""
    scales: tuple[SSAValue | None, SSAValue | None]
    """Those of keys and values in bytes, `[matrix, key]`."""

    by_block: tuple[Matrices, Matrices] | None
    """Keys and values that are packed block by block; None if all are packed before."""
    queries: int
    """The most queries of a head."""

    @property
    def _keys_of_block(self) -> int:
        """The scores of few queries with more keys take no more room than those of `TOGETHER`."""
        if self.by_block is not None:
            most = PACKED // (4 * (self.depth + self.width)) // STEP * STEP
            return min(max(most, STEP), KEYS)
        if self.unpacked is None or not self.b.large_stack:
            return KEYS
        return KEYS * max(1, TOGETHER // self.rows)

    @property
    def _tiles_of_group(self) -> int:
        """Tiles that read a block of keys while it is packed."""
        if self.by_block is None:
            return 1
        tiles = self.sharing * -(-self.queries // self.rows)
        return max(min(TOTALS // (4 * self.rows * self.width), tiles), 1)

    def build(self, q: SSAValue, k: SSAValue, v: SSAValue, y: SSAValue) -> None:
        """Tiles of queries, which threads share."""
        b = self.b
        self._queries_of_head = queries = b.dim(q, self.query.order.index(len(self.query.shape) - 2))
        block = min(self._keys_of_block, -(-self.keys // PANEL) * PANEL)
        # Rows of whole steps of the loops over them.
        step = self.lanes * VECTORS
        self._scores = b.local(self.rows, -(-max(block, self.columns) // step) * step)
        self._queries = b.local(self.rows, -(-self.depth // step) * step)
        kept = self._tiles_of_group
        self._total = b.local(kept, self.rows, -(-self.width // step) * step)
        self._most, self._sum = b.local(kept, self.rows), b.local(kept, self.rows)
        self._kept_at = 0
        if self.unpacked is not None:
            self._build_few(q, k, v, y)
        elif self.by_block is not None:
            self._build_groups(q, k, v, y, block)
        else:
            tiles = b.ceildiv(queries, self.rows)
            with b.parallel(b.mul(self.query.count, tiles)) as number:
                self._set_tile(number, tiles)
                self._tile(q, k, v, y, b.quotient(self._head, self.sharing), self._end_of_tile())

    def _set_tile(self, number: Index, tiles: Index) -> None:
        """Go on with a tile, of which each head has as many."""
        b, queries = self.b, self._queries_of_head
        self._head = b.quotient(number, tiles)
        row = b.mul(b.remainder(number, tiles), self.rows)
        self._top = b.min(row, queries - self.rows) if isinstance(queries, int) else row

    def _end_of_tile(self) -> Index:
        """The end of the keys that a tile reads."""
        if self.reach is None:
            return self._last_keys_of_tile()
        b = self.b
        return b.max(b.min(b.add(self._top, self.rows + self.reach), self.keys), 1)

    def _build_groups(self, q: SSAValue, k: SSAValue, v: SSAValue, y: SSAValue, block: int) -> None:
        """Groups of tiles that read the same keys and values, a thread's part of which is as large as that of others.

        A block of keys and values is packed for a group, and read by all of its tiles.
        """
        b = self.b
        assert self.by_block is not None
        keys, values = self.by_block
        self._packing = (
            Packing(keys, k, self.lanes, partial(_restored, self.scales[0])),
            Packing(values, v, self.lanes, partial(_restored, self.scales[1])),
        )
        self._panels = (
            b.local(-(-block // PANEL), self.depth, PANEL),
            b.local(-(-self.width // PANEL), block, PANEL),
        )
        self._ends = b.local(self._tiles_of_group, element=i64)
        tiles = b.ceildiv(self._queries_of_head, self.rows)
        # Without queries there are no tiles: nothing is divided by their number.
        each = b.max(b.mul(tiles, self.sharing), 1)
        most = self._tiles_of_group
        with b.part(b.mul(keys.count * self.sharing, tiles)) as (first, last, _):
            stop = b.quotient(b.add(last, b.sub(each, 1)), each)
            with b.for_(b.quotient(first, each), stop) as shared:
                start = b.max(b.mul(shared.index, each), first)
                end = b.min(b.mul(b.add(shared.index, 1), each), last)
                groups = b.max(b.quotient(b.add(b.sub(end, start), most - 1), most), 1)
                step = b.quotient(b.add(b.sub(end, start), b.sub(groups, 1)), groups)
                with b.for_(start, end, b.max(step, 1)) as group:
                    here = b.min(b.sub(end, group.index), step)
                    self._group(q, y, shared.index, group.index, here, tiles)

    def _group(
        self, q: SSAValue, y: SSAValue, shared: Index, first: Index, count: Index, tiles: Index
    ) -> None:
        b = self.b
        carried = self.keys > self._keys_of_block
        with b.for_(0, count, 1, [b.index(0)]) as loop:
            self._kept_at = loop.index
            self._set_tile(b.add(first, loop.index), tiles)
            end = b.index(self._end_of_tile())
            b.set_element(b.value(arith.IndexCastOp(end, i64)), self._ends, [loop.index])
            if carried:
                self._start()
            loop.next = [b.index(b.max(loop.args[0], end))]
        end_of_group = loop.results[0]

        def visit(start: Index) -> None:
            most = self._keys_of_block
            self._pack(shared, start, b.min(b.sub(end_of_group, start), most))
            with b.for_(0, count) as tile:
                end = b.value(arith.IndexCastOp(b.element(self._ends, [tile.index]), IndexType()))
                with b.if_(b.below(start, end)):
                    self._kept_at = tile.index
                    self._set_tile(b.add(first, tile.index), tiles)
                    self._load_queries(q)
                    here = b.min(b.sub(end, start), most)
                    self._block(*self._panels, shared, _Block(start, here, end, carried=carried))
                    if not carried:
                        self._finish(y)

        if not carried:
            visit(0)
            return
        with b.for_(0, end_of_group, self._keys_of_block) as block:
            visit(block.index)
        with b.for_(0, count) as loop:
            self._kept_at = loop.index
            self._set_tile(b.add(first, loop.index), tiles)
            self._finish(y)

    def _pack(self, shared: Index, first: Index, count: Index) -> None:
        """Pack a block of keys and values."""
        b = self.b
        keys, values = self._packing
        with b.for_(0, b.ceildiv(count, PANEL)) as loop:
            panel = b.add(b.quotient(first, PANEL), loop.index)
            keys.pack(b, self._panels[0], loop.index, shared, panel)
        with b.for_(0, values.panels) as loop:
            values.pack(b, self._panels[1], loop.index, shared, loop.index, (first, count))

    def _build_few(self, q: SSAValue, k: SSAValue, v: SSAValue, y: SSAValue) -> None:
        """All queries that read the same keys and values, which threads share."""
        end: Index = self.keys
        if self.reach is not None:
            end = max(min(self.rows // self.sharing + self.reach, self.keys), 1)
        elif mask := self._mask_of_keys(1):
            end = self._last_key(mask, 0)
        with self.b.parallel(self.query.count // self.sharing) as shared:
            self._head, self._top = self.b.mul(shared, self.sharing), 0
            self._tile(q, k, v, y, shared, end)

    def _last_keys_of_tile(self) -> Index:
        """The end of the keys that a mask leaves to the queries of a tile, whichever head they are of."""
        b = self.b
        mask = self._mask_of_keys(self.query.rows)
        if mask is None:
            return self.keys
        with b.for_(0, self.rows, 1, [b.index(0)]) as loop:
            row = self._query(loop.index)[1]
            loop.next = [b.index(b.max(loop.args[0], self._last_key(mask, row)))]
        return loop.results[0]

    def _last_key(self, mask: SSAValue, row: Index) -> Index:
        """The end of the keys that a row of a mask leaves, to a whole vector; of a cache, those written so far.

        Keys are looked at up to a bound that the mask compares their numbers with: first the vector before it, which
        has one of them in causal masks. Without any, scores are what they are without regard to the mask.
        """
        b = self.b
        width = self.lanes * VECTORS
        places = [*[0] * (len(self.attention.shape) - 2), row]
        lowest = b.splat(MASKED, vector_of(width))

        def seen(at: Index) -> SSAValue:
            some = b.mask(b.sub(self.keys, at), width) if self.keys % width else None
            value = self._computed(mask, {}, places, at, some, width)
            if some is not None:
                value = b.select(some, value, lowest)
            return _any(b, b.value(CompareOp("ugt", value, lowest)))

        start: Index = 0
        found: Index = 0
        limit = self._limit(mask, places)
        if not isinstance(limit, int):
            last = b.multiple_below(b.max(b.sub(limit, 1), 0), width)
            is_last = seen(last)
            start = b.choose(is_last, limit, 0)
            found = b.choose(is_last, b.min(b.add(last, width), self.keys), 0)
        with b.for_(start, limit, width, [b.index(found)]) as loop:
            end = b.min(b.add(loop.index, width), self.keys)
            loop.next = [b.index(b.choose(seen(loop.index), end, loop.args[0]))]
        end = loop.results[0]
        return b.choose(b.below(0, end), end, self.keys)

    def _limit(self, mask: SSAValue, places: Sequence[Index]) -> Index:
        """The end of the keys whose numbers are not larger than what a mask compares them with."""
        b = self.b
        found: Index = self.keys
        for bound in self.bounds.get(mask, ()):
            value = b.element(self.buffers[bound.number], self._row_of(bound.number, places))
            # Indices may have fewer bits.
            value = b.combined(arith.MaxSIOp, value, b.number(-1, value.type))
            value = b.combined(arith.MinSIOp, value, b.number(self.keys, value.type))
            end = b.add(b.value(arith.IndexCastOp(value, IndexType())), bound.beyond)
            found = b.min(found, b.max(end, 0))
        return found

    def _mask_of_keys(self, queries: Size) -> SSAValue | None:
        """A mask that is added with a number for each key of so many queries, the same for all heads."""
        of_scores = self.attention.of_scores
        for operand in self.attention.added:
            if operand in of_scores or element_of(operand) != f32:
                continue
            shape = [1, *shape_of(operand)]
            if shape[-2:] == [queries, self.keys] and all(size == 1 for size in shape[:-2]) and self.keys > 1:
                return operand
        return None

    def _tile(self, q: SSAValue, k: SSAValue, v: SSAValue, y: SSAValue, shared: Index, end: Index) -> None:
        b = self.b
        self._load_queries(q)
        most = self._keys_of_block
        if self.keys <= most:
            self._block(k, v, shared, _Block(0, end, end, carried=False))
        else:
            self._start()
            with b.for_(0, end, most) as loop:
                count = b.min(b.sub(end, loop.index), most)
                self._block(k, v, shared, _Block(loop.index, count, end, carried=True))
        self._finish(y)

    def _query(self, row: Index) -> tuple[Index, Index]:
        """The head, and the query in it, of a row of the tile."""
        b, queries = self.b, self._queries_of_head
        if self.unpacked is None:
            query = b.add(self._top, row)
            return self._head, query if isinstance(queries, int) else b.min(query, b.sub(queries, 1))
        return b.add(self._head, b.quotient(row, queries)), b.remainder(row, queries)

    def _vectors(self, size: int, width: int | None = None) -> list[tuple[int, SSAValue | None]]:
        """Where vectors of a row of a known size start, and masks of their elements."""
        step = width or self.lanes * VECTORS
        return [
            (at, None if size - at >= step else self.b.mask(size - at, step)) for at in range(0, size, step)
        ]

    def _load_queries(self, q: SSAValue) -> None:
        b = self.b
        with b.for_(0, self.rows) as loop:
            for at, mask in self._vectors(self.depth):
                here = self.query.at(b, *self._query(loop.index), at)
                value = b.load_row(q, here, mask, self.lanes * VECTORS)
                b.store(value, self._queries, [loop.index, at])

    def _start(self) -> None:
        b = self.b
        with b.for_(0, self.rows) as loop:
            b.set_element(b.number(-inf, f32), self._most, [self._kept_at, loop.index])
            b.set_element(b.number(0.0, f32), self._sum, [self._kept_at, loop.index])
            for at, _ in self._vectors(self.width):
                type = vector_of(self.lanes * VECTORS)
                b.store(b.splat(0.0, type), self._total, [self._kept_at, loop.index, at])

    def _block(self, k: SSAValue, v: SSAValue, shared: Index, block: _Block) -> None:
        b = self.b
        if self.unpacked is not None:
            self._block_of_few(k, v, shared, block)
            return
        if self.by_block is None:
            first = b.add(b.mul(shared, -(-self.keys // PANEL) * PANEL), block.first)
            of_head, first_value = b.mul(shared, -(-self.width // PANEL) * PANEL), block.first
        else:
            first = of_head = first_value = 0

        def scores(column: Index, width: int) -> None:
            with b.for_(0, self.depth, 1, [b.splat(0.0, vector_of(self.rows, width))]) as loop:
                left = b.column(self._queries, [0, loop.index], 0, 1, vector_of(self.rows))
                right = b.panels(k, b.add(first, column), [loop.index], width)
                loop.next = [b.outer_product(left, right, loop.args[0])]
            b.store(loop.results[0], self._scores, [0, column])

        self._columns(block.count, scores)
        with b.for_(0, self.rows) as loop:
            self._softmax(loop.index, block, shared)

        def values(column: Index, width: int) -> None:
            type = vector_of(self.rows, width)
            start = (
                b.load(self._total, [self._kept_at, 0, column], type) if block.carried else b.splat(0.0, type)
            )
            with b.for_(0, block.count, 1, [start]) as loop:
                left = b.column(self._scores, [0, loop.index], 0, 1, vector_of(self.rows))
                right = b.panels(v, b.add(of_head, column), [b.add(first_value, loop.index)], width)
                loop.next = [b.outer_product(left, right, loop.args[0])]
            b.store(loop.results[0], self._total, [self._kept_at, 0, column])

        self._columns(self.width, values)

    def _block_of_few(self, k: SSAValue, v: SSAValue, shared: Index, block: _Block) -> None:
        """Keys and values are read once, row by row, at the speed of memory.

        While one is read, what is read next is prefetched: heads and pages are apart, and processors do not foresee it.
        """
        assert self.unpacked is not None
        b = self.b
        keys, values = self.unpacked
        width = self.lanes * VECTORS
        type = vector_of(width)
        whole: Index = 0
        if not b.small and not b.fine:
            whole = b.multiple_below(block.count, self.lanes)
            with b.for_(0, whole, self.lanes) as loop:
                self._scores_of_keys(k, v, shared, block, loop.index)
        if not isinstance(whole, int) or not isinstance(block.count, int) or whole < block.count:
            with b.for_(whole, block.count) as loop:
                self._scores_of_key(k, shared, block, loop.index)
        with b.for_(0, self.rows) as loop:
            self._softmax(loop.index, block, shared)
        following, start = self._following(shared, block)
        for at, mask in self._vectors(self.width):
            for top in range(0, self.rows, TOGETHER):
                rows = range(top, min(top + TOGETHER, self.rows))
                starts = [
                    b.load(self._total, [self._kept_at, row, at], type)
                    if block.carried
                    else b.splat(0.0, type)
                    for row in rows
                ]
                with b.for_(0, block.count, 1, starts) as loop:
                    key = b.add(block.first, loop.index)
                    if at == top == 0:
                        ahead = b.add(start, loop.index)
                        self._prefetch(k, keys, partial(_key_at, b, keys, following, ahead), self.depth)
                    value = _floats(b, b.load_row(v, values.at(b, shared, key, at), mask, width))
                    weights = [b.broadcast(b.element(self._scores, [row, loop.index]), type) for row in rows]
                    loop.next = [
                        b.value(vector.FMAOp(weight, value, total))
                        for weight, total in zip(weights, loop.args, strict=True)
                    ]
                for row, total in zip(rows, loop.results, strict=True):
                    b.store(total, self._total, [self._kept_at, row, at])

    def _scores_of_keys(self, k: SSAValue, v: SSAValue, shared: Index, block: _Block, index: Index) -> None:
        """Scores of as many keys as a vector has lanes."""
        assert self.unpacked is not None
        b, lanes = self.b, self.lanes
        keys, values = self.unpacked
        first = b.add(block.first, index)
        for number in range(lanes):
            key = b.add(first, number)
            self._prefetch(v, values, partial(values.at, b, shared, key), self.width)
        scales = None
        if self.scales[0] is not None:
            scales = b.load(self.scales[0], [shared, first], vector_of(lanes))
        for top in range(0, self.rows, TOGETHER):
            rows = range(top, min(top + TOGETHER, self.rows))

            def products(number: int, rows: range = rows) -> list[SSAValue]:
                return self._products(k, keys.at, shared, b.add(first, number), rows, lanes)

            for row, total in zip(rows, lane_sums(b, lanes, products), strict=True):
                score = total if scales is None else mul(b, total, scales)
                b.store(score, self._scores, [row, index])

    def _scores_of_key(self, k: SSAValue, shared: Index, block: _Block, index: Index) -> None:
        """Scores of one key."""
        assert self.unpacked is not None
        b = self.b
        key = b.add(block.first, index)
        totals = self._products(k, self.unpacked[0].at, shared, key, range(self.rows), self.lanes * VECTORS)
        for row, total in enumerate(totals):
            score = _reduced(b, total, vector.CombiningKindFlag.ADD)
            if self.scales[0] is not None:
                score = mul(b, score, b.element(self.scales[0], [shared, key]))
            b.set_element(score, self._scores, [row, index])

    def _products(
        self,
        k: SSAValue,
        place: Callable[[LoopBuilder, Index, Index, Index], list[Index]],
        shared: Index,
        key: Index,
        rows: range,
        width: int,
    ) -> list[SSAValue]:
        """Products of a key with queries, added up to vectors of a width."""
        b = self.b
        type = vector_of(width)
        totals: list[SSAValue] = []
        for at, mask in self._vectors(self.depth, width):
            part = _floats(b, b.load_row(k, place(b, shared, at, key), mask, width))
            queries = [b.load(self._queries, [row, at], type) for row in rows]
            if totals:
                totals = [
                    b.value(vector.FMAOp(query, part, total))
                    for query, total in zip(queries, totals, strict=True)
                ]
            else:
                totals = [mul(b, query, part) for query in queries]
        return totals

    def _following(self, shared: Index, block: _Block) -> tuple[Index, Index]:
        """The matrix and the first key of the block after one: of the next matrix behind the last."""
        b = self.b
        if not block.carried:
            return b.add(shared, 1), 0
        reached = b.add(block.first, self._keys_of_block)
        more = b.below(reached, block.end)
        return b.choose(more, shared, b.add(shared, 1)), b.choose(more, reached, 0)

    def _prefetch(
        self, buffer: SSAValue, matrices: Matrices, at: Callable[[int], list[Index]], size: int
    ) -> None:
        """Prefetch a row of keys or values: threads that only read memory go on where a page ends, loops do not."""
        for first in range(0, size, LINE // nbytes(element_of(matrices.value))):
            self.b.prefetch(buffer, at(first))

    def _columns(self, count: Index, visit: Callable[[Index, int], None]) -> None:
        """Visit groups of panels of a tile's width, then the panels that are left, which may be filled in part."""
        b = self.b
        count = b.mul(b.ceildiv(count, PANEL), PANEL)
        whole = b.multiple_below(count, self.columns)
        with b.for_(0, whole, self.columns) as loop:
            visit(loop.index, self.columns)
        if self.columns > PANEL and (not isinstance(count, int) or count != whole):
            with b.for_(whole, count, PANEL) as loop:
                visit(loop.index, PANEL)

    def _mask_of_block(self, block: _Block, at: Index) -> SSAValue | None:
        """The keys of a vector that a block has; None if it has all of any."""
        width = self.lanes * VECTORS
        if isinstance(block.count, int) and not block.count % width:
            return None
        return self.b.mask(self.b.sub(block.count, at), width)

    def _softmax(self, row: Index, block: _Block, shared: Index) -> None:
        """Exponentials of the scores of one query in place, and what they change of its sums.

        They are multiplied by the scales of values, which the sums are not.
        """
        b = self.b
        width = self.lanes * VECTORS
        type = vector_of(width)
        lowest = b.splat(-inf, type)
        places = self._places(*self._query(row)) if self.attention.pointwise else []

        def largest(at: Index, carried: SSAValue) -> SSAValue:
            value = b.load(self._scores, [row, at], type)
            mask = self._mask_of_block(block, at)
            if self.attention.pointwise:
                value = self._pointwise(value, places, b.add(block.first, at), mask)
            if mask is not None:
                value = b.select(mask, value, lowest)
            b.store(value, self._scores, [row, at])
            return choose(b, "ogt", value, carried, value, carried)

        with b.for_(0, block.count, width, [lowest]) as loop:
            loop.next = [largest(loop.index, loop.args[0])]
        most = _reduced(b, loop.results[0], vector.CombiningKindFlag.MAXNUMF)
        narrow = vector_of(self.lanes)
        factor: SSAValue | None = None
        if block.carried:
            before = b.broadcast(b.element(self._most, [self._kept_at, row]), narrow)
            now = b.broadcast(most, narrow)
            now = choose(b, "ogt", before, now, before, now)
            b.store_first(now, self._most, [self._kept_at, row])
            # While nothing but -inf was seen, the difference to 0 is what leaves it out.
            used = choose(b, "oeq", now, b.splat(-inf, narrow), b.splat(0.0, narrow), now)
            factor = exp_of_difference(b, b.value(arith.SubfOp(before, used)))
            shift = b.widened(used, width)
        else:
            shift = b.broadcast(most, type)

        with b.for_(0, block.count, width, [b.splat(0.0, type)]) as loop:
            value = b.load(self._scores, [row, loop.index], type)
            value = exp_of_difference(b, b.value(arith.SubfOp(value, shift)))
            loop.next = [add(b, loop.args[0], value)]
            if self.unpacked is not None and self.scales[1] is not None:
                mask = self._mask_of_block(block, loop.index)
                here = [shared, b.add(block.first, loop.index)]
                value = mul(b, value, b.load_row(self.scales[1], here, mask, width))
            b.store(value, self._scores, [row, loop.index])
        total = b.broadcast(_reduced(b, loop.results[0], vector.CombiningKindFlag.ADD), narrow)
        if factor is not None:
            before = b.broadcast(b.element(self._sum, [self._kept_at, row]), narrow)
            total = b.value(vector.FMAOp(before, factor, total))
            scale = b.widened(factor, width)
            for at, _ in self._vectors(self.width):
                value = mul(b, b.load(self._total, [self._kept_at, row, at], type), scale)
                b.store(value, self._total, [self._kept_at, row, at])
        b.store_first(total, self._sum, [self._kept_at, row])

    def _finish(self, y: SSAValue) -> None:
        """Divide by the sums."""
        b = self.b
        width = self.lanes * VECTORS
        type = vector_of(width)
        with b.for_(0, self.rows) as loop:
            total = b.broadcast(b.element(self._sum, [self._kept_at, loop.index]), vector_of(self.lanes))
            scale = b.widened(div(b, b.splat(1.0, vector_of(self.lanes)), total), width)
            for at, mask in self._vectors(self.width):
                value = mul(b, b.load(self._total, [self._kept_at, loop.index, at], type), scale)
                there = self._at(self.result, *self._query(loop.index), at)
                if mask is None:
                    b.store(value, y, there)
                else:
                    b.masked_store(value, y, there, mask)

    # -- places

    def _at(self, matrices: Matrices, head: Index, row: Index, column: Index) -> list[Index]:
        """A place in matrices whose rows may be those of several heads."""
        b = self.b
        several = times_of(matrices.rows, self.query.rows)
        assert several is not None
        number = b.quotient(head, several)
        row = b.add(b.mul(b.remainder(head, several), self._queries_of_head), row) if several > 1 else row
        return matrices.at(b, number, row, column)

    def _places(self, head: Index, row: Index) -> list[Index]:
        """The place of a row of scores in each dimension of their shape."""
        shape = self.attention.shape
        whole = Matrices(self.attention.scores, shape, tuple(range(len(shape))))
        return self._at(whole, head, row, 0)[:-1]

    def _pointwise(
        self, value: SSAValue, places: Sequence[Index], column: Index, mask: SSAValue | None
    ) -> SSAValue:
        """The results of the pointwise ops for scores."""
        attention = self.attention
        (width,) = vector_type(value).get_shape()
        result = attention.pointwise[-1].results[0]
        return self._computed(result, {attention.scores: value}, places, column, mask, width)

    def _computed(
        self,
        value: SSAValue,
        known: Mapping[SSAValue, SSAValue],
        places: Sequence[Index],
        column: Index,
        mask: SSAValue | None,
        width: int,
    ) -> SSAValue:
        """A vector of the elements from a column on of what pointwise ops compute, of others that are known."""
        b, attention = self.b, self.attention
        ops: list[SchemaOp] = []
        wanted = {value}
        for op in reversed(attention.pointwise):
            if op.results[0] in wanted:
                ops.insert(0, op)
                wanted.update(op.operands)
        values = dict(known)
        for operand in attention.beside:
            if operand in wanted:
                values[operand] = self._elements(operand, places, column, mask, width)
        return evaluate(b, ops, values)[value]

    def _elements(
        self, operand: SSAValue, places: Sequence[Index], column: Index, mask: SSAValue | None, width: int
    ) -> SSAValue:
        """A vector of the elements of an operand beside a row of scores, from a column on."""
        b = self.b
        shape = shape_of(operand)
        here = self._row_of(operand, places)
        buffer, element = self.buffers[operand], in_registers(element_of(operand))
        if not shape or shape[-1] == 1:
            return b.broadcast(b.element(buffer, here), vector_of(width, element=element))
        return b.load_row(buffer, [*here, column], mask, width, element)

    def _row_of(self, operand: SSAValue, places: Sequence[Index]) -> list[Index]:
        """The place in the buffer of an operand that is beside a row of scores."""
        shape = shape_of(operand)[:-1]
        beside = places[len(places) - len(shape) :]
        return [place for place, size in zip(beside, shape, strict=True) if size != 1]


def _key_at(b: LoopBuilder, keys: Matrices, number: Index, key: Index, row: Index) -> list[Index]:
    """The place of an element of a key: they are columns."""
    return keys.at(b, number, row, key)


def _any(b: LoopBuilder, bits: SSAValue) -> SSAValue:
    """Whether a bit is set."""
    made = vector.ReductionOp.build(
        operands=[[bits], []],
        properties={"kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR)},
        result_types=[i1],
    )
    return b.value(made)


def _reduced(b: LoopBuilder, value: SSAValue, kind: vector.CombiningKindFlag) -> SSAValue:
    made = vector.ReductionOp.build(
        operands=[[value], []],
        properties={"kind": vector.CombiningKindAttr(kind)},
        result_types=[f32],
    )
    return b.value(made)


def attention_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel of an attention."""
    attention = attention_of(kernel)
    outside = kernel.outside()
    query, key, value = (Matrices.of(outside[one]) for one in attention.inputs[:3])
    result = Matrices.of(kernel.outputs[0])
    beside = [_beside(host, attention, one, outside[one]) for one in attention.beside]
    scales = [
        None if one is None else Operand(host.buffer(outside[one]), [key.count, key.columns], fixed=[0, 1])
        for one in (attention.key_scales, attention.value_scales)
    ]
    reach = reach_of_queries(host, attention, outside, query.rows, key.columns)
    depth = key.rows
    assert isinstance(depth, int)
    sharing = query.count // key.count
    queries = host.most(query.rows)
    few = isinstance(query.rows, int) and sharing * queries <= FEW
    few = few and key.by_columns and not value.by_columns
    by_block = not few and host.large_stack and not host.fine
    by_block = by_block and 4 * STEP * (depth + value.columns) <= PACKED
    if few or by_block:
        matrices = [one.operand(host) for one in (key, value)]
    else:
        matrices = [_panels(host, one, of) for one, of in zip((key, value), scales, strict=True)]
        scales = [None, None]
    read = [one for one in scales if one is not None]
    operands = [query.operand(host), *matrices, *read, *beside, result.operand(host)]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        q, k, v, *others, y = buffers
        found, others = iter(others[: len(read)]), others[len(read) :]
        of_key, of_value = (None if one is None else next(found) for one in scales)
        loops = _Loops(
            b,
            dict(zip(attention.beside, others, strict=True)),
            host.lanes,
            attention,
            query,
            result,
            key.columns,
            depth,
            value.columns,
            sharing,
            sharing * queries if few else tile_rows(queries, host),
            panel_columns(host),
            reach,
            {mask: list(bounds_of_keys(host, mask, outside)) for mask in attention.added},
            (key, value) if few else None,
            (of_key, of_value),
            (key, value) if by_block else None,
            queries,
        )
        loops.build(q, k, v, y)

    host.call("attention", operands, build)


def _panels(host: Host, matrices: Matrices, scales: Operand | None) -> Operand:
    panels = -(-matrices.columns // PANEL)
    return Operand(
        packed_matrices(host, matrices, scales, _restored),
        [matrices.count * panels, matrices.rows, PANEL],
        fixed=[0, 1, 2],
    )


def _restored(scales: SSAValue | None, b: LoopBuilder, matrix: Index, key: Index, row: SSAValue) -> SSAValue:
    """A vector of a key or value, which may be bytes with a scale, in floats."""
    row = _floats(b, row)
    if scales is None:
        return row
    return mul(b, row, b.broadcast(b.element(scales, [matrix, key]), vector_type(row)))


def _floats(b: LoopBuilder, row: SSAValue) -> SSAValue:
    """A vector, which may be of bytes, in floats."""
    if vector_type(row).element_type == f32:
        return row
    return b.convert("sitofp", b.convert("sext", row, i32), f32)


def _beside(host: Host, attention: Attention, inside: SSAValue, value: SSAValue) -> Operand:
    """A mask as the loops read it: without the dimensions that it is broadcast in."""
    shape = shape_of(inside)
    sizes = [size for size in shape if size != 1]
    return Operand(host.buffer(value), sizes, fixed=range(len(sizes)))
