"""Row kernels: reductions, and what is normalized by them, in passes over one row at a time.

A row is the elements that one reduction combines. Where the last dimension is reduced, vectors go along the row and are
combined at its end; where it is kept, each lane of a vector has a row of its own. A row that fits in the first cache is
read from memory once, however many passes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp, SelectOp, YieldOp
from et_backends.codegen.dialect.types import vector_type
from et_backends.codegen.elements import element_of, in_registers, is_float, is_integer, width_of
from et_backends.codegen.kernels.exponential import exp_of_difference
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.integer_rules import converted
from et_backends.codegen.kernels.pointwise_rules import (
    add,
    choose,
    div,
    evaluate,
    mul,
    operator_name,
    sub,
)
from et_backends.codegen.loop_builder import Index, LoopBuilder, vector_of
from et_backends.codegen.sizes import Size, count_of, normal, product, shape_of
from et_ir.analysis.dim_orders import Order, straight
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import ui8
from et_ir.dialects.schema.tensors import is_tensor, tensor_type

__all__ = ["ROWS", "is_normalization", "reads_in_order", "rows_kernel", "takes_elements"]

VECTORS: Final = 4
"""Vector registers that accumulate: enough to hide the latency of an addition."""

_Compute: TypeAlias = Callable[[SSAValue], SSAValue]


# -- shapes


@dataclass(frozen=True)
class _Run:
    """Neighboring dimensions that are all reduced or all kept, and over which each operand steps or none."""

    size: Size
    reduced: bool
    steps: tuple[bool, ...]
    """For each operand whether it steps over them; it is the same for all places of them otherwise."""


def _runs(shape: Sequence[Size], dims: frozenset[int], operands: Sequence[Sequence[Size]]) -> list[_Run]:
    """The runs of a shape. `operands` have as many dimensions, those that they do not step over of size 1."""
    runs: list[_Run] = []
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        run = _Run(size, dim in dims, tuple(one[dim] != 1 for one in operands))
        if runs and (runs[-1].reduced, runs[-1].steps) == (run.reduced, run.steps):
            run = _Run(product((runs.pop().size, size)), run.reduced, run.steps)
        runs.append(run)
    return runs


# -- anchors


class _Anchor:
    """The anchor of a row kernel: the shape as it sees it, and the dimensions that it reduces."""

    def __init__(self, op: SchemaOp):
        self.op = op
        name = self.name = operator_name(op)
        self.normalizes = is_normalization(op)
        self.shape: tuple[Size, ...] = shape_of(op.operands[0])
        rank = len(self.shape)
        self.parameters: list[SSAValue] = []
        """Operands of the anchor beside the one that it normalizes: the weight and the bias."""
        if self.normalizes and "weight" in op.schema().by_name:
            self.parameters = [one for one in (op.arg("weight"), op.arg("bias")) if one is not None]
        self.groups: int | None = None
        """The groups of the channels, which are a dimension of their own."""
        if name == "native_layer_norm":
            dims: Sequence[int] = range(rank - len(op.arg("normalized_shape")), rank)
        elif name == "native_group_norm":
            self.groups = int(op.arg("group"))
            self.shape = self._grouped(self.shape)
            dims = range(2, len(self.shape))
        elif self.normalizes:
            dims = [int(op.arg("dim"))]
        else:
            given: int | Sequence[int] | None = op.arg("dim") if "dim" in op.schema().by_name else None
            if isinstance(given, int):
                dims = [given]
            elif given is None or (not given and name not in ("all.dims", "any.dims")):
                dims = range(rank)  # none of them means all, but to these two
            else:
                dims = given
        self.dims = frozenset(int(dim) % max(len(self.shape), 1) for dim in dims)

    def operand_shape(self, value: SSAValue) -> Sequence[Size]:
        """The shape of an operand of the loops over the rows, with a size of 1 where it is broadcast."""
        shape = shape_of(value)
        rank = tensor_type(self.op.operands[0]).get_num_dims()
        return self._grouped((*[1] * (rank - len(shape)), *shape))

    def parameter_shape(self, value: SSAValue) -> Sequence[Size]:
        """The same of the weight or the bias, which group norms have an element of for each channel."""
        if self.groups is None:
            return self.operand_shape(value)
        rank = tensor_type(self.op.operands[0]).get_num_dims()
        return self._grouped((1, *shape_of(value), *[1] * (rank - 2)))

    def _grouped(self, shape: Sequence[Size]) -> tuple[Size, ...]:
        """A shape with a dimension for the groups, if there are any, and one for the channels of each."""
        if self.groups is None:
            return tuple(shape)
        batch, channels, *places = shape
        if channels == 1:
            return (batch, 1, 1, *places)
        return (batch, self.groups, normal(channels // self.groups), *places)

    def result_shape(self, value: SSAValue) -> Sequence[Size]:
        """The shape of an operand of what follows a reduction, with a size of 1 for what is reduced."""
        if self.normalizes:
            return self.operand_shape(value)
        rank = len(tensor_type(self.op.results[0]).get_shape())
        shape = shape_of(value)
        ones: list[Size] = [1]
        kept = iter(ones * (rank - len(shape)) + list(shape))
        if rank == len(self.shape):
            return list(kept)
        return [1 if dim in self.dims else next(kept) for dim in range(len(self.shape))]


def rows_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel whose anchor is a reduction or a normalization."""
    body = kernel.body.block
    last = body.last_op
    assert isinstance(last, YieldOp)
    (yielded,) = last.operands
    ops = [op for op in body.ops if isinstance(op, SchemaOp)]
    anchor = next(op for op in ops if operator_name(op) in ROWS)
    place = ops.index(anchor)
    before = _needed(anchor.operands[0], ops[:place])
    fused = _Fused(
        _Anchor(anchor),
        [op for op in ops[:place] if op in before],
        [op for op in ops if op is not anchor and op not in before],
        yielded,
    )
    outside = kernel.outside()
    inputs = fused.inputs
    what = fused.anchor
    shapes = [what.operand_shape(value) for value in inputs]
    shapes += [what.parameter_shape(value) for value in what.parameters]
    shapes += [what.result_shape(value) for value in fused.beside]
    shapes.append(what.operand_shape(yielded) if fused.spread else what.result_shape(yielded))
    order = _order(what, [outside[value] for value in inputs])
    runs = _runs(
        [what.shape[dim] for dim in order],
        frozenset(place for place, dim in enumerate(order) if dim in what.dims),
        [[shape[dim] for dim in order] for shape in shapes],
    )
    if not runs:
        runs = [_Run(1, True, (False,) * len(shapes))]
    # Sizes that the loops over one row and its vectors depend on are in the types: tails are known.
    values = [*(outside[value] for value in (*inputs, *what.parameters, *fused.beside)), kernel.outputs[0]]
    operands: list[Operand] = []
    for number, value in enumerate(values):
        moved = [run for run in runs if run.steps[number]]
        fixed = [dim for dim, run in enumerate(moved) if run.reduced or run is runs[-1]]
        sizes: list[Size] = [run.size for run in moved]
        if not sizes and number == len(values) - 1:
            sizes, fixed = list[Size]([1]), [0]
        operands.append(Operand(host.buffer(value), sizes, fixed))

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        _Rows(b, host.step, runs, buffers, fused).build()

    host.call(what.name.strip("_").split(".")[0], operands, build)


