"""Schedule of a method: calls, copies, branches, loops, and placement of intermediate tensors.

Tensors passed between partitions share the arena, or the arenas of several memory banks, with the buffers between the
kernels of each partition. Live ranges are step numbers in program order; a buffer that is read in a loop and was
written before it is live until the end of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from et_backends.codegen.passes.plan_buffers import Allocation
from et_ir.analysis.bounds import SizeBounds
from et_ir.data import Blob
from et_ir.delegation.dependences import is_copied, is_statement
from et_ir.delegation.subprogram import subprogram
from et_ir.dialects.backend import PartitionOp
from et_ir.dialects.control import CondOp, ControlOp, MapOp, ScanOp, WhileOp, YieldOp
from et_ir.dialects.executorch.layout import scalar_type
from et_ir.dialects.program import GetOp, Globals, LoadOp, StoreOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ir.planning import Buffer, lower_bound, plan_best
from et_ir.planning.banks import Bank
from et_ir.planning.hierarchy import assign_banks

__all__ = [
    "Arena",
    "ArenaPlan",
    "Branch",
    "Call",
    "Constant",
    "Copy",
    "Given",
    "Loop",
    "Place",
    "Repeat",
    "Schedule",
    "Slice",
    "State",
    "Step",
    "schedule_of",
    "tensor_bytes",
]


@dataclass(frozen=True)
class Given:
    """An input or output, which the caller provides."""

    kind: str
    """`inputs` or `outputs`."""
    number: int


@dataclass(frozen=True)
class Constant:
    """A constant of the program, unchanged."""

    key: str


@dataclass(frozen=True)
class State:
    """A mutable buffer, by the name of its symbol."""

    symbol: str


@dataclass(eq=False)
class Arena:
    """A buffer in an arena, between its first and its last step."""

    nbytes: int
    first: int = -1
    last: int = -1
    uses: int = 0
    """The steps that read or write it."""
    bank: int = 0
    """The number of the arena."""
    offset: int = 0


@dataclass(frozen=True)
class Slice:
    """The slice of a tensor that loop iteration `i` reads or writes: `nbytes` from offset `i * nbytes`."""

    whole: Place
    loop: Repeat
    nbytes: int


Place: TypeAlias = Given | Constant | State | Arena | Slice


@dataclass
class Call:
    """Computation of a partition."""

    program: ModuleOp
    """Its ops, in a method of their own."""
    inputs: list[Place]
    outputs: list[Place]
    step: int
    """Its number."""
    allocations: Sequence[Allocation] = ()
    """The buffers between its kernels, which are known when the partition is compiled."""
    places: Sequence[tuple[int, int]] = ()
    """The number of the arena and the offset of each allocation."""


@dataclass
class Copy:
    """Copy of a tensor."""

    source: Place
    target: Place
    nbytes: int


@dataclass
class Branch:
    """One of two lists of steps, by a boolean."""

    predicate: Place
    then: list[Step]
    otherwise: list[Step]


@dataclass
class Loop:
    """Steps while the boolean that `condition` computes is true."""

    condition: list[Step]
    predicate: Place
    body: list[Step]


@dataclass(eq=False)
class Repeat:
    """Steps, `count` times."""

    count: int
    body: list[Step] = field(default_factory=list["Step"])


Step: TypeAlias = Call | Copy | Branch | Loop | Repeat


class ArenaPlan(NamedTuple):
    """An arena of a method."""

    nbytes: int
    bound: int
    """Bytes: no plan of what is in it is smaller, in this order of steps."""


@dataclass
class Schedule:
    """A method as steps."""

    method: FuncOp
    steps: list[Step]
    calls: list[Call]
    buffers: list[Arena]
    constants: dict[str, Blob]
    """Constants that are read as they are in the program."""

    def plan(self, alignment: int, banks: Sequence[Bank] = ()) -> list[ArenaPlan]:
        """Place the buffers at multiples of `alignment` bytes, in one arena, or in one for each bank.

        Raises `et_ir.planning.hierarchy.Infeasible` where they do not fit the banks.
        """
        used = [one for one in self.buffers if one.nbytes and one.first >= 0]
        # Within the time of a call are those of its kernels.
        own = [one for call in self.calls for one in call.allocations]
        span = 1 + max((one.buffer.last for one in own), default=0)
        buffers = [
            Buffer(one.nbytes, one.first * span, one.last * span + span - 1, alignment) for one in used
        ]
        for call in self.calls:
            start = call.step * span
            within = [one.buffer for one in call.allocations]
            buffers += [replace(each, first=start + each.first, last=start + each.last) for each in within]
        uses = [one.uses for one in (*used, *own)]
        arenas, places = _in_banks(buffers, uses, banks) if banks else _in_one(buffers)
        for one, (bank, offset) in zip(used, places, strict=False):
            one.bank, one.offset = bank, offset
        at = len(used)
        for call in self.calls:
            call.places = places[at : at + len(call.allocations)]
            at += len(call.allocations)
        return arenas

    def number_arenas(self, used: Sequence[int]) -> None:
        """Number the arenas again: of those there are, `used` remain, and the others have no bytes."""
        number = {bank: at for at, bank in enumerate(used)}
        for one in self.buffers:
            one.bank = number.get(one.bank, 0)
        for call in self.calls:
            call.places = [(number.get(bank, 0), offset) for bank, offset in call.places]


_Places: TypeAlias = tuple[list[ArenaPlan], list[tuple[int, int]]]
"""Arenas, and of each buffer the number of its arena and the offset in it."""


def _in_one(buffers: Sequence[Buffer]) -> _Places:
    plan = plan_best(buffers)
    return [ArenaPlan(plan.size, plan.bound)], [(0, offset) for offset in plan.layout.offsets]


def _in_banks(buffers: Sequence[Buffer], uses: Sequence[int], banks: Sequence[Bank]) -> _Places:
    assigned = assign_banks(buffers, uses, banks)
    places = [(0, 0)] * len(buffers)
    arenas: list[ArenaPlan] = []
    for number, (members, layout) in enumerate(zip(assigned.members, assigned.layouts, strict=True)):
        for index, offset in zip(members, layout.offsets, strict=True):
            places[index] = number, offset
        arenas.append(ArenaPlan(layout.size, lower_bound([buffers[index] for index in members])))
    return arenas, places


def tensor_bytes(value: SSAValue) -> int:
    """Bytes of a tensor of static shape."""
    type = tensor_type(value)
    count = scalar_type(type.element_type).itemsize
    for size in type.get_shape():
        count *= size
    return count


def schedule_of(method: FuncOp, symbols: Globals) -> Schedule:
    """The steps of a method whose ops are partitions, control flow, and reads and writes of state."""
    return _Scheduler(method, symbols).schedule()


class _Scheduler:
    def __init__(self, method: FuncOp, symbols: Globals):
        self._symbols = symbols
        self._bounds = SizeBounds(method.body.block)
        self._now = 0
        self._steps: list[Step] = []
        self._places: dict[SSAValue, Place] = {}
        self._made = Schedule(method, self._steps, [], [], {})

    def schedule(self) -> Schedule:
        block = self._made.method.body.block
        for number, argument in enumerate(block.args):
            self._places[argument] = Given("inputs", number)
        self._block(block)
        end = block.last_op
        assert isinstance(end, ReturnOp)
        for number, value in enumerate(end.arguments):
            self._copy(value, Given("outputs", number))
        return self._made

    # -- steps

    def _block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case PartitionOp():
                    self._call(op)
                case LoadOp():
                    self._load(op)
                case StoreOp():
                    self._copy(op.value, State(op.symbol.string_value()))
                case CondOp():
                    self._cond(op)
                case WhileOp():
                    self._while(op)
                case MapOp():
                    self._repeat(op, [], op.sequences, [], op.outputs)
                case ScanOp():
                    self._repeat(op, op.inits, op.sequences, op.carried, op.stacked)
                case YieldOp() | ReturnOp():
                    pass
                case _ if is_copied(op) or is_statement(op):
                    pass
                case _:
                    raise AssertionError(f"'{op.name}' is in no partition")

    def _call(self, op: PartitionOp) -> None:
        inputs = [self._place(value) for value in op.inputs]
        outputs = [self._destination(value) for value in op.outputs]
        call = Call(subprogram(op, self._symbols, self._bounds), inputs, outputs, self._now + 1)
        self._made.calls.append(call)
        self._add(call, *inputs, *outputs)

    def _load(self, op: LoadOp) -> None:
        symbol = op.symbol.string_value()
        if not _is_replaced(op, symbol):
            self._places[op.result] = State(symbol)
            return
        place = self._places[op.result] = self._buffer(tensor_bytes(op.result))
        self._add(Copy(State(symbol), place, place.nbytes), place)

    def _cond(self, op: CondOp) -> None:
        predicate = self._place(op.predicate)
        for result in op.outputs:
            self._destination(result)
        step = Branch(predicate, [], [])
        self._add(step, predicate)
        for region, steps in ((op.then_region, step.then), (op.else_region, step.otherwise)):
            self._within(steps, region)
            with_results = zip(op.yielded(region), op.outputs, strict=True)
            self._into(steps, [(value, self._places[result]) for value, result in with_results])

    def _while(self, op: WhileOp) -> None:
        carried = self._carried(op.inits, op.outputs)
        start = self._now
        step = Loop([], carried[0], [])
        self._add(step)
        for region, steps in ((op.condition, step.condition), (op.body, step.body)):
            self._places.update(zip(region.block.args, carried, strict=True))
            self._within(steps, region)
            if region is op.condition:
                step.predicate = self._place(op.yielded(region)[0])
                self._touch(step.predicate)
        self._next(step.body, op.yielded(op.body), carried)
        self._end(start)

    def _repeat(
        self,
        op: MapOp | ScanOp,
        inits: Sequence[SSAValue],
        sequences: Sequence[SSAValue],
        results: Sequence[SSAValue],
        stacked: Sequence[OpResult],
    ) -> None:
        carried = self._carried(inits, results)
        wholes = [self._place(value) for value in sequences]
        stacks = [self._destination(value) for value in stacked]
        for one in (*wholes, *stacks):
            self._touch(one)
        start = self._now
        (count, *_), *_ = (tensor_type(value).get_shape() for value in sequences)
        step = Repeat(count)
        self._add(step)
        arguments = op.body.block.args
        self._places.update(zip(arguments, carried, strict=False))
        for argument, whole in zip(arguments[len(carried) :], wholes, strict=True):
            self._places[argument] = Slice(whole, step, tensor_bytes(argument))
        self._within(step.body, op.body)
        yielded = op.yielded(op.body)
        items = [
            (value, Slice(stack, step, tensor_bytes(value)))
            for value, stack in zip(yielded[len(carried) :], stacks, strict=True)
        ]
        self._into(step.body, items)
        self._next(step.body, yielded[: len(carried)], carried)
        self._end(start)

    def _carried(self, inits: Sequence[SSAValue], results: Sequence[SSAValue]) -> list[Arena]:
        """Buffers of loop-carried values with their initial values; at the end they hold the results."""
        carried = [self._buffer(tensor_bytes(value)) for value in inits]
        for value, place in zip(inits, carried, strict=True):
            self._copy(value, place)
        self._places.update(zip(results, carried, strict=True))
        return carried

    def _next(self, steps: list[Step], values: Sequence[SSAValue], carried: Sequence[Arena]) -> None:
        """Add steps for values that a loop carries into the next iteration; its own are copied first."""
        outer, self._steps = self._steps, steps
        sources: list[Place] = []
        for value, place in zip(values, carried, strict=True):
            source = self._place(value)
            if source is not place and any(source is one for one in carried):
                kept = self._buffer(place.nbytes)
                self._add(Copy(source, kept, place.nbytes), source, kept)
                source = kept
            sources.append(source)
        for source, place in zip(sources, carried, strict=True):
            self._move(source, place, place.nbytes)
        self._steps = outer

    def _within(self, steps: list[Step], region: Region) -> None:
        outer, self._steps = self._steps, steps
        self._block(region.block)
        self._steps = outer

    def _into(self, steps: list[Step], values: Sequence[tuple[SSAValue, Place]]) -> None:
        outer, self._steps = self._steps, steps
        for value, place in values:
            self._copy(value, place)
        self._steps = outer

    def _copy(self, value: SSAValue, target: Place) -> None:
        self._move(self._place(value), target, tensor_bytes(value))

    def _move(self, source: Place, target: Place, nbytes: int) -> None:
        if nbytes and source is not target and source != target:
            self._add(Copy(source, target, nbytes), source, target)
        else:
            self._touch(target)

    def _add(self, step: Step, *places: Place) -> None:
        self._steps.append(step)
        self._now += 1
        for one in places:
            self._touch(one)

    # -- places

    def _place(self, value: SSAValue) -> Place:
        if value not in self._places:
            op = value.owner
            assert isinstance(op, GetOp)
            symbol = self._symbols[op.symbol.string_value()]
            blob = (
                Blob.of(symbol.key, bytes(tensor_bytes(value))) if symbol.value is None else symbol.value.blob
            )
            key = f"sha256:{blob.sha256}"
            self._made.constants[key] = blob
            self._places[value] = Constant(key)
        return self._places[value]

    def _destination(self, value: OpResult) -> Place:
        """The buffer that a value is written to: its final destination, if possible."""
        place: Place | None = None
        for use in value.uses:
            user, index = use.operation, use.index
            if isinstance(user, ReturnOp):
                place = Given("outputs", index)
            elif isinstance(user, YieldOp) and user.parent is value.owner.parent:
                around = user.parent_op()
                if isinstance(around, CondOp):
                    place = self._places[around.outputs[index]]
        if place is None:
            place = self._buffer(tensor_bytes(value))
        self._places[value] = place
        return place

    def _buffer(self, nbytes: int) -> Arena:
        made = Arena(nbytes)
        self._made.buffers.append(made)
        return made

    def _touch(self, place: Place) -> None:
        if isinstance(place, Slice):
            self._touch(place.whole)
        if isinstance(place, Arena):
            place.first = self._now if place.first < 0 else place.first
            place.last = self._now
            place.uses += 1

    def _end(self, start: int) -> None:
        """The end of a loop: older values used in it are live through all iterations."""
        self._now += 1
        for one in self._made.buffers:
            if 0 <= one.first <= start < one.last:
                one.last = self._now


def _is_replaced(op: LoadOp, symbol: str) -> bool:
    """Whether state may be overwritten while a value read from it is still live."""
    block = op.parent
    assert block is not None
    users = {_within(block, use.operation) for use in op.result.uses}
    at: Operation | None = op.next_op
    replaced = False
    while at is not None and users:
        if at in users:
            users.discard(at)
            if replaced or (isinstance(at, ControlOp) and _stores(at, symbol)):
                return True
        replaced = replaced or _stores(at, symbol)
        at = at.next_op
    return False


def _within(block: Block, op: Operation) -> Operation:
    """The op of a block that an op is, or is in."""
    while op.parent is not block:
        above = op.parent_op()
        assert above is not None
        op = above
    return op


def _stores(op: Operation, symbol: str) -> bool:
    return any(isinstance(one, StoreOp) and one.symbol.string_value() == symbol for one in op.walk())
