"""Give every register a place in an arena, such that none shares memory with another while both are needed.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.dialects.executorch import (
    AllocOp,
    InputOp,
    KernelCallOp,
    ListKind,
    ListValue,
    MemoryRegisterOp,
    PlanOp,
    ReferenceOp,
    StateOp,
    TensorRegisterOp,
    ViewOp,
)
from et_ir.dialects.executorch.layout import nbytes
from et_ir.dialects.executorch.operators import ET_VIEW
from et_ir.passes.register_liveness import Liveness, root_of
from et_ir.passes.report import Finding, PassReport
from et_ir.planning import Buffer, align_up, layout_problems
from et_ir.planning.planners import PlannerError, find_planner, run_planner
from et_schema.generated.program import TensorShapeDynamism

__all__ = ["ACTIVATIONS", "STATE", "InfeasibleMemory", "PlanMemoryPass"]

ACTIVATIONS: Final = 1
"""The arena of activations, inputs and outputs."""
STATE: Final = 2
"""The arena of state in programs of several methods."""
LARGEST_ARENA: Final = 2**63 - 1
"""The size of an arena is a signed number of 64 bits in a file."""


class InfeasibleMemory(PassReport):
    """There is no arena that what a method needs at once fits into."""

    exit_code = 6


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Give every register a place in an arena.

    `algorithm` is `greedy`; `naive`; `upstream`, the stock compiler's; `exact`; `best`, which is greedy and a short
    search where that is not proven to be the smallest; one that is installed; or `"module:function"`. A search has
    `budget` nodes. `exact` notes in `bounds` what no arena can be smaller than. `alignment` in bytes; without
    `plan-inputs` inputs point at the caller's memory, without `plan-outputs` the caller gives that of outputs;
    `check` has the result checked by code that the planners do not share.
    """

    name = "plan-memory"

    algorithm: str = "best"
    alignment: int = 16
    plan_inputs: bool = True
    plan_outputs: bool = True
    check: bool = False
    budget: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise PassFailedException(
                f"plan-memory: an alignment of {self.alignment} bytes is no power of two"
            )
        try:
            find_planner(self.algorithm)
        except PlannerError as error:
            raise PassFailedException(f"plan-memory: {error}") from None
        plans = [plan for plan in op.body.block.ops if isinstance(plan, PlanOp)]
        for plan in plans:
            _drop_unused(plan)
        shared = _SharedState(plans, self.alignment) if len(plans) > 1 else None
        for plan in plans:
            self._plan(plan, shared)

    def _plan(self, plan: PlanOp, shared: _SharedState | None) -> None:
        unplanned = self._unplanned(plan)
        _view_at_run_time(plan, unplanned)
        liveness = Liveness(plan)
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
                op.set_place((STATE, shared.offsets[op.key]))
                sizes[STATE] = bounds[STATE] = shared.size
                continue
            buffer = Buffer(_size(op), interval.first, interval.last, self.alignment)
            arenas.setdefault(arena, []).append((op, buffer))
        for arena, entries in arenas.items():
            buffers = [buffer for _, buffer in entries]
            try:
                made = run_planner(self.algorithm, buffers, self.budget)
            except PlannerError as error:
                raise PassFailedException(f"plan-memory: {error}") from None
            layout = made.layout
            _check_size(arena, layout.size, [op for op, _ in entries])
            if self.check:
                problems = layout_problems(buffers, layout)
                if problems:
                    raise PassFailedException("plan-memory: the layout is wrong: " + "; ".join(problems))
            for (op, _), offset in zip(entries, layout.offsets, strict=True):
                op.set_place((arena, offset))
            sizes[arena] = max(layout.size, sizes.get(arena, 0))
            bounds[arena] = max(made.bound, bounds.get(arena, 0))
        arena_numbers = range(1, max(sizes, default=0) + 1)
        plan.set_arena_sizes(
            [sizes.get(arena, 0) for arena in arena_numbers],
            [bounds.get(arena, 0) for arena in arena_numbers] if self.algorithm == "exact" else None,
        )

    def _unplanned(self, plan: PlanOp) -> set[MemoryRegisterOp]:
        """Registers that get no place: numbers, what grows at run time, and what the caller gives."""
        unplanned: set[MemoryRegisterOp] = set()
        outputs = set(plan.return_op.outputs)
        for op in plan.registers:
            if isinstance(op, InputOp):
                grows = op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
                if op.value is not None or op.aliased is not None or grows or not self.plan_inputs:
                    unplanned.add(op)
            elif isinstance(op, AllocOp) and (
                op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND
                or (not self.plan_outputs and op.result in outputs and not _is_viewed(op.result))
            ):
                unplanned.add(op)
        return unplanned


class _SharedState:
    """Where the state of several methods lies in the arena that they share."""

    def __init__(self, plans: Sequence[PlanOp], alignment: int):
        self.offsets: dict[str, int] = {}
        self.size = 0
        states: list[MemoryRegisterOp] = []
        for plan in plans:
            for op in plan.registers:
                if isinstance(op, StateOp) and op.key not in self.offsets:
                    states.append(op)
                    self.offsets[op.key] = self.size
                    self.size = align_up(self.size + nbytes(op.type), alignment)
        _check_size(STATE, self.size, states)


def _check_size(arena: int, size: int, ops: Sequence[MemoryRegisterOp]) -> None:
    """Raise `InfeasibleMemory`, at the largest of the registers in an arena, if a file cannot say how large it is."""
    if size > LARGEST_ARENA:
        largest = max(ops, key=_size)
        message = f"arena {arena} needs {size} bytes, {_size(largest)} of them for this {largest.result.type}"
        fix = f"an arena has at most {LARGEST_ARENA} bytes: compile the program for smaller inputs"
        raise InfeasibleMemory("plan-memory: too large", [Finding.at(largest, message, fix)])


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


def _size(op: MemoryRegisterOp) -> int:
    assert isinstance(op, TensorRegisterOp | InputOp)
    return nbytes(op.type)


def _is_viewed(register: SSAValue) -> bool:
    return any(isinstance(use.operation, ViewOp) for use in register.uses)


def _view_at_run_time(plan: PlanOp, unplanned: set[MemoryRegisterOp]) -> None:
    """Views of inputs that the caller gives memory for can only be made when it is there."""
    for op in plan.registers:
        if not isinstance(op, ViewOp):
            continue
        source = root_of(op.result).owner
        if not isinstance(source, InputOp) or source not in unplanned:
            continue
        if op.first_byte:
            raise PassFailedException("plan-memory: a view of a part of an input needs planned inputs")
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
