"""Conversion of kernels to compute shaders, and of their calls to dispatches.

An iteration of a kernel's parallel loop becomes an invocation. Structured control flow stays structured: loops and
branches become blocks with merge instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
    f16,
    f32,
    i1,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from et_ir.backends.vulkan.dispatches import Specialized, parallel_loop, refused, replace_calls
from et_ir.backends.vulkan.instructions import (
    ARITH_PREDICATES,
    BINARY,
    CONVERSIONS,
    EXTENDED,
    EXTREMA,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    LOGICAL,
    STORED,
    WIDTHS,
)
from et_ir.codegen.elements import width_of
from et_ir.dialects.native import CompareOp, ConvertOp, DotOp, PrefetchOp, ReportOp, SelectOp
from et_ir.dialects.native.types import memref_type
from et_ir.dialects.spirv import (
    AccessChainOp,
    ArrayType,
    AtomicMinimumOp,
    BranchOp,
    ConstantOp,
    EntryPointOp,
    ExtendedOp,
    InstructionOp,
    LoadOp,
    LoopBranchOp,
    PointerType,
    RuntimeArrayType,
    SelectionBranchOp,
    ShaderOp,
    StoreOp,
    StructType,
    VariableOp,
)
from et_ir.dialects.spirv import ReturnOp as SpirvReturnOp
from et_ir.dialects.spirv.types import pointer_type
from et_schema.spirv import LOCAL_SIZE, BuiltIn, Capability, Extended, Op, StorageClass
from et_schema.vulkan import ROW

__all__ = ["MAX_LOCAL_BYTES", "ConvertToSpirvPass"]

MAX_LOCAL_BYTES: Final = 16 * 1024
"""Bytes of arrays that an invocation may have for itself."""

_Index: TypeAlias = int | SSAValue


@dataclass(frozen=True)
class ConvertToSpirvPass(ModulePass):
    """Lower kernels to shaders, and calls to dispatches.

    Each buffer of a kernel is bound to the descriptor of its position among the buffers. Sizes and other numbers are
    push constants, in argument order; if there are more than fit, the shader is specialized for the numbers of its
    calls. A kernel that reports has an additional buffer, at the end, whose first word is the lowest number reported.
    Indices have 32 bits. Vectors have one element: `lower-vectors{lanes=1}`.

    Before:

    ```mlir
    func.func private @relu(%x: memref<?xf32>, %y: memref<?xf32>) {
      %n = memref.dim %y, %c0 : memref<?xf32>
      scf.parallel (%i) = (%c0) to (%n) step (%c1) { ... }
    }
    func.call @relu(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
    ```

    After:

    ```mlir
    spirv.shader "relu" ["Shader"] {
      %x = spirv.variable binding 0 read_only : ...
      spirv.entry_point 64 { ... }
    }
    spirv.dispatch "relu"(%a, %b) words [16, 16] invocations 16 : memref<16xf32>, memref<16xf32>
    ```
    """

    name = "convert-to-spirv"

    halves: bool = False
    """Store floats as 16-bit floats. They are computed in 32 bits, and rounded when they are written."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [one for one in op.body.block.ops if isinstance(one, FuncOp)]
        kernels = {one.sym_name.data: one for one in functions if one.sym_visibility is not None}
        known: Specialized = {}
        for function in functions:
            if function.sym_visibility is None:
                replace_calls(function, kernels, known)
        for function in kernels.values():
            calls = known.get(function.sym_name.data, {}) or {None: function.sym_name.data}
            for words, name in calls.items():
                op.body.block.insert_op_before(
                    _Conversion(function, name, words, self.halves).shader(), function
                )
        for function in kernels.values():
            op.body.block.erase_op(function)


@dataclass(frozen=True)
class _Buffer:
    """A buffer: the variable that it is in, the place of its first element there, its sizes."""

    variable: SSAValue
    start: _Index
    sizes: Sequence[_Index]
    element: Attribute


