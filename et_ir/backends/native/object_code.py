"""Object code of a module of xDSL's `llvm` dialect, by LLVM.

LLVM gets code whose loops are tiled and whose vectors are those of the machine, so few of its passes run: those that
clean up, none that vectorize or recognize idioms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from et_ir.dialects.native import CompareOp, ConvertOp, SelectOp

__all__ = [
    "INSTRUCTION_SETS",
    "InstructionSet",
    "assembly",
    "data_layout",
    "llvm_text",
    "llvmlite",
    "object_code",
    "require_llvm",
    "target_machine",
]


@dataclass(frozen=True)
class InstructionSet:
    """A level of an architecture that code is compiled for."""

    name: str
    triple: str
    cpu: str
    features: str
    """LLVM's names of the features beyond the CPU's own."""
    lanes: int
    """Elements of 32 bits in a vector register."""
    registers: int
    """Vector registers."""
    cpu_flags: tuple[str, ...]
    """Features that a machine must have to run the code, by the names that Linux gives them."""
    dot_product: tuple[str, str] | None = None
    """The feature with an instruction for products of bytes that code may use, by LLVM's and by Linux's name."""
    dual_products: bool = False
    """Whether it has Arm's instruction that adds two products of 16 bits."""
    index_bits: int = 64
    """Bits of sizes and places, which are those of an address."""
    small: bool = False
    """Whether code is to be small: register tiles have one row."""
    fine: bool = False
    """Whether parallel loops are to have many short iterations, for processors that run thousands at a time."""
    relocation: str = "pic"
    """LLVM's name of the relocation model."""
    soft_float: bool = False
    """Whether floats are computed by functions, as there is no unit for them."""
    abi: str = ""
    """LLVM's name of the calling convention where it is not that of the triple."""

    def with_dot_products(self) -> InstructionSet:
        """The same level, with the instruction for products of bytes if there is one."""
        if self.dot_product is None:
            return self
        ours, linux = self.dot_product
        features = f"{self.features},{ours}" if self.features else ours
        return replace(self, features=features, cpu_flags=(*self.cpu_flags, linux), dot_product=None)


INSTRUCTION_SETS: Final = {
    one.name: one
    for one in (
        InstructionSet(
            "x86-64-v4",
            "x86_64-unknown-linux-gnu",
            "x86-64-v4",
            "-prefer-256-bit",
            16,
            32,
            ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma"),
            ("+avx512vnni", "avx512_vnni"),
        ),
        InstructionSet(
            "x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", 8, 16, ("avx2", "fma", "bmi2")
        ),
        InstructionSet("aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", 4, 32, ("asimd",)),
    )
}
"""Levels by name, the most capable of each architecture first."""


def llvm_text(module: ModuleOp, target: InstructionSet) -> str:
    """The module as LLVM assembly, before LLVM optimizes it."""
    return str(_translated(module, target))


def object_code(text: str, target: InstructionSet) -> bytes:
    """A relocatable ELF object of a module as LLVM assembly; the same bytes each time.

    LLVM runs beside Python: the interpreter's lock is free meanwhile.
    """
    machine, code = _optimized(text, target)
    return machine.emit_object(code)


def assembly(module: ModuleOp, target: InstructionSet) -> str:
    """The object of a module of the `llvm` dialect as assembly text."""
    machine, code = _optimized(llvm_text(module, target), target)
    return machine.emit_assembly(code)


def _optimized(text: str, target: InstructionSet) -> tuple[Any, Any]:
    machine = target_machine(target)
    binding = llvmlite("binding")

    code = binding.parse_assembly(text)
    code.link_in(binding.parse_assembly(_runtime_text(target)))
    options = binding.create_pipeline_tuning_options(speed_level=1)
    builder = binding.create_pass_builder(machine, options)
    passes = binding.create_new_module_pass_manager()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_loop_strength_reduce_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(code, builder)
    code.verify()
    return machine, code


@cache
def target_machine(target: InstructionSet) -> Any:
    """LLVM's code generator for a level of an architecture."""
    binding = llvmlite("binding")

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.features,
        opt=2,
        reloc=target.relocation,
        codemodel="small",
        abiname=target.abi,
    )


@cache
def data_layout(target: InstructionSet) -> str:
    """Sizes and alignments of the types, as LLVM has them."""
    return str(target_machine(target).target_data)


@cache
def _runtime_text(target: InstructionSet) -> str:
    """Barriers between threads, in LLVM assembly: xDSL's `llvm` has no atomic instructions."""
    text = files("et_ir.backends.native").joinpath("threads.ll").read_text("utf-8")
    x86 = target.triple.startswith("x86_64")
    text = text.replace(
        "call void @PAUSE",
        "call void @llvm.x86.sse2.pause()" if x86 else "call void @llvm.aarch64.hint(i32 1)",
    )
    text = text.replace("@PAUSE", "@llvm.x86.sse2.pause()" if x86 else "@llvm.aarch64.hint(i32)")
    return f'target triple = "{target.triple}"\n' + text


# -- from the dialect to llvmlite


def llvmlite(module: str) -> Any:
    """A module of llvmlite, which has no types."""
    require_llvm()
    return import_module(f"llvmlite.{module}")


def require_llvm() -> None:
    """Raises ModuleNotFoundError, which says what to install, where LLVM is not installed."""
    try:
        import_module("llvmlite")
    except ModuleNotFoundError as error:
        message = "the package llvmlite is not installed, and LLVM makes the machine code; install it with: "
        raise ModuleNotFoundError(
            f"{message}pip install '.[native]' in the checkout of executorch-ir", name="llvmlite"
        ) from error


