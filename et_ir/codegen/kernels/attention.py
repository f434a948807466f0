"""Attention kernels: softmax(q kᵀ) v, without the matrix of scores.

A tile of rows of queries goes by blocks of keys. Its scores of a block, their exponentials, and the sums so far of
these and of the values that they weigh are all that there is of them, and stay in the first cache. What is known after
a block is scaled when the next one has a larger maximum (Milakov and Gimelshein, Online normalizer calculation for
softmax, 2018; Dao et al., FlashAttention, 2022). Keys and values are packed into panels first, where there are more
than a few rows of queries. Keys behind the last one that a mask leaves to a tile are not read: those of a cache that
are not written yet, and those of later tokens.

Few queries read keys and values in bytes, with a scale for each, as they are: scores and weights are scaled.

The number of queries may be known at run time only. Rows of the last tile that are too many repeat the last query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, prod
from typing import Final

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Block, Operation, SSAValue

from et_ir.analysis.dim_orders import Order, straight
from et_ir.codegen.elements import element_of, in_registers, nbytes
from et_ir.codegen.kernels.exponential import exp_of_difference
from et_ir.codegen.kernels.host import Host, Operand
from et_ir.codegen.kernels.lane_sums import lane_sums
from et_ir.codegen.kernels.matrices import Matrices, packed_matrices
from et_ir.codegen.kernels.panels import PANEL, constant_array, panel_columns, tile_rows
from et_ir.codegen.kernels.pointwise_rules import (
    COMPARISONS,
    POINTWISE,
    add,
    choose,
    div,
    evaluate,
    mul,
    operator_name,
    rule_of,
)
from et_ir.codegen.kernels.quantization_rules import i8
from et_ir.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_ir.codegen.sizes import Size, has_known_sizes, product, representative, shape_of
from et_ir.dialects.native import CompareOp, KernelOp
from et_ir.dialects.native.types import vector_type
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import sizes_of, tensor_type

__all__ = [
    "Attention",
    "attention_kernel",
    "attention_matrices",
    "dequantized",
    "match_attention",
    "scaled_matrices",
]

KEYS: Final = 256
"""Keys of a block, whose scores with a tile of queries stay in the first cache."""
VECTORS: Final = 4
"""Vector registers of scores that are computed together."""
FEW: Final = 8
"""As many queries, or fewer, read keys and values as they are."""
LINE: Final = 64
"""Bytes of a line of a cache."""
TOGETHER: Final = 4
"""Queries whose products with a key or value share its load, where there are `FEW`."""
CAST: Final = "dim_order_ops._to_dim_order_copy"
MASKED: Final = -1e30
"""Largest mask value that excludes a key from the softmax."""


# -- recognition

_PRODUCTS: Final = ("bmm", "mm")


@dataclass(frozen=True)
class Attention:
    """The ops of an attention: two products, a softmax of the first, and pointwise ops between them."""

    query: SSAValue
    """`[…, queries, depth]`."""
    key: SSAValue
    """`[…, depth, keys]`."""
    value: SSAValue
    """`[…, keys, width]`."""
    scores: SSAValue
    """The operand of the pointwise ops: the first product, in the shape of the softmax."""
    result: SSAValue
    """`[…, queries, width]`."""
    pointwise: tuple[SchemaOp, ...]
    """From the scores to the operand of the softmax."""
    ops: tuple[SchemaOp, ...]
    """All ops, in their order."""
    key_scales: SSAValue | None = None
    """`[…, 1, keys]` where keys are bytes."""
    value_scales: SSAValue | None = None
    """`[…, keys, 1]` where values are bytes."""

    @property
    def shape(self) -> tuple[Size, ...]:
        """That of the scores: rows of keys."""
        return shape_of(self.scores)

    @property
    def beside(self) -> list[SSAValue]:
        """Operands of the pointwise ops beside the scores: masks and numbers."""
        made = {self.scores, *(result for op in self.pointwise for result in op.results)}
        found = dict.fromkeys(operand for op in self.pointwise for operand in op.operands)
        return [value for value in found if value not in made]

    @property
    def added(self) -> list[SSAValue]:
        """The operands of additions that the softmax reads, or that other such additions read.

        A key with a mask of -inf there has no weight. What else is done to scores, such as a bound, may give it some.
        """
        found: list[SSAValue] = []
        for op in reversed(self.pointwise):
            if operator_name(op) != "add.Tensor" or float(op.arg("alpha")) != 1:
                break
            found[:0] = op.operands
        return found

    @property
    def inputs(self) -> list[SSAValue]:
        scales = [one for one in (self.key_scales, self.value_scales) if one is not None]
        return [self.query, self.key, self.value, *scales, *self.beside]


def match_attention(op: SchemaOp) -> Attention | None:
    """The attention whose second product an op is; None if it is none, or of sizes that there are no loops for."""
    if operator_name(op) not in _PRODUCTS:
        return None
    weights, views = _through_views(op.operands[0])
    softmax = weights.owner
    if not isinstance(softmax, SchemaOp) or operator_name(softmax) != "_softmax":
        return None
    if not has_known_sizes(weights):
        return None
    shape = shape_of(weights)
    if not _used_once(weights) or int(softmax.arg("dim")) % len(shape) != len(shape) - 1:
        return None
    pointwise = _chain(softmax.operands[0], shape)
    if pointwise is None:
        return None
    scores, chain = pointwise
    made, before = _through_views(scores)
    first = made.owner
    if not isinstance(first, SchemaOp) or not _used_once(made):
        return None
    query, of_query = _operand(first.operands[0])
    key, of_key = _operand(first.operands[1])
    value, of_value = _operand(op.operands[1])
    result, of_result = _result(op.results[0], sizes_of(tensor_type(query))[-2])
    between, behind = (first, *before, *chain, softmax, *views), (op, *of_result)
    ops = (*of_query, *of_key, *between, *of_value, *behind)
    found = Attention(query, key, value, scores, result, tuple(chain), ops)
    if not _has_loops(found, made):
        return None
    key, key_scales, restored_keys = _bytes(key, -2)
    value, value_scales, restored_values = _bytes(value, -1)
    if (key_scales is None and value_scales is None) or not _has_few_queries(found):
        return found
    ops = (*of_query, *restored_keys, *of_key, *between, *restored_values, *of_value, *behind)
    return replace(found, key=key, value=value, key_scales=key_scales, value_scales=value_scales, ops=ops)


def _used_once(value: SSAValue) -> bool:
    return value.has_one_use()


def _through_views(value: SSAValue) -> tuple[SSAValue, list[SchemaOp]]:
    """The value of which another is a reshape that only merges or splits its rows, and the ops that do so."""
    views: list[SchemaOp] = []
    columns = sizes_of(tensor_type(value))[-1]
    while isinstance(value.owner, SchemaOp) and operator_name(value.owner) == "view_copy":
        source = value.owner.operands[0]
        shape = sizes_of(tensor_type(source))
        if not _used_once(value) or not shape or shape[-1] != columns:
            break
        views.insert(0, value.owner)
        value = source
    return value, views


def _operand(value: SSAValue) -> tuple[SSAValue, list[SchemaOp]]:
    """Matrices of a batch, in more dimensions where their batch is a merge of some."""
    owner = value.owner
    if isinstance(owner, SchemaOp) and operator_name(owner) == "view_copy":
        source = owner.operands[0]
        shape, merged = sizes_of(tensor_type(source)), sizes_of(tensor_type(value))
        if len(shape) > 2 and shape[-1] == merged[-1] and _times(merged[-2], shape[-2]) is not None:
            return source, [owner]
    return value, []


def dequantized(op: Operation | Block, dim: int) -> tuple[SchemaOp, SSAValue] | None:
    """The op that converts the bytes that a multiplication scales to floats, and the scales, of size 1 in `dim`; None
    for other ops.
    """
    if not isinstance(op, SchemaOp) or operator_name(op) != "mul.Tensor":
        return None
    for value, scales in (op.operands, op.operands[::-1]):
        cast = value.owner
        if not isinstance(cast, SchemaOp) or operator_name(cast) != CAST or not _used_once(value):
            continue
        shape = list(tensor_type(value).get_shape())
        shape[dim] = 1
        if tensor_type(scales).get_shape() != tuple(shape) or min(shape) < 0:
            continue
        if element_of(cast.operands[0]) == i8 and element_of(value) == element_of(scales) == f32:
            return cast, scales
    return None


def _bytes(value: SSAValue, dim: int) -> tuple[SSAValue, SSAValue | None, list[SchemaOp]]:
    """Keys or values as they are before they are dequantized, with their scales, and the ops that do so."""
    found = dequantized(value.owner, dim) if _used_once(value) else None
    if found is None:
        return value, None, []
    cast, scales = found
    assert isinstance(value.owner, SchemaOp)
    return cast.operands[0], scales, [cast, value.owner]


def _times(size: Size | None, of: Size | None) -> int | None:
    """How many times another one a size is, if that is known."""
    if size is None or of is None:
        return None
    times, rest = divmod(representative(size), max(representative(of), 1))
    return times if not rest else None


def _result(value: SSAValue, queries: Size | None) -> tuple[SSAValue, list[SchemaOp]]:
    """The result in the shape of what alone reads it, if that takes its batch apart."""
    uses = list(value.uses)
    if len(uses) != 1:
        return value, []
    user = uses[0].operation
    if not isinstance(user, SchemaOp) or operator_name(user) != "view_copy":
        return value, []
    shape = sizes_of(tensor_type(user.results[0]))
    if len(shape) < 2 or shape[-1] != sizes_of(tensor_type(value))[-1] or shape[-2] != queries:
        return value, []
    return user.results[0], [user]


def _chain(value: SSAValue, shape: Sequence[Size]) -> tuple[SSAValue, list[SchemaOp]] | None:
    """Pointwise ops from a product, or a view of one, to a value; all of one shape, read by nothing else."""
    owner = value.owner
    if not isinstance(owner, SchemaOp) or not _used_once(value):
        return None
    name = operator_name(owner)
    if name in ("view_copy", *_PRODUCTS):
        source = _through_views(value)[0].owner
        return (value, []) if isinstance(source, SchemaOp) and operator_name(source) in _PRODUCTS else None
    if name not in POINTWISE:
        return None
    for place, operand in enumerate(owner.operands):
        if sizes_of(tensor_type(operand)) != shape:
            continue
        found = _chain(operand, shape)
        if found is None:
            continue
        others = [one for number, one in enumerate(owner.operands) if number != place]
        masks = [
            one.owner
            for one in others
            if isinstance(one.owner, SchemaOp) and operator_name(one.owner) in COMPARISONS
        ]
        if found[0] in (read for mask in masks for read in mask.operands):
            return None
        return found[0], [*found[1], *masks, owner]
    return None


def _has_loops(one: Attention, made: SSAValue) -> bool:
    """Whether the loops have a place for all operands, given the result of the first product."""
    values = [one.query, one.key, one.value, one.result, one.scores, made, *one.beside]
    if not all(map(has_known_sizes, values)):
        return False
    if any(tensor_type(value).element_type != f32 for value in values[:4]) or any(
        rule_of(op) is None for op in one.pointwise
    ):
        return False
    query, key, value, result, scores, first, *beside = map(shape_of, values)
    # The number of queries is the only one that need not be known, and that of rows which are theirs.
    known = [*key, *value, scores[-1]]
    for shape in (query, result, scores, first):
        known += [*shape[:-2], shape[-1]]
    for shape in beside:
        known += shape if shape[-2:-1] != scores[-2:-1] else [*shape[:-2], shape[-1]]
    if not all(isinstance(size, int) and size > 0 for size in known):
        return False
    heads, of_keys, of_values = (prod(map(representative, shape[:-2])) for shape in (query, key, value))
    constant = any(isinstance(value.owner, GetOp) for value in values[1:3])
    rows = (first[-2], *scores[-2:-1], result[-2])
    return (
        not constant
        and query[-2] != 0
        and scores[-1] == first[-1]
        and all(_times(size, query[-2]) is not None for size in rows)
        and heads % of_keys == 0
        and of_keys == of_values
    )


def _has_few_queries(one: Attention) -> bool:
    """Whether keys and values are read as they are."""
    rows, batch = product(shape_of(one.query)[:-1]), product(shape_of(one.key)[:-2])
    return isinstance(rows, int) and isinstance(batch, int) and rows <= FEW * batch


# -- loops


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
    unpacked: tuple[Matrices, Matrices] | None
    """Keys and values that are read as they are, by few queries; None if they are packed."""
    scales: tuple[SSAValue | None, SSAValue | None]
    """Those of keys and values in bytes, `[matrix, key]`."""

    @property
    def _keys_of_block(self) -> int:
        """The scores of few queries with more keys take no more room than those of `TOGETHER`."""
        if self.unpacked is None or not self.b.large_stack:
            return KEYS
        return KEYS * max(1, TOGETHER // self.rows)

    def build(self, q: SSAValue, k: SSAValue, v: SSAValue, y: SSAValue) -> None:
        """Tiles of queries, which threads share."""
        b = self.b
        self._queries_of_head = queries = b.dim(q, self.query.order.index(len(self.query.shape) - 2))
        block = min(self._keys_of_block, -(-self.keys // PANEL) * PANEL)
        # Rows of whole steps of the loops over them.
        step = self.lanes * VECTORS
        self._scores = b.local(self.rows, -(-max(block, self.columns) // step) * step)
        self._queries = b.local(self.rows, -(-self.depth // step) * step)
        self._total = b.local(self.rows, -(-self.width // step) * step)
        self._most, self._sum = b.local(self.rows), b.local(self.rows)
        if self.unpacked is not None:
            self._build_few(q, k, v, y)
            return
        tiles = b.ceildiv(queries, self.rows)
        with b.parallel(b.mul(self.query.count, tiles)) as number:
            head, tile = b.quotient(number, tiles), b.remainder(number, tiles)
            row = b.mul(tile, self.rows)
            if isinstance(queries, int):
                row = b.min(row, queries - self.rows)
            self._head, self._top = head, row
            if self.reach is not None:
                end = b.max(b.min(b.add(row, self.rows + self.reach), self.keys), 1)
            else:
                end = self._last_keys_of_tile()
            self._tile(q, k, v, y, b.quotient(head, self.sharing), end)

    def _build_few(self, q: SSAValue, k: SSAValue, v: SSAValue, y: SSAValue) -> None:
        """All queries that read the same keys and values, which threads share."""
        end: Index = self.keys
        if self.reach is not None:
            end = max(min(self.rows // self.sharing + self.reach, self.keys), 1)
        elif mask := self._mask_of_keys(1):
            end = self._last_key(mask, [])
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
            row = [self._query(loop.index)[1]] if self.query.rows != 1 else []
            loop.next = [b.index(b.max(loop.args[0], self._last_key(mask, row)))]
        return loop.results[0]

    def _last_key(self, mask: SSAValue, row: list[Index]) -> Index:
        """The end of the keys that a row of a mask leaves, to a whole vector; of a cache, those written so far.

        Without any, scores are what they are without regard to the mask.
        """
        b = self.b
        width = self.lanes * VECTORS
        lowest = b.splat(MASKED, vector_of(width))
        with b.for_(0, self.keys, width, [b.index(0)]) as loop:
            if self.keys % width:
                some = b.mask(b.sub(self.keys, loop.index), width)
                value = b.masked_load(mask, [*row, loop.index], some, lowest)
            else:
                value = b.load(mask, [*row, loop.index], vector_of(width))
            seen = _any(b, b.value(CompareOp("ugt", value, lowest)))
            loop.next = [b.index(b.choose(seen, b.min(b.add(loop.index, width), self.keys), loop.args[0]))]
        end = loop.results[0]
        return b.choose(b.below(0, end), end, self.keys)

    def _mask_of_keys(self, queries: Size) -> SSAValue | None:
        """A mask that is added with a number for each key of so many queries, the same for all heads."""
        for operand in self.attention.added:
            if operand not in self.buffers or element_of(operand) != f32:
                continue
            shape = [1, *shape_of(operand)]
            if shape[-2:] == [queries, self.keys] and all(size == 1 for size in shape[:-2]) and self.keys > 1:
                return self.buffers[operand]
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
            b.set_element(b.number(-inf, f32), self._most, [loop.index])
            b.set_element(b.number(0.0, f32), self._sum, [loop.index])
            for at, _ in self._vectors(self.width):
                type = vector_of(self.lanes * VECTORS)
                b.store(b.splat(0.0, type), self._total, [loop.index, at])

    def _block(self, k: SSAValue, v: SSAValue, shared: Index, block: _Block) -> None:
        b = self.b
        if self.unpacked is not None:
            self._block_of_few(k, v, shared, block)
            return
        panels = b.mul(shared, -(-self.keys // PANEL) * PANEL)
        first = b.add(panels, block.first)

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
            start = b.load(self._total, [0, column], type) if block.carried else b.splat(0.0, type)
            of_head = b.mul(shared, -(-self.width // PANEL) * PANEL)
            with b.for_(0, block.count, 1, [start]) as loop:
                left = b.column(self._scores, [0, loop.index], 0, 1, vector_of(self.rows))
                right = b.panels(v, b.add(of_head, column), [b.add(block.first, loop.index)], width)
                loop.next = [b.outer_product(left, right, loop.args[0])]
            b.store(loop.results[0], self._total, [0, column])

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
                    b.load(self._total, [row, at], type) if block.carried else b.splat(0.0, type)
                    for row in rows
                ]
                with b.for_(0, block.count, 1, starts) as loop:
                    key = b.add(block.first, loop.index)
                    if at == top == 0:
                        ahead = b.add(start, loop.index)
                        self._prefetch(k, keys, partial(_key_at, b, keys, following, ahead), self.depth)
                    value = self._floats(b.load_row(v, values.at(b, shared, key, at), mask, width))
                    weights = [b.broadcast(b.element(self._scores, [row, loop.index]), type) for row in rows]
                    loop.next = [
                        b.value(vector.FMAOp(weight, value, total))
                        for weight, total in zip(weights, loop.args, strict=True)
                    ]
                for row, total in zip(rows, loop.results, strict=True):
                    b.store(total, self._total, [row, at])

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
            part = self._floats(b.load_row(k, place(b, shared, at, key), mask, width))
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

    def _floats(self, row: SSAValue) -> SSAValue:
        """A row of keys or values, which may be bytes, in floats."""
        if vector_type(row).element_type == f32:
            return row
        return self.b.convert("sitofp", self.b.convert("sext", row, i32), f32)

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
            before = b.broadcast(b.element(self._most, [row]), narrow)
            now = b.broadcast(most, narrow)
            now = choose(b, "ogt", before, now, before, now)
            b.store_first(now, self._most, [row])
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
            if self.scales[1] is not None:
                mask = self._mask_of_block(block, loop.index)
                here = [shared, b.add(block.first, loop.index)]
                value = mul(b, value, b.load_row(self.scales[1], here, mask, width))
            b.store(value, self._scores, [row, loop.index])
        total = b.broadcast(_reduced(b, loop.results[0], vector.CombiningKindFlag.ADD), narrow)
        if factor is not None:
            before = b.broadcast(b.element(self._sum, [row]), narrow)
            total = b.value(vector.FMAOp(before, factor, total))
            scale = b.widened(factor, width)
            for at, _ in self._vectors(self.width):
                value = mul(b, b.load(self._total, [row, at], type), scale)
                b.store(value, self._total, [row, at])
        b.store_first(total, self._sum, [row])

    def _finish(self, y: SSAValue) -> None:
        """Divide by the sums."""
        b = self.b
        width = self.lanes * VECTORS
        type = vector_of(width)
        with b.for_(0, self.rows) as loop:
            total = b.broadcast(b.element(self._sum, [loop.index]), vector_of(self.lanes))
            scale = b.widened(div(b, b.splat(1.0, vector_of(self.lanes)), total), width)
            for at, mask in self._vectors(self.width):
                value = mul(b, b.load(self._total, [loop.index, at], type), scale)
                there = self._at(self.result, *self._query(loop.index), at)
                if mask is None:
                    b.store(value, y, there)
                else:
                    b.masked_store(value, y, there, mask)

    # -- places

    def _at(self, matrices: Matrices, head: Index, row: Index, column: Index) -> list[Index]:
        """A place in matrices whose rows may be those of several heads."""
        b = self.b
        several = _times(matrices.rows, self.query.rows)
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
        b, attention = self.b, self.attention
        (width,) = vector_type(value).get_shape()
        rank = len(attention.shape)
        known = {attention.scores: value}
        for operand in attention.beside:
            shape = shape_of(operand)
            padded = [1] * (rank - len(shape)) + list(shape)
            here = [place for place, size in zip(places, padded[:-1], strict=True) if size != 1]
            buffer, element = self.buffers[operand], in_registers(element_of(operand))
            if padded[-1] == 1:
                known[operand] = b.broadcast(b.element(buffer, here), vector_of(width, element=element))
            else:
                known[operand] = b.load_row(buffer, [*here, column], mask, width, element)
        return evaluate(b, attention.pointwise, known)[attention.pointwise[-1].results[0]]


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
        Operand(host.buffer(outside[one]), [key.count, key.columns], fixed=[0, 1])
        for one in (attention.key_scales, attention.value_scales)
        if one is not None
    ]
    reach = _reach(host, attention, outside, query.rows, key.columns)
    depth = key.rows
    assert isinstance(depth, int)
    sharing = query.count // key.count
    queries = host.most(query.rows)
    few = isinstance(query.rows, int) and sharing * queries <= FEW
    few = few and key.by_columns and not value.by_columns
    assert few or not scales
    unpacked = (key, value) if few else None
    matrices = [one.operand(host) if few else _panels(host, one) for one in (key, value)]
    operands = [query.operand(host), *matrices, *scales, *beside, result.operand(host)]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        q, k, v, *others, y = buffers
        found, others = iter(others[: len(scales)]), others[len(scales) :]
        of_key, of_value = (
            None if one is None else next(found) for one in (attention.key_scales, attention.value_scales)
        )
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
            unpacked,
            (of_key, of_value),
        )
        loops.build(q, k, v, y)

    host.call("attention", operands, build)


def attention_of(kernel: KernelOp) -> Attention:
    """The attention in the body of a kernel."""
    ops = [op for op in kernel.body.block.ops if isinstance(op, SchemaOp) and operator_name(op) in _PRODUCTS]
    found = match_attention(ops[-1])
    assert found is not None
    return found


def attention_matrices(kernel: KernelOp) -> list[SSAValue]:
    """The queries, keys and values of a kernel, as its body has them."""
    return attention_of(kernel).inputs[:3]


def scaled_matrices(kernel: KernelOp) -> dict[SSAValue, Order]:
    """The order in memory of keys and values in bytes, as the body of a kernel has them: each by itself."""
    attention = attention_of(kernel)
    found: dict[SSAValue, Order] = {}
    for value, scales in (
        (attention.key, attention.key_scales),
        (attention.value, attention.value_scales),
    ):
        if scales is not None:
            *batch, rows, columns = straight(tensor_type(value).get_num_dims())
            found[value] = (*batch, columns, rows) if value is attention.key else (*batch, rows, columns)
    return found


def _panels(host: Host, matrices: Matrices) -> Operand:
    panels = -(-matrices.columns // PANEL)
    return Operand(
        packed_matrices(host, matrices), [matrices.count * panels, matrices.rows, PANEL], fixed=[0, 1, 2]
    )


def _beside(host: Host, attention: Attention, inside: SSAValue, value: SSAValue) -> Operand:
    """A mask as the loops read it: without the dimensions that it is broadcast in."""
    shape = shape_of(inside)
    sizes = [size for size in shape if size != 1]
    return Operand(host.buffer(value), sizes, fixed=range(len(sizes)))


def _reach(
    host: Host, attention: Attention, outside: Mapping[SSAValue, SSAValue], queries: Size, keys: int
) -> int | None:
    """How far beyond its own number a query reads keys, by constant masks that are added; None for all keys."""
    found: int | None = None
    for operand in attention.added:
        array = constant_array(host, outside[operand]) if operand in outside else None
        if array is None or array.ndim < 2 or array.shape[-2:] != (queries, keys):
            continue
        allowed = np.asarray(array > MASKED).reshape(-1, *array.shape[-2:])
        # A query that reads no key gets what its scores are without regard to the mask.
        if not allowed.any(axis=2).all():
            continue
        rows, columns = np.nonzero(allowed.any(axis=0))
        reach = int((columns - rows).max())
        if reach + 1 < keys:
            found = reach if found is None else min(found, reach)
    return found
