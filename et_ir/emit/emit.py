"""From the executorch dialect to a `.pte` file: each op becomes its table, nothing is decided here.

A call's arguments are those of the operator's schema in order with the out arguments, then the returns once
more:

    executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)          [a, b, 1, r, r]
    executorch.kernel_call "aten::topk.values"(%a, …) outs(%v, %i)      [a, …, v, i, [v, i]]
    executorch.kernel_call "aten::split_copy.out"(%a, …) outs([%p, %q]) [a, …, [p, q], [p, q]]
    executorch.kernel_call "aten::sym_size.int"(%a, 0) returns(%n)      [a, 0, n]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from et_ir.data import Blob
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.backend import LoweredOp, NamedDataOp
from et_ir.dialects.executorch import (
    ChainOp,
    ConstantOp,
    DelegateCallOp,
    FreeOp,
    InputOp,
    JumpFalseOp,
    JumpOp,
    KernelCallOp,
    MemoryRegisterOp,
    MoveOp,
    PlanOp,
    RegisterOp,
    ReturnOp,
    StateOp,
    SymbolRegisterOp,
    TensorRegisterOp,
    ValueOp,
    ViewOp,
)
from et_ir.dialects.executorch.arguments import literal_value
from et_ir.dialects.executorch.attributes import DATA_FILE, SEGMENT_ALIGNMENT, TENSOR_ALIGNMENT
from et_ir.dialects.executorch.layout import device, dim_order, scalar_type
from et_ir.dialects.program import Globals
from et_ir.emit.basic_blocks import instruction_order
from et_ir.emit.data import DataPool, SegmentList
from et_ir.emit.data_files import digests_of_data
from et_ir.emit.values import ValueTable, scalar_value
from et_ir.locations import Frame as SourceFrame
from et_ir.locations import frames_of
from et_schema import digests as digest_data
from et_schema import guards as guard_data
from et_schema import names as name_data
from et_schema.initial_state import split_initial_state
from et_schema.program import (
    AllocationDetails,
    BackendDelegate,
    BackendDelegateDataReference,
    Chain,
    CompileSpec,
    ContainerMetadata,
    DataLocation,
    DelegateCall,
    EValue,
    ExecutionPlan,
    ExtraTensorInfo,
    Frame,
    FrameList,
    FreeCall,
    InstructionArguments,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    NamedData,
    NonConstBufferDevice,
    Operator,
    Program,
    Tensor,
    TensorDataLocation,
)
from et_schema.program import Instruction as InstructionTable
from et_schema.pte import write_pte
from et_schema.segments import Segment, check_alignment
from et_schema.wording import worded

__all__ = ["EmitError", "EmitOptions", "Emitted", "emit", "write"]


class EmitError(PassReport):
    """The module is not a program that can be written."""


DEFAULT_DELEGATE = 16


@dataclass(frozen=True)
class EmitOptions:
    """Options of the writer. What is `None` is as the module says, else the default in brackets.

    Alignments are powers of two, in bytes.
    """

    stacktraces: bool | None = None
    """Whether the file has the source lines of each instruction [no]."""
    tensor_alignment: int | None = None
    """Alignment of each constant [16]."""
    segment_alignment: int | None = None
    """Alignment of each segment [128]."""
    delegate_alignment: int = DEFAULT_DELEGATE
    """Alignment of what backends compiled, if that of its segment is not larger."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for an alignment that is not a power of two."""
        for name in ("tensor_alignment", "segment_alignment", "delegate_alignment"):
            alignment = getattr(self, name)
            if alignment is not None:
                check_alignment(name, alignment)


@dataclass
class Emitted:
    """A program as the tables of the file, and the segments behind them."""

    program: Program
    segments: list[Segment]
    tensor_alignment: int
    segment_alignment: int
    delegate_alignment: int


def write(module: ModuleOp, stream: IO[bytes], options: EmitOptions | None = None) -> int:
    """Write a module as a `.pte` file; returns its size in bytes. The same module gives the same bytes.

    Weights are streamed from where they are. Raises `EmitError` for a module that is not ready, `MissingData`
    if the bytes of a constant are not there.
    """
    emitted = emit(module, options)
    return write_pte(
        emitted.program,
        emitted.segments,
        stream,
        tensor_alignment=emitted.tensor_alignment,
        delegate_alignment=emitted.delegate_alignment,
        segment_alignment=emitted.segment_alignment,
    )


