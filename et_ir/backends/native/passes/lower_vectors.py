"""Vector lowering: vectors of any shape to vectors of the machine's width.

Loops compute on vectors that suit the kernel, such as a register tile of 12 by 32. Here each becomes as many vectors of
`lanes` elements as it takes, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

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
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.native import (
    CompareOp,
    ConcatOp,
    ConvertOp,
    DotOp,
    OuterProductOp,
    SelectOp,
    StridedLoadOp,
)
from et_ir.dialects.native.types import resized_splat, vector_of, vector_type

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
    """Rebuilds a function; each of its values becomes one or more."""

    def __init__(self, lanes: int):
        self._lanes = lanes
        self._parts: dict[SSAValue, _Parts] = {}
        self._block = Block()
        self._entry = self._block
        self._indices: dict[int, SSAValue] = {}

    def function(self, function: FuncOp) -> None:
        """Replace the body of a function."""
        if function.is_declaration:
            return
        old = function.body.block
        if any(isinstance(argument.type, VectorType) for argument in old.args):
            raise PassReport(
                "vectors cannot be lowered",
                [diagnose(function, "an argument is a vector", "pass it in a buffer")],
            )
        new = Block(arg_types=old.arg_types)
        for before, after in zip(old.args, new.args, strict=True):
            after.name_hint = before.name_hint
            self._parts[before] = (after,)
        self._block = self._entry = new
        self._ops(old)
        function.body.detach_block(old)
        old.erase(safe_erase=False)
        function.body.add_block(new)

    # -- ops

    def _ops(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)

    def _op(self, op: Operation) -> None:
        match op:
            case scf.ForOp():
                self._for(op)
            case scf.IfOp():
                self._if(op)
            case scf.YieldOp():
                self._add(scf.YieldOp(*(part for value in op.operands for part in self._parts[value])))
            case _ if not _has_vectors(op):
                self._clone(op)
            case arith.ConstantOp():
                self._constant(op)
            case vector.LoadOp():
                base, type = self._one(op.base), vector_type(op.result)
                self._parts[op.result] = [
                    self._value(vector.LoadOp(base, at, self._part(type, column)))
                    for column, at in self._places(op.indices, type)
                ]
            case vector.StoreOp():
                base, type = self._one(op.base), vector_type(op.vector)
                for value, (_, at) in zip(
                    self._parts[op.vector], self._places(op.indices, type), strict=True
                ):
                    self._add(vector.StoreOp(value, base, at))
            case vector.MaskedLoadOp():
                base, type = self._one(op.base), vector_type(op.result)
                places = [at for _, at in self._places(op.indices, type)]
                self._parts[op.result] = [
                    self._value(vector.MaskedLoadOp(base, at, mask, otherwise))
                    for at, mask, otherwise in zip(
                        places, self._parts[op.mask], self._parts[op.pass_thru], strict=True
                    )
                ]
            case vector.MaskedStoreOp():
                base, type = self._one(op.base), vector_type(op.value_to_store)
                places = [at for _, at in self._places(op.indices, type)]
                for at, mask, value in zip(
                    places, self._parts[op.mask], self._parts[op.value_to_store], strict=True
                ):
                    self._add(vector.MaskedStoreOp(base, at, mask, value))
            case vector.CreateMaskOp():
                self._mask(op)
            case vector.BroadcastOp():
                self._broadcast(op)
            case vector.ExtractOp():
                self._extract(op)
            case vector.ReductionOp():
                self._reduction(op)
            case StridedLoadOp():
                # Outer products load its elements.
                pass
            case ConcatOp():
                self._parts[op.result] = [part for value in op.parts for part in self._parts[value]]
            case OuterProductOp():
                self._outer_product(op)
            case vector.ShuffleOp() if all(len(self._parts[value]) == 1 for value in op.operands):
                one, other = map(self._one, op.operands)
                made = vector.ShuffleOp(one, other, op.mask, result_type=vector_type(op.result))
                self._parts[op.result] = (self._value(made),)
            case vector.ShuffleOp() if self._lanes == 1:
                parts = [part for value in op.operands for part in self._parts[value]]
                self._parts[op.result] = [parts[place] for place in op.mask.get_values()]
            case _ if isinstance(op, _ELEMENTWISE):
                self._elementwise(op)
            case _:
                raise PassReport(
                    "vectors cannot be lowered",
                    [diagnose(op, f"'{op.name}' of vectors has no lowering", "use elementwise ops")],
                )

    def _for(self, op: scf.ForOp) -> None:
        carried = [part for value in op.iter_args for part in self._parts[value]]
        block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
        self._parts[op.body.block.args[0]] = (block.args[0],)
        at = 1
        for argument, value in zip(op.body.block.args[1:], op.iter_args, strict=True):
            count = len(self._parts[value])
            self._parts[argument] = block.args[at : at + count]
            at += count
        bounds = [self._one(value) for value in (op.lb, op.ub, op.step)]
        outside, self._block = self._block, block
        self._ops(op.body.block)
        self._block = outside
        made = scf.ForOp(bounds[0], bounds[1], bounds[2], carried, block)
        self._add(made)
        at = 0
        for result, value in zip(op.results, op.iter_args, strict=True):
            count = len(self._parts[value])
            self._parts[result] = made.results[at : at + count]
            at += count

    def _if(self, op: scf.IfOp) -> None:
        """A branch; each of its results becomes one or more."""
        regions: list[Region] = []
        for old in op.regions:
            region = Region()
            for inner in old.blocks:
                block = Block()
                outside, self._block = self._block, block
                self._ops(inner)
                self._block = outside
                region.add_block(block)
            regions.append(region)
        types: list[list[Attribute]] = []
        for result in op.results:
            if isinstance(result.type, VectorType):
                type = vector_type(result)
                row = [self._part(type, column) for column in self._columns(type)]
                types.append(list(row * _rows(type)))
            else:
                types.append([result.type])
        made = scf.IfOp(self._one(op.cond), [one for of in types for one in of], regions[0], regions[1])
        self._add(made)
        at = 0
        for result, of in zip(op.results, types, strict=True):
            self._parts[result] = made.results[at : at + len(of)]
            at += len(of)

    def _clone(self, op: Operation) -> None:
        """The same op, with what is in its regions lowered."""
        made = op.clone_without_regions({value: self._one(value) for value in op.operands})
        for old, region in zip(op.regions, made.regions, strict=True):
            for inner in old.blocks:
                block = Block(arg_types=inner.arg_types)
                for before, after in zip(inner.args, block.args, strict=True):
                    self._parts[before] = (after,)
                outside, self._block = self._block, block
                self._ops(inner)
                self._block = outside
                region.add_block(block)
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            entry = self._block is self._entry
            if entry and isinstance(op.result.type, IndexType):
                self._indices.setdefault(op.value.value.data, made.results[0])
        self._add(made)
        for before, after in zip(op.results, made.results, strict=True):
            self._parts[before] = (after,)

    def _constant(self, op: arith.ConstantOp) -> None:
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

    def _mask(self, op: vector.CreateMaskOp) -> None:
        type = vector_type(op.mask_vector)
        if type.get_num_dims() != 1:
            raise PassReport(
                "vectors cannot be lowered", [diagnose(op, "a mask of rank 2 or more", "use masks of rows")]
            )
        count = self._one(op.mask_dim_sizes[0])
        parts: list[SSAValue] = []
        for column in self._columns(type):
            left = count if column == 0 else self._value(arith.SubiOp(count, self._index(column)))
            parts.append(self._value(vector.CreateMaskOp([left], self._part(type, column))))
        self._parts[op.mask_vector] = parts

    def _broadcast(self, op: vector.BroadcastOp) -> None:
        type = vector_type(op.vector)
        source = self._parts[op.source]
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

    def _extract(self, op: vector.ExtractOp) -> None:
        """A row of a vector of rank 2."""
        type = vector_type(op.vector)
        (row,) = op.static_position.get_values()
        if type.get_num_dims() != 2 or op.dynamic_position:
            raise PassReport(
                "vectors cannot be lowered", [diagnose(op, "no row of a vector of rank 2", "extract a row")]
            )
        count = len(self._columns(type))
        self._parts[op.result] = list(self._parts[op.vector])[row * count : (row + 1) * count]

    def _reduction(self, op: vector.ReductionOp) -> None:
        kind = op.kind.data
        integers = isinstance(op.dest.type, IntegerType)
        combine = _COMBINING_INTEGERS[kind] if integers else _COMBINING[kind]
        parts = list(self._parts[op.vector])
        # In pairs, so that the chain of dependences is short.
        while len(parts) > 1:
            pairs = [
                self._value(combine(one, other)) for one, other in zip(parts[::2], parts[1::2], strict=False)
            ]
            parts = [*pairs, parts[-1]] if len(parts) % 2 else pairs
        operands: list[Sequence[SSAValue]] = [parts, [self._one(op.acc)] if op.acc is not None else []]
        made = vector.ReductionOp.build(
            operands=operands, properties=op.properties, result_types=[op.dest.type]
        )
        self._parts[op.dest] = (self._value(made),)

    def _column(self, op: StridedLoadOp, place: int) -> SSAValue:
        """The element of a strided load at a place."""
        at = [self._one(value) for value in op.indices]
        dim = op.dim.value.data
        at[dim] = self._sum(at[dim], place * op.stride.value.data)
        return self._value(LoadOp.get(self._one(op.base), at))

    def _outer_product(self, op: OuterProductOp) -> None:
        """Row by row: an element of the column is loaded, broadcast and used before the next, as registers are few."""
        column, columns = op.lhs.owner, self._parts[op.rhs]
        if not isinstance(column, StridedLoadOp):
            raise PassReport(
                "vectors cannot be lowered",
                [diagnose(op, "the column is no strided load", "make it of native.strided_load")],
            )
        acc = iter(self._parts[op.acc])
        parts: list[SSAValue] = []
        for place in range(vector_type(op.lhs).get_shape()[0]):
            element = self._column(column, place)
            splats: dict[Attribute, SSAValue] = {}
            for row in columns:
                if row.type not in splats:
                    splats[row.type] = self._value(vector.BroadcastOp(element, vector_type(row)))
                parts.append(self._value(vector.FMAOp(splats[row.type], row, next(acc))))
        self._parts[op.result] = parts

    def _elementwise(self, op: Operation) -> None:
        kind, type = op.__class__, vector_type(op.results[0])
        operands = [self._parts[value] for value in op.operands]
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
        at = [self._one(value) for value in indices]
        shape = type.get_shape()
        found: list[tuple[int, list[SSAValue]]] = []
        for outer in product(*map(range, shape[:-1])):
            here = list(at)
            for dim, place in enumerate(outer, len(at) - len(shape)):
                here[dim] = self._sum(at[dim], place)
            found += [(column, [*here[:-1], self._sum(here[-1], column)]) for column in self._columns(type)]
        return found

    def _sum(self, index: SSAValue, number: int) -> SSAValue:
        return index if number == 0 else self._value(arith.AddiOp(index, self._index(number)))

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

    def _one(self, value: SSAValue) -> SSAValue:
        (part,) = self._parts[value]
        return part

    def _add(self, op: Operation) -> None:
        self._block.add_op(op)

    def _value(self, op: Operation) -> SSAValue:
        self._block.add_op(op)
        return op.results[0]


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


def _has_vectors(op: Operation) -> bool:
    return any(isinstance(value.type, VectorType) for value in (*op.operands, *op.results))


def _rows(type: VectorType[Attribute]) -> int:
    rows = 1
    for size in type.get_shape()[:-1]:
        rows *= size
    return rows


def _count(type: VectorType[Attribute], lanes: int) -> int:
    """The number of parts of a vector."""
    return _rows(type) * -(-type.get_shape()[-1] // lanes)
