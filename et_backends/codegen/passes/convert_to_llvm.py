"""Conversion of loops over buffers to xDSL's `llvm` dialect.

Structured loops become blocks and branches, buffers become pointers, and places in them become addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from xdsl.context import Context
from xdsl.dialects import arith, llvm, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    VectorType,
    f32,
    i32,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from et_backends.codegen.dialect import (
    BarrierOp,
    CompareOp,
    ConvertOp,
    DotOp,
    PrefetchOp,
    ReportedOp,
    ReportOp,
    SelectOp,
)
from et_backends.codegen.dialect.types import memref_type, vector_type
from et_backends.codegen.elements import nbytes
from et_backends.codegen.format import ENTRY, NO_REPORT, PREPARE, REPORT_AT
from et_backends.codegen.kernels.host import PREPARATION
from et_backends.codegen.llvm_builder import Binary, Index, Kind, LlvmBuilder, type_suffix
from et_backends.codegen.llvm_vectors import (
    NEON_LANES,
    dot_product,
    helium_conversion,
    helium_scaled,
    saturated,
    splat,
)
from et_ir.diagnostics import PassReport, diagnose

__all__ = ["BARRIER", "MARK", "REPORT", "ConvertToLlvmPass", "empty_function"]

BARRIER: Final = "native_barrier"
"""The function that a barrier calls, with the context of the call and the number of threads."""
MARK: Final = "native_mark"
"""The function that is called at the start of an entry point and after each of its calls, with the context and the
number of the thread: it notes the time where somebody asks for times."""

REPORT: Final = "native_report"
"""The function that a report calls, with the context of the call and the number of the message."""


@dataclass(frozen=True)
class ConvertToLlvmPass(ModulePass):
    """Convert loops over buffers to `llvm.func`.

    A buffer is passed as a pointer to its first element, followed by those of its sizes that its type does not say. Its
    elements are in row-major order without gaps. Each function gets the context of the call as its first argument,
    which barriers need. Functions that are not private are called through `native_entry`. Vectors have the machine's
    width. Comparison and selection of vectors stay in `native`, as xDSL's `llvm` has none.

    Before:

    ```mlir
    func.func @kernel(%x: memref<?x8xf32>, %i: index) {
      %v = vector.load %x[%i, %c0] : memref<?x8xf32>, vector<8xf32>
    ```

    After:

    ```mlir
    llvm.func @kernel(%context: !llvm.ptr, %x: !llvm.ptr, %x_0: i64, %i: i64) {
      %0 = llvm.mul %i, %c8 : i64
      %1 = llvm.getelementptr %x[%0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      %v = llvm.load %1 {alignment = 4} : !llvm.ptr -> vector<8xf32>
    ```
    """

    name = "convert-to-llvm"

    index_bits: int = 64
    """Bits of values of type `index`."""
    freestanding: bool = False
    """Whether the code runs without et-vm: there are no entry points that take an array, no times, no prefetches,
    and multiply-adds are fused only where the machine does so."""
    dual_products: bool = False
    """Whether there is Arm's instruction that adds two products of 16 bits (`smlad`), for products of bytes."""
    helium: bool = False
    """Whether vectors are those of Arm's microcontrollers: the processor's intrinsics convert between i32 and f32."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [one for one in op.body.block.ops if isinstance(one, FuncOp)]
        for function in functions:
            if function.sym_visibility is None and not self.freestanding:
                _check_entry(function)
        properties: dict[Kind, dict[str, Attribute]] = {}
        called: set[str] = set()
        for function in functions:
            made = _Conversion(self, properties, called).function(function)
            op.body.block.insert_op_before(made, function)
            op.body.block.detach_op(function)
            if function.sym_visibility is None and not self.freestanding:
                op.body.block.add_op(_entry_point(made))
        for name in (BARRIER, MARK, REPORT):
            if name in called:
                type = llvm.LLVMFunctionType([llvm.LLVMPointerType(), IntegerType(self.index_bits)])
                op.body.block.add_op(llvm.FuncOp(name, type, linkage=llvm.LinkageAttr("external")))


def _check_entry(function: FuncOp) -> None:
    """The arguments of a function that is called from outside are numbers and buffers of known sizes."""
    types = function.function_type.inputs.data
    if len(types) < 2 or not all(isinstance(type, IndexType) for type in types[-2:]):
        raise PassReport(
            "functions cannot be converted",
            [
                diagnose(
                    function,
                    f"'{function.sym_name.data}' does not end with the number of the thread and of threads",
                    "distribute its loops first: distribute-loops",
                )
            ],
        )
    for type in types[:-2]:
        if not isinstance(type, IndexType) and not (isinstance(type, MemRefType) and type.has_static_shape()):
            raise PassReport(
                "functions cannot be converted",
                [
                    diagnose(
                        function,
                        f"'{function.sym_name.data}' has an argument of type {type}",
                        "make it private, or its arguments numbers and buffers of known sizes",
                    )
                ],
            )


def _entry_point(function: llvm.FuncOp) -> llvm.FuncOp:
    """A function that takes the numbers, and the addresses of all buffers, in an array, and calls `function`."""
    pointer = llvm.LLVMPointerType()
    block = Block(arg_types=[pointer, pointer, i64, i64])
    context, pointers, thread, threads = block.args
    # Properties are made once: constructors take long.
    of_load = {"alignment": IntegerAttr(8, i64), "ordering": IntegerAttr(0, i64)}
    of_place = {"elem_type": pointer, "noWrapFlags": IntegerAttr(0, 32)}
    arguments: list[SSAValue] = []
    for number, type in enumerate(function.function_type.inputs.data[1:-2]):
        properties = {"rawConstantIndices": DenseArrayBase.from_list(i32, [number]), **of_place}
        place = llvm.GEPOp.create(operands=[pointers], result_types=[pointer], properties=properties)
        buffer = llvm.LoadOp.create(operands=[place.result], result_types=[type], properties=of_load)
        block.add_ops([place, buffer])
        arguments.append(buffer.dereferenced_value)
    block.add_ops(
        [llvm.CallOp(function.sym_name.data, context, *arguments, thread, threads), llvm.ReturnOp()]
    )
    return llvm.FuncOp(
        PREPARE if function.sym_name.data == PREPARATION else ENTRY,
        llvm.LLVMFunctionType(block.arg_types),
        linkage=llvm.LinkageAttr("external"),
        body=Region(block),
    )


def empty_function(name: str) -> llvm.FuncOp:
    """A function that does nothing, and is there for its name."""
    block = Block([llvm.ReturnOp()])
    linkage = llvm.LinkageAttr("external")
    return llvm.FuncOp(name, llvm.LLVMFunctionType([]), linkage=linkage, body=Region(block))


@dataclass(frozen=True)
class _Buffer:
    """A buffer: the address of its first element, its sizes, and the distances of neighbors in each dimension."""

    pointer: SSAValue
    sizes: Sequence[Index]
    strides: Sequence[Index]
    element: Attribute


_PREDICATES: Final = tuple(flag.value for flag in llvm.ICmpPredicateFlag)
"""Predicates of `arith.cmpi`, by its numbers, which are those of `llvm.icmp`."""

_BINARY: Final[dict[type[Operation], Binary]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.RemUIOp: llvm.URemOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
}

_CASTS: Final[dict[type[Operation], Callable[[SSAValue, Attribute], Operation]]] = {
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtFOp: llvm.FPExtOp,
    arith.TruncFOp: llvm.FPTruncOp,
}

_INTRINSICS: Final[dict[type[Operation], str]] = {
    arith.MaximumfOp: "llvm.maximum",
    arith.MaxnumfOp: "llvm.maxnum",
    arith.MinnumfOp: "llvm.minnum",
    math.AbsFOp: "llvm.fabs",
    math.CeilOp: "llvm.ceil",
    math.CopySignOp: "llvm.copysign",
    math.FloorOp: "llvm.floor",
    math.SqrtOp: "llvm.sqrt",
    arith.MinimumfOp: "llvm.minimum",
    arith.MinSIOp: "llvm.smin",
    arith.MaxSIOp: "llvm.smax",
    arith.MinUIOp: "llvm.umin",
    arith.MaxUIOp: "llvm.umax",
    math.RoundEvenOp: "llvm.roundeven",
    math.TruncOp: "llvm.trunc",
}
"""Ops that are calls of an intrinsic of the same operands, whose name ends with the type. xDSL's translation of its own
ops for some of these leaves the type out."""

_REDUCTIONS: Final = {
    vector.CombiningKindFlag.MAXIMUMF: "llvm.vector.reduce.fmaximum",
    vector.CombiningKindFlag.MINIMUMF: "llvm.vector.reduce.fminimum",
    vector.CombiningKindFlag.MAXNUMF: "llvm.vector.reduce.fmax",
    vector.CombiningKindFlag.MINNUMF: "llvm.vector.reduce.fmin",
    vector.CombiningKindFlag.MAXSI: "llvm.vector.reduce.smax",
    vector.CombiningKindFlag.MINSI: "llvm.vector.reduce.smin",
    vector.CombiningKindFlag.AND: "llvm.vector.reduce.and",
    vector.CombiningKindFlag.OR: "llvm.vector.reduce.or",
}

_INTEGER_REDUCTIONS: Final = {
    vector.CombiningKindFlag.ADD: "llvm.vector.reduce.add",
    vector.CombiningKindFlag.MUL: "llvm.vector.reduce.mul",
}


_SUMS: Final = {
    vector.CombiningKindFlag.ADD: (llvm.VectorReduceFAddOp, -0.0),
    vector.CombiningKindFlag.MUL: (llvm.VectorReduceFMulOp, 1.0),
}
"""Reductions that start from a neutral element."""


class _Conversion:
    """Rebuilds one function."""

    def __init__(
        self, options: ConvertToLlvmPass, properties: dict[Kind, dict[str, Attribute]], called: set[str]
    ) -> None:
        """`properties` keeps those of ops that are made, `called` gets the names of functions that are called."""
        self._builder = LlvmBuilder(IntegerType(options.index_bits), properties)
        self._index_type = self._builder.index_type
        self._freestanding = options.freestanding
        self._dual_products = options.dual_products
        self._helium = options.helium
        self._values: dict[SSAValue, SSAValue] = {}
        self._buffers: dict[SSAValue, _Buffer] = {}
        self._marks = False
        self._called = called

    def function(self, function: FuncOp) -> llvm.FuncOp:
        """The function as one of `llvm`."""
        if function.function_type.outputs.data:
            raise PassReport(
                "functions cannot be converted",
                [diagnose(function, "the function returns a value", "return it in a buffer")],
            )
        block = function.body.block
        types: list[Attribute] = [llvm.LLVMPointerType()]
        for argument in block.args:
            types += self._argument_types(argument.type)
        arguments = iter(self._builder.begin(types))
        self._context = next(arguments)
        self._context.name_hint = "context"
        for argument in block.args:
            value = next(arguments)
            value.name_hint = argument.name_hint
            if isinstance(argument.type, MemRefType):
                type = memref_type(argument)
                sizes = [size if size >= 0 else next(arguments) for size in type.get_shape()]
                self._buffers[argument] = self._buffer(value, sizes, type.element_type)
            else:
                self._values[argument] = value
        private = function.sym_visibility is not None and function.sym_visibility.data == "private"
        self._marks = not (private or self._freestanding) and any(
            isinstance(op, CallOp) for op in function.walk()
        )
        self._mark()
        self._ops(block)
        return llvm.FuncOp(
            function.sym_name.data,
            llvm.LLVMFunctionType(types),
            linkage=llvm.LinkageAttr("internal" if private else "external"),
            body=self._builder.region,
        )

    def _ops(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)

    def _op(self, op: Operation) -> None:
        kind = op.__class__
        binary = _BINARY.get(kind)
        if binary is not None:
            # Sums of a place and a number are made where a value is needed: addresses take them apart.
            if kind is not arith.AddiOp or _added(op) is None:
                one, other = self._value(op.operands[0]), self._value(op.operands[1])
                made = (
                    helium_scaled(self._builder, one, other)
                    if self._helium and kind is arith.MulfOp
                    else None
                )
                self._values[op.results[0]] = (
                    self._builder.binary(binary, one, other) if made is None else made
                )
            return
        name = _INTRINSICS.get(kind)
        if name is not None:
            operands = [self._value(value) for value in op.operands]
            type = operands[0].type
            self._values[op.results[0]] = self._builder.intrinsic(
                f"{name}.{type_suffix(type)}", operands, type
            )
            return
        convert = _CONVERSIONS.get(kind)
        if convert is None:
            raise PassReport(
                "functions cannot be converted",
                [diagnose(op, f"'{op.name}' has no conversion to llvm", "lower it first")],
            )
        convert(self, op)

    # -- arithmetic

    def constant(self, op: arith.ConstantOp) -> None:
        self._values[op.result] = self._builder.constant(op.value, op.result.type)

    def negation(self, op: arith.NegfOp) -> None:
        self._define(op, llvm.FNegOp(self._value(op.operand)))

    def multiply_add(self, op: math.FmaOp | vector.FMAOp) -> None:
        x, y, z = (self._value(value) for value in op.operands)
        if self._freestanding:
            result = self._builder.intrinsic(f"llvm.fmuladd.{type_suffix(x.type)}", [x, y, z], x.type)
        else:
            result = self._builder.made(
                self._builder.like((llvm.FMAOp,), (x, y, z), [x.type], lambda: llvm.FMAOp(x, y, z))
            )
        self._values[op.results[0]] = result

    def integer_comparison(self, op: arith.CmpiOp) -> None:
        flag = _PREDICATES[op.predicate.value.data]
        self._values[op.result] = self._builder.icmp(flag, self._value(op.lhs), self._value(op.rhs))

    def choice(self, op: arith.SelectOp) -> None:
        self._define(op, llvm.SelectOp(*map(self._value, op.operands)))

    def comparison(self, op: CompareOp) -> None:
        """The same op of the values here; as `_selection`."""
        predicate, (lhs, rhs) = op.predicate.data, map(self._value, op.operands)
        made = self._builder.like(
            (CompareOp, predicate), (lhs, rhs), [op.result.type], lambda: CompareOp(predicate, lhs, rhs)
        )
        self._define(op, made)

    def selection(self, op: SelectOp) -> None:
        mask, lhs, rhs = map(self._value, op.operands)
        self._define(
            op,
            self._builder.like((SelectOp,), (mask, lhs, rhs), [lhs.type], lambda: SelectOp(mask, lhs, rhs)),
        )

    def index_cast(self, op: arith.IndexCastOp) -> None:
        """An index as an integer or the other way; the number has the same sign in fewer or more bits."""
        value = self._value(op.input)
        type = self._index_type if isinstance(op.result.type, IndexType) else op.result.type
        if value.type != type:
            kind = llvm.SExtOp if nbytes(value.type) < nbytes(type) else llvm.TruncOp
            value = self._builder.made(kind(value, type))
        self._values[op.result] = value

    def cast(self, op: arith.SIToFPOp | arith.ExtSIOp | arith.ExtFOp | arith.TruncFOp) -> None:
        source, result = self._value(op.operands[0]), op.results[0].type
        if isinstance(op, arith.SIToFPOp) and isinstance(result, VectorType):
            self._convert(op.result, "sitofp", source, vector_type(op.result))
        else:
            self._define(op, _CASTS[op.__class__](source, result))

    def bitcast(self, op: vector.BitcastOp | arith.BitcastOp) -> None:
        self._define(op, llvm.BitcastOp(self._value(op.operands[0]), op.results[0].type))

    def conversion(self, op: ConvertOp) -> None:
        self._convert(op.result, op.kind.data, self._value(op.source), vector_type(op.result))

    def _convert(self, value: SSAValue, kind: str, source: SSAValue, result: VectorType[Attribute]) -> None:
        """Define a value by a conversion of LLVM's name."""
        made = helium_conversion(self._builder, kind, source, result) if self._helium else None
        if made is not None:
            pass
        elif kind != "fptosi":
            made = self._builder.made(ConvertOp(kind, source, result.element_type))
        # Saturating: LLVM says nothing of what is out of range for its instruction.
        elif result.element_type == i32 and result.get_shape()[0] > NEON_LANES:
            made = saturated(self._builder, source, result)
        else:
            name = f"llvm.fptosi.sat.{type_suffix(result)}.{type_suffix(source.type)}"
            made = self._builder.intrinsic(name, [source], result)
        self._values[value] = made

    def dot_product(self, op: DotOp) -> None:
        self._values[op.result] = dot_product(
            self._builder, *map(self._value, op.operands), dual=self._dual_products
        )

    # -- memory

    def load(self, op: memref.LoadOp | vector.LoadOp) -> None:
        """Convert a load of the elements of a buffer from a place on."""
        base, *indices = op.operands
        type, address, alignment = op.results[0].type, self._address(base, indices), _alignment(base)
        made = self._builder.like(
            (llvm.LoadOp, alignment),
            (address,),
            [type],
            lambda: llvm.LoadOp(address, type, alignment=alignment),
        )
        self._define(op, made)

    def store(self, op: memref.StoreOp | vector.StoreOp) -> None:
        stored, base, *indices = op.operands
        value, address, alignment = self._value(stored), self._address(base, indices), _alignment(base)
        made = self._builder.like(
            (llvm.StoreOp, alignment),
            (value, address),
            (),
            lambda: llvm.StoreOp(value, address, alignment=alignment),
        )
        self._builder.add(made)

    def masked_load(self, op: vector.MaskedLoadOp) -> None:
        address = self._address(op.base, op.indices)
        alignment = self._builder.number_of(_alignment(op.base), i32)
        arguments = [address, alignment, self._value(op.mask), self._value(op.pass_thru)]
        name = f"llvm.masked.load.{type_suffix(op.result.type)}.p0"
        self._values[op.result] = self._builder.intrinsic(name, arguments, op.result.type)

    def masked_store(self, op: vector.MaskedStoreOp) -> None:
        address, alignment = self._address(op.base, op.indices), _alignment(op.base)
        mask, value = self._value(op.mask), self._value(op.value_to_store)
        made = self._builder.like(
            (llvm.MaskedStoreOp, alignment),
            (value, address, mask),
            (),
            lambda: llvm.MaskedStoreOp(value, address, mask, alignment=alignment),
        )
        self._builder.add(made)

    def prefetch(self, op: PrefetchOp) -> None:
        if self._freestanding:
            return
        # For reading, into the second cache, of data.
        hints = [self._builder.number_of(number, i32) for number in (0, 2, 1)]
        address = self._address(op.base, op.indices)
        self._builder.add(llvm.CallIntrinsicOp("llvm.prefetch.p0", [address, *hints], []))

    def size(self, op: memref.DimOp) -> None:
        self._values[op.result] = self._builder.index(self._dim(op))

    def shuffle(self, op: vector.ShuffleOp) -> None:
        places = DenseArrayBase.from_list(i32, list(op.mask.get_values()))
        one, other = self._value(op.v1), self._value(op.v2)
        self._define(op, llvm.ShuffleVectorOp(one, other, places, vector_type(op.result)))

    # -- calls

    def barrier(self, op: BarrierOp) -> None:
        self._call(BARRIER, [self._context, self._builder.entry.args[-1]])

    def report(self, op: ReportOp) -> None:
        self._call(REPORT, [self._context, self._builder.number_of(op.number.value.data, self._index_type)])

    def reported(self, op: ReportedOp) -> None:
        # What a freestanding program has instead is the result of the method, 0 without a report.
        place, none = (0, 0) if self._freestanding else (REPORT_AT, NO_REPORT)
        address = self._offset(self._context, place, IntegerType(8))
        word = self._builder.made(llvm.LoadOp(address, i32, alignment=4))
        self._values[op.result] = self._builder.icmp("ne", word, self._builder.number_of(none, i32))

    def call(self, op: CallOp) -> None:
        arguments: list[SSAValue] = [self._context]
        for value in op.arguments:
            arguments += self._arguments(value)
        self._call(op.callee.string_value(), arguments)
        self._mark()

    def end(self, op: ReturnOp) -> None:
        self._builder.add(llvm.ReturnOp())

    # -- control flow

    def loop(self, op: scf.ForOp) -> None:
        """The body, repeated while another iteration is left: tested at its end, and once before it."""
        lower, upper, step = map(self._value, (op.lb, op.ub, op.step))
        carried = [self._value(value) for value in op.iter_args]
        types = [value.type for value in carried]
        body, after = Block(arg_types=[self._index_type, *types]), Block(arg_types=types)
        some = self._builder.icmp("slt", lower, upper)
        self._branch(some, body, [lower, *carried], after, carried)
        self._values.update(zip(op.body.block.args, body.args, strict=True))
        self._builder.continue_in(body)
        last = op.body.block.last_op
        assert isinstance(last, scf.YieldOp)
        with self._builder.dominated():
            for inner in op.body.block.ops:
                if inner is not last:
                    self._op(inner)
            yielded = [self._value(value) for value in last.operands]
            following = self._builder.binary(llvm.AddOp, body.args[0], step)
            again = self._builder.icmp("slt", following, upper)
            self._branch(again, body, [following, *yielded], after, yielded)
        self._builder.continue_in(after)
        self._values.update(zip(op.results, after.args, strict=True))

    def branch(self, op: scf.IfOp) -> None:
        after = Block(arg_types=op.result_types)
        branches = [Block() if region.blocks else after for region in (op.true_region, op.false_region)]
        self._branch(self._value(op.cond), branches[0], [], branches[1], [])
        for region, block in zip((op.true_region, op.false_region), branches, strict=True):
            if block is after:
                continue
            self._builder.continue_in(block)
            last = region.block.last_op
            assert isinstance(last, scf.YieldOp)
            with self._builder.dominated():
                for inner in region.block.ops:
                    if inner is not last:
                        self._op(inner)
            self._builder.add(llvm.BrOp(after, *map(self._value, last.operands)))
        self._builder.continue_in(after)
        self._values.update(zip(op.results, after.args, strict=True))

    def _branch(
        self,
        condition: SSAValue,
        then: Block,
        then_values: Sequence[SSAValue],
        otherwise: Block,
        other_values: Sequence[SSAValue],
    ) -> None:
        """Go to one of two blocks."""
        made = self._builder.like(
            (llvm.CondBrOp, len(then_values), len(other_values)),
            [condition, *then_values, *other_values],
            [],
            lambda: llvm.CondBrOp(condition, then, then_values, otherwise, other_values),
            [then, otherwise],
        )
        self._builder.add(made)

    def _mark(self) -> None:
        """Note the time, in the function of a partition."""
        if self._marks:
            self._call(MARK, [self._context, self._builder.entry.args[-2]])

    def _call(self, name: str, arguments: Sequence[SSAValue]) -> None:
        self._called.add(name)
        self._builder.add(llvm.CallOp(name, *arguments))

    # -- buffers

    def _arguments(self, value: SSAValue) -> list[SSAValue]:
        """A value as arguments of a call."""
        if not isinstance(value.type, MemRefType):
            return [self._value(value)]
        buffer = self._buffers[value]
        dynamic = [
            self._builder.index(size)
            for size, known in zip(buffer.sizes, memref_type(value).get_shape(), strict=True)
            if known < 0
        ]
        return [buffer.pointer, *dynamic]

    def local(self, op: memref.AllocaOp) -> None:
        """A buffer on the stack; aligned as vectors are."""
        type = memref_type(op.memref)
        sizes = type.get_shape()
        count = self._builder.number_of(prod(sizes), self._index_type)
        alignment = 8 if self._freestanding else 64
        made = self._builder.made(llvm.AllocaOp(count, type.element_type, alignment=alignment))
        self._buffers[op.memref] = self._buffer(made, sizes, type.element_type)

    def _argument_types(self, type: Attribute) -> list[Attribute]:
        if isinstance(type, MemRefType):
            return [llvm.LLVMPointerType(), *(self._index_type for size in type.get_shape() if size < 0)]
        return [self._index_type if isinstance(type, IndexType) else type]

    def _dim(self, op: memref.DimOp) -> Index:
        owner = op.index.owner
        if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
            raise PassReport(
                "functions cannot be converted",
                [diagnose(op, "the dimension is not a constant", "ask for each dimension by its number")],
            )
        return self._buffers[op.source].sizes[owner.value.value.data]

    def view(self, op: memref.ViewOp | memref.ReinterpretCastOp | memref.CastOp) -> None:
        """The same memory from another place on, or in another shape."""
        type = memref_type(op.results[0])
        source = self._buffers[op.operands[0]]
        pointer = source.pointer
        if isinstance(op, memref.CastOp):
            sizes: Sequence[Index] = source.sizes
        else:
            given = iter(op.sizes)
            sizes = [size if size >= 0 else self._value(next(given)) for size in type.get_shape()]
            if isinstance(op, memref.ViewOp):
                pointer = self._offset(pointer, self._value(op.byte_shift), IntegerType(8))
            else:
                (offset,) = op.static_offsets.get_values()
                dynamic = list(op.offsets)
                place: Index = self._value(dynamic[0]) if dynamic else offset
                pointer = self._offset(pointer, place, source.element)
        known = [size if size >= 0 else other for size, other in zip(type.get_shape(), sizes, strict=True)]
        self._buffers[op.results[0]] = self._buffer(pointer, known, type.element_type)

    def _buffer(self, pointer: SSAValue, sizes: Sequence[Index], element: Attribute) -> _Buffer:
        strides: list[Index] = [1]
        for size in reversed(sizes[1:]):
            strides.insert(0, self._builder.times(strides[0], size))
        return _Buffer(pointer, sizes, strides[: len(sizes)], element)

    def _address(self, base: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """The address of an element: that of the first one, plus indices times strides.

        The numbers that are added to indices come last, one dimension after the other: neighbors share the rest, and
        those of one row all but the last.
        """
        buffer = self._buffers[base]
        place: Index = 0
        further: list[Index] = []
        for index, stride in zip(indices, buffer.strides, strict=True):
            start, more = _parts(index)
            if start is not None:
                place = self._builder.plus(place, self._builder.times(self._value(start), stride))
            if more:
                further.append(self._builder.times(more, stride))
        address = self._offset(buffer.pointer, place, buffer.element)
        for distance in further:
            address = self._offset(address, distance, buffer.element)
        return address

    def _offset(self, pointer: SSAValue, place: Index, element: Attribute) -> SSAValue:
        if place == 0:
            return pointer
        constant = place if isinstance(place, int) else llvm.GEP_USE_SSA_VAL
        dynamic = [] if isinstance(place, int) else [place]
        kind: Kind = (llvm.GEPOp, element, constant)
        return self._builder.once(
            (*kind, pointer, *dynamic),
            lambda: self._builder.like(
                kind,
                [pointer, *dynamic],
                [pointer.type],
                lambda: llvm.GEPOp(pointer, [constant], element, dynamic),
            ),
        )

    # -- vectors

    def mask(self, op: vector.CreateMaskOp) -> None:
        """Lanes whose number is below the count, as LLVM's `get.active.lane.mask` says."""
        type = vector_type(op.mask_vector)
        index = self._index_type
        zero = self._builder.number_of(0, index)
        # A count below zero sets no lane; the intrinsic takes numbers without a sign.
        size = self._value(op.mask_dim_sizes[0])
        count = self._builder.intrinsic(f"llvm.smax.{type_suffix(index)}", [size, zero], index)
        name = f"llvm.get.active.lane.mask.{type_suffix(type)}.{type_suffix(index)}"
        self._values[op.mask_vector] = self._builder.intrinsic(name, [zero, count], type)

    def broadcast(self, op: vector.BroadcastOp) -> None:
        type, source = vector_type(op.vector), self._value(op.source)
        if isinstance(source.type, VectorType):
            self._values[op.vector] = source
        else:
            self._values[op.vector] = splat(self._builder, source, type)

    def reduction(self, op: vector.ReductionOp) -> None:
        parts, kind = self._value(op.vector), op.kind.data
        if op.acc is not None:
            raise PassReport(
                "functions cannot be converted",
                [diagnose(op, "the reduction has an accumulator", "combine it with the result")],
            )
        integers = isinstance(op.dest.type, IntegerType)
        name = _INTEGER_REDUCTIONS.get(kind) if integers else None
        name = name or _REDUCTIONS.get(kind)
        if name is not None:
            self._values[op.dest] = self._builder.intrinsic(
                f"{name}.{type_suffix(parts.type)}", [parts], op.dest.type
            )
            return
        reduce, neutral = _SUMS[kind]
        start = self._builder.constant(FloatAttr(neutral, f32), f32)
        # In a tree: the order of elements would be one addition after the other.
        self._define(op, reduce(start, parts, llvm.FastMathAttr([FastMathFlag.REASSOC])))

    def _value(self, value: SSAValue) -> SSAValue:
        found = self._values.get(value)
        if found is not None:
            return found
        sum = _added(value.owner)
        assert sum is not None
        start, number = sum
        return self._builder.binary(
            llvm.AddOp, self._value(start), self._builder.number_of(number, self._index_type)
        )

    def _define(self, before: Operation, after: Operation) -> None:
        self._values[before.results[0]] = self._builder.made(after)


_CONVERSIONS: Final[dict[type[Operation], Callable[[_Conversion, Any], None]]] = {
    arith.BitcastOp: _Conversion.bitcast,
    arith.CmpiOp: _Conversion.integer_comparison,
    arith.ConstantOp: _Conversion.constant,
    arith.ExtFOp: _Conversion.cast,
    arith.ExtSIOp: _Conversion.cast,
    arith.IndexCastOp: _Conversion.index_cast,
    arith.NegfOp: _Conversion.negation,
    arith.SIToFPOp: _Conversion.cast,
    arith.SelectOp: _Conversion.choice,
    arith.TruncFOp: _Conversion.cast,
    math.FmaOp: _Conversion.multiply_add,
    memref.AllocaOp: _Conversion.local,
    memref.CastOp: _Conversion.view,
    memref.DimOp: _Conversion.size,
    memref.LoadOp: _Conversion.load,
    memref.ReinterpretCastOp: _Conversion.view,
    memref.StoreOp: _Conversion.store,
    memref.ViewOp: _Conversion.view,
    scf.ForOp: _Conversion.loop,
    scf.IfOp: _Conversion.branch,
    vector.BitcastOp: _Conversion.bitcast,
    vector.BroadcastOp: _Conversion.broadcast,
    vector.CreateMaskOp: _Conversion.mask,
    vector.FMAOp: _Conversion.multiply_add,
    vector.LoadOp: _Conversion.load,
    vector.MaskedLoadOp: _Conversion.masked_load,
    vector.MaskedStoreOp: _Conversion.masked_store,
    vector.ReductionOp: _Conversion.reduction,
    vector.ShuffleOp: _Conversion.shuffle,
    vector.StoreOp: _Conversion.store,
    BarrierOp: _Conversion.barrier,
    CallOp: _Conversion.call,
    CompareOp: _Conversion.comparison,
    ConvertOp: _Conversion.conversion,
    DotOp: _Conversion.dot_product,
    PrefetchOp: _Conversion.prefetch,
    ReportedOp: _Conversion.reported,
    ReportOp: _Conversion.report,
    ReturnOp: _Conversion.end,
    SelectOp: _Conversion.selection,
}
"""Conversions of ops by their class: to compare the classes one after the other takes longer than the rest."""


def _parts(index: SSAValue) -> tuple[SSAValue | None, int]:
    """A place and the number that is added to it; the place is None where the index is a number."""
    more = 0
    while True:
        owner = index.owner
        if owner.__class__ is arith.ConstantOp:
            assert isinstance(owner, arith.ConstantOp)
            if isinstance(owner.value, IntegerAttr):
                return None, more + owner.value.value.data
        sum = _added(owner)
        if sum is None:
            return index, more
        index, number = sum
        more += number


def _added(op: Operation | Block) -> tuple[SSAValue, int] | None:
    """A place and the number that an op adds to it; None for other ops."""
    if op.__class__ is not arith.AddiOp:
        return None
    assert isinstance(op, arith.AddiOp)
    start, more = op.operands
    if more.owner.__class__ is arith.ConstantOp and isinstance(start.type, IndexType):
        assert isinstance(more.owner, arith.ConstantOp)
        value = more.owner.value
        if isinstance(value, IntegerAttr):
            return start, value.value.data
    return None


def _alignment(base: SSAValue) -> int:
    """Of the elements of a buffer, in bytes: tensors start at multiples of four at least where elements are longer."""
    return min(nbytes(memref_type(base).element_type), 4)