def emit(module: ModuleOp, options: EmitOptions | None = None) -> Emitted:
    """The tables and segments of a module's file. Raises as `write` does."""
    return _Emitter(module, options or EmitOptions()).run()


def _alignment(module: ModuleOp, name: str, given: int | None, default: int) -> int:
    attr = module.attributes.get(name)
    if given is not None:
        return given
    return attr.value.data if isinstance(attr, IntegerAttr) else default


class _Emitter:
    """State shared by the methods of a program."""

    def __init__(self, module: ModuleOp, options: EmitOptions):
        self.module = module
        self.options = options
        self.tensor_alignment = _alignment(module, TENSOR_ALIGNMENT, options.tensor_alignment, 16)
        self.segment_alignment = _alignment(module, SEGMENT_ALIGNMENT, options.segment_alignment, 128)
        self.symbols = Globals(module)
        self.constants = DataPool(self.tensor_alignment)
        self.state = DataPool(self.tensor_alignment)
        self.lowered = {op.key: op for op in module.body.block.ops if isinstance(op, LoweredOp)}
        self.delegate_references: list[tuple[BackendDelegateDataReference, LoweredOp]] = []
        self.names: dict[str, list[tuple[int, str]]] = {}
        """By method, the values of inputs and of constants in the file, and their names."""
        self.diagnostics: list[Diagnostic] = []

    def run(self) -> Emitted:
        plans = sorted(
            (op for op in self.module.body.block.ops if isinstance(op, PlanOp)), key=lambda op: op.key
        )
        self._check(plans)
        tables = [_PlanEmitter(self, plan).run() for plan in plans]
        EmitError.raise_if("the program cannot be written", self.diagnostics)
        segments = SegmentList()
        constant_segment = segments.add_pool(self.constants)
        mutable_data = [segments.add_pool(self.state)] if len(self.state) else []
        for reference, lowered in self.delegate_references:
            alignment = 1 if lowered.alignment is None else lowered.alignment.value.data
            if self.options.delegate_alignment > DEFAULT_DELEGATE:
                alignment = max(alignment, self.options.delegate_alignment)
            reference.index = segments.add_blob(lowered.value.blob, alignment)
        named_data = [
            NamedData(
                op.key,
                segments.add_blob(op.value.blob, 1 if op.alignment is None else op.alignment.value.data),
            )
            for op in self.module.body.block.ops
            if isinstance(op, NamedDataOp) and DATA_FILE not in op.attributes
        ]
        digests = digests_of_data(self.module)
        if digests:
            blob = Blob.of(digest_data.KEY, digest_data.encode(digests))
            named_data.append(NamedData(digest_data.KEY, segments.add_blob(blob, 1)))
        guards = {plan.key: plan.guards.data.checked() for plan in plans if plan.guards is not None}
        if guards:
            blob = Blob.of(guard_data.KEY, guard_data.encode(guards))
            named_data.append(NamedData(guard_data.KEY, segments.add_blob(blob, 1)))
        if self.names:
            blob = Blob.of(name_data.KEY, name_data.encode(self.names))
            named_data.append(NamedData(name_data.KEY, segments.add_blob(blob, 1)))
        program = Program(
            execution_plan=tables,
            constant_segment=constant_segment,
            mutable_data_segments=mutable_data,
            named_data=named_data,
        )
        return Emitted(
            program,
            segments.segments,
            self.tensor_alignment,
            self.segment_alignment,
            self.options.delegate_alignment,
        )

    def _check(self, plans: list[PlanOp]) -> None:
        if not plans:
            self.diagnostics.append(
                diagnose(
                    self.module,
                    "the module has no executorch.plan",
                    "run to-out-variant first, or lower it by "
                    + worded(python="to_executorch", command="et-compile, which makes a .pte of any level"),
                )
            )
        for plan in plans:
            if plan.arenas is None:
                self.diagnostics.append(
                    diagnose(plan, f"the memory of @{plan.key} is not planned", "run plan-memory first")
                )

    def problem(self, op: Operation, message: str, fix: str) -> None:
        self.diagnostics.append(diagnose(op, message, fix))