class _Conversion:
    """Makes the shader of one kernel."""

    def __init__(self, function: FuncOp, name: str, known: tuple[int, ...] | None, halves: bool):
        """`known` are the numbers that are pushed, where the shader is for these only. With `halves`, floats are stored
        as 16-bit floats.
        """
        self._function, self._name, self._known, self._halves = function, name, known, halves
        self._head = Block()
        self._region = Region()
        self._block = Block()
        self._values: dict[SSAValue, SSAValue] = {}
        self._buffers: dict[SSAValue, _Buffer] = {}
        self._constants: dict[Attribute, SSAValue] = {}
        self._locals: list[VariableOp] = []
        self._local_bytes = 0
        self._types: set[Attribute] = set()
        self._stored: set[Attribute] = set()
        self._status: VariableOp | None = None

    def shader(self) -> ShaderOp:
        """The shader."""
        self._region.add_block(self._block)
        entry = self._block
        self._arguments()
        loop = parallel_loop(self._function)
        for op in self._function.body.block.ops:
            if op is loop:
                self._invocation(loop)
            elif not isinstance(op, ReturnOp):
                self._op(op)
        self._add(SpirvReturnOp())
        for local in reversed(self._locals):
            first = entry.first_op
            assert first is not None
            entry.insert_op_before(local, first)
        self._head.add_op(EntryPointOp(LOCAL_SIZE, self._region))
        return ShaderOp(self._name, self._capabilities(), Region(self._head))

    def _capabilities(self) -> list[str]:
        found = {Capability.Shader}
        for value in self._region.walk():
            for result in value.results:
                self._types.add(result.type)
        for type in self._types:
            if isinstance(type, IntegerType):
                width = width_of(cast("Attribute", type))
                found |= {WIDTHS[width]} if width in WIDTHS else set()
            if isinstance(type, AnyFloat) and type.bitwidth == 64:
                found.add(Capability.Float64)
        for type in self._stored:
            width = width_of(type)
            if width in STORED:
                found.add(STORED[width])
            if isinstance(type, IntegerType) and width in WIDTHS:
                found.add(WIDTHS[width])
        return [one.name for one in sorted(found)]

    # -- arguments

    def _arguments(self) -> None:
        function = self._function
        written = _written(function)
        words: list[tuple[SSAValue, int]] = []
        for argument in function.body.block.args:
            if isinstance(argument.type, MemRefType):
                shape = memref_type(argument).get_shape()
                words += [(argument, dim) for dim, size in enumerate(shape) if size < 0]
            else:
                words.append((argument, -1))
        pushed: VariableOp | None = None
        if words and self._known is None:
            block = StructType.of([i32] * len(words))
            pushed = VariableOp(PointerType.of(StorageClass.PushConstant, block))
            pushed.result.name_hint = "words"
        numbers: dict[tuple[SSAValue, int], _Index] = dict(zip(words, self._known or (), strict=False))
        binding = 0
        for argument in function.body.block.args:
            if not isinstance(argument.type, MemRefType):
                continue
            made = self._storage(binding, memref_type(argument).element_type, argument not in written)
            made.result.name_hint = argument.name_hint
            binding += 1
            self._buffers[argument] = _Buffer(made.result, 0, (), memref_type(argument).element_type)
        if any(isinstance(op, ReportOp) for op in function.walk()):
            self._status = self._storage(binding, i32, False)
            self._status.result.name_hint = "status"
        if pushed is not None:
            self._head.add_op(pushed)
            for place, key in enumerate(words):
                pointer = self._made(AccessChainOp(pushed.result, [self._number(place)]))
                numbers[key] = self._made(LoadOp(pointer))
        for argument in function.body.block.args:
            if isinstance(argument.type, MemRefType):
                shape = memref_type(argument).get_shape()
                sizes = [size if size >= 0 else numbers[argument, dim] for dim, size in enumerate(shape)]
                before = self._buffers[argument]
                self._buffers[argument] = _Buffer(before.variable, 0, sizes, before.element)
            else:
                self._values[argument] = self._value_of(numbers[argument, -1])

    def _storage(self, binding: int, element: Attribute, read_only: bool) -> VariableOp:
        element = f16 if self._halves and element == f32 else element
        self._stored.add(element)
        block = StructType.of([RuntimeArrayType(element)])
        made = VariableOp(
            PointerType.of(StorageClass.StorageBuffer, block), binding=binding, read_only=read_only
        )
        self._head.add_op(made)
        return made

    def _invocation(self, loop: scf.ParallelOp) -> None:
        """The body of the loop, for the iteration of the invocation's number, if there is such."""
        vector3 = VectorType(i32, [3])
        variable = VariableOp(PointerType.of(StorageClass.Input, vector3), builtin=BuiltIn.GlobalInvocationId)
        self._head.add_op(variable)
        variable.result.name_hint = "id"
        column, row = (
            self._made(LoadOp(self._made(AccessChainOp(variable.result, [self._number(dim)]))))
            for dim in (0, 1)
        )
        number = self._plus(column, self._times(row, ROW))
        start, end, step = (
            self._index(bounds[0]) for bounds in (loop.lowerBound, loop.upperBound, loop.step)
        )
        place = self._plus(start, self._times(number, step))
        # A place beyond the end may wrap around; the number of iterations does not.
        span = self._minus(end, start)
        padded = self._plus(span, self._minus(step, 1))
        tiles = padded
        if step != 1:
            tiles = self._made(InstructionOp(Op.UDiv, [self._value_of(padded), self._value_of(step)]))
        some = self._compare(Op.SLessThan, number, tiles)
        body, after = Block(), Block()
        self._add(SelectionBranchOp(some, body, after, after))
        self._continue(body)
        self._values[loop.body.block.args[0]] = self._value_of(place)
        for op in loop.body.block.ops:
            if not isinstance(op, scf.ReduceOp):
                self._op(op)
        self._add(BranchOp(after))
        self._continue(after)

    # -- ops

    def _op(self, op: Operation) -> None:
        kind = type(op)
        if kind in BINARY:
            self._binary(op)
            return
        if kind in EXTENDED:
            self._define(op, ExtendedOp(EXTENDED[kind], self._operands(op)))
            return
        if kind in EXTREMA:
            self._values[op.results[0]] = self._extremum(*EXTREMA[kind], *self._operands(op))
            return
        match op:
            case arith.ConstantOp():
                self._values[op.result] = self._constant(op.value)
            case arith.NegfOp():
                self._define(op, InstructionOp(Op.FNegate, self._operands(op)))
            case arith.CmpiOp():
                predicate = ARITH_PREDICATES[op.predicate.value.data]
                self._values[op.result] = self._compared(predicate, *self._operands(op))
            case CompareOp():
                self._values[op.result] = self._compared(op.predicate.data, *self._operands(op))
            case arith.SelectOp() | SelectOp():
                self._define(op, InstructionOp(Op.Select, self._operands(op)))
            case arith.IndexCastOp() | arith.ExtSIOp():
                self._values[op.results[0]] = self._resized(op)
            case arith.SIToFPOp():
                self._define(op, InstructionOp(Op.ConvertSToF, self._operands(op), _scalar(op.result.type)))
            case arith.ExtFOp() | arith.TruncFOp():
                self._define(op, InstructionOp(Op.FConvert, self._operands(op), _scalar(op.result.type)))
            case ConvertOp():
                self._values[op.result] = self._converted(op)
            case DotOp():
                self._values[op.result] = self._dot(*self._operands(op))
            case vector.BitcastOp() | arith.BitcastOp():
                self._define(op, InstructionOp(Op.Bitcast, self._operands(op), _scalar(op.results[0].type)))
            case math.CopySignOp():
                self._values[op.result] = self._signed(*self._operands(op))
            case vector.BroadcastOp():
                self._values[op.vector] = self._value(op.source)
            case vector.ReductionOp() if op.acc is None:
                self._values[op.dest] = self._value(op.vector)
            case vector.CreateMaskOp():
                count = self._value(op.mask_dim_sizes[0])
                self._values[op.mask_vector] = self._compare(Op.SGreaterThan, count, 0)
            case ReportOp():
                assert self._status is not None
                pointer = AccessChainOp(self._status.result, [self._number(0), self._number(0)])
                self._add(AtomicMinimumOp(self._made(pointer), self._number(op.number.value.data)))
            case PrefetchOp():
                pass
            case scf.ForOp():
                self._for(op)
            case scf.IfOp():
                self._if(op)
            case _:
                self._memory(op)

    def _memory(self, op: Operation) -> None:
        match op:
            case memref.DimOp():
                size = self._buffers[op.source].sizes[_literal(op.index)]
                self._values[op.result] = self._value_of(size)
            case memref.ReinterpretCastOp() | memref.CastOp():
                self._view(op)
            case memref.AllocaOp():
                self._local(op)
            case memref.LoadOp():
                self._values[op.res] = self._read(self._place(op.memref, op.indices))
            case memref.StoreOp():
                self._write(self._place(op.memref, op.indices), self._value(op.value))
            case vector.LoadOp() if _is_single(op.result.type):
                self._values[op.result] = self._read(self._place(op.base, op.indices))
            case vector.StoreOp() if _is_single(op.vector.type):
                self._write(self._place(op.base, op.indices), self._value(op.vector))
            case vector.MaskedLoadOp() if _is_single(op.result.type):
                # The first element is there for sure.
                mask, otherwise = self._value(op.mask), self._value(op.pass_thru)
                index = self._value_of(self._offset(op.base, op.indices))
                buffer = self._buffers[op.base]
                safe = self._made(InstructionOp(Op.Select, [mask, index, self._value_of(buffer.start)]))
                found = self._read(self._pointer(buffer, safe))
                self._define(op, InstructionOp(Op.Select, [mask, found, otherwise]))
            case vector.MaskedStoreOp() if _is_single(op.value_to_store.type):
                then, after = Block(), Block()
                pointed, value = self._offset(op.base, op.indices), self._value(op.value_to_store)
                self._add(SelectionBranchOp(self._value(op.mask), then, after, after))
                self._continue(then)
                self._write(self._pointer(self._buffers[op.base], pointed), value)
                self._add(BranchOp(after))
                self._continue(after)
            case _:
                raise refused(op, f"'{op.name}' has no conversion to spirv", "lower it first")

    def _binary(self, op: Operation) -> None:
        a, b = self._operands(op)
        kind = type(op)
        if a.type == i1:
            if kind not in LOGICAL:
                raise refused(op, f"'{op.name}' of bits has no conversion to spirv", "use and, or, xor")
            self._define(op, InstructionOp(LOGICAL[kind], [a, b]))
            return
        for operand, sign, neutral in ((0, Op.IAdd, 0), (1, Op.IAdd, 0), (0, Op.IMul, 1), (1, Op.IMul, 1)):
            if BINARY[kind] == sign and _number_of((a, b)[operand]) == neutral:
                self._values[op.results[0]] = (a, b)[1 - operand]
                return
        self._define(op, InstructionOp(BINARY[kind], [a, b]))

    def _extremum(self, comparison: Op, propagates: bool, a: SSAValue, b: SSAValue) -> SSAValue:
        """The greater or lesser of two floats; of a NaN and a number the one or the other."""
        other = a if propagates else b
        unordered = self._compare(Op.FUnordNotEqual, other, other)
        first = self._made(InstructionOp(Op.LogicalOr, [self._compare(comparison, a, b), unordered]))
        return self._made(InstructionOp(Op.Select, [first, a, b]))

    def _compared(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        if a.type == i1:
            op = {"eq": Op.LogicalEqual, "ne": Op.LogicalNotEqual}.get(predicate)
            if op is not None:
                return self._made(InstructionOp(op, [a, b]))
            # As bytes with a sign, of which a set bit is -1 where the comparison has one.
            low, high = (self._constant(IntegerAttr(number, i32)) for number in (0, -1))
            a, b = (self._made(InstructionOp(Op.Select, [one, high, low])) for one in (a, b))
        if not isinstance(a.type, AnyFloat):
            return self._compare(INTEGER_PREDICATES[predicate], a, b)
        if predicate in ("ord", "uno"):
            nan = [self._compare(Op.FUnordNotEqual, one, one) for one in (a, b)]
            either = self._made(InstructionOp(Op.LogicalOr, nan))
            return either if predicate == "uno" else self._made(InstructionOp(Op.LogicalNot, [either]))
        return self._compare(FLOAT_PREDICATES[predicate], a, b)

    def _resized(self, op: arith.IndexCastOp | arith.ExtSIOp) -> SSAValue:
        """An integer in more or fewer bits, with its sign."""
        (value,) = self._operands(op)
        type = _scalar(op.results[0].type)
        return value if value.type == type else self._made(InstructionOp(Op.SConvert, [value], type))

    def _converted(self, op: ConvertOp) -> SSAValue:
        value, type, kind = self._value(op.source), _scalar(op.result.type), op.kind.data
        if kind == "fptosi":
            return self._saturated(value, type)
        if value.type == i1:
            # A set bit is 1, and -1 with a sign.
            one = -1 if kind in ("sext", "sitofp") else 1
            numbers = [self._constant(_number_attribute(number, type)) for number in (one, 0)]
            return self._made(InstructionOp(Op.Select, [value, *numbers]))
        if type == i1:
            low = self._constant(IntegerAttr(1, cast("IntegerType", value.type)))
            bit = self._made(InstructionOp(Op.BitwiseAnd, [value, low]))
            return self._compare(Op.IEqual, bit, low)
        return self._made(InstructionOp(CONVERSIONS[kind], [value], type))

    def _saturated(self, value: SSAValue, type: Attribute) -> SSAValue:
        """A float rounded toward zero and saturated to the integer range; 0 for NaN."""
        integer = cast("IntegerType", type)
        limit = 2.0 ** (integer.width.data - 1)
        above, below, zero = (
            self._constant(_number_attribute(number, value.type)) for number in (limit, -limit, 0.0)
        )
        low = self._compare(Op.FOrdLessThan, value, below)
        high = self._compare(Op.FOrdGreaterThanEqual, value, above)
        inside = self._compare(Op.FOrdGreaterThanEqual, value, below)
        safe = self._made(
            InstructionOp(Op.LogicalAnd, [inside, self._compare(Op.FOrdLessThan, value, above)])
        )
        taken = self._made(InstructionOp(Op.Select, [safe, value, zero]))
        wide = integer if integer.width.data >= 32 else i32
        made = self._made(InstructionOp(Op.ConvertFToS, [taken], wide))
        if wide != integer:
            made = self._made(InstructionOp(Op.SConvert, [made], integer))
        for mask, number in ((low, -int(limit)), (high, int(limit) - 1)):
            made = self._made(
                InstructionOp(Op.Select, [mask, self._constant(IntegerAttr(number, integer)), made])
            )
        return made

    def _dot(self, x: SSAValue, w: SSAValue, acc: SSAValue) -> SSAValue:
        """Sums of products of four bytes, of which the left ones have no sign."""
        for place in range(4):
            right, left, top, low = (self._number(number) for number in (8 * place, 24 - 8 * place, 24, 255))
            shifted = self._made(InstructionOp(Op.ShiftRightLogical, [x, right]))
            byte = self._made(InstructionOp(Op.BitwiseAnd, [shifted, low]))
            shifted = self._made(InstructionOp(Op.ShiftLeftLogical, [w, left]))
            signed = self._made(InstructionOp(Op.ShiftRightArithmetic, [shifted, top]))
            acc = self._made(
                InstructionOp(Op.IAdd, [acc, self._made(InstructionOp(Op.IMul, [byte, signed]))])
            )
        return acc

    def _signed(self, size: SSAValue, sign: SSAValue) -> SSAValue:
        """A float with the sign of another.

        By a comparison and a selection: llvmpipe of Mesa 22.3 takes wrong bits where signs are moved by masks.
        """
        bits = IntegerType(cast("AnyFloat", size.type).bitwidth)
        number = self._made(InstructionOp(Op.Bitcast, [sign], bits))
        is_negative = self._compare(Op.SLessThan, number, self._constant(IntegerAttr(0, bits)))
        positive = self._made(ExtendedOp(Extended.FAbs, [size]))
        negative = self._made(InstructionOp(Op.FNegate, [positive]))
        return self._made(InstructionOp(Op.Select, [is_negative, negative, positive]))

    # -- control flow

    def _for(self, op: scf.ForOp) -> None:
        """A header with the values of an iteration, the body, and the block that goes back."""
        lower, upper, step = map(self._value, (op.lb, op.ub, op.step))
        carried = [self._value(value) for value in op.iter_args]
        types = [one.type for one in carried]
        header, proceed = Block(arg_types=[i32, *types]), Block(arg_types=types)
        body, after = Block(), Block()
        self._add(BranchOp(header, lower, *carried))
        self._continue(header)
        index, *values = header.args
        self._add(LoopBranchOp(self._compare(Op.SLessThan, index, upper), body, after, proceed))
        self._continue(body)
        self._values.update(zip(op.body.block.args, header.args, strict=True))
        last = op.body.block.last_op
        assert isinstance(last, scf.YieldOp)
        self._ops(op.body.block)
        self._add(BranchOp(proceed, *map(self._value, last.operands)))
        self._continue(proceed)
        following = self._made(InstructionOp(Op.IAdd, [index, step]))
        self._add(BranchOp(header, following, *proceed.args))
        self._continue(after)
        self._values.update(zip(op.results, values, strict=True))

    def _if(self, op: scf.IfOp) -> None:
        after = Block(arg_types=[_scalar(type) for type in op.result_types])
        regions = [op.true_region, op.false_region]
        branches = [Block() if _has_effects(region) or op.results else after for region in regions]
        if branches == [after, after]:
            return
        self._add(SelectionBranchOp(self._value(op.cond), branches[0], branches[1], after))
        for region, block in zip(regions, branches, strict=True):
            if block is after:
                continue
            self._continue(block)
            last = region.block.last_op
            assert isinstance(last, scf.YieldOp)
            self._ops(region.block)
            self._add(BranchOp(after, *map(self._value, last.operands)))
        self._continue(after)
        self._values.update(zip(op.results, after.args, strict=True))

    def _ops(self, block: Block) -> None:
        for op in block.ops:
            if not isinstance(op, scf.YieldOp):
                self._op(op)

    def _continue(self, block: Block) -> None:
        self._region.add_block(block)
        self._block = block

    # -- buffers

    def _view(self, op: memref.ReinterpretCastOp | memref.CastOp) -> None:
        """The same memory from another place on, or in another shape."""
        source = self._buffers[op.operands[0]]
        type = memref_type(op.results[0])
        start = source.start
        if isinstance(op, memref.CastOp):
            sizes: Sequence[_Index] = source.sizes
        else:
            given = iter(op.sizes)
            sizes = [size if size >= 0 else self._value(next(given)) for size in type.get_shape()]
            (offset,) = op.static_offsets.get_values()
            start = self._plus(start, self._value(op.offsets[0]) if op.offsets else offset)
        known = [size if size >= 0 else other for size, other in zip(type.get_shape(), sizes, strict=True)]
        self._buffers[op.results[0]] = _Buffer(source.variable, start, known, source.element)

    def _local(self, op: memref.AllocaOp) -> None:
        """An array of the invocation's own."""
        type = memref_type(op.memref)
        count = prod(type.get_shape())
        element = cast("IntegerType | AnyFloat", type.element_type)
        self._local_bytes += count * element.bitwidth // 8
        if self._local_bytes > MAX_LOCAL_BYTES:
            raise refused(
                op,
                f"invocations have {self._local_bytes:,} bytes of their own, more than {MAX_LOCAL_BYTES:,}",
                "use a smaller tile",
            )
        made = VariableOp(PointerType.of(StorageClass.Function, ArrayType(IntAttr(count), element)))
        self._locals.append(made)
        self._buffers[op.memref] = _Buffer(made.result, 0, type.get_shape(), element)

    def _offset(self, base: SSAValue, indices: Sequence[SSAValue]) -> _Index:
        """The number of an element in the variable of a buffer: by Horner's rule."""
        buffer = self._buffers[base]
        place: _Index = 0
        for index, size in zip(indices, buffer.sizes, strict=True):
            place = self._plus(self._times(place, size), self._index(index))
        return self._plus(buffer.start, place)

    def _place(self, base: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        return self._pointer(self._buffers[base], self._offset(base, indices))

    def _pointer(self, buffer: _Buffer, offset: _Index) -> SSAValue:
        inside = [self._value_of(offset)]
        if isinstance(buffer.variable.type, PointerType) and isinstance(
            buffer.variable.type.pointee, StructType
        ):
            inside.insert(0, self._number(0))
        return self._made(AccessChainOp(buffer.variable, inside))

    def _read(self, pointer: SSAValue) -> SSAValue:
        """An element of a buffer. A half is widened at once: devices need not compute with halves."""
        found = self._made(LoadOp(pointer))
        return self._made(InstructionOp(Op.FConvert, [found], f32)) if found.type == f16 else found

    def _write(self, pointer: SSAValue, value: SSAValue) -> None:
        if pointer_type(pointer).pointee == f16:
            value = self._made(InstructionOp(Op.FConvert, [value], f16))
        self._add(StoreOp(pointer, value))

    # -- values

    def _plus(self, a: _Index, b: _Index) -> _Index:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self._made(InstructionOp(Op.IAdd, [self._value_of(a), self._value_of(b)]))

    def _minus(self, a: _Index, b: _Index) -> _Index:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self._made(InstructionOp(Op.ISub, [self._value_of(a), self._value_of(b)]))

    def _times(self, a: _Index, b: _Index) -> _Index:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a in (0, 1) or b in (0, 1):
            return 0 if 0 in (a, b) else b if a == 1 else a
        return self._made(InstructionOp(Op.IMul, [self._value_of(a), self._value_of(b)]))

    def _compare(self, op: Op, a: _Index, b: _Index) -> SSAValue:
        return self._made(InstructionOp(op, [self._value_of(a), self._value_of(b)]))

    def _index(self, value: SSAValue) -> _Index:
        """An index: a number where it is a constant."""
        owner = value.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            return owner.value.value.data
        found = self._value(value)
        known = _number_of(found)
        return found if known is None else known

    def _value_of(self, index: _Index) -> SSAValue:
        return self._number(index) if isinstance(index, int) else index

    def _number(self, number: int) -> SSAValue:
        return self._constant(IntegerAttr(number, i32))

    def _constant(self, value: Attribute) -> SSAValue:
        """A constant of the module, once each."""
        if isinstance(value, DenseIntOrFPElementsAttr):
            (number, *_) = value.get_values()
            value = _number_attribute(cast("float", number), _scalar(cast("Attribute", value.type)))
        if isinstance(value, IntegerAttr):
            integer = cast("IntegerAttr", value)
            value = IntegerAttr(integer.value.data, i32) if isinstance(integer.type, IndexType) else integer
        made = cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", value)
        if made not in self._constants:
            self._types.add(made.type)
            op = ConstantOp(made)
            self._head.add_op(op)
            self._constants[made] = op.result
        return self._constants[made]

    def _operands(self, op: Operation) -> list[SSAValue]:
        return [self._value(value) for value in op.operands]

    def _value(self, value: SSAValue) -> SSAValue:
        return self._values[value]

    def _add(self, op: Operation) -> None:
        self._block.add_op(op)

    def _made(self, op: Operation) -> SSAValue:
        self._block.add_op(op)
        return op.results[0]

    def _define(self, before: Operation, after: Operation) -> None:
        self._values[before.results[0]] = self._made(after)


def _written(function: FuncOp) -> set[SSAValue]:
    """The buffers among the arguments of a kernel that it writes to."""
    found: set[SSAValue] = set()
    for op in function.walk():
        target: SSAValue | None = None
        match op:
            case memref.StoreOp():
                target = op.memref
            case vector.StoreOp() | vector.MaskedStoreOp():
                target = op.base
            case _:
                continue
        while isinstance(target.owner, memref.ReinterpretCastOp | memref.CastOp):
            target = target.owner.operands[0]
        found.add(target)
    return found


def _has_effects(region: Region) -> bool:
    """Whether a branch has any effects."""
    return bool(region.blocks) and not isinstance(region.block.first_op, scf.YieldOp)


def _scalar(type: Attribute) -> Attribute:
    """The type of a vector's only element, and of an index; other types as they are."""
    if isinstance(type, IndexType):
        return i32
    return cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type


def _is_single(type: Attribute) -> bool:
    """Whether a vector has one element."""
    return isinstance(type, VectorType) and prod(type.get_shape()) == 1


def _literal(value: SSAValue) -> int:
    owner = value.owner
    assert isinstance(owner, arith.ConstantOp)
    assert isinstance(owner.value, IntegerAttr)
    return owner.value.value.data


def _number_of(value: SSAValue) -> int | None:
    """The number that a value of a shader is, if it is an integer constant."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _number_attribute(number: float, type: Attribute) -> IntegerAttr | FloatAttr[AnyFloat]:
    if isinstance(type, AnyFloat):
        return FloatAttr(float(number), type)
    return IntegerAttr(int(number), cast("IntegerType", type))
