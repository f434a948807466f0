"""Vector lowering: vectors of any shape to vectors of the machine's width.

Loops compute on vectors that suit the kernel, such as a register tile of 12 by 32. Here each becomes as many vectors of
`lanes` elements as it takes, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    VectorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import LoadOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import (
    CompareOp,
    ConcatOp,
    ConvertOp,
    DotOp,
    OuterProductOp,
    SelectOp,
    StridedLoadOp,
)
from et_backends.codegen.dialect.types import resized_splat, vector_of, vector_type
from et_ir.diagnostics import PassReport, diagnose

__all__ = ["LowerVectorsPass"]


@dataclass(frozen=True)
class LowerVectorsPass(ModulePass):
    """Split vectors into vectors of the machine's width.

    Before:

    ```mlir
    %v = vector.load %x[%i] : memref<?xf32>, vector<32xf32>
    %w = arith.negf %v : vector<32xf32>
    ```

    After, with `lanes=16`:

    ```mlir
    %v0 = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
    %i1 = arith.addi %i, %c16 : index
    %v1 = vector.load %x[%i1] : memref<?xf32>, vector<16xf32>
    %w0 = arith.negf %v0 : vector<16xf32>
    %w1 = arith.negf %v1 : vector<16xf32>
    ```
    """

    name = "lower-vectors"

    lanes: int = 16
    """Elements of 32 bits in a vector register: 16 with AVX-512, 8 with AVX2, 4 with NEON, 1 without vectors."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [one for one in op.body.block.ops if isinstance(one, FuncOp)]:
            _Lowering(self.lanes).function(function)


_ELEMENTWISE: Final = (
    arith.FloatingPointLikeBinaryOperation,
    arith.SignlessIntegerBinaryOperation,
    arith.SignlessIntegerBinaryOperationWithOverflow,
    arith.NegfOp,
    arith.ExtFOp,
    arith.FPToSIOp,
    arith.SIToFPOp,
    arith.TruncFOp,
    math.FloatingPointLikeUnaryMathOperation,
    math.FloatingPointLikeBinaryMathOperation,
    math.FmaOp,
    vector.FMAOp,
    vector.BitcastOp,
    CompareOp,
    ConvertOp,
    DotOp,
    SelectOp,
)
"""Ops whose result has at each place what they compute of the operands there."""

_Parts = Sequence[SSAValue]


