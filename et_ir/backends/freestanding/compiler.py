"""Compilation of an edge program to a relocatable object and C header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_ir.backends.freestanding.archive import archive
from et_ir.backends.freestanding.interface import Interface, interface_of
from et_ir.backends.freestanding.object_file import PROGRAM_BITS, sections_of, undefined_symbols
from et_ir.backends.freestanding.runtime import runtime_function
from et_ir.backends.freestanding.sequential_loops import SequentialLoopsPass
from et_ir.backends.freestanding.stack import stack_bound
from et_ir.backends.freestanding.targets import FREESTANDING_TARGETS
from et_ir.backends.freestanding.whole_program import (
    UnsupportedProgram,
    WholeProgramPartitioner,
    whole_program,
)
from et_ir.backends.native.object_code import InstructionSet, llvm_text, llvmlite, target_machine
from et_ir.backends.native.passes.convert_to_llvm import REPORT, ConvertToLlvmPass
from et_ir.backends.native.passes.convert_to_loops import loops_of
from et_ir.backends.native.passes.expand_math import ExpandMathPass
from et_ir.backends.native.passes.lower_vectors import LowerVectorsPass
from et_ir.backends.native.passes.plan_buffers import plan_buffers
from et_ir.backends.native.pipeline import make_kernels
from et_ir.data import Blob
from et_ir.diagnostics import Diagnostic

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from et_ir.driver.kept import KeptOperators

__all__ = ["FreestandingObject", "compile_freestanding", "compile_program", "freestanding_passes"]

ALIGNMENT: Final = 16
"""Of the arena, of buffers in it and of constants, in bytes: that of vectors, and enough for any element."""


@dataclass(frozen=True)
class FreestandingObject:
    """A program as one relocatable object."""

    interface: Interface
    code: bytes
    """The object: ELF, or a module of WebAssembly."""
    assembly: str
    header: str
    stack_bytes: int
    """What a call needs of the stack at most, without interrupts."""

    @property
    def archive(self) -> bytes:
        """The object as a library."""
        return archive(f"{self.interface.prefix}.o", self.code, [self.interface.function])

    def summary(self) -> str:
        """Bytes of the program by the memory that they are in, as a table."""
        tensors = {"inputs": self.interface.inputs, "outputs": self.interface.outputs}
        rows = [
            ("code", self.code_bytes),
            ("constants", self.constant_bytes),
            ("arena", self.interface.arena_bytes),
            ("stack", self.stack_bytes),
            *((kind, sum(one.nbytes for one in of)) for kind, of in tensors.items()),
        ]
        return "".join(f"{name:<12} {count:>12,} bytes\n" for name, count in rows)

    @property
    def code_bytes(self) -> int:
        """Of instructions, and of the numbers between them."""
        return sum(one.nbytes for one in sections_of(self.code) if one.flags & 6 == 6)

    @property
    def constant_bytes(self) -> int:
        """Of read-only data."""
        return sum(
            one.nbytes for one in sections_of(self.code) if one.type == PROGRAM_BITS and one.flags & 7 == 2
        )


def freestanding_passes(target: InstructionSet) -> list[ModulePass]:
    """From loops over buffers to the `llvm` dialect."""
    return [
        SequentialLoopsPass(),
        ExpandMathPass(),
        LowerVectorsPass(target.lanes),
        ConvertToLlvmPass(target.index_bits, freestanding=True, dual_products=target.dual_products),
    ]


def compile_program(program: ExportedProgram, target: str, name: str) -> FreestandingObject:
    """Compile an exported program with one method for a processor of `FREESTANDING_TARGETS`.

    Raises `ValueError` for an unknown processor, and what `compile_freestanding` and
    `et_ir.driver.managers.to_edge` do.
    """
    from et_ir.driver.configs import EdgeCompileConfig
    from et_ir.driver.kept import DecomposeRefusedPass, KeptOperators
    from et_ir.driver.stages import edge_stages, run_stages
    from et_ir.frontend import import_program

    if target not in FREESTANDING_TARGETS:
        raise ValueError(f"unknown processor '{target}', expected one of {', '.join(FREESTANDING_TARGETS)}")
    kept = KeptOperators.of(WholeProgramPartitioner())
    config = EdgeCompileConfig(preserve_ops=tuple(kept.names))
    module = import_program(program)
    run_stages(module, edge_stages(config, [DecomposeRefusedPass(kept)]), config.observer)
    return compile_freestanding(module, FREESTANDING_TARGETS[target], name, kept)


def compile_freestanding(
    module: ModuleOp, target: InstructionSet, name: str, kept: KeptOperators | None = None
) -> FreestandingObject:
    """Compile a program at the edge level, which stays as it is; names in the object start with `name`.

    Raises `UnsupportedProgram` for what an object cannot have, and ModuleNotFoundError without LLVM (llvmlite).
    """
    program = whole_program(module, kept)
    (method,) = (op for op in program.body.block.ops if isinstance(op, FuncOp))
    context = Context()
    # The transformed filters of Winograd's algorithms would be memory to write to.
    make_kernels(context, program, bands=None, algorithm="direct")
    loops = loops_of(program, target)
    arena = 0
    for function in loops.module.body.block.ops:
        if isinstance(function, FuncOp) and function.sym_visibility is None:
            arena = max(arena, plan_buffers(function, ALIGNMENT))
    interface = interface_of(method, name, (arena, ALIGNMENT), loops.host.messages)
    for one in freestanding_passes(target):
        one.apply(context, loops.module)
    text = llvm_text(loops.module, target)
    entry = _entry(interface, method.sym_name.data, loops.host.constants, target)
    machine, code = _optimized(text, entry, interface, target)
    # Of copies: making code changes a module, and what is made of it next.
    assembly = machine.emit_assembly(code.clone())
    try:
        stack = stack_bound(assembly, interface.function)
    except ValueError as error:
        raise UnsupportedProgram(
            "no freestanding object can be made", [Diagnostic(f"no bound of the stack: {error}")]
        ) from error
    header = interface.header(f"{interface.function}, compiled for {target.name} by et-compile", stack)
    return FreestandingObject(interface, machine.emit_object(code.clone()), assembly, header, stack)


def _entry(
    interface: Interface, method: str, constants: Sequence[tuple[str, Blob]], target: InstructionSet
) -> str:
    """The function that C calls and the constants, as LLVM assembly."""
    index = f"i{target.index_bits}"
    lines = [
        f"define void @{REPORT}(ptr %status, {index} %number) alwaysinline {{",
        f"  %next = add {index} %number, 1",
        "  %before = load i32, ptr %status",
        f"  %reported = {'add i32 %next, 0' if index == 'i32' else f'trunc {index} %next to i32'}",
        "  %none = icmp eq i32 %before, 0",
        "  %first = icmp slt i32 %reported, %before",
        "  %better = or i1 %none, %first",
        "  %least = select i1 %better, i32 %reported, i32 %before",
        "  store i32 %least, ptr %status",
        "  ret void",
        "}",
    ]
    arguments = ["ptr %status"]
    body: list[str] = []
    for kind, tensors in (("inputs", interface.inputs), ("outputs", interface.outputs)):
        for number in range(len(tensors)):
            value = f"%{kind}{number}"
            body += [
                f"  {value}_at = getelementptr ptr, ptr %{kind}, i32 {number}",
                f"  {value} = load ptr, ptr {value}_at",
            ]
            arguments.append(f"ptr {value}")
    for number, (_, blob) in enumerate(constants):
        data = bytes(blob.view())
        text = _quoted(data)
        lines.append(
            f'@constant_{number} = internal unnamed_addr constant [{len(data)} x i8] c"{text}", align {ALIGNMENT}'
        )
        arguments.append(f"ptr @constant_{number}")
    arguments.append("ptr %arena")
    lines += [
        f"declare void @{method}({', '.join(one.partition(' ')[0] for one in arguments)})",
        f"define i32 @{interface.function}(ptr %inputs, ptr %outputs, ptr %arena) nounwind {{",
        "  %status = alloca i32",
        "  store i32 0, ptr %status",
        *body,
        f"  call void @{method}({', '.join(arguments)})",
        "  %result = load i32, ptr %status",
        "  ret i32 %result",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(data: bytes) -> str:
    """Bytes as LLVM's strings have them."""
    return "".join(_ESCAPES[byte] for byte in data)