def _translated(module: ModuleOp, target: InstructionSet) -> Any:
    ir = llvmlite("ir")

    made = ir.Module(name="native")
    made.triple = target.triple
    made.data_layout = data_layout(target)
    functions = [op for op in module.body.block.ops if isinstance(op, llvm.FuncOp)]
    for function in functions:
        _declare(function, made)
    for function in functions:
        if function.body.blocks:
            _define(function, made)
    return made


def _declare(function: llvm.FuncOp, module: Any) -> None:
    ir = llvmlite("ir")
    from xdsl.backend.llvm.convert_type import convert_type

    type = function.function_type
    made = ir.Function(
        module,
        ir.FunctionType(convert_type(type.output), [convert_type(one) for one in type.inputs.data]),
        name=function.sym_name.data,
    )
    if function.body.blocks and function.linkage.linkage == StringAttr("internal"):
        made.linkage = "internal"
    made.attributes.add("nounwind")


def _define(function: llvm.FuncOp, module: Any) -> None:
    ir = llvmlite("ir")
    from xdsl.backend.llvm.convert_type import convert_type

    made = module.get_global(function.sym_name.data)
    values: dict[SSAValue, Any] = {}
    blocks: dict[Block, Any] = {}
    for number, block in enumerate(function.body.blocks):
        blocks[block] = made.append_basic_block(name=f"b{number}")
    entry = function.body.blocks[0]
    values.update(zip(entry.args, made.args, strict=True))
    for block in list(function.body.blocks)[1:]:
        builder = ir.IRBuilder(blocks[block])
        for argument in block.args:
            values[argument] = builder.phi(convert_type(argument.type))
    # Definitions before their uses: in blocks that another one dominates, which their order respects.
    for block in function.body.blocks:
        builder = ir.IRBuilder(blocks[block])
        builder.position_at_end(blocks[block])
        for op in block.ops:
            _translate(op, builder, values, blocks)


def _translate(op: Operation, builder: Any, values: dict[SSAValue, Any], blocks: dict[Block, Any]) -> None:
    from xdsl.backend.llvm.convert_op import convert_op

    match op:
        case CompareOp():
            predicate = op.predicate.data
            if predicate in _INTEGER_SYMBOLS:
                symbol = _INTEGER_SYMBOLS[predicate]
                values[op.result] = builder.icmp_signed(symbol, values[op.lhs], values[op.rhs])
                return
            compare = builder.fcmp_ordered if predicate.startswith("o") else builder.fcmp_unordered
            symbol = _SYMBOLS.get(predicate[1:], predicate)
            values[op.result] = compare(symbol, values[op.lhs], values[op.rhs])
        case SelectOp():
            values[op.result] = builder.select(values[op.mask], values[op.lhs], values[op.rhs])
        case ConvertOp():
            from xdsl.backend.llvm.convert_type import convert_type

            convert = getattr(builder, op.kind.data)
            values[op.result] = convert(values[op.source], convert_type(op.result.type))
        case llvm.MaskedStoreOp():
            _masked_store(op, builder, values)
        case llvm.VectorReduceFAddOp() | llvm.VectorReduceFMulOp():
            _reduce(op, builder, values)
        case llvm.AllocaOp():
            # llvmlite gives it a pointer with a type, unlike all others.
            convert_op(op, builder, values, blocks)
            values[op.res].type = llvmlite("ir").PointerType()
        case _:
            convert_op(op, builder, values, blocks)


_INTEGER_SYMBOLS: Final = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_SYMBOLS: Final = {"eq": "==", "gt": ">", "ge": ">=", "lt": "<", "le": "<=", "ne": "!="}


def _masked_store(op: llvm.MaskedStoreOp, builder: Any, values: dict[SSAValue, Any]) -> None:
    """A masked store by the intrinsic for its type, which xDSL's translation leaves out of the name."""
    ir = llvmlite("ir")

    value, pointer, mask = values[op.value], values[op.data], values[op.mask]
    alignment = ir.Constant(ir.IntType(32), op.alignment.value.data)
    type = ir.FunctionType(ir.VoidType(), [value.type, pointer.type, alignment.type, mask.type])
    element = {"float": "f32", "double": "f64"}.get(str(value.type.element), str(value.type.element))
    name = f"llvm.masked.store.v{value.type.count}{element}.p0"
    function = builder.module.globals.get(name) or ir.Function(builder.module, type, name=name)
    builder.call(function, [value, pointer, alignment, mask])


def _reduce(
    op: llvm.VectorReduceFAddOp | llvm.VectorReduceFMulOp,
    builder: Any,
    values: dict[SSAValue, Any],
) -> None:
    """A reduction with its flags, which xDSL's translation drops."""
    ir = llvmlite("ir")

    start, vector = values[op.start_value], values[op.vector]
    kind = "fadd" if isinstance(op, llvm.VectorReduceFAddOp) else "fmul"
    name = f"llvm.vector.reduce.{kind}.v{vector.type.count}f32"
    module = builder.module
    function = module.globals.get(name) or ir.Function(
        module, ir.FunctionType(start.type, [start.type, vector.type]), name=name
    )
    flags = [flag.value for flag in op.fastmathFlags.data]
    values[op.res] = builder.call(function, [start, vector], fastmath=flags)
