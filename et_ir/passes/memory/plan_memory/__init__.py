"""Give every register a place in an arena. None shares memory with another while both are needed.

```mlir
executorch.plan @forward {
  %x = executorch.input : tensor<4xf32>
  %0 = executorch.alloc : tensor<4xf32>
  executorch.kernel_call "aten::relu.out"(%x) outs(%0)
  …
// becomes
executorch.plan @forward {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %0 = executorch.alloc {memory_id = 1, offset = 16} : tensor<4xf32>
  …
```

Places that registers had before are dropped, so that a program can be planned again, also one that was read
from a file. Registers that nothing uses are dropped too. There is one arena, number 1; tensors on another
device keep to the arena they are in. Inputs that are `aliased` have no place: a write to them is one to the
caller's memory. State lies in arena 1 where a program has one method. Where it has
several, runtimes may give all methods the same arenas: state then has arena 2 for itself, the same place in
each method, where no other method's activations come.

`memory="sram:id=1,size=256K;dram:id=2"` gives banks: arenas that have sizes and speeds. What is used often comes into
fast ones, as `et_ir.planning.hierarchy` says; attributes of registers (module `requests`) pin them to a
bank. What cannot fit is an error that names the tensors. State of several methods then lies at the start of its bank,
the slowest one unless it is pinned, and nothing of any method comes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.analysis.aliasing import extent_of, root_of
from et_ir.analysis.chains import Chains, ChainTimes
from et_ir.analysis.liveness import Liveness
from et_ir.diagnostics import Diagnostic, PassReport
from et_ir.dialects.executorch import (
    AllocOp,
    InputOp,
    KernelCallOp,
    ListKind,
    ListValue,
    MemoryRegisterOp,
    PlanOp,
    ReferenceOp,
    RegisterOp,
    StateOp,
    ViewOp,
)
from et_ir.passes.memory.plan_memory.infeasible import InfeasibleMemory, infeasible
from et_ir.passes.memory.plan_memory.requests import (
    BANK,
    alignment_of,
    bank_of,
    given_by_caller,
    request_problems,
)
from et_ir.passes.memory.plan_memory.selectors import SELECTOR, SelectorError, select
from et_ir.passes.memory.plan_memory.shared_state import STATE, SharedState, check_size, register_size
from et_ir.passes.plans import plans_of
from et_ir.planning import Buffer, Plan, layout_problems, plan_of
from et_ir.planning.banks import Bank, BankError, parse_banks
from et_ir.planning.hierarchy import Infeasible, assign_banks
from et_ir.planning.partial_order import ChainBuffer, order_problems, place_by_order
from et_ir.planning.planners import PlannerError, find_planner, run_planner
from et_ops.conventions import ET_VIEW
from et_schema.program import TensorShapeDynamism

__all__ = ["ACTIVATIONS", "STATE", "InfeasibleMemory", "PlanMemoryPass"]

ACTIVATIONS: Final = 1
"""The arena of activations, inputs and outputs."""


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Give every register a place in an arena."""

    name = "plan-memory"

    algorithm: str = "best"
    """The planner: `naive`, `upstream` (the stock compiler's), `greedy`, `exact` (which also proves a lower bound),
    `best` (`greedy`, then a short search), the name of an installed one, or `module:function`.
    """
    alignment: int = 16
    """The least alignment of a tensor, in bytes."""
    plan_inputs: bool = True
    """Whether inputs have places in the arena; if not, the caller provides their memory."""
    plan_outputs: bool = True
    """Whether outputs have places in the arena; if not, the caller provides their memory."""
    check: bool = False
    """Whether an independent checker verifies the layout."""
    budget: int | None = None
    """The nodes of the search for a smaller layout; the planner's own number unless given."""
    slack: int = 0
    """The excess over the lower bound, in thousandths, that `best` accepts without a search."""
    memory: str = ""
    """The memory banks, as `"sram:id=1,size=256K;dram:id=2"`; one arena of any size if empty."""
    caller: tuple[str, ...] = ()
    """Further inputs and outputs whose memory the caller provides, as `forward.inputs` or `forward.outputs.0`."""
    pin: tuple[str, ...] = ()
    """Banks of single values, as `forward.inputs.0=sram`; the last that names a value counts."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise PassFailedException(
                f"plan-memory: an alignment of {self.alignment} bytes is not a power of two"
            )
        try:
            find_planner(self.algorithm)
        except PlannerError as error:
            raise PassFailedException(f"plan-memory: {error}") from error
        try:
            banks = parse_banks(self.memory) if self.memory else ()
        except BankError as error:
            raise PassFailedException(f"plan-memory: memory: {error}") from None
        plans = plans_of(op, self)
        names = [bank.name for bank in banks]
        _check_requests(problem for plan in plans for problem in request_problems(plan, names))
        for plan in plans:
            _drop_unused(plan)
        callers = self._callers(plans)
        self._pin(plans)
        unplanned = [self._unplanned(plan, callers) for plan in plans]
        _check_requests(
            problem
            for plan, without in zip(plans, unplanned, strict=True)
            for problem in request_problems(plan, names, without)
        )
        shared = SharedState(plans, banks, self.alignment) if len(plans) > 1 else None
        for plan, without in zip(plans, unplanned, strict=True):
            self._plan(plan, banks, shared, without)

    def _plan(
        self,
        plan: PlanOp,
        banks: Sequence[Bank],
        shared: SharedState | None,
        unplanned: set[MemoryRegisterOp],
    ) -> None:
        _view_at_run_time(plan, unplanned)
        liveness = Liveness(plan)
        chains = Chains(plan)
        order = ChainTimes(chains) if chains.concurrent else None
        arenas: dict[int, list[tuple[MemoryRegisterOp, Buffer]]] = {}
        sizes: dict[int, int] = {}
        bounds: dict[int, int] = {}
        for op in liveness.roots():
            if not isinstance(op, MemoryRegisterOp):
                continue
            arena = _arena(op)
            op.set_place(None)
            interval = liveness.interval(op.result)
            if interval is None:
                _make_reference(op)
                continue
            if op in unplanned:
                continue
            if shared is not None and isinstance(op, StateOp):
                arena, offset = shared.places[op.key]
                op.set_place((arena, offset))
                sizes[arena] = bounds[arena] = shared.sizes[arena]
                continue
            last = interval.last if order is None else order.last(liveness.needed(op.result))
            buffer = Buffer(register_size(op), interval.first, last, alignment_of(op, self.alignment))
            arenas.setdefault(arena, []).append((op, buffer))
        for arena, entries in arenas.items():
            ops, buffers = [op for op, _ in entries], [buffer for _, buffer in entries]
            if banks and arena == ACTIVATIONS:
                made = self._plan_banks(plan, banks, shared, ops, buffers)
            else:
                made = [(arena, 0, range(len(ops)), self._layout(buffers))]
                if order is not None:
                    made = [(arena, 0, range(len(ops)), self._by_order(order, liveness, ops, made[0][3]))]
            for number, start, members, placed in made:
                held = [buffers[index] for index in members]
                check_size(number, start + placed.size, [ops[index] for index in members], banks)
                if self.check:
                    problems = layout_problems(held, placed.layout) if order is None else []
                    if problems:
                        raise PassFailedException("plan-memory: invalid layout: " + "; ".join(problems))
                for index, offset in zip(members, placed.layout.offsets, strict=True):
                    ops[index].set_place((number, start + offset))
                sizes[number] = max(start + placed.size, sizes.get(number, 0))
                bounds[number] = max(start + placed.bound, bounds.get(number, 0))
        arena_numbers = range(1, max(sizes, default=0) + 1)
        plan.set_arena_sizes(
            [sizes.get(arena, 0) for arena in arena_numbers],
            [bounds.get(arena, 0) for arena in arena_numbers]
            if self.algorithm == "exact" and order is None
            else None,
        )

    def _by_order(
        self, order: ChainTimes, liveness: Liveness, ops: Sequence[MemoryRegisterOp], by_time: Plan
    ) -> Plan:
        """The smaller of a layout of intervals and one by the order of chains. Raises `PassFailedException` where one
        lets registers share memory that chains may need at the same time.
        """
        buffers = [
            ChainBuffer(
                register_size(op), alignment_of(op, self.alignment), order.times(liveness.needed(op.result))
            )
            for op in ops
        ]
        layout = place_by_order(buffers, order.before)
        if by_time.size <= layout.size:
            layout = by_time.layout
        if self.check and order_problems(buffers, layout.offsets, order.before):
            raise PassFailedException("plan-memory: invalid layout: chains share memory at the same time")
        return Plan(layout, 0)

    def _layout(self, buffers: Sequence[Buffer]) -> Plan:
        try:
            return run_planner(self.algorithm, buffers, self.budget, self.slack)
        except PlannerError as error:
            raise PassFailedException(f"plan-memory: {error}") from error

    def _plan_banks(
        self,
        plan: PlanOp,
        banks: Sequence[Bank],
        shared: SharedState | None,
        ops: Sequence[MemoryRegisterOp],
        buffers: Sequence[Buffer],
    ) -> list[tuple[int, int, Sequence[int], Plan]]:
        """Of each bank that holds something its arena, the byte it begins at, the registers and their layout."""
        starts = [0 if shared is None else shared.sizes.get(bank.memory_id, 0) for bank in banks]
        free = [
            bank if bank.capacity is None else replace(bank, capacity=max(bank.capacity - start, 0))
            for bank, start in zip(banks, starts, strict=True)
        ]
        names = [bank.name for bank in banks]
        pinned = {
            index: names.index(name) for index, op in enumerate(ops) if (name := bank_of(op)) is not None
        }
        try:
            assigned = assign_banks(buffers, [_uses(op.result) for op in ops], free, pinned)
        except Infeasible as error:
            raise infeasible(error, plan.sym_name.data, ops, buffers) from None
        made: list[tuple[int, int, Sequence[int], Plan]] = []
        for bank, start, members, layout in zip(
            free, starts, assigned.members, assigned.layouts, strict=True
        ):
            if not members:
                continue
            held = [buffers[index] for index in members]
            placed = self._layout(held)
            if bank.capacity is not None and placed.size > bank.capacity:
                placed = plan_of(held, layout)
            made.append((bank.memory_id, start, members, placed))
        return made

    def _callers(self, plans: Sequence[PlanOp]) -> frozenset[SSAValue]:
        """The registers that `caller` names. Raises `PassFailedException` where it names none."""
        found: set[SSAValue] = set()
        for wanted in self.caller:
            match = SELECTOR.fullmatch(wanted)
            try:
                if match is not None and match["group"] is not None:
                    raise SelectorError(f"{wanted!r}: only inputs and outputs can be caller-owned")
                found.update(select(plans, wanted))
            except SelectorError as error:
                raise PassFailedException(f"plan-memory: caller: {error}") from None
        return frozenset(found)

    def _pin(self, plans: Sequence[PlanOp]) -> None:
        """Say of registers which bank `pin` wants them in. Raises `PassFailedException` where it names none."""
        for wanted in self.pin:
            selector, equals, bank = wanted.rpartition("=")
            if not equals or not bank:
                raise PassFailedException(
                    f"plan-memory: pin: {wanted!r}: expected the form forward.inputs.0=sram"
                )
            try:
                registers = select(plans, selector)
            except SelectorError as error:
                raise PassFailedException(f"plan-memory: pin: {error}") from None
            for register in registers:
                op = root_of(register).owner
                assert isinstance(op, RegisterOp)
                # Of several, numbers and constants are left out; of one it is an error that it has no place.
                placed = isinstance(op, MemoryRegisterOp) and not (
                    isinstance(op, InputOp) and op.value is not None
                )
                if placed or len(registers) == 1:
                    op.attributes[BANK] = StringAttr(bank)

    def _unplanned(self, plan: PlanOp, callers: frozenset[SSAValue]) -> set[MemoryRegisterOp]:
        """Registers that get no place: numbers, what grows at run time, and what the caller gives."""
        unplanned: set[MemoryRegisterOp] = set()
        outputs = set(plan.return_op.outputs)
        for op in plan.registers:
            caller = op.result in callers or given_by_caller(op)
            if isinstance(op, InputOp):
                grows = op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
                if op.value is not None or op.aliased is not None or grows or caller or not self.plan_inputs:
                    unplanned.add(op)
            elif isinstance(op, AllocOp) and (
                op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
                or ((caller or not self.plan_outputs) and op.result in outputs and not _is_viewed(op.result))
            ):
                unplanned.add(op)
        return unplanned


def _check_requests(problems: Iterable[Diagnostic]) -> None:
    PassReport.raise_if("plan-memory: unsatisfiable placement", list(problems))


def _drop_unused(plan: PlanOp) -> None:
    """Erase registers that nothing uses; inputs stay, they are the method's signature."""
    for op in reversed(plan.registers):
        if not isinstance(op, InputOp) and op.result.first_use is None:
            op.detach()
            op.erase()


