"""Compilation of an edge program to a relocatable object and C header."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_backends.codegen.kernels.host import Packed
from et_backends.codegen.object_code import InstructionSet, llvm_text, llvmlite, target_machine
from et_backends.codegen.passes.convert_to_llvm import ConvertToLlvmPass
from et_backends.codegen.passes.convert_to_loops import Loops, loops_of
from et_backends.codegen.passes.expand_math import ExpandMathPass
from et_backends.codegen.passes.lower_vectors import LowerVectorsPass
from et_backends.codegen.passes.plan_buffers import allocations, place_allocations
from et_backends.codegen.pipeline import make_kernels
from et_backends.freestanding.compiler.archive import archive
from et_backends.freestanding.compiler.constant_methods import Literal, constant_of
from et_backends.freestanding.compiler.entry import (
    Program,
    constant_text,
    entry_text,
    report_text,
    reset_function,
    reset_text,
)
from et_backends.freestanding.compiler.header import header, type_names
from et_backends.freestanding.compiler.interface import (
    Interface,
    StateTensor,
    interface_of,
    state_bytes,
    state_of,
)
from et_backends.freestanding.compiler.microcontrollers import processor_hint
from et_backends.freestanding.compiler.object_file import PROGRAM_BITS, sections_of, undefined_symbols
from et_backends.freestanding.compiler.runtime import missing_function, runtime_function, runtime_text
from et_backends.freestanding.compiler.schedule import Call, Schedule, schedule_of
from et_backends.freestanding.compiler.stack import stack_bound
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_backends.freestanding.compiler.whole_program import (
    UnsupportedProgram,
    WholeProgramPartitioner,
    whole_program,
)
from et_backends.freestanding.passes.sequential_loops import SequentialLoopsPass
from et_ir.data import Blob
from et_ir.diagnostics import Diagnostic, diagnose
from et_ir.dialects.program import Globals
from et_ir.driver.stages import run_pipeline
from et_ir.planning.banks import Bank
from et_schema.diagnostics import did_you_mean
from et_schema.wording import worded

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from et_ir.driver.kept import KeptOperators

__all__ = ["Arena", "FreestandingObject", "compile_freestanding", "compile_program", "freestanding_passes"]

ALIGNMENT: Final = 16
"""Of the arena, of buffers in it and of constants, in bytes: that of vectors, and enough for any element."""


@dataclass(frozen=True)
class Arena:
    """An arena for all methods of a program."""

    nbytes: int
    bound: int
    """Bytes: it is not smaller, with these buffers in this order of kernels, whatever the plan."""
    bank: str = ""
    """The name of the bank that it was planned for, if it was for one."""

    @property
    def title(self) -> str:
        """Its name in a table."""
        return f"arena in {self.bank}" if self.bank else "arena"

    @property
    def certificate(self) -> str:
        """How far it may be from the smallest there is, in words; empty where nothing is in it."""
        if not self.nbytes:
            return ""
        return ", optimal" if self.nbytes == self.bound else f", no plan is smaller than {self.bound:,}"


@dataclass(frozen=True)
class FreestandingObject:
    """A program as one relocatable object."""

    methods: tuple[Interface, ...]
    state: tuple[StateTensor, ...]
    code: bytes
    """The object: ELF, or a module of WebAssembly."""
    assembly: str
    header: str
    stack_bytes: int
    """The most stack that a call needs, without interrupts."""
    arenas: tuple[Arena, ...] = ()
    """The arena, or one for each bank that is used."""

    @property
    def interface(self) -> Interface:
        """That of the only method, or of the first."""
        return self.methods[0]

    @property
    def functions(self) -> list[str]:
        """The names that an object has for others."""
        made = [one.function for one in self.methods]
        return [*made, reset_function(self.interface.prefix)] if self.state else made

    @property
    def archive(self) -> bytes:
        """The object as a library."""
        return archive(f"{self.interface.prefix}.o", self.code, self.functions)

    @property
    def arena_bytes(self) -> int:
        """Of the arena for any method, or of all arenas together."""
        return sum(one.nbytes for one in self.arenas)

    @property
    def state_bytes(self) -> int:
        """Of the structure with the state."""
        return self.interface.state_bytes

    def summary(self) -> str:
        """Bytes of the program by the memory that they are in, as a table."""
        rows: list[tuple[str, int] | tuple[str, int, str]] = [
            ("code", self.code_bytes),
            ("constants", self.constant_bytes),
            *((one.title, one.nbytes, one.certificate) for one in self.arenas),
            ("stack", self.stack_bytes),
        ]
        if self.state:
            rows.append(("state", self.state_bytes))
        for method in self.methods:
            of = "" if len(self.methods) == 1 else f" of {method.method}"
            rows += [
                (f"{kind}{of}", sum(one.nbytes for one in tensors))
                for kind, tensors in (("inputs", method.inputs), ("outputs", method.outputs))
            ]
        width = max(12, *(len(name) for name, *_ in rows))
        return "".join(f"{name:<{width}} {count:>12,} bytes{''.join(note)}\n" for name, count, *note in rows)

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
        ConvertToLlvmPass(
            target.index_bits, freestanding=True, dual_products=target.dual_products, helium=target.helium
        ),
    ]


def compile_program(
    program: ExportedProgram | Mapping[str, ExportedProgram] | ModuleOp,
    target: str,
    name: str,
    *,
    pic: bool = False,
    banks: Sequence[Bank] = (),
) -> FreestandingObject:
    """Compile an exported program, or one for each method, for a processor of `FREESTANDING_TARGETS`. A module is one
    at the aten level, which changes. `pic` and `banks` are those of `compile_freestanding`.

    Raises `ValueError` for an unknown processor, and what `compile_freestanding` and
    `et_ir.driver.managers.to_edge` do.
    """
    from et_ir.driver.configs import EdgeCompileConfig
    from et_ir.driver.kept import DecomposeRefusedPass, KeptOperators
    from et_ir.driver.stages import edge_stages, run_stages

    if target not in FREESTANDING_TARGETS:
        hint = processor_hint(target) or did_you_mean(target, FREESTANDING_TARGETS)
        raise ValueError(
            f"unknown processor '{target}', expected one of {', '.join(FREESTANDING_TARGETS)}{hint}"
        )
    kept = KeptOperators.of(WholeProgramPartitioner())
    config = EdgeCompileConfig(preserve_ops=tuple(kept.names))
    if isinstance(program, ModuleOp):
        module = program
    else:
        from et_ir.frontend import import_program

        module = import_program(program)
    run_stages(module, edge_stages(config, [DecomposeRefusedPass(kept)]), config.observer)
    return compile_freestanding(module, FREESTANDING_TARGETS[target], name, kept, pic=pic, banks=banks)


def compile_freestanding(
    module: ModuleOp,
    target: InstructionSet,
    name: str,
    kept: KeptOperators | None = None,
    *,
    pic: bool = False,
    banks: Sequence[Bank] = (),
) -> FreestandingObject:
    """Compile a program at the edge level, which stays as it is; names in the object start with `name`.

    With `pic`, code and constants may be at any address, as long as they keep their distance. With `banks`, buffers are
    distributed over their memory, with an arena in each bank that is used.

    Raises `UnsupportedProgram` for what an object cannot have, ValueError for `pic` where the linker places functions,
    `et_ir.planning.hierarchy.Infeasible` for buffers that do not fit the banks, and ModuleNotFoundError without LLVM
    (llvmlite).
    """
    if pic:
        if target.triple.startswith("wasm"):
            option = worded(python="pic=True", command="--pic")
            raise ValueError(f"{target.name}: WebAssembly has no addresses of code, leave out {option}")
        target = replace(target, relocation="pic")
    program = whole_program(module, kept)
    state = state_of(program)
    symbols = Globals(program)
    methods: list[FuncOp] = []
    literals: dict[str, Literal] = {}
    for op in program.body.block.ops:
        if isinstance(op, FuncOp):
            literal = constant_of(op)
            if literal is None:
                methods.append(op)
            else:
                literals[op.sym_name.data] = literal
    constants: dict[str, Blob] = {
        f"sha256:{one.value.sha256}": one.value for one in state if one.value is not None
    }
    packed: Packed = {}
    partitions: list[_Partition] = []
    schedules: list[tuple[FuncOp, Schedule, dict[int, Program], list[str]]] = []
    for method in methods:
        schedule = schedule_of(method, symbols)
        messages: list[str] = []
        programs: dict[int, Program] = {}
        for call in schedule.calls:
            one = _partition(call, len(partitions), target, packed)
            partitions.append(one)
            host = one.loops.host
            constants.update(host.constants)
            keys = [key for key, _ in host.constants]
            programs[id(call)] = Program(one.function.sym_name.data, keys, len(messages), len(host.messages))
            messages += host.messages
        constants.update(schedule.constants)
        schedules.append((method, schedule, programs, messages))
    arenas, plans = _planned([schedule for _, schedule, _, _ in schedules], banks)
    texts = [f'target triple = "{target.triple}"\n']
    texts += [_lowered(one, [arena.nbytes for arena in arenas], target) for one in partitions]
    made: list[tuple[Interface, Schedule, dict[int, Program]]] = []
    for (method, schedule, programs, messages), plan in zip(schedules, plans, strict=True):
        sizes = {arena.bank: size for arena, size in zip(arenas, plan, strict=True)}
        interface = interface_of(method, name, sizes, ALIGNMENT, state_bytes(state), messages)
        made.append((interface, schedule, programs))
    interfaces = [interface for interface, _, _ in made]
    _check_names(interfaces, state, methods)
    numbers = {key: number for number, key in enumerate(constants)}
    entry = [report_text(target.index_bits)]
    entry += [constant_text(numbers[key], blob, ALIGNMENT) for key, blob in constants.items()]
    entry += [entry_text(*one, numbers, state, target.index_bits) for one in made]
    exported = [one.function for one in interfaces]
    if state:
        exported.append(reset_function(interfaces[0].prefix))
        entry.append(reset_text(exported[-1], state, numbers, target.index_bits))
    machine, code = _optimized(texts, _without_repetitions("".join(entry)), exported, target)
    # Of copies: making code changes a module, and what is made of it next.
    assembly = machine.emit_assembly(code.clone())
    try:
        stack = max(stack_bound(assembly, one) for one in exported)
    except ValueError as error:
        raise UnsupportedProgram(
            "no freestanding object can be made", [Diagnostic(f"no bound of the stack: {error}")]
        ) from error
    comment = f"{', '.join(one.function for one in interfaces)}, compiled for {target.name}"
    sizes = {arena.bank: arena.nbytes for arena in arenas}
    text = header(comment, interfaces, sizes, state, stack, literals)
    _check_macros(text)
    binary = machine.emit_object(code.clone())
    return FreestandingObject(tuple(interfaces), tuple(state), binary, assembly, text, stack, tuple(arenas))


@dataclass(frozen=True)
class _Partition:
    call: Call
    loops: Loops
    function: FuncOp
    """It calls the kernels."""


def _partition(call: Call, number: int, target: InstructionSet, packed: Packed) -> _Partition:
    """A partition as loops; its call gets the buffers between its kernels."""
    program = call.program
    for op in program.body.block.ops:
        if isinstance(op, FuncOp):
            op.sym_name = StringAttr(f"partition_{number}")
    run_pipeline(program, "canonicalize,narrow-selections,pools-to-means,canonicalize,dce")
    # The transformed filters of Winograd's algorithms would be memory to write to.
    make_kernels(Context(), program, bands=None, algorithm="direct", concatenations=False)
    loops = loops_of(program, target, packed)
    (function,) = (
        op for op in loops.module.body.block.ops if isinstance(op, FuncOp) and op.sym_visibility is None
    )
    call.allocations = allocations(function, ALIGNMENT)
    return _Partition(call, loops, function)


def _planned(schedules: Sequence[Schedule], banks: Sequence[Bank]) -> tuple[list[Arena], list[list[int]]]:
    """Plan the methods of a program: its arenas, and of each method the bytes that it uses of them."""
    plans = [schedule.plan(ALIGNMENT, banks) for schedule in schedules]
    most = [
        Arena(max(one.nbytes for one in of), max(one.bound for one in of), bank.name)
        for bank, of in zip(banks or [Bank("", 0)], zip(*plans, strict=True), strict=True)
    ]
    used = [number for number, arena in enumerate(most) if arena.nbytes] or [0]
    for schedule in schedules:
        schedule.number_arenas(used)
    arenas = [most[number] for number in used]
    if not arenas[0].nbytes:
        arenas = [replace(arenas[0], bank="")]
    return arenas, [[plan[number].nbytes for number in used] for plan in plans]


def _lowered(partition: _Partition, arenas: Sequence[int], target: InstructionSet) -> str:
    """The LLVM assembly of a partition whose buffers have places in arenas of these sizes."""
    module, call = partition.loops.module, partition.call
    place_allocations(partition.function, call.allocations, call.places, arenas)
    for one in freestanding_passes(target):
        one.apply(Context(), module)
    return llvm_text(module, target)


def _check_names(
    interfaces: Sequence[Interface], state: Sequence[StateTensor], methods: Sequence[FuncOp]
) -> None:
    """Raises `UnsupportedProgram` for functions of the same name, or of that of a type."""
    taken = {reset_function(interfaces[0].prefix)} if state else set[str]()
    types = set(type_names(interfaces, has_state=bool(state)))
    for interface, method in zip(interfaces, methods, strict=True):
        name = interface.function
        if name in taken or name in types:
            message = (
                f"a second function would be '{name}'"
                if name in taken
                else f"a function and a type would be '{name}'"
            )
            finding = diagnose(method, message, "give the method another name")
            raise UnsupportedProgram("no freestanding object can be made", [finding])
        taken.add(name)


def _check_macros(text: str) -> None:
    """Raises `UnsupportedProgram` for macros of the same name in a header."""
    taken: set[str] = set()
    for name in re.findall(r"^#define (\w+) ", text, re.MULTILINE):
        if name in taken:
            finding = Diagnostic(
                f"a second macro would be '{name}'", fix="give the method or the memory bank another name"
            )
            raise UnsupportedProgram("no freestanding object can be made", [finding])
        taken.add(name)


def _without_repetitions(text: str) -> str:
    """Each declaration once."""
    seen: set[str] = set()
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("declare ") and line in seen:
            continue
        seen.add(line)
        lines.append(line)
    return "\n".join(lines)


def _optimized(
    texts: Sequence[str], entry: str, exported: Sequence[str], target: InstructionSet
) -> tuple[Any, Any]:
    """LLVM's code generator, and the module with all functions that its code calls."""
    machine = target_machine(target)
    runtime: dict[str, str] = {}
    while True:
        code = _linked(texts, entry, runtime, target)
        for function in code.functions:
            if function.is_declaration:
                continue
            if function.name not in exported:
                function.linkage = "internal"
            function.add_function_attribute("nounwind")
            function.add_function_attribute("noredzone")  # interrupts use the same stack
            if target.small:
                function.add_function_attribute("optsize")
        _run_passes(code, machine, target)
        missing = undefined_symbols(machine.emit_object(code.clone()))
        if not missing:
            return machine, code
        for symbol in sorted(missing):
            made = None if symbol in runtime else runtime_function(symbol, target)
            if made is None:
                raise UnsupportedProgram(
                    "no freestanding object can be made", [Diagnostic(missing_function(symbol, target))]
                )
            runtime[symbol] = made


def _linked(texts: Sequence[str], entry: str, runtime: dict[str, str], target: InstructionSet) -> Any:
    binding = llvmlite("binding")
    first, *others = texts
    code = binding.parse_assembly(first)
    parts = [*others, entry, *([runtime_text(runtime)] if runtime else [])]
    layout = f'target datalayout = "{target_machine(target).target_data}"\n'
    for part in parts:
        text = part if "target triple" in part else f'{layout}target triple = "{target.triple}"\n{part}'
        code.link_in(binding.parse_assembly(text))
    return code


def _run_passes(code: Any, machine: Any, target: InstructionSet) -> None:
    binding = llvmlite("binding")
    options = binding.create_pipeline_tuning_options(speed_level=1)
    builder = binding.create_pass_builder(machine, options)
    passes = binding.create_new_module_pass_manager()
    # Sizes are arguments of kernels; those of a kernel that is called once are known.
    passes.add_always_inliner_pass()
    passes.add_merge_functions_pass()  # partitions share kernels
    passes.add_ipsccp_pass()
    passes.add_dead_arg_elimination_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_simplify_cfg_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    passes.add_loop_strength_reduce_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(code, builder)
    code.verify()