def _order(anchor: _Anchor, inputs: Sequence[SSAValue]) -> Order:
    """The order in memory of what is reduced, which operands of its rank are in, also those that are broadcast."""
    types = map(tensor_type, inputs)
    orders = [dim_order_of(type) for type in types if type.get_num_dims() == len(anchor.shape)]
    return straight(len(anchor.shape)) if anchor.normalizes or not orders else orders[0]


def reads_in_order(kernel: KernelOp, order: Order) -> bool:
    """Whether a kernel of rows can read its input in an order of dimensions as it is."""
    anchor = next(op for op in kernel.body.ops if isinstance(op, SchemaOp) and operator_name(op) in ROWS)
    what = _Anchor(anchor)
    if what.normalizes or tensor_type(kernel.outputs[0]).get_shape() == what.shape:
        return False
    kept = [dim for dim in order if dim not in what.dims and what.shape[dim] != 1]
    inputs = [value for value, _ in kernel.tensors()]
    same_rank = len(order) == tensor_type(kernel.outputs[0]).get_num_dims()
    return (same_rank or kept == sorted(kept)) and all(
        count_of(one) == 1 or tensor_type(one).get_num_dims() == len(order) for one in inputs
    )


def _needed(value: SSAValue, ops: Sequence[SchemaOp]) -> set[SchemaOp]:
    """The ops that a value is computed from."""
    found: set[SchemaOp] = set()
    pending = [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, SchemaOp) and owner in ops and owner not in found:
            found.add(owner)
            pending += owner.operands
    return found