_ESCAPES: Final = [f"\\{byte:02x}" for byte in range(256)]


def _optimized(text: str, entry: str, interface: Interface, target: InstructionSet) -> tuple[Any, Any]:
    """LLVM's code generator, and the module with all functions that its code calls."""
    machine = target_machine(target)
    runtime: dict[str, str] = {}
    while True:
        code = _linked(text, entry, runtime, target)
        for function in code.functions:
            if function.is_declaration:
                continue
            if function.name != interface.function:
                function.linkage = "internal"
            function.add_function_attribute("noredzone")  # interrupts use the same stack
            if target.small:
                function.add_function_attribute("optsize")
        _run_passes(code, machine, target)
        missing = undefined_symbols(machine.emit_object(code.clone()))
        if not missing:
            return machine, code
        for symbol in sorted(missing):
            made = None if symbol in runtime else runtime_function(symbol, target.index_bits)
            if made is None:
                message = f"{target.name} needs a function '{symbol}', which there is not"
                raise UnsupportedProgram("no freestanding object can be made", [Diagnostic(message)])
            runtime[symbol] = made


def _linked(text: str, entry: str, runtime: Mapping[str, str], target: InstructionSet) -> Any:
    binding = llvmlite("binding")
    code = binding.parse_assembly(text)
    names = ", ".join(f"ptr @{name}" for name in runtime)
    used = (
        f'@llvm.compiler.used = appending global [{len(runtime)} x ptr] [{names}], section "llvm.metadata"\n'
    )
    # Nothing in the module calls them before instructions are selected.
    parts = [entry, "".join([used, *runtime.values()])] if runtime else [entry]
    layout = f'target datalayout = "{target_machine(target).target_data}"\n'
    for part in parts:
        code.link_in(binding.parse_assembly(f'{layout}target triple = "{target.triple}"\n{part}'))
    return code


def _run_passes(code: Any, machine: Any, target: InstructionSet) -> None:
    binding = llvmlite("binding")
    options = binding.create_pipeline_tuning_options(speed_level=1)
    builder = binding.create_pass_builder(machine, options)
    passes = binding.create_new_module_pass_manager()
    # Sizes are arguments of kernels; those of a kernel that is called once are known.
    passes.add_always_inliner_pass()
    passes.add_ipsccp_pass()
    passes.add_dead_arg_elimination_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_simplify_cfg_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_loop_strength_reduce_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(code, builder)
    code.verify()