class _Lowering:
    """Replaces the vectors of a function; each becomes one or more. Ops without vectors stay."""

    def __init__(self, lanes: int):
        self._lanes = lanes
        self._parts: dict[SSAValue, _Parts] = {}
        self._entry = Block()
        self._block = self._entry
        self._place: Operation | None = None
        """The op that is replaced: others go before it."""
        self._replaced: list[Operation] = []
        self._indices: dict[int, SSAValue] = {}

    def function(self, function: FuncOp) -> None:
        """Lower the body of a function."""
        if function.is_declaration:
            return
        self._entry = function.body.block
        if any(isinstance(argument.type, VectorType) for argument in self._entry.args):
            raise PassReport(
                "vectors cannot be lowered",
                [diagnose(function, "an argument is a vector", "pass it in a buffer")],
            )
        self._ops(self._entry)
        # Those that read come after those that define.
        for op in reversed(self._replaced):
            op.detach()
            op.erase(safe_erase=False)

    # -- ops

    def _ops(self, block: Block) -> None:
        outside = self._block, self._place
        self._block = block
        op = block.first_op
        while op is not None:
            after = op.next_op
            self._place = op
            self._op(op)
            op = after
        self._block, self._place = outside

    def _op(self, op: Operation) -> None:
        kind = op.__class__
        if kind is scf.ForOp:
            self._for(cast("scf.ForOp", op))
        elif kind is scf.IfOp:
            self._if(cast("scf.IfOp", op))
        elif not self._changes(op):
            self._keep(op)
        else:
            lower = _LOWERINGS.get(kind)
            if lower is not None:
                lower(self, op)
            elif isinstance(op, _ELEMENTWISE):
                self._elementwise(op)
            else:
                raise PassReport(
                    "vectors cannot be lowered",
                    [diagnose(op, f"'{op.name}' of vectors has no lowering", "use elementwise ops")],
                )
            if kind is not scf.YieldOp:
                self._replaced.append(op)

    def _changes(self, op: Operation) -> bool:
        """Whether an op has vectors that the machine does not, or that have been replaced."""
        if op.__class__ in _ALWAYS_LOWERED:
            return True
        return any(
            value in self._parts or not self._fits(value.type) for value in (*op.operands, *op.results)
        )

    def _fits(self, type: Attribute) -> bool:
        """Whether a type is no vector, or one of the machine."""
        if not isinstance(type, VectorType):
            return True
        shape = type.get_shape()
        return len(shape) == 1 and shape[0] <= self._lanes

    def _of(self, value: SSAValue) -> _Parts:
        """The parts that a value has become."""
        return self._parts.get(value) or (value,)

    def _keep(self, op: Operation) -> None:
        """An op that stays, whose regions may have vectors."""
        for region in op.regions:
            for block in region.blocks:
                self._ops(block)
        if op.__class__ is arith.ConstantOp and self._block is self._entry:
            value = cast("arith.ConstantOp", op).value
            if isinstance(value, IntegerAttr) and isinstance(op.results[0].type, IndexType):
                self._indices.setdefault(value.value.data, op.results[0])

    def _for(self, op: scf.ForOp) -> None:
        body = op.body.block
        if not self._changes(op):
            self._ops(body)
            return
        carried: list[SSAValue] = []
        for argument, value in zip(list(body.args[1:]), op.iter_args, strict=True):
            parts = self._of(value)
            carried += parts
            if parts[0] is not value:
                self._parts[argument] = [body.insert_arg(part.type, argument.index) for part in parts]
        self._ops(body)
        self._drop_arguments(body)
        made = scf.ForOp(op.lb, op.ub, op.step, carried, op.detach_region(op.body))
        self._add(made)
        self._results(op, made, [len(self._of(value)) for value in op.iter_args])
        self._replaced.append(op)

    def _if(self, op: scf.IfOp) -> None:
        """A branch; each of its results becomes one or more."""
        for region in op.regions:
            for inner in region.blocks:
                self._ops(inner)
        if all(self._fits(result.type) for result in op.results):
            return
        types: list[list[Attribute]] = []
        for result in op.results:
            if isinstance(result.type, VectorType):
                type = vector_type(result)
                row = [self._part(type, column) for column in self._columns(type)]
                types.append(list(row * _rows(type)))
            else:
                types.append([result.type])
        regions = [op.detach_region(region) for region in list(op.regions)]
        made = scf.IfOp(op.cond, [one for of in types for one in of], regions[0], regions[1])
        self._add(made)
        self._results(op, made, [len(of) for of in types])
        self._replaced.append(op)

    def _drop_arguments(self, body: Block) -> None:
        """The arguments of a loop that are vectors of any shape: what reads them is replaced."""
        for argument in [one for one in body.args if one in self._parts]:
            body.erase_arg(argument, safe_erase=False)

    def _results(self, op: Operation, made: Operation, counts: Sequence[int]) -> None:
        """The results of an op with regions as so many each of another."""
        at = 0
        for result, count in zip(op.results, counts, strict=True):
            if isinstance(result.type, VectorType):
                self._parts[result] = made.results[at : at + count]
            else:
                result.replace_all_uses_with(made.results[at])
            at += count

    def yielded(self, op: scf.YieldOp) -> None:
        op.operands = [part for value in op.operands for part in self._of(value)]

    def load(self, op: vector.LoadOp) -> None:
        base, type = op.base, vector_type(op.result)
        self._parts[op.result] = [
            self._value(vector.LoadOp.create(operands=(base, *at), result_types=[self._part(type, column)]))
            for column, at in self._places(op.indices, type)
        ]

    def store(self, op: vector.StoreOp) -> None:
        base, type = op.base, vector_type(op.vector)
        for value, (_, at) in zip(self._of(op.vector), self._places(op.indices, type), strict=True):
            self._add(vector.StoreOp.create(operands=(value, base, *at)))

    def masked_load(self, op: vector.MaskedLoadOp) -> None:
        type = vector_type(op.result)
        places = [at for _, at in self._places(op.indices, type)]
        self._parts[op.result] = [
            self._value(vector.MaskedLoadOp(op.base, at, mask, otherwise))
            for at, mask, otherwise in zip(places, self._of(op.mask), self._of(op.pass_thru), strict=True)
        ]

    def masked_store(self, op: vector.MaskedStoreOp) -> None:
        type = vector_type(op.value_to_store)
        places = [at for _, at in self._places(op.indices, type)]
        for at, mask, value in zip(places, self._of(op.mask), self._of(op.value_to_store), strict=True):
            self._add(vector.MaskedStoreOp(op.base, at, mask, value))

    def column_load(self, op: StridedLoadOp) -> None:
        """Nothing: outer products load its elements."""

    def concat(self, op: ConcatOp) -> None:
        self._parts[op.result] = [part for value in op.parts for part in self._of(value)]

    def shuffle(self, op: vector.ShuffleOp) -> None:
        operands = [self._of(value) for value in op.operands]
        if all(len(parts) == 1 for parts in operands):
            one, other = (parts[0] for parts in operands)
            made = vector.ShuffleOp(one, other, op.mask, result_type=vector_type(op.result))
            self._parts[op.result] = (self._value(made),)
        elif self._lanes == 1:
            parts = [part for each in operands for part in each]
            self._parts[op.result] = [parts[place] for place in op.mask.get_values()]
        else:
            raise PassReport(
                "vectors cannot be lowered",
                [diagnose(op, f"'{op.name}' of vectors has no lowering", "use elementwise ops")],
            )

    def constant(self, op: arith.ConstantOp) -> None:
        value, type = op.value, vector_type(op.result)
        assert isinstance(value, DenseIntOrFPElementsAttr)
        # By the bytes: a NaN does not equal itself.
        data = value.data.data
        count = prod(type.get_shape())
        if data != data[: len(data) // count] * count:
            raise PassReport(
                "vectors cannot be lowered",
                [diagnose(op, "the elements of the constant differ", "use a splat constant")],
            )
        made: dict[VectorType[Attribute], SSAValue] = {}
        parts: list[SSAValue] = []
        for column in self._columns(type):
            part = self._part(type, column)
            if part not in made:
                dense = resized_splat(part, value)
                made[part] = self._value(arith.ConstantOp(dense, part))
            parts.append(made[part])
        self._parts[op.result] = parts * _rows(type)

    def mask(self, op: vector.CreateMaskOp) -> None:
        type = vector_type(op.mask_vector)
        if type.get_num_dims() != 1:
            raise PassReport(
                "vectors cannot be lowered", [diagnose(op, "a mask of rank 2 or more", "use masks of rows")]
            )
        count = op.mask_dim_sizes[0]
        parts: list[SSAValue] = []
        for column in self._columns(type):
            left = count if column == 0 else self._value(arith.SubiOp(count, self._index(column)))
            parts.append(self._value(vector.CreateMaskOp([left], self._part(type, column))))
        self._parts[op.mask_vector] = parts

    def broadcast(self, op: vector.BroadcastOp) -> None:
        type = vector_type(op.vector)
        source = self._of(op.source)
        if isinstance(op.source.type, VectorType):
            # Of a row, to all rows.
            self._parts[op.vector] = list(source) * (_count(type, self._lanes) // len(source))
            return
        made: dict[VectorType[Attribute], SSAValue] = {}
        parts: list[SSAValue] = []
        for column in self._columns(type):
            part = self._part(type, column)
            if part not in made:
                made[part] = self._value(vector.BroadcastOp(source[0], part))
            parts.append(made[part])
        self._parts[op.vector] = parts * _rows(type)

    def extract(self, op: vector.ExtractOp) -> None:
        """A row of a vector of rank 2."""
        type = vector_type(op.vector)
        (row,) = op.static_position.get_values()
        if type.get_num_dims() != 2 or op.dynamic_position:
            raise PassReport(
                "vectors cannot be lowered", [diagnose(op, "no row of a vector of rank 2", "extract a row")]
            )
        count = len(self._columns(type))
        self._parts[op.result] = list(self._of(op.vector))[row * count : (row + 1) * count]

    def reduction(self, op: vector.ReductionOp) -> None:
        kind = op.kind.data
        integers = isinstance(op.dest.type, IntegerType)
        combine = _COMBINING_INTEGERS[kind] if integers else _COMBINING[kind]
        parts = list(self._of(op.vector))
        # In pairs, so that the chain of dependences is short.
        while len(parts) > 1:
            pairs = [
                self._value(combine(one, other)) for one, other in zip(parts[::2], parts[1::2], strict=False)
            ]
            parts = [*pairs, parts[-1]] if len(parts) % 2 else pairs
        operands: list[Sequence[SSAValue]] = [parts, [op.acc] if op.acc is not None else []]
        made = vector.ReductionOp.build(
            operands=operands, properties=op.properties, result_types=[op.dest.type]
        )
        op.dest.replace_all_uses_with(self._value(made))

    def _column(self, op: StridedLoadOp, place: int) -> SSAValue:
        """The element of a strided load at a place."""
        at = list(op.indices)
        dim = op.dim.value.data
        at[dim] = self._sum(at[dim], place * op.stride.value.data)
        return self._value(
            LoadOp.create(operands=(op.base, *at), result_types=[vector_type(op.result).element_type])
        )

    def outer_product(self, op: OuterProductOp) -> None:
        """Row by row: an element of the column is loaded, broadcast and used before the next, as registers are few."""
        column, columns = op.lhs.owner, self._of(op.rhs)
        if not isinstance(column, StridedLoadOp):
            raise PassReport(
                "vectors cannot be lowered",
                [diagnose(op, "the column is not a strided load", "make it of native.strided_load")],
            )
        acc = iter(self._of(op.acc))
        parts: list[SSAValue] = []
        for place in range(vector_type(op.lhs).get_shape()[0]):
            element = self._column(column, place)
            splats: dict[Attribute, SSAValue] = {}
            for row in columns:
                if row.type not in splats:
                    splats[row.type] = self._value(vector.BroadcastOp(element, vector_type(row)))
                factors = splats[row.type], row, next(acc)
                parts.append(self._value(vector.FMAOp.create(operands=factors, result_types=[row.type])))
        self._parts[op.result] = parts

    def _elementwise(self, op: Operation) -> None:
        kind, type = op.__class__, vector_type(op.results[0])
        operands = [self._of(value) for value in op.operands]
        parts: list[SSAValue] = []
        columns = [column for _ in range(_rows(type)) for column in self._columns(type)]
        for place, column in enumerate(columns):
            made = kind.create(
                operands=[parts_of[place] for parts_of in operands],
                result_types=[self._part(type, column)],
                properties=op.properties,
                attributes=op.attributes,
            )
            parts.append(self._value(made))
        self._parts[op.results[0]] = parts

    # -- places

    def _columns(self, type: VectorType[Attribute]) -> range:
        """Where the parts of a row start."""
        return range(0, type.get_shape()[-1], self._lanes)

    def _part(self, type: VectorType[Attribute], column: int) -> VectorType[Attribute]:
        return vector_of(min(self._lanes, type.get_shape()[-1] - column), element=type.element_type)

    def _places(
        self, indices: Sequence[SSAValue], type: VectorType[Attribute]
    ) -> list[tuple[int, list[SSAValue]]]:
        """The column and the indices of each part of a vector in a buffer, row by row."""
        at = list(indices)
        shape = type.get_shape()
        found: list[tuple[int, list[SSAValue]]] = []
        for outer in product(*map(range, shape[:-1])):
            here = list(at)
            for dim, place in enumerate(outer, len(at) - len(shape)):
                here[dim] = self._sum(at[dim], place)
            found += [(column, [*here[:-1], self._sum(here[-1], column)]) for column in self._columns(type)]
        return found

    def _sum(self, index: SSAValue, number: int) -> SSAValue:
        if number == 0:
            return index
        terms = index, self._index(number)
        return self._value(arith.AddiOp.create(operands=terms, result_types=[index.type]))

    def _index(self, number: int) -> SSAValue:
        """A constant at the entry of the function."""
        if number not in self._indices:
            op = arith.ConstantOp(IntegerAttr.from_index_int_value(number), IndexType())
            first = self._entry.first_op
            if first is None:
                self._entry.add_op(op)
            else:
                self._entry.insert_op_before(op, first)
            self._indices[number] = op.result
        return self._indices[number]

    # -- values

    def _add(self, op: Operation) -> None:
        assert self._place is not None
        self._block.insert_op_before(op, self._place)

    def _value(self, op: Operation) -> SSAValue:
        self._add(op)
        return op.results[0]


_LOWERINGS: Final[dict[type[Operation], Callable[[_Lowering, Any], None]]] = {
    arith.ConstantOp: _Lowering.constant,
    scf.YieldOp: _Lowering.yielded,
    vector.BroadcastOp: _Lowering.broadcast,
    vector.CreateMaskOp: _Lowering.mask,
    vector.ExtractOp: _Lowering.extract,
    vector.LoadOp: _Lowering.load,
    vector.MaskedLoadOp: _Lowering.masked_load,
    vector.MaskedStoreOp: _Lowering.masked_store,
    vector.ReductionOp: _Lowering.reduction,
    vector.ShuffleOp: _Lowering.shuffle,
    vector.StoreOp: _Lowering.store,
    ConcatOp: _Lowering.concat,
    OuterProductOp: _Lowering.outer_product,
    StridedLoadOp: _Lowering.column_load,
}
"""Lowerings of the ops of vectors that are not elementwise, by their class."""

_ALWAYS_LOWERED: Final = (ConcatOp, OuterProductOp, StridedLoadOp, vector.ExtractOp)
"""Ops that the next level lacks."""

_COMBINING: Final = {
    vector.CombiningKindFlag.ADD: arith.AddfOp,
    vector.CombiningKindFlag.MUL: arith.MulfOp,
    vector.CombiningKindFlag.MAXIMUMF: arith.MaximumfOp,
    vector.CombiningKindFlag.MINIMUMF: arith.MinimumfOp,
    vector.CombiningKindFlag.MAXNUMF: arith.MaxnumfOp,
    vector.CombiningKindFlag.MINNUMF: arith.MinnumfOp,
}

_COMBINING_INTEGERS: Final = {
    vector.CombiningKindFlag.ADD: arith.AddiOp,
    vector.CombiningKindFlag.AND: arith.AndIOp,
    vector.CombiningKindFlag.MAXSI: arith.MaxSIOp,
    vector.CombiningKindFlag.MINSI: arith.MinSIOp,
    vector.CombiningKindFlag.MUL: arith.MuliOp,
    vector.CombiningKindFlag.OR: arith.OrIOp,
}


def _rows(type: VectorType[Attribute]) -> int:
    rows = 1
    for size in type.get_shape()[:-1]:
        rows *= size
    return rows


def _count(type: VectorType[Attribute], lanes: int) -> int:
    """The number of parts of a vector."""
    return _rows(type) * -(-type.get_shape()[-1] // lanes)