class _Fused:
    """The ops of a row kernel: before its anchor, on elements of the row, and after it, on those of the result."""

    def __init__(
        self,
        anchor: _Anchor,
        before: Sequence[SchemaOp],
        after: Sequence[SchemaOp],
        yielded: SSAValue,
    ):
        self.anchor, self.before, self.yielded = anchor, before, yielded
        reduced = tensor_type(anchor.op.results[0]).get_shape()
        self.after = [op for op in after if tensor_type(op.results[0]).get_shape() == reduced]
        self.spread = [op for op in after if op not in self.after]
        """Ops on the elements of the row again, which read the result."""
        made = {result for op in (*before, *after, anchor.op) for result in op.results}

        def read(ops: Sequence[SchemaOp]) -> list[SSAValue]:
            found = dict.fromkeys(operand for op in ops for operand in op.operands if is_tensor(operand.type))
            return [value for value in found if value not in made]

        elements = read([*before, *self.spread])
        source = anchor.op.operands[0]
        self.inputs = elements if source in made or source in elements else [*elements, source]
        """Operands with elements for those of a row, but for the anchor's parameters."""
        self.beside = read(self.after)
        """Operands with elements for those of the result."""


# -- loops


@dataclass(frozen=True)
class _Tile:
    """Where a vector of elements is."""

    at: dict[int, Index]
    """By run."""
    mask: SSAValue | None


