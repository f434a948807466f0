"""LLVM assembly of a module of xDSL's `llvm` dialect.

It is written op by op. xDSL's own translation builds the module in llvmlite's classes first, and these take longer than
LLVM's passes do. It also lacks the comparisons, selections and conversions of vectors, which are ops of `native`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack
from typing import Final, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from et_backends.codegen.dialect import CompareOp, ConvertOp, SelectOp
from et_ir.diagnostics import PassReport, diagnose

__all__ = ["llvm_assembly"]


def llvm_assembly(module: ModuleOp, triple: str, data_layout: str) -> str:
    """The functions of a module as LLVM assembly for a target; the same text each time.

    Raises PassReport for an op that has no equivalent here: the passes of the backend make none.
    """
    writer = _Writer()
    for op in module.body.block.ops:
        if isinstance(op, llvm.FuncOp):
            writer.function(op)
    head = f'target triple = "{triple}"\ntarget datalayout = "{data_layout}"\n'
    return "\n".join([head, *writer.lines, *writer.declarations(), ""])


class _Writer:
    """Writes functions one after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        # By identity, as to hash an attribute takes longer than to print it; those of a module live as long as it does.
        self._types: dict[int, str] = {}
        self._flags: dict[tuple[str, int], str] = {}
        self._defined: set[str] = set()
        self._intrinsics: dict[str, str] = {}
        self._values: dict[SSAValue, str] = {}
        self._typed: dict[SSAValue, str] = {}
        self._count = 0
        self._block: list[str] = []
        self._label = ""
        self._labels: dict[Block, str] = {}
        self._incoming: dict[Block, list[tuple[str, list[str]]]] = {}

    def declarations(self) -> list[str]:
        """Of the intrinsics that the functions call."""
        return [text for name, text in self._intrinsics.items() if name not in self._defined]

    def function(self, function: llvm.FuncOp) -> None:
        """A definition, or the declaration of a function without a body."""
        name, type = function.sym_name.data, function.function_type
        result, blocks = self.type(type.output), list(function.body.blocks)
        self._defined.add(name)
        if not blocks:
            parameters = ", ".join(map(self.type, type.inputs.data))
            self.lines.append(f'declare {result} @"{name}"({parameters}) nounwind')
            return
        self._values, self._typed, self._count = {}, {}, 0
        self._labels = {block: f"b{number}" for number, block in enumerate(blocks)}
        self._incoming = {block: [] for block in blocks}
        for block in blocks:
            for argument in block.args:
                self._name(argument)
        linkage = "internal " if function.linkage.linkage == StringAttr("internal") else ""
        parameters = ", ".join(self._typed[argument] for argument in blocks[0].args)
        self.lines.append(f'define {linkage}{result} @"{name}"({parameters}) nounwind {{')
        bodies: list[list[str]] = []
        # Definitions come before uses, apart from those of loops by their own next iteration.
        for block in blocks:
            self._block, self._label = [], self._labels[block]
            for op in block.ops:
                self._op(op)
            bodies.append(self._block)
        for block, body in zip(blocks, bodies, strict=True):
            self.lines.append(f"{self._labels[block]}:")
            if block is not blocks[0]:
                self._phis(block)
            self.lines += body
        self.lines.append("}")

    def _phis(self, block: Block) -> None:
        """The arguments of a block, with what they are after each block that branches to it."""
        incoming = self._incoming[block]
        for number, argument in enumerate(block.args):
            values = ", ".join(f"[ {values[number]}, %{label} ]" for label, values in incoming)
            self.lines.append(f"  {self._values[argument]} = phi {self.type(argument.type)} {values}")

    def _op(self, op: Operation) -> None:
        kind = op.__class__
        operands = tuple(op.operands)
        word = _BINARY.get(kind)
        if word is not None:
            one, other = operands
            self._define(op, f"{word}{self._flag(op)} {self._typed[one]}, {self._values[other]}")
            return
        word = _CASTS.get(kind)
        if word is not None:
            self._define(op, f"{word}{self._flag(op)} {self._typed[operands[0]]} to {self._result(op)}")
            return
        write = _WRITERS.get(kind)
        if write is None:
            raise PassReport(
                "no assembly can be written",
                [
                    diagnose(
                        op, f"'{op.name}' has no equivalent in LLVM assembly here", "convert it to llvm first"
                    )
                ],
            )
        write(self, op, operands)

    # -- ops

    def _listed(self, word: str, op: Operation, operands: Sequence[SSAValue]) -> None:
        """An instruction of operands that each have a type."""
        values = ", ".join([self._typed[value] for value in operands])
        self._define(op, f"{word}{self._flag(op)} {values}")

    def select(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._listed("select", op, operands)

    def insert_element(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._listed("insertelement", op, operands)

    def negation(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._listed("fneg", op, operands)

    def shuffle(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        mask = op.properties["mask"]
        assert isinstance(mask, DenseArrayBase)
        places = mask.get_values()
        text = ", ".join(f"i32 {place}" for place in places) if any(places) else ""
        lanes = f"<{len(places)} x i32> " + (f"<{text}>" if text else "zeroinitializer")
        one, other = operands
        self._define(op, f"shufflevector {self._typed[one]}, {self._typed[other]}, {lanes}")

    def integer_comparison(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        predicate = llvm.ICmpPredicateFlag.from_int(_number(op, "predicate")).value
        self._define(op, f"icmp {predicate} {self._typed[operands[0]]}, {self._values[operands[1]]}")

    def comparison(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        predicate = op.properties["predicate"]
        assert isinstance(predicate, StringAttr)
        word = "icmp" if isinstance(_element(operands[0].type), IntegerType) else "fcmp"
        self._define(op, f"{word} {predicate.data} {self._typed[operands[0]]}, {self._values[operands[1]]}")

    def conversion(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        kind = op.properties["kind"]
        assert isinstance(kind, StringAttr)
        self._define(op, f"{kind.data} {self._typed[operands[0]]} to {self._result(op)}")

    def load(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._define(op, f"load {self._result(op)}, {self._typed[operands[0]]}{_alignment(op)}")

    def store(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        value, address = operands
        self._block.append(f"  store {self._typed[value]}, {self._typed[address]}{_alignment(op)}")

    def local(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        type = self.type(op.properties["elem_type"])
        self._define(op, f"alloca {type}, {self._typed[operands[0]]}{_alignment(op)}")

    def address(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        given = iter(operands[1:])
        raw = op.properties["rawConstantIndices"]
        assert isinstance(raw, DenseArrayBase)
        places = [
            self._typed[next(given)] if place == llvm.GEP_USE_SSA_VAL else f"i32 {place}"
            for place in raw.get_values()
        ]
        inbounds = " inbounds" if "inbounds" in op.properties else ""
        type = self.type(op.properties["elem_type"])
        text = ", ".join([type, self._typed[operands[0]], *places])
        self._define(op, f"getelementptr{inbounds} {text}")

    def constant(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        result = op.results[0]
        self._literal(result, _literal(op.properties["value"], self.type(result.type)))

    def undefined(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._literal(op.results[0], "undef")

    def zero(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._literal(op.results[0], "zeroinitializer")

    # -- calls

    def call(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        assert isinstance(op, llvm.CallOp)
        assert op.callee is not None
        self._call(op, f'@"{op.callee.string_value()}"', operands)

    def intrinsic(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        name = op.properties["intrin"]
        assert isinstance(name, StringAttr)
        self._intrinsic(op, name.data, operands)

    def multiply_add(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._intrinsic(op, f"llvm.fma.{_suffix(op.results[0].type)}", operands)

    def reduction(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        kind = "fadd" if isinstance(op, llvm.VectorReduceFAddOp) else "fmul"
        self._intrinsic(op, f"llvm.vector.reduce.{kind}.{_suffix(operands[1].type)}", operands)

    def masked_store(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        value, address, mask = operands
        name = f"llvm.masked.store.{_suffix(value.type)}.p0"
        types = f"{self.type(value.type)}, ptr, i32, {self.type(mask.type)}"
        self._intrinsics.setdefault(name, f"declare void @{name}({types})")
        arguments = [
            self._typed[value],
            self._typed[address],
            f"i32 {_number(op, 'alignment')}",
            self._typed[mask],
        ]
        self._block.append(f"  call void @{name}({', '.join(arguments)})")

    def _intrinsic(self, op: Operation, name: str, operands: Sequence[SSAValue]) -> None:
        if name not in self._intrinsics:
            types = ", ".join([self.type(value.type) for value in operands])
            result = self._result(op) if op.results else "void"
            self._intrinsics[name] = f"declare {result} @{name}({types})"
        self._call(op, f"@{name}", operands)

    def _call(self, op: Operation, callee: str, operands: Sequence[SSAValue]) -> None:
        arguments = ", ".join([self._typed[value] for value in operands])
        if op.results:
            self._define(op, f"call{self._flag(op)} {self._result(op)} {callee}({arguments})")
        else:
            self._block.append(f"  call void {callee}({arguments})")

    # -- branches

    def branch(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        (target,) = op.successors
        self._branches_to(target, operands)
        self._block.append(f"  br label %{self._labels[target]}")

    def conditional_branch(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        assert isinstance(op, llvm.CondBrOp)
        self._branches_to(op.then_block, op.then_arguments)
        self._branches_to(op.else_block, op.else_arguments)
        labels = f"label %{self._labels[op.then_block]}, label %{self._labels[op.else_block]}"
        self._block.append(f"  br {self._typed[operands[0]]}, {labels}")

    def _branches_to(self, target: Block, values: Sequence[SSAValue]) -> None:
        self._incoming[target].append((self._label, [self._values[value] for value in values]))

    def end(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        self._block.append(f"  ret {self._typed[operands[0]]}" if operands else "  ret void")

    # -- values and types

    def type(self, type: Attribute) -> str:
        """A type in LLVM's words."""
        found = self._types.get(id(type))
        if found is None:
            found = self._types[id(type)] = _type(type)
        return found

    def _result(self, op: Operation) -> str:
        return self.type(op.results[0].type)

    def _name(self, value: SSAValue) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self._literal(value, name)
        return name

    def _literal(self, value: SSAValue, text: str) -> None:
        self._values[value] = text
        self._typed[value] = f"{self.type(value.type)} {text}"

    def _define(self, op: Operation, text: str) -> None:
        self._block.append(f"  {self._name(op.results[0])} = {text}")

    def _flag(self, op: Operation) -> str:
        """The flags of arithmetic, such as ` nsw` or ` reassoc`."""
        text = ""
        for name, flag in op.properties.items():
            key = (name, id(flag))
            found = self._flags.get(key)
            if found is None:
                found = self._flags[key] = _flags(name, flag)
            text += found
        return text


_Write: TypeAlias = Callable[[_Writer, Operation, Sequence[SSAValue]], None]

_BINARY: Final[dict[type[Operation], str]] = {
    llvm.AddOp: "add",
    llvm.SubOp: "sub",
    llvm.MulOp: "mul",
    llvm.UDivOp: "udiv",
    llvm.SDivOp: "sdiv",
    llvm.URemOp: "urem",
    llvm.SRemOp: "srem",
    llvm.AndOp: "and",
    llvm.OrOp: "or",
    llvm.XOrOp: "xor",
    llvm.ShlOp: "shl",
    llvm.LShrOp: "lshr",
    llvm.AShrOp: "ashr",
    llvm.FAddOp: "fadd",
    llvm.FSubOp: "fsub",
    llvm.FMulOp: "fmul",
    llvm.FDivOp: "fdiv",
    llvm.FRemOp: "frem",
}

_CASTS: Final[dict[type[Operation], str]] = {
    llvm.TruncOp: "trunc",
    llvm.ZExtOp: "zext",
    llvm.SExtOp: "sext",
    llvm.BitcastOp: "bitcast",
    llvm.FPExtOp: "fpext",
    llvm.FPTruncOp: "fptrunc",
    llvm.SIToFPOp: "sitofp",
    llvm.PtrToIntOp: "ptrtoint",
    llvm.IntToPtrOp: "inttoptr",
}

_WRITERS: Final[dict[type[Operation], _Write]] = {
    CompareOp: _Writer.comparison,
    ConvertOp: _Writer.conversion,
    SelectOp: _Writer.select,
    llvm.AllocaOp: _Writer.local,
    llvm.BrOp: _Writer.branch,
    llvm.CallIntrinsicOp: _Writer.intrinsic,
    llvm.CallOp: _Writer.call,
    llvm.CondBrOp: _Writer.conditional_branch,
    llvm.ConstantOp: _Writer.constant,
    llvm.FMAOp: _Writer.multiply_add,
    llvm.FNegOp: _Writer.negation,
    llvm.GEPOp: _Writer.address,
    llvm.ICmpOp: _Writer.integer_comparison,
    llvm.InsertElementOp: _Writer.insert_element,
    llvm.LoadOp: _Writer.load,
    llvm.MaskedStoreOp: _Writer.masked_store,
    llvm.ReturnOp: _Writer.end,
    llvm.SelectOp: _Writer.select,
    llvm.ShuffleVectorOp: _Writer.shuffle,
    llvm.StoreOp: _Writer.store,
    llvm.UndefOp: _Writer.undefined,
    llvm.VectorReduceFAddOp: _Writer.reduction,
    llvm.VectorReduceFMulOp: _Writer.reduction,
    llvm.ZeroOp: _Writer.zero,
}


def _flags(name: str, flag: Attribute) -> str:
    match flag:
        case llvm.FastMathAttr() | llvm.OverflowAttr():
            words = [one.value for one in flag.data]
        case IntegerAttr() if name == "overflowFlags":
            words = [one.value for one in llvm.OverflowAttr.from_int(flag.value.data).data]
        case _:
            words = {"isExact": ["exact"], "isDisjoint": ["disjoint"], "nonNeg": ["nneg"]}.get(name, [])
    return "".join(f" {word}" for word in words)


def _number(op: Operation, name: str) -> int:
    number = op.properties[name]
    assert isinstance(number, IntegerAttr)
    return number.value.data


def _alignment(op: Operation) -> str:
    return f", align {_number(op, 'alignment')}" if "alignment" in op.properties else ""


def _type(type: Attribute) -> str:
    match type:
        case VectorType():
            (lanes,) = type.get_shape()
            return f"<{lanes} x {_type(type.element_type)}>"
        case IntegerType():
            return f"i{type.width.data}"
        case llvm.LLVMPointerType():
            return "ptr"
        case llvm.LLVMVoidType():
            return "void"
        case _:
            return _FLOATS[type.__class__][0]


_FLOATS: Final[dict[type[Attribute], tuple[str, str]]] = {
    Float16Type: ("half", "f16"),
    Float32Type: ("float", "f32"),
    Float64Type: ("double", "f64"),
}
"""Names of types, and those at the end of an intrinsic's name."""


def _element(type: Attribute) -> Attribute:
    return cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type


def _suffix(type: Attribute) -> str:
    """The end of an intrinsic's name: `f32`, `v16f32`."""
    if isinstance(type, VectorType):
        vector = cast("VectorType[Attribute]", type)
        return f"v{vector.get_shape()[0]}{_suffix(vector.element_type)}"
    return _FLOATS[type.__class__][1] if type.__class__ in _FLOATS else _type(type)


def _literal(value: Attribute, type: str) -> str:
    match value:
        case IntegerAttr():
            return str(value.value.data)
        case FloatAttr():
            return _float(value.value.data)
        case DenseIntOrFPElementsAttr():
            element = type.partition(" x ")[2].removesuffix(">")
            numbers = cast("Sequence[int | float]", value.get_values())
            whole = isinstance(value.get_element_type(), IntegerType)
            elements = [f"{element} {one if whole else _float(one)}" for one in numbers]
            if len(set(elements)) == 1:
                return f"splat ({elements[0]})"
            return f"<{', '.join(elements)}>"
        case _:
            raise AssertionError(f"no constant: {value}")


def _float(number: float) -> str:
    """A float of any type: the bits of the f64 that equals it."""
    return f"0x{pack('>d', number).hex().upper()}"