def _make_reference(op: MemoryRegisterOp) -> None:
    """A tensor that only ever refers to the memory of others needs none of its own."""
    if (
        not isinstance(op, AllocOp)
        or op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
        or _is_viewed(op.result)
    ):
        return
    reference = ReferenceOp(op.type, dynamism=op.dynamism)
    reference.location = op.location
    reference.result.name_hint = op.result.name_hint
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(reference, op)
    op.result.replace_all_uses_with(reference.result)
    op.detach()
    op.erase()


def _arena(op: MemoryRegisterOp) -> int:
    """The arena of a register: tensors on another device keep theirs."""
    place = op.place
    return place[0] if place is not None and "device" in op.properties else ACTIVATIONS


def _uses(register: SSAValue) -> int:
    """The number of reads and writes of a register's memory by instructions and the caller, through views too."""
    return isinstance(register.owner, InputOp) + sum(
        _uses(use.operation.result) if isinstance(use.operation, ViewOp) else 1 for use in register.uses
    )


def _is_viewed(register: SSAValue) -> bool:
    return any(isinstance(use.operation, ViewOp) for use in register.uses)


def _view_at_run_time(plan: PlanOp, unplanned: set[MemoryRegisterOp]) -> None:
    """Views of inputs that the caller gives memory for can only be made when it is there."""
    # A view of a view is found before what it is a view of becomes a reference.
    views = [(op, extent_of(op.result)) for op in plan.registers if isinstance(op, ViewOp)]
    for op, place in views:
        source = place.root.owner
        if not isinstance(source, InputOp) or source not in unplanned:
            continue
        if place.first:
            raise PassFailedException("plan-memory: a view into an input needs planned inputs")
        reference = ReferenceOp(op.type, dynamism=op.dynamism)
        reference.result.name_hint = op.result.name_hint
        sizes = ListValue(ListKind.INTS, tuple(cast("Sequence[int]", op.type.get_shape())))
        call = KernelCallOp(ET_VIEW, [source.result, sizes], returns=[reference.result])
        made = any(_views_at_run_time(use.operation, op.result) for use in op.result.uses)
        block = op.parent_block()
        assert block is not None
        for new in (reference,) if made else (reference, call):
            new.location = op.location
            block.insert_op_before(new, op)
        op.result.replace_all_uses_with(reference.result)
        op.detach()
        op.erase()


def _views_at_run_time(op: Operation, register: SSAValue) -> bool:
    return isinstance(op, KernelCallOp) and op.key == ET_VIEW and register in op.returned
