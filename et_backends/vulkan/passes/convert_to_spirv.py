"""Conversion of kernels to compute shaders, and of their calls to dispatches.

An iteration of a kernel's parallel loop becomes an invocation. Structured control flow stays structured: loops and
branches become blocks with merge instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
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

from et_backends.codegen.dialect import CompareOp, ConvertOp, DotOp, PrefetchOp, ReportOp, SelectOp
from et_backends.codegen.dialect.types import memref_type
from et_backends.vulkan.compiler.dispatches import Specialized, parallel_loop, refused, replace_calls
from et_backends.vulkan.compiler.instructions import (
    ARITH_PREDICATES,
    BINARY,
    EXTENDED,
    EXTREMA,
    LOGICAL,
)
from et_backends.vulkan.compiler.scalar_arithmetic import (
    compared,
    converted,
    copy_sign,
    dot_product,
    extremum,
)
from et_backends.vulkan.compiler.shader_builder import Index, ShaderBuilder, integer_of, scalar_type
from et_backends.vulkan.dialect import (
    AccessChainOp,
    ArrayType,
    AtomicMinimumOp,
    BranchOp,
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
from et_backends.vulkan.dialect.types import pointer_type
from et_backends.vulkan.format.blob import ROW
from et_backends.vulkan.format.spirv import BuiltIn, Op, StorageClass

__all__ = ["MAX_LOCAL_BYTES", "ConvertToSpirvPass"]

MAX_LOCAL_BYTES: Final = 16 * 1024
"""Bytes of arrays that an invocation may have for itself."""


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
    start: Index
    sizes: Sequence[Index]
    element: Attribute


class _Conversion:
    """Makes the shader of one kernel."""

    def __init__(self, function: FuncOp, name: str, known: tuple[int, ...] | None, halves: bool):
        """`known` are the numbers that are pushed, where the shader is for these only. With `halves`, floats are stored
        as 16-bit floats.
        """
        self._function, self._name, self._known, self._halves = function, name, known, halves
        self._shader = ShaderBuilder()
        self._values: dict[SSAValue, SSAValue] = {}
        self._buffers: dict[SSAValue, _Buffer] = {}
        self._local_bytes = 0
        self._status: SSAValue | None = None

    def shader(self) -> ShaderOp:
        """The shader."""
        self._arguments()
        loop = parallel_loop(self._function)
        for op in self._function.body.block.ops:
            if op is loop:
                self._invocation(loop)
            elif not isinstance(op, ReturnOp):
                self._op(op)
        return self._shader.finish(self._name)

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
            type = PointerType.of(StorageClass.PushConstant, StructType.of([i32] * len(words)))
            pushed = VariableOp(type)
            pushed.result.name_hint = "words"
        numbers: dict[tuple[SSAValue, int], Index] = dict(zip(words, self._known or (), strict=False))
        binding = 0
        for argument in function.body.block.args:
            if not isinstance(argument.type, MemRefType):
                continue
            variable = self._storage(binding, memref_type(argument).element_type, argument not in written)
            variable.name_hint = argument.name_hint
            binding += 1
            self._buffers[argument] = _Buffer(variable, 0, (), memref_type(argument).element_type)
        if any(isinstance(op, ReportOp) for op in function.walk()):
            self._status = self._storage(binding, i32, False)
            self._status.name_hint = "status"
        if pushed is not None:
            block = self._shader.declare(pushed)
            for place, key in enumerate(words):
                pointer = self._shader.make(AccessChainOp(block, [self._shader.number(place)]))
                numbers[key] = self._shader.make(LoadOp(pointer))
        for argument in function.body.block.args:
            if isinstance(argument.type, MemRefType):
                shape = memref_type(argument).get_shape()
                sizes = [size if size >= 0 else numbers[argument, dim] for dim, size in enumerate(shape)]
                before = self._buffers[argument]
                self._buffers[argument] = _Buffer(before.variable, 0, sizes, before.element)
            else:
                self._values[argument] = self._shader.value(numbers[argument, -1])

    def _storage(self, binding: int, element: Attribute, read_only: bool) -> SSAValue:
        """A pointer to the buffer of a binding."""
        element = f16 if self._halves and element == f32 else element
        type = PointerType.of(StorageClass.StorageBuffer, StructType.of([RuntimeArrayType(element)]))
        return self._shader.declare(VariableOp(type, binding=binding, read_only=read_only), element)

    def _invocation(self, loop: scf.ParallelOp) -> None:
        """The body of the loop, for the iteration of the invocation's number, if there is such."""
        vector3 = VectorType(i32, [3])
        type = PointerType.of(StorageClass.Input, vector3)
        identifier = self._shader.declare(VariableOp(type, builtin=BuiltIn.GlobalInvocationId))
        identifier.name_hint = "id"
        pointers = (AccessChainOp(identifier, [self._shader.number(dim)]) for dim in (0, 1))
        column, row = (self._shader.make(LoadOp(self._shader.make(one))) for one in pointers)
        number = self._shader.plus(column, self._shader.times(row, ROW))
        start, end, step = (
            self._index(bounds[0]) for bounds in (loop.lowerBound, loop.upperBound, loop.step)
        )
        place = self._shader.plus(start, self._shader.times(number, step))
        # A place beyond the end may wrap around; the number of iterations does not.
        span = self._shader.minus(end, start)
        padded = self._shader.plus(span, self._shader.minus(step, 1))
        tiles = padded
        if step != 1:
            tiles = self._shader.make(
                InstructionOp(Op.UDiv, [self._shader.value(padded), self._shader.value(step)])
            )
        some = self._shader.compare(Op.SLessThan, number, tiles)
        body, after = Block(), Block()
        self._shader.add(SelectionBranchOp(some, body, after, after))
        self._shader.start(body)
        self._values[loop.body.block.args[0]] = self._shader.value(place)
        for op in loop.body.block.ops:
            if not isinstance(op, scf.ReduceOp):
                self._op(op)
        self._shader.add(BranchOp(after))
        self._shader.start(after)

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
            self._values[op.results[0]] = extremum(self._shader, *EXTREMA[kind], *self._operands(op))
            return
        match op:
            case arith.ConstantOp():
                self._values[op.result] = self._shader.constant(op.value)
            case arith.NegfOp():
                self._define(op, InstructionOp(Op.FNegate, self._operands(op)))
            case arith.CmpiOp():
                predicate = ARITH_PREDICATES[op.predicate.value.data]
                self._values[op.result] = compared(self._shader, predicate, *self._operands(op))
            case CompareOp():
                self._values[op.result] = compared(self._shader, op.predicate.data, *self._operands(op))
            case arith.SelectOp() | SelectOp():
                self._define(op, InstructionOp(Op.Select, self._operands(op)))
            case arith.IndexCastOp() | arith.ExtSIOp():
                self._values[op.results[0]] = self._resized(op)
            case arith.SIToFPOp():
                self._define(
                    op, InstructionOp(Op.ConvertSToF, self._operands(op), scalar_type(op.result.type))
                )
            case arith.ExtFOp() | arith.TruncFOp():
                self._define(op, InstructionOp(Op.FConvert, self._operands(op), scalar_type(op.result.type)))
            case ConvertOp():
                source, kind = self._value(op.source), op.kind.data
                self._values[op.result] = converted(self._shader, kind, source, scalar_type(op.result.type))
            case DotOp():
                self._values[op.result] = dot_product(self._shader, *self._operands(op))
            case vector.BitcastOp() | arith.BitcastOp():
                self._define(
                    op, InstructionOp(Op.Bitcast, self._operands(op), scalar_type(op.results[0].type))
                )
            case math.CopySignOp():
                self._values[op.result] = copy_sign(self._shader, *self._operands(op))
            case vector.BroadcastOp():
                self._values[op.vector] = self._value(op.source)
            case vector.ReductionOp() if op.acc is None:
                self._values[op.dest] = self._value(op.vector)
            case vector.CreateMaskOp():
                count = self._value(op.mask_dim_sizes[0])
                self._values[op.mask_vector] = self._shader.compare(Op.SGreaterThan, count, 0)
            case ReportOp():
                assert self._status is not None
                pointer = AccessChainOp(self._status, [self._shader.number(0), self._shader.number(0)])
                self._shader.add(
                    AtomicMinimumOp(self._shader.make(pointer), self._shader.number(op.number.value.data))
                )
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
                self._values[op.result] = self._shader.value(size)
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
                index = self._shader.value(self._offset(op.base, op.indices))
                buffer = self._buffers[op.base]
                safe = self._shader.make(
                    InstructionOp(Op.Select, [mask, index, self._shader.value(buffer.start)])
                )
                found = self._read(self._pointer(buffer, safe))
                self._define(op, InstructionOp(Op.Select, [mask, found, otherwise]))
            case vector.MaskedStoreOp() if _is_single(op.value_to_store.type):
                then, after = Block(), Block()
                pointed, value = self._offset(op.base, op.indices), self._value(op.value_to_store)
                self._shader.add(SelectionBranchOp(self._value(op.mask), then, after, after))
                self._shader.start(then)
                self._write(self._pointer(self._buffers[op.base], pointed), value)
                self._shader.add(BranchOp(after))
                self._shader.start(after)
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
            if BINARY[kind] == sign and integer_of((a, b)[operand]) == neutral:
                self._values[op.results[0]] = (a, b)[1 - operand]
                return
        self._define(op, InstructionOp(BINARY[kind], [a, b]))

    def _resized(self, op: arith.IndexCastOp | arith.ExtSIOp) -> SSAValue:
        """An integer in more or fewer bits, with its sign."""
        (value,) = self._operands(op)
        type = scalar_type(op.results[0].type)
        return value if value.type == type else self._shader.make(InstructionOp(Op.SConvert, [value], type))

    # -- control flow

    def _for(self, op: scf.ForOp) -> None:
        """A header with the values of an iteration, the body, and the block that goes back."""
        lower, upper, step = map(self._value, (op.lb, op.ub, op.step))
        carried = [self._value(value) for value in op.iter_args]
        types = [one.type for one in carried]
        header, proceed = Block(arg_types=[i32, *types]), Block(arg_types=types)
        body, after = Block(), Block()
        self._shader.add(BranchOp(header, lower, *carried))
        self._shader.start(header)
        index, *values = header.args
        self._shader.add(LoopBranchOp(self._shader.compare(Op.SLessThan, index, upper), body, after, proceed))
        self._shader.start(body)
        self._values.update(zip(op.body.block.args, header.args, strict=True))
        last = op.body.block.last_op
        assert isinstance(last, scf.YieldOp)
        self._ops(op.body.block)
        self._shader.add(BranchOp(proceed, *map(self._value, last.operands)))
        self._shader.start(proceed)
        following = self._shader.make(InstructionOp(Op.IAdd, [index, step]))
        self._shader.add(BranchOp(header, following, *proceed.args))
        self._shader.start(after)
        self._values.update(zip(op.results, values, strict=True))

    def _if(self, op: scf.IfOp) -> None:
        after = Block(arg_types=[scalar_type(type) for type in op.result_types])
        regions = [op.true_region, op.false_region]
        branches = [Block() if _has_effects(region) or op.results else after for region in regions]
        if branches == [after, after]:
            return
        self._shader.add(SelectionBranchOp(self._value(op.cond), branches[0], branches[1], after))
        for region, block in zip(regions, branches, strict=True):
            if block is after:
                continue
            self._shader.start(block)
            last = region.block.last_op
            assert isinstance(last, scf.YieldOp)
            self._ops(region.block)
            self._shader.add(BranchOp(after, *map(self._value, last.operands)))
        self._shader.start(after)
        self._values.update(zip(op.results, after.args, strict=True))

    def _ops(self, block: Block) -> None:
        for op in block.ops:
            if not isinstance(op, scf.YieldOp):
                self._op(op)

    # -- buffers

    def _view(self, op: memref.ReinterpretCastOp | memref.CastOp) -> None:
        """The same memory from another place on, or in another shape."""
        source = self._buffers[op.operands[0]]
        type = memref_type(op.results[0])
        start = source.start
        if isinstance(op, memref.CastOp):
            sizes: Sequence[Index] = source.sizes
        else:
            given = iter(op.sizes)
            sizes = [size if size >= 0 else self._value(next(given)) for size in type.get_shape()]
            (offset,) = op.static_offsets.get_values()
            start = self._shader.plus(start, self._value(op.offsets[0]) if op.offsets else offset)
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
        pointer = PointerType.of(StorageClass.Function, ArrayType(IntAttr(count), element))
        variable = self._shader.declare_local(VariableOp(pointer))
        self._buffers[op.memref] = _Buffer(variable, 0, type.get_shape(), element)

    def _offset(self, base: SSAValue, indices: Sequence[SSAValue]) -> Index:
        """The number of an element in the variable of a buffer: by Horner's rule."""
        buffer = self._buffers[base]
        place: Index = 0
        for index, size in zip(indices, buffer.sizes, strict=True):
            place = self._shader.plus(self._shader.times(place, size), self._index(index))
        return self._shader.plus(buffer.start, place)

    def _place(self, base: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        return self._pointer(self._buffers[base], self._offset(base, indices))

    def _pointer(self, buffer: _Buffer, offset: Index) -> SSAValue:
        inside = [self._shader.value(offset)]
        if isinstance(buffer.variable.type, PointerType) and isinstance(
            buffer.variable.type.pointee, StructType
        ):
            inside.insert(0, self._shader.number(0))
        return self._shader.make(AccessChainOp(buffer.variable, inside))

    def _read(self, pointer: SSAValue) -> SSAValue:
        """An element of a buffer. A half is widened at once: devices need not compute with halves."""
        found = self._shader.make(LoadOp(pointer))
        return self._shader.make(InstructionOp(Op.FConvert, [found], f32)) if found.type == f16 else found

    def _write(self, pointer: SSAValue, value: SSAValue) -> None:
        if pointer_type(pointer).pointee == f16:
            value = self._shader.make(InstructionOp(Op.FConvert, [value], f16))
        self._shader.add(StoreOp(pointer, value))

    # -- values

    def _index(self, value: SSAValue) -> Index:
        """An index: a number where it is a constant."""
        owner = value.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            return owner.value.value.data
        found = self._value(value)
        known = integer_of(found)
        return found if known is None else known

    def _operands(self, op: Operation) -> list[SSAValue]:
        return [self._value(value) for value in op.operands]

    def _value(self, value: SSAValue) -> SSAValue:
        return self._values[value]

    def _define(self, before: Operation, after: Operation) -> None:
        self._values[before.results[0]] = self._shader.make(after)


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


def _is_single(type: Attribute) -> bool:
    """Whether a vector has one element."""
    return isinstance(type, VectorType) and prod(type.get_shape()) == 1


def _literal(value: SSAValue) -> int:
    owner = value.owner
    assert isinstance(owner, arith.ConstantOp)
    assert isinstance(owner.value, IntegerAttr)
    return owner.value.value.data
