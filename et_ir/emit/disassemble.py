"""From a `.pte` file to the executorch dialect: each table becomes its op.

Registers keep the order of their values. They are declared where they are first used, or all at the start
where the plan has jumps. What a file does not say is found out by `registers.py`; constants without a name
get one and are `anonymous`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from et_ir.analysis.constant_methods import is_constant_method
from et_ir.data import Blob
from et_ir.dialects.backend import CompileSpecAttr, LoweredOp, NamedDataOp
from et_ir.dialects.executorch import (
    AllocOp,
    ArenaDeviceAttr,
    Argument,
    ChainOp,
    ConstantOp,
    DelegateCallOp,
    FreeOp,
    InputOp,
    JumpFalseOp,
    JumpOp,
    KernelCallOp,
    ListKind,
    ListValue,
    MemoryRegisterOp,
    MoveOp,
    PlanOp,
    ReferenceOp,
    RegisterOp,
    ReturnOp,
    StateOp,
    TensorRegisterOp,
    ValueOp,
    ViewOp,
)
from et_ir.dialects.executorch.arguments import Scalar, literal_attribute, literal_type
from et_ir.dialects.executorch.attributes import SEGMENT_ALIGNMENT, TENSOR_ALIGNMENT
from et_ir.dialects.executorch.layout import Tensor as TensorOfRegister
from et_ir.dialects.executorch.registers import dynamism_property
from et_ir.dialects.program import DataAttr, Guards, GuardsAttr
from et_ir.dialects.program.roles import Role, RolesAttr
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.emit.alignment import DEFAULT_SEGMENT, DEFAULT_TENSOR, recover_alignments
from et_ir.emit.basic_blocks import block_ranges
from et_ir.emit.data_files import set_digests
from et_ir.emit.plan_reader import PlanReader
from et_ir.emit.register_roles import RegisterRoles, find_roles
from et_ir.emit.symbols import FileSymbols
from et_ir.locations import Frame, location_of
from et_schema import program as schema
from et_schema.delegate_blobs import outputs_of_blob, updates_of_blob
from et_schema.digests import KEY as DIGESTS
from et_schema.digests import digests_of
from et_schema.errors import Error, InvalidFile
from et_schema.guards import KEY, decode, encode
from et_schema.initial_state import join_initial_state
from et_schema.names import apply_names
from et_schema.program import BackendDelegate, DataLocation, DeviceType, ExecutionPlan, KernelTypes
from et_schema.pte import PteFile
from et_schema.training import GRADIENTS, NAMES, PARAMETERS

__all__ = ["disassemble"]

_NO_FRAMES = NameLoc(StringAttr(""), UNKNOWN_LOC)
"""Of an instruction that the file gives no source lines: not the same as a text that says nothing of
locations.
"""


def disassemble(file: PteFile) -> ModuleOp:
    """The module of a file; its constants are views of the file's bytes.

    Raises `InvalidFile` with the table's path where the file's tables do not fit together, or hold what no
    register can.
    """
    return _Disassembler(file).run()


def _set_roles(plans: Sequence[PlanOp]) -> None:
    """Note which results of training methods are gradients and parameters, as constant methods tell.

    They do not tell which output is the loss: it is the first, as ExecuTorch has it. Methods that do not fit together
    tell nothing.
    """
    by_name = {plan.key: plan for plan in plans}
    for name, plan in by_name.items():
        found = [by_name.get(prefix + name) for prefix in (GRADIENTS, PARAMETERS, NAMES)]
        gradients, parameters, names = [
            [] if one is None else list(one.return_op.arguments) if is_constant_method(one) else []
            for one in found
        ]
        if not names or not all(isinstance(each, str) for each in names):
            continue
        roles = [Role(kind, str(each)) for kind in ("gradient", "parameter") for each in names]
        results = plan.return_op.arguments
        outputs = len(results) - len(roles)
        if outputs < 1 or gradients != [outputs] or parameters != [outputs + len(names)]:
            continue
        try:
            attribute = RolesAttr((Role("loss"), *[Role("output")] * (outputs - 1), *roles))
            attribute.verify_results(
                [one.type if isinstance(one, SSAValue) else NoneType() for one in results]
            )
        except VerifyException:
            continue
        plan.roles = attribute


class _Disassembler:
    """State shared by the methods of a program."""

    def __init__(self, file: PteFile):
        self.file = file
        self.symbols = FileSymbols(file)
        self._delegates: dict[tuple[object, ...], tuple[LoweredOp, BackendDelegate]] = {}

    def run(self) -> ModuleOp:
        program = self.file.program
        names = apply_names(self.file)
        join_initial_state(self.file)
        plans = [
            _PlanBuilder(self, PlanReader(plan, f"execution_plan[{index}]")).run()
            for index, plan in enumerate(program.execution_plan)
        ]
        _set_roles(plans)
        digests = digests_of(self.file)
        others = [entry for entry in program.named_data if entry is not names and entry.key != DIGESTS]
        guards = self._guards(plans, others)
        alignments = recover_alignments(self.file, self.symbols.sizes, self.symbols.state_sizes)
        for op, delegate in self._delegates.values():
            reference = delegate.processed
            if reference is not None and reference.location == DataLocation.SEGMENT:
                op.set_alignment(alignments.own[reference.index])
        named = [
            NamedDataOp(
                entry.key,
                _data(entry.key, self.file.segments[entry.segment_index]),
                alignment=alignments.own[entry.segment_index],
            )
            for entry in others
            if entry is not guards
        ]
        lowered = [op for op, _ in self._delegates.values()]
        module = ModuleOp([*self.symbols.ops, *lowered, *named, *plans])
        for name, value, default in (
            (TENSOR_ALIGNMENT, alignments.tensor, DEFAULT_TENSOR),
            (SEGMENT_ALIGNMENT, alignments.segment, DEFAULT_SEGMENT),
        ):
            if value != default:
                module.attributes[name] = IntegerAttr(value, i64)
        set_digests(module, digests)
        return module

    def _guards(
        self, plans: Sequence[PlanOp], named_data: Sequence[schema.NamedData]
    ) -> schema.NamedData | None:
        """The named data with what methods demand of their inputs, which they get as `guards`.

        Data that would not be written like that stays data.
        """
        entry = next(iter(named_data[-1:]), None)
        if entry is None or entry.key != KEY:
            return None
        data = bytes(self.file.segments[entry.segment_index])
        by_name = {plan.key: plan for plan in plans}
        found: dict[str, GuardsAttr] = {}
        try:
            methods = decode(data)
            if encode(methods) != data or not methods.keys() <= by_name.keys():
                return None
            for name, guards in methods.items():
                conditions = tuple(condition.text for condition in guards.conditions)
                found[name] = GuardsAttr(Guards(guards.inputs, conditions))
                found[name].verify_inputs([op.result.type for op in by_name[name].inputs])
        except (ValueError, VerifyException):
            return None
        for name, attr in found.items():
            by_name[name].guards = attr
        return entry

    def delegate_outputs(self, reader: PlanReader) -> Callable[[int], int | None]:
        """The number of outputs of each delegate of a method, where the format of its blob tells it."""

        def outputs(index: int) -> int | None:
            delegate = reader.delegate(index)
            if delegate.processed is None:
                return None
            blob = self.file.delegate_data(delegate.processed)
            return outputs_of_blob(delegate.id, blob, self.file.named_data())

        return outputs

    def lower(self, delegate: BackendDelegate, position: int, where: str) -> str:
        """The symbol of a delegate; `position` is its number in its method, whose delegates stay apart."""
        reference = delegate.processed
        if reference is None:
            raise InvalidFile("delegate without data", where=f"{where}.processed")
        specs = [CompileSpecAttr.of(spec.key, bytes(spec.value)) for spec in delegate.compile_specs]
        identity = (position, reference.location, reference.index, delegate.id, *specs)
        found = self._delegates.get(identity)
        if found is None:
            name = self.symbols.fresh_name(f"lowered_{len(self._delegates)}")
            blob = self.file.delegate_data(reference)
            op = LoweredOp(
                name,
                delegate.id,
                specs,
                _data(name, blob),
                updates=updates_of_blob(delegate.id, blob, self.file.named_data()),
            )
            found = self._delegates[identity] = (op, delegate)
        return found[0].key


def _data(name: str, view: memoryview) -> DataAttr:
    return DataAttr.of(ELEMENT_TYPES["ui8"], Blob.of(name, view))


class _PlanBuilder:
    """Builds the ops of one method from what its reader and its registers' roles say."""

    def __init__(self, parent: _Disassembler, reader: PlanReader):
        self.parent = parent
        self.reader = reader
        self.plan: ExecutionPlan = reader.plan
        input_names = parent.file.input_names.get(reader.plan.name, ())
        self.names = dict(zip(reader.plan.inputs, input_names, strict=True)) if input_names else {}
        self.roles: RegisterRoles = find_roles(reader, parent.delegate_outputs(reader))
        self.registers: dict[int, SSAValue] = {}
        self._rank = {index: rank for rank, index in enumerate(self.roles.order)}
        self._declared = 0

    def run(self) -> PlanOp:
        plan, reader = self.plan, self.reader
        ranges = block_ranges(len(reader.steps), reader.jumps)
        blocks = [Block() for _ in ranges]
        first = blocks[0]
        if len(blocks) > 1 and 0 in reader.jumps.values():
            # Nothing jumps to the first block: it declares what the loop uses.
            first = Block()
            blocks.insert(0, first)
            ranges.insert(0, range(0))
        if len(blocks) > 1:
            first.add_ops(self._declare(len(self.roles.order)))
        starts = {r.start: block for r, block in zip(ranges, blocks, strict=True) if r or block is blocks[-1]}
        for number, (block, steps) in enumerate(zip(blocks, ranges, strict=True)):
            following = blocks[number + 1] if number + 1 < len(blocks) else None
            for index in steps:
                block.add_ops(self._chains(index))
                block.add_ops(self._step(index, starts, following))
            if following is None:
                block.add_ops(self._chains(len(reader.steps)))
                block.add_ops(self._declare(len(self.roles.order)))
                block.add_op(ReturnOp([self._argument(index) for index in plan.outputs]))
            elif not steps or steps[-1] not in reader.jumps:
                block.add_op(JumpOp(following))
        container = plan.container_meta_type
        op = PlanOp(
            plan.name,
            Region(blocks),
            in_spec=None if container is None else container.encoded_inp_str,
            out_spec=None if container is None else container.encoded_out_str,
        )
        op.set_arena_sizes(plan.non_const_buffer_sizes[1:])
        if plan.non_const_buffer_device:
            op.devices = ArrayAttr(
                [
                    ArenaDeviceAttr(IntAttr(entry.buffer_idx), StringAttr(_device(entry)))
                    for entry in plan.non_const_buffer_device
                ]
            )
        if reader.traces:
            op.stack_traces = UnitAttr()
        return op

    # -- registers

    def _declare(self, count: int) -> list[Operation]:
        """The declarations of the first `count` registers that are not declared yet."""
        ops: list[Operation] = []
        while self._declared < count:
            index = self.roles.order[self._declared]
            op = self._register(index)
            op.result.name_hint = f"r{index}"
            self.registers[index] = op.result
            self._declared += 1
            ops.append(op)
        return ops

    def _declare_for(self, indices: Sequence[int]) -> list[Operation]:
        ranks = [self._rank[index] + 1 for index in indices if index in self._rank]
        return self._declare(max(ranks, default=0))

    def _register(self, index: int) -> RegisterOp:
        value = self.reader.values[index]
        is_input = index in self.roles.inputs
        if not isinstance(value, schema.Tensor):
            scalar = _scalar(value)
            if is_input:
                return InputOp(literal_type(literal_attribute(scalar)), scalar, name=self.names.get(index))
            return ValueOp(scalar)
        type = self.reader.tensor_type(index)
        op = InputOp(type, name=self.names.get(index)) if is_input else self._tensor(index, value, type)
        op.properties.update(dynamism_property(value.shape_dynamism))
        if value.requires_grad:
            op.properties["requires_grad"] = UnitAttr()
        if index in self.roles.aliased:
            op.properties["aliased"] = UnitAttr()
        info = value.extra_tensor_info
        if info is not None and (info.device_type != DeviceType.CPU or info.device_index):
            op.properties["device"] = StringAttr(_device(info))
        if isinstance(op, MemoryRegisterOp):
            op.set_place(self.reader.place(index))
        return op

    def _tensor(self, index: int, value: schema.Tensor, type: TensorOfRegister) -> TensorRegisterOp:
        view = self.roles.views.get(index)
        if view is not None:
            return ViewOp(self.registers[view[0]], type, start=view[1])
        if index in self.roles.constants:
            symbol = self.parent.symbols.constant(value, type)
            op: ConstantOp | StateOp = ConstantOp(symbol, type)
        elif index in self.roles.states:
            symbol = self.parent.symbols.state(value, type)
            op = StateOp(symbol, type)
        else:
            return ReferenceOp(type) if index in self.roles.references else AllocOp(type)
        info = value.extra_tensor_info
        if info is None or info.fully_qualified_name != symbol:
            op.properties["anonymous"] = UnitAttr()
        if self.reader.is_external(index):
            op.properties["external"] = UnitAttr()
        return op

    # -- instructions

    def _chains(self, position: int) -> list[Operation]:
        """The chains that begin at an instruction: none in a plan with one that waits for nothing."""
        chains = self.reader.chains
        if len(chains) == 1 and not chains[0][1].inputs and not chains[0][1].outputs:
            return []
        ops: list[Operation] = []
        for chain in (chain for start, chain in chains if start == position):
            ops += self._declare_for([*chain.inputs, *chain.outputs])
            inputs, outs = (self._registers(position, held) for held in (chain.inputs, chain.outputs))
            ops.append(ChainOp(inputs, outs))
        return ops

    def _step(self, index: int, starts: dict[int, Block], following: Block | None) -> list[Operation]:
        step = self.reader.steps[index]
        ops = self._declare_for([*step.reads, *step.writes])
        op = self._instruction(index, starts, following)
        if self.reader.traces:
            op.location = self._location(index)
        ops.append(op)
        return ops

    def _location(self, index: int) -> LocationAttr:
        frames = self.reader.traces[index].items
        if not frames:
            return _NO_FRAMES
        return location_of([Frame(f.filename, f.lineno, f.name, f.context) for f in frames])

    def _instruction(self, position: int, starts: dict[int, Block], following: Block | None) -> Operation:
        step = self.reader.steps[position]
        match step.table:
            case schema.KernelCall():
                shape = step.shape
                return KernelCallOp(
                    step.operator,
                    [self._argument(index) for index in shape.arguments],
                    outs=self._registers(position, shape.outs),
                    returns=self._registers(position, shape.returns),
                    list_out=shape.list_out,
                )
            case schema.DelegateCall() as call:
                where = f"{self.reader.where}.delegates[{call.delegate_index}]"
                delegate = self.reader.delegate(call.delegate_index)
                outs = len(call.args) - step.outs
                return DelegateCallOp(
                    self.parent.lower(delegate, call.delegate_index, where),
                    self._registers(position, call.args[:outs]),
                    self._registers(position, call.args[outs:]),
                )
            case schema.MoveCall() as move:
                return MoveOp(*self._registers(position, (move.move_from, move.move_to)))
            case schema.FreeCall() as free:
                return FreeOp(*self._registers(position, (free.value_index,)))
            case schema.JumpFalseCall() as jump:
                target = starts[self.reader.jumps[position]]
                if jump.cond_value_index not in self.registers:
                    return JumpOp(target)
                assert following is not None
                return JumpFalseOp(self.registers[jump.cond_value_index], target, following)

    def _registers(self, position: int, indices: Sequence[int]) -> list[SSAValue]:
        """Registers that an instruction names. Raises `InvalidFile` for values that have none: lists, for example."""
        for index in indices:
            if index not in self.registers:
                kind = type(self.reader.values[index]).__name__
                message = f"value {index}, a {kind}, where a register is needed"
                where = self.reader.place_of(position)
                raise InvalidFile(message, code=Error.NotSupported, where=where)
        return [self.registers[index] for index in indices]

    def _argument(self, index: int) -> Argument:
        register = self.registers.get(index)
        if register is not None:
            return register
        value = self.reader.values[index]
        match value:
            case schema.IntList():
                return ListValue(ListKind.INTS, tuple(self._item(item) for item in value.items))
            case schema.TensorList():
                return ListValue(ListKind.TENSORS, tuple(self.registers[item] for item in value.items))
            case schema.OptionalTensorList():
                items = tuple(self.registers.get(item) for item in value.items)
                return ListValue(ListKind.OPTIONAL_TENSORS, items)
            case schema.DoubleList():
                return ListValue(ListKind.FLOATS, tuple(value.items))
            case schema.BoolList():
                return ListValue(ListKind.BOOLS, tuple(value.items))
            case _:
                return _scalar(value)

    def _item(self, index: int) -> Scalar | SSAValue:
        register = self.registers.get(index)
        return _scalar(self.reader.values[index]) if register is None else register


def _scalar(value: KernelTypes) -> Scalar:
    match value:
        case schema.Int():
            return value.int_val
        case schema.Double():
            return value.double_val
        case schema.Bool():
            return value.bool_val
        case schema.String():
            return value.string_val
        case schema.Null():
            return None
        case _:
            raise InvalidFile(
                f"a {type(value).__name__} where a number, string or none is expected",
                code=Error.NotSupported,
            )


def _device(entry: schema.ExtraTensorInfo | schema.NonConstBufferDevice) -> str:
    return f"{DeviceType(entry.device_type).name.lower()}:{entry.device_index}"