class _PlanEmitter:
    """One method."""

    def __init__(self, parent: _Emitter, plan: PlanOp):
        self.parent = parent
        self.plan = plan
        self.table = ValueTable()
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.operators: dict[str, int] = {}
        self.delegates: dict[str, int] = {}
        self.delegate_tables: list[BackendDelegate] = []
        self.instructions: list[InstructionTable] = []
        self.traces: list[FrameList] = []
        self.contents: list[Tensor] = []
        """Initial contents of registers of state, as values that come after all others."""
        self._frame_lists: dict[tuple[SourceFrame, ...], FrameList] = {}

    def run(self) -> ExecutionPlan:
        plan = self.plan
        for register in plan.registers:
            self._declare(register)
        order = instruction_order(plan.blocks)
        wanted = self.parent.options.stacktraces
        with_traces = plan.stack_traces is not None if wanted is None else wanted
        for block in plan.blocks:
            for op in order.instructions[block]:
                self._instruction(op, order.starts)
            if isinstance(block.last_op, ReturnOp):
                self.outputs = [self.table.argument(argument) for argument in block.last_op.arguments]
        devices: list[NonConstBufferDevice] = []
        for entry in () if plan.devices is None else plan.devices:
            kind, index = device(entry.device.data)
            devices.append(NonConstBufferDevice(entry.arena.data, kind, index))
        return ExecutionPlan(
            name=plan.key,
            container_meta_type=_container(plan),
            values=[*self.table.values, *map(EValue, self.contents)],
            inputs=self.inputs,
            outputs=self.outputs,
            chains=self._chains(order.chains, with_traces),
            operators=[Operator(*_split_operator(name)) for name in self.operators],
            delegates=self.delegate_tables,
            non_const_buffer_sizes=[0, *(plan.arena_sizes or [])],
            non_const_buffer_device=devices,
        )

    def _chains(self, chains: Sequence[tuple[ChainOp, int]], with_traces: bool) -> list[Chain]:
        """The instructions by chains, whose beginnings are given; jumps count from these."""
        beginnings = [start for _, start in chains] or [0]
        made: list[Chain] = []
        for number, (start, end) in enumerate(pairwise([*beginnings, len(self.instructions)])):
            instructions, traces = self.instructions[start:end], self.traces[start:end]
            for instruction in instructions if start else ():
                if isinstance(instruction.instr_args, JumpFalseCall):
                    instruction.instr_args.destination_instruction -= start
            chain = Chain(instructions=instructions)
            if with_traces and any(trace.items for trace in traces):
                chain.stacktrace = traces
            if chains:
                op = chains[number][0]
                chain.inputs = [self.table.item(register) for register in op.inputs]
                chain.outputs = [self.table.item(register) for register in op.outs]
            made.append(chain)
        return made

    # -- registers

    def _declare(self, op: RegisterOp) -> None:
        if type(op) is ValueOp:
            self.table.declare(op.result, scalar_value(literal_value(op.value)))
            return
        if type(op) is InputOp:
            if op.given_name is not None:
                self._name(op.given_name.data)
            self.inputs.append(len(self.table.values))
            if op.value is not None:
                self.table.declare(op.result, scalar_value(literal_value(op.value)))
                return
        self.table.declare(op.result, self._tensor(op))

    def _name(self, name: str) -> None:
        """Name the value that comes next."""
        self.parent.names.setdefault(self.plan.key, []).append((len(self.table.values), name))

    def _tensor(self, op: RegisterOp) -> Tensor:
        assert isinstance(op, (TensorRegisterOp, InputOp))
        type = op.type
        tensor = Tensor(
            scalar_type=scalar_type(type.element_type),
            sizes=list(type.get_shape()),
            dim_order=bytes(dim_order(type)),
            requires_grad=op.requires_grad is not None,
            shape_dynamism=op.dynamism,
        )
        if op.device is not None:
            tensor.extra_tensor_info = ExtraTensorInfo()
            info = tensor.extra_tensor_info
            info.device_type, info.device_index = device(op.device.data)
        place = self._place(op)
        if place is not None:
            memory_id, offset = place
            tensor.allocation_info = AllocationDetails(memory_id, offset & 0xFFFFFFFF, offset >> 32)
        if isinstance(op, SymbolRegisterOp):
            self._symbol(op, tensor)
        return tensor

    def _place(self, op: RegisterOp) -> tuple[int, int] | None:
        if type(op) is ViewOp:
            owner = op.base.owner
            base = self._place(owner) if isinstance(owner, RegisterOp) else None
            if base is None:
                self.parent.problem(
                    op, "a view needs a register with planned memory", "run plan-memory first"
                )
                return None
            return base[0], base[1] + op.first_byte
        return op.place if isinstance(op, MemoryRegisterOp) else None

    def _symbol(self, op: SymbolRegisterOp, tensor: Tensor) -> None:
        symbol = self.parent.symbols.by_name.get(op.key)
        if symbol is None:
            self.parent.problem(
                op, f"no parameter, buffer or constant is named @{op.key}", "declare it in the module"
            )
            return
        in_file = isinstance(op, ConstantOp) and op.external is None
        if op.external is not None or (op.anonymous is None and not in_file):
            info = tensor.extra_tensor_info = tensor.extra_tensor_info or ExtraTensorInfo()
            info.fully_qualified_name = "" if op.anonymous is not None else op.key
            if op.external is not None:
                info.location = TensorDataLocation.EXTERNAL
                return
        if symbol.value is None:
            if isinstance(op, ConstantOp):
                self.parent.problem(
                    op, f"@{op.key} has no data", "give it data, or mark the register 'external'"
                )
            return
        if in_file and op.anonymous is None and op.key:
            self._name(op.key)
        pool = self.parent.state if isinstance(op, StateOp) else self.parent.constants
        tensor.data_buffer_idx = pool.add(symbol.value.blob)
        if isinstance(op, StateOp) and op.anonymous is None and op.device is None:
            contents = split_initial_state(tensor)
            if contents not in self.contents:
                self.contents.append(contents)

    # -- instructions

    def _instruction(self, op: Operation, starts: dict[Block, int]) -> None:
        table = self.table
        match op:
            case KernelCallOp():
                arguments = KernelCall(self._operator(op.key), self._call(op))
            case DelegateCallOp():
                arguments = self._delegate_call(op)
            case MoveOp():
                arguments = MoveCall(table.item(op.source), table.item(op.target))
            case FreeOp():
                arguments = FreeCall(table.item(op.register))
            case JumpFalseOp():
                arguments = JumpFalseCall(table.item(op.condition), starts[op.target])
            case JumpOp():
                # The file has no other jump than one on a condition.
                arguments = JumpFalseCall(table.scalar(False), starts[op.target])
            case _:
                self.parent.problem(op, "not an instruction of the file format", "lower it before emission")
                return
        self._append(op, arguments)

    def _append(self, op: Operation, arguments: InstructionArguments) -> None:
        self.instructions.append(InstructionTable(arguments))
        found = tuple(frames_of(op.location))
        trace = self._frame_lists.get(found)
        if trace is None:
            frames = [Frame(f.filename, f.lineno, f.name, f.context) for f in found]
            trace = self._frame_lists[found] = FrameList(frames)
        self.traces.append(trace)

    def _operator(self, name: str) -> int:
        return self.operators.setdefault(name, len(self.operators))

    def _call(self, op: KernelCallOp) -> list[int]:
        table = self.table
        ids = [table.argument(argument) for argument in op.arguments]
        outs: tuple[SSAValue, ...] = tuple(op.outs)
        if op.list_out is not None:
            listed = table.tensors(outs)
            ids += (listed, listed)
        elif outs:
            ids += (table.registers[out] for out in outs)
            ids.append(ids[-1] if len(outs) == 1 else table.tensors(outs))
        ids += (table.registers[register] for register in op.returned)
        return ids

    def _delegate_call(self, op: DelegateCallOp) -> DelegateCall:
        name = op.callee.string_value()
        index = self.delegates.get(name)
        if index is None:
            index = self.delegates[name] = len(self.delegates)
            lowered = self.parent.lowered.get(name)
            if lowered is None:
                self.parent.problem(op, f"no backend.lowered is named @{name}", "declare it in the module")
            else:
                self.delegate_tables.append(self._delegate(lowered))
        return DelegateCall(index, [self.table.item(value) for value in (*op.inputs, *op.outs)])

    def _delegate(self, lowered: LoweredOp) -> BackendDelegate:
        reference = BackendDelegateDataReference(DataLocation.SEGMENT, 0)
        self.parent.delegate_references.append((reference, lowered))
        specs = () if lowered.specs is None else lowered.specs
        return BackendDelegate(
            lowered.backend.data, reference, [CompileSpec(spec.key.data, spec.value.data) for spec in specs]
        )


def _split_operator(name: str) -> tuple[str, str]:
    head, colons, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return f"{head}{colons}{base}", overload


def _container(plan: PlanOp) -> ContainerMetadata | None:
    if plan.in_spec is None and plan.out_spec is None:
        return None
    return ContainerMetadata(
        "" if plan.in_spec is None else plan.in_spec.data, "" if plan.out_spec is None else plan.out_spec.data
    )