class _Rows:
    """The loops of one kernel."""

    def __init__(
        self, b: LoopBuilder, lanes: int, runs: Sequence[_Run], buffers: Sequence[SSAValue], fused: _Fused
    ):
        self.b, self.runs, self.fused, self.lanes = b, runs, fused, lanes
        places = iter(range(len(buffers)))
        self._inputs = {value: next(places) for value in fused.inputs}
        self._parameters = {value: next(places) for value in fused.anchor.parameters}
        self._beside = {value: next(places) for value in fused.beside}
        self._result = len(buffers) - 1
        read = (*fused.inputs, *fused.anchor.parameters, *fused.beside)
        self._elements = [in_registers(element_of(value)) for value in read]
        self._buffers = buffers
        self.along = runs[-1].reduced
        """Whether vectors go along the row."""
        size = runs[-1].size
        most = lanes * VECTORS
        self.width = min(most, -(-size // lanes) * lanes) if isinstance(size, int) else most
        self.element = element_of(fused.anchor.op.results[0])
        """The element type that rows are computed in."""
        self.type = vector_of(self.width, element=in_registers(self.element))
        self._inside = [number for number, run in enumerate(runs) if run.reduced]
        self._outside: dict[int, Index] = {}
        self._mask: SSAValue | None = None
        self._kept: SSAValue | None = None
        self._in_result = False
        self._single = self.along and len(self._inside) == 1 and isinstance(size, int) and size <= self.width

    def build(self) -> None:
        """Rows, which threads share."""
        b = self.b
        outside = [number for number, run in enumerate(self.runs) if not run.reduced]
        last = len(self.runs) - 1
        sizes: dict[int, Index] = {number: self._size(number) for number in outside}
        if not self.along:
            sizes[last] = b.ceildiv(sizes[last], self.width)
        total: Index = 1
        for size in sizes.values():
            total = b.mul(total, size)
        with b.parallel(total) as number:
            rest: Index = number
            for place, run in enumerate(reversed(outside)):
                final = place == len(outside) - 1
                self._outside[run] = rest if final else b.remainder(rest, sizes[run])
                rest = rest if final else b.quotient(rest, sizes[run])
            if not self.along:
                at = self._outside[last] = b.mul(self._outside[last], self.width)
                size = self.runs[last].size
                if not isinstance(size, int) or size % self.width:
                    self._mask = b.mask(b.sub(self._size(last), at), self.width)
            ROWS[self.fused.anchor.name](self)

    def _size(self, number: int) -> Index:
        """The size of a run: that of the result where it is kept, and of an operand where it is reduced."""
        operand = next(one for one in (self._result, *self._inputs.values()) if self.runs[number].steps[one])
        dim = [one for one, run in enumerate(self.runs) if run.steps[operand]].index(number)
        return self.b.dim(self._buffers[operand], dim)

    @property
    def length(self) -> Index:
        """The number of elements of a row."""
        found: Index = 1
        for number in self._inside:
            size = self.runs[number].size
            found = self.b.mul(found, size if isinstance(size, int) else self._size(number))
        return found

    # -- one pass

    def sweep(
        self, step: Callable[[_Tile, Sequence[SSAValue]], Sequence[SSAValue]], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Do a step at each vector of the row, and carry values from one to the next."""
        return self._nest(self._inside, dict(self._outside), step, carried)

    def _nest(
        self,
        inside: Sequence[int],
        at: dict[int, Index],
        step: Callable[[_Tile, Sequence[SSAValue]], Sequence[SSAValue]],
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        b = self.b
        if not inside:
            return step(_Tile(at, self._mask), carried)
        run, *rest = inside
        known = self.runs[run].size
        size = known if isinstance(known, int) else self._size(run)
        if rest or not self.along:
            with b.for_(0, size, 1, carried) as loop:
                loop.next = self._nest(rest, {**at, run: loop.index}, step, loop.args)
            return loop.results
        if not isinstance(size, int):
            return self._of_any_size(run, size, at, step, carried)
        whole = size // self.width * self.width
        if whole > self.width:
            with b.for_(0, whole, self.width, carried) as loop:
                loop.next = step(_Tile({**at, run: loop.index}, None), loop.args)
            carried = loop.results
        elif whole:
            carried = step(_Tile({**at, run: 0}, None), carried)
        if size > whole:
            carried = step(_Tile({**at, run: whole}, b.mask(size - whole, self.width)), carried)
        return carried

    def _of_any_size(
        self,
        run: int,
        size: Index,
        at: Mapping[int, Index],
        step: Callable[[_Tile, Sequence[SSAValue]], Sequence[SSAValue]],
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """The vectors of a row whose length is known at run time: whole ones, and perhaps a part of one."""
        b = self.b
        whole = b.multiple_below(size, self.width)
        with b.for_(0, whole, self.width, carried) as loop:
            loop.next = step(_Tile({**at, run: loop.index}, None), loop.args)
        with b.for_(whole, size, self.width, loop.results) as rest:
            mask = b.mask(b.sub(size, rest.index), self.width)
            rest.next = step(_Tile({**at, run: rest.index}, mask), rest.args)
        return rest.results

    # -- elements

    def _load(self, operand: int, tile: _Tile) -> SSAValue:
        b = self.b
        steps = [run.steps[operand] for run in self.runs]
        at = [tile.at[number] for number, moves in enumerate(steps) if moves]
        type = self.type
        if operand != self._result:
            type = vector_of(*type.get_shape(), element=self._elements[operand])
        if not steps[-1]:
            return b.broadcast(b.element(self._buffers[operand], at), type)
        if tile.mask is None:
            return b.load(self._buffers[operand], at, type)
        return b.masked_load(self._buffers[operand], at, tile.mask, b.splat(0.0, type))

    def _store(self, value: SSAValue, tile: _Tile) -> None:
        steps = [run.steps[self._result] for run in self.runs]
        at = [tile.at[number] for number, moves in enumerate(steps) if moves] or [0]
        if tile.mask is None:
            self.b.store(value, self._buffers[self._result], at)
        else:
            self.b.masked_store(value, self._buffers[self._result], at, tile.mask)

    def _element(self, tile: _Tile) -> SSAValue:
        """The element that the anchor reads."""
        if self._kept is not None:
            return self._kept
        if self._in_result:
            return self._load(self._result, tile)
        source = self.fused.anchor.op.operands[0]
        before = self.fused.before
        wanted = [source] if not before else [operand for op in before for operand in op.operands]
        known = {value: self._load(self._inputs[value], tile) for value in wanted if value in self._inputs}
        found = evaluate(self.b, before, known)[source]
        return converted(self.b, found, element_of(source), self.element)

    def operand(self, value: SSAValue | None, tile: _Tile) -> SSAValue | None:
        """The elements of a parameter of the anchor."""
        return None if value is None else self._load(self._parameters[value], tile)

    # -- what anchors are made of

    def reduce(
        self,
        combine: Callable[[LoopBuilder, SSAValue, SSAValue], SSAValue],
        kind: vector.CombiningKindFlag,
        neutral: float,
        compute: _Compute | None = None,
        *,
        keep: bool = False,
    ) -> SSAValue:
        """The combination of what is computed of the elements; with `keep`, that replaces them for the next pass.

        It is one number, or where each lane has a row, a vector of them.
        """
        b = self.b
        start = b.splat(neutral, self.type)
        kept: list[SSAValue] = []

        def step(tile: _Tile, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = self._element(tile)
            if compute is not None:
                value = compute(value)
            if keep and self._single:
                kept.append(value)
            elif keep:
                self._store(value, tile)
            if tile.mask is not None and self.along:
                value = b.value(SelectOp(tile.mask, value, start))
            return [combine(b, carried[0], value)]

        (total,) = self.sweep(step, [start])
        if kept:
            (self._kept,) = kept
        elif keep:
            self._in_result = True
        if not self.along:
            return total
        made = vector.ReductionOp.build(
            operands=[[total], []],
            properties={"kind": vector.CombiningKindAttr(kind)},
            result_types=[self.type.element_type],
        )
        return b.value(made)

    def sum(self, compute: _Compute | None = None, *, keep: bool = False) -> SSAValue:
        return self.reduce(add, vector.CombiningKindFlag.ADD, 0.0, compute, keep=keep)

    def spread(self, total: SSAValue) -> SSAValue:
        """A total as a vector to combine with elements."""
        return self.b.broadcast(total, self.type)

    @property
    def keeps_input(self) -> bool:
        """Whether what precedes the anchor is worth more than to be computed in each pass."""
        return bool(self.fused.before)

    def write(self, compute: Callable[[SSAValue, _Tile], SSAValue]) -> None:
        """Store what is computed of each element, after the fused ops."""

        def step(tile: _Tile, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._store(self._finished(compute(self._element(tile), tile), tile), tile)
            return carried

        self.sweep(step, [])

    def finish(self, total: SSAValue) -> None:
        """Store a total, after the fused ops; or what is made of it and the elements of the row."""
        b = self.b
        if self.fused.spread:
            self._spread(total)
            return
        if self.along:
            self.type = vector_of(self.lanes, element=self.type.element_type)
            tile = _Tile(self._outside, b.mask(1, self.lanes))
        else:
            tile = _Tile(self._outside, self._mask)
        self._store(self._finished(self.spread(total), tile), tile)

    def _spread(self, total: SSAValue) -> None:
        fused = self.fused
        known = self._after(self.spread(total), _Tile(self._outside, None if self.along else self._mask))
        wanted = {operand for op in fused.spread for operand in op.operands}

        def step(tile: _Tile, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            loaded = {
                value: self._load(place, tile) for value, place in self._inputs.items() if value in wanted
            }
            self._store(evaluate(self.b, fused.spread, {**known, **loaded})[fused.yielded], tile)
            return carried

        self.sweep(step, [])

    def _after(self, value: SSAValue, tile: _Tile) -> dict[SSAValue, SSAValue]:
        """The values of the fused ops for a result, and of their operands."""
        known = {other: self._load(place, tile) for other, place in self._beside.items()}
        known[self.fused.anchor.op.results[0]] = value
        return evaluate(self.b, self.fused.after, known)

    def _finished(self, value: SSAValue, tile: _Tile) -> SSAValue:
        return self._after(value, tile)[self.fused.yielded]


# -- rules


def _larger(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """The larger of two vectors by one instruction; a NaN in `y` is ignored."""
    return choose(b, "ogt", y, x, y, x)


def _maximum(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value(arith.MaximumfOp(x, y))


def _minimum(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value(arith.MinimumfOp(x, y))


def _softmax(rows: _Rows) -> None:
    """exp(x - max) over its sum. A NaN in a row is in the sum, and so in all results."""
    b = rows.b
    most = rows.spread(rows.reduce(_larger, vector.CombiningKindFlag.MAXNUMF, -inf, keep=rows.keeps_input))
    total = rows.sum(lambda x: exp_of_difference(b, sub(b, x, most)), keep=True)
    scale = rows.spread(div(b, b.number(1.0, total.type), total))
    rows.write(lambda x, _: mul(b, x, scale))


def _log_softmax(rows: _Rows) -> None:
    """x - max - log(sum of exp(x - max))."""
    b = rows.b
    most = rows.spread(rows.reduce(_larger, vector.CombiningKindFlag.MAXNUMF, -inf, keep=rows.keeps_input))
    total = rows.sum(lambda x: exp_of_difference(b, sub(b, x, most)))
    if rows.along:
        # One register of logarithms, and not as many as elements are computed of together.
        shift = b.widened(b.value(math.LogOp(b.broadcast(total, vector_of(rows.lanes)))), rows.width)
    else:
        shift = b.value(math.LogOp(total))
    rows.write(lambda x, _: sub(b, sub(b, x, most), shift))


def _norm(rows: _Rows) -> None:
    """(x - mean) / sqrt(variance + eps), times the weight, plus the bias; the variance in a pass of its own."""
    b, op = rows.b, rows.fused.anchor.op
    weight, bias = op.arg("weight"), op.arg("bias")
    mean = rows.spread(_mean_of(rows, rows.sum(keep=rows.keeps_input)))
    total = rows.sum(lambda x: _square(b, sub(b, x, mean)))
    variance = add(b, _mean_of(rows, total), b.number(float(op.arg("eps")), total.type))
    scale = rows.spread(div(b, b.number(1.0, total.type), b.value(math.SqrtOp(variance))))

    def compute(x: SSAValue, tile: _Tile) -> SSAValue:
        value = mul(b, sub(b, x, mean), scale)
        by, plus = rows.operand(weight, tile), rows.operand(bias, tile)
        if by is not None and plus is not None:
            return b.value(vector.FMAOp(value, by, plus))
        if by is not None:
            value = mul(b, value, by)
        return value if plus is None else add(b, value, plus)

    rows.write(compute)


def _square(b: LoopBuilder, x: SSAValue) -> SSAValue:
    return mul(b, x, x)


def _mean_of(rows: _Rows, total: SSAValue, less: float = 0.0) -> SSAValue:
    """A total over the number of elements, or of as many less."""
    b, length = rows.b, rows.length
    if isinstance(length, int):
        return div(b, total, b.number(max(length - less, 0.0), total.type))
    count = b.value(arith.MaximumfOp(sub(b, b.to_float(length), b.number(less, f32)), b.number(0.0, f32)))
    return div(b, total, count if total.type == f32 else b.broadcast(count, vector_type(total)))


def _sum(rows: _Rows) -> None:
    if is_float(rows.element):
        rows.finish(rows.sum())
    else:
        rows.finish(rows.reduce(_plus, vector.CombiningKindFlag.ADD, 0))


def _plus(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value(arith.AddiOp(x, y))


def _times(b: LoopBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    return b.value(arith.MuliOp(x, y))


def _any(rows: _Rows) -> None:
    rows.finish(rows.reduce(lambda b, x, y: b.value(arith.OrIOp(x, y)), vector.CombiningKindFlag.OR, 0))


def _all(rows: _Rows) -> None:
    rows.finish(rows.reduce(lambda b, x, y: b.value(arith.AndIOp(x, y)), vector.CombiningKindFlag.AND, 1))


def _mean(rows: _Rows) -> None:
    rows.finish(_mean_of(rows, rows.sum()))


def _product(rows: _Rows) -> None:
    times = mul if is_float(rows.element) else _times
    rows.finish(rows.reduce(times, vector.CombiningKindFlag.MUL, 1.0))


def _amax(rows: _Rows) -> None:
    if is_float(rows.element):
        rows.finish(rows.reduce(_maximum, vector.CombiningKindFlag.MAXIMUMF, -inf))
        return
    least = -(1 << width_of(rows.element) - 1)
    rows.finish(
        rows.reduce(lambda b, x, y: b.value(arith.MaxSIOp(x, y)), vector.CombiningKindFlag.MAXSI, least)
    )


def _amin(rows: _Rows) -> None:
    if is_float(rows.element):
        rows.finish(rows.reduce(_minimum, vector.CombiningKindFlag.MINIMUMF, inf))
        return
    most = (1 << width_of(rows.element) - 1) - 1
    rows.finish(
        rows.reduce(lambda b, x, y: b.value(arith.MinSIOp(x, y)), vector.CombiningKindFlag.MINSI, most)
    )


def _variance(rows: _Rows) -> None:
    b, op = rows.b, rows.fused.anchor.op
    if "correction" in op.schema().by_name:
        given = op.arg("correction")
        correction = 1.0 if given is None else float(given)
    else:
        correction = 1.0 if op.arg("unbiased") else 0.0
    mean = rows.spread(_mean_of(rows, rows.sum()))
    total = rows.sum(lambda x: _square(b, sub(b, x, mean)))
    rows.finish(_mean_of(rows, total, correction))


_NORMALIZATIONS: Final[dict[str, Callable[[_Rows], None]]] = {
    "_log_softmax": _log_softmax,
    "_softmax": _softmax,
    "native_group_norm": _norm,
    "native_layer_norm": _norm,
}

ROWS: Final[dict[str, Callable[[_Rows], None]]] = {
    **_NORMALIZATIONS,
    "all": _all,
    "all.dim": _all,
    "all.dims": _all,
    "amax": _amax,
    "amin": _amin,
    "any": _any,
    "any.dim": _any,
    "any.dims": _any,
    "mean": _mean,
    "mean.dim": _mean,
    "prod": _product,
    "prod.dim_int": _product,
    "sum": _sum,
    "sum.dim_IntList": _sum,
    "var.correction": _variance,
    "var.dim": _variance,
}
"""Rules by operator."""


def takes_elements(op: SchemaOp) -> bool:
    """Whether an operator of `ROWS` is computed for the element types that it has."""
    name, element = operator_name(op).partition(".")[0], element_of(op.results[0])
    source = element_of(op.operands[0])
    if name in ("all", "any"):
        return element == i1
    if name in ("amax", "amin"):
        return source == element and (element == f32 or (is_integer(element) and element != ui8))
    if name in ("prod", "sum"):
        return element == f32 or (is_integer(element) and element != ui8 and not is_float(source))
    return source == element == f32


def is_normalization(op: SchemaOp) -> bool:
    """Whether the result has an element for each of the operand, and not one for each row."""
    return operator_name(op) in _NORMALIZATIONS
