"""Cut plans into chains that may run concurrently.

Instructions are put on `threads` processors by a list schedule (`et_ir.planning.list_schedule`) that takes each for as
long as the target's table of costs says, and `synchronization` for handing over from one processor to another. What one
does between two such places is a chain:

```mlir
executorch.kernel_call "aten::mm.out"(%x, %v) outs(%a)
executorch.kernel_call "aten::mm.out"(%x, %w) outs(%b)
executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)
```

becomes

```mlir
executorch.chain() outs(%a)
executorch.kernel_call "aten::mm.out"(%x, %v) outs(%a)
executorch.chain() outs(%b)
executorch.kernel_call "aten::mm.out"(%x, %w) outs(%b)
executorch.chain(%a, %b) outs(%r)
executorch.kernel_call "aten::add.out"(%a, %b, 1) outs(%r)
```

unless the schedule takes more than `gain` hundredths of what the instructions take one after the other. Two
instructions of which one writes what the other touches stay in their order: in a chain, or in two of which one waits
for the other (`et_ir.analysis.chains`). So the order of the chains in the text, which is the one in time for runtimes
that have no threads for them, computes the same.

It runs before `plan-memory`, which lets registers share memory where an order of chains separates them; if memory is
planned already, the places stay, and order what shares them. A plan with jumps, or with tensors that get their memory
at run time, stays one chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from et_ir.analysis.chains import Touch, Touches
from et_ir.analysis.work_span import seconds_of, work_and_span
from et_ir.dialects.executorch import AllocOp, ChainOp, Instruction, PlanOp, ReturnOp
from et_ir.passes.plans import plans_of
from et_ir.planning.list_schedule import list_schedule
from et_ir.targets.lookup import DEFAULT
from et_ir.targets.rewriting import target_of
from et_schema.program import TensorShapeDynamism

__all__ = ["FormChainsPass", "dependences"]


@dataclass(frozen=True)
class FormChainsPass(ModulePass):
    """Cut plans into chains that may run concurrently."""

    name = "form-chains"

    threads: int = 2
    """The number of processors that chains are formed for."""
    synchronization: int = 20
    """What handing over from one processor to another takes, in microseconds."""
    gain: int = 90
    """The most that the schedule may take of what one processor does, in hundredths."""
    target: str = DEFAULT
    """The runtime whose table of costs counts."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.threads < 1 or self.synchronization < 0 or self.gain < 0:
            raise PassFailedException("form-chains: threads are at least 1, the other options at least 0")
        table = target_of(self).costs
        for plan in plans_of(op, self):
            if plan.chains or len(plan.blocks) > 1 or any(map(_is_unbounded, plan.registers)):
                continue
            body = [one for one in plan.instructions if not isinstance(one, ReturnOp)]
            touched = [list(Touches(plan, planned=plan.arenas is not None).of(one)) for one in body]
            waits = dependences(touched)
            costs = [seconds_of(one, table) for one in body]
            possible = work_and_span(costs, waits)
            if possible.span > possible.work * self.gain / 100:
                continue  # no schedule is shorter than the critical path
            schedule = list_schedule(costs, waits, self.threads, self.synchronization * 1e-6)
            if len(schedule.chains) > 1 and schedule.makespan <= possible.work * self.gain / 100:
                _form(plan, body, schedule.chains, waits, touched)


def _is_unbounded(op: object) -> bool:
    return isinstance(op, AllocOp) and op.dynamism == TensorShapeDynamism.DYNAMIC_UNBOUND


def dependences(touched: Sequence[Sequence[Touch]]) -> list[list[int]]:
    """The instructions that each has to wait for, of what each touches: those before it whose touches conflict with its
    own, without those that others of them wait for by writing all of the same bytes.
    """
    written = {touch.resource for touches in touched for touch in touches if touch.writes}
    last: dict[object, list[tuple[int, Touch]]] = {}
    found: list[list[int]] = []
    for index, touches in enumerate(touched):
        waits: set[int] = set()
        for touch in touches:
            if touch.resource in written:
                known = last.setdefault(touch.resource, [])
                waits.update(one for one, other in known if other.conflicts(touch))
        for touch in touches:
            if touch.resource not in written:
                continue
            known = last[touch.resource]
            if touch.writes:
                known[:] = [
                    (one, other)
                    for one, other in known
                    if other.first < touch.first or touch.end < other.end or one == index
                ]
            known.append((index, touch))
        found.append(sorted(waits - {index}))
    return found


def _form(
    plan: PlanOp,
    body: Sequence[Instruction],
    chains: Sequence[Sequence[int]],
    waits: Sequence[Sequence[int]],
    touched: Sequence[Sequence[Touch]],
) -> None:
    """Put the instructions in the order of the chains, each behind its beginning."""
    of = {index: number for number, chain in enumerate(chains) for index in chain}
    inputs: list[list[SSAValue]] = [[] for _ in chains]
    outs: list[list[SSAValue]] = [[] for _ in chains]
    returned = set(plan.return_op.outputs)
    before: list[set[int]] = []
    for number, chain in enumerate(chains):
        outs[number] += [r for index in chain for r in body[index].writes if r in returned]
        needed = sorted({of[one] for index in chain for one in waits[index]} - {number}, reverse=True)
        ended: set[int] = set()
        for other in needed:
            if other not in ended:
                handed = _handed(other, number, chains, body, waits, touched)
                outs[other] += handed
                inputs[number] += handed
                ended |= before[other] | {other}
        before.append(ended)
    block = plan.blocks[0]
    end = plan.return_op
    for register in plan.registers:
        register.detach()
        block.insert_op_before(register, body[0])
    for op in body:
        op.detach()
    for number, chain in enumerate(chains):
        beginning = ChainOp(list(dict.fromkeys(inputs[number])), list(dict.fromkeys(outs[number])))
        beginning.location = body[chain[0]].location
        block.insert_ops_before([beginning, *(body[index] for index in chain)], end)


def _handed(
    one: int,
    other: int,
    chains: Sequence[Sequence[int]],
    body: Sequence[Instruction],
    waits: Sequence[Sequence[int]],
    touched: Sequence[Sequence[Touch]],
) -> list[SSAValue]:
    """The registers of a chain that another one waits for: what it reads of them, or else any, as it waits until they
    are read.
    """
    members = set(chains[one])
    found: list[SSAValue] = []
    for index in chains[other]:
        for source in waits[index]:
            if source in members:
                found += [
                    register
                    for mine in touched[source]
                    if mine.writes
                    and (register := mine.register) is not None
                    and register in body[source].writes
                    and any(mine.conflicts(its) for its in touched[index])
                ]
    if not found:
        writes = [register for index in chains[one] for register in body[index].writes]
        found = writes[-1:] or [r for index in chains[one] for r in body[index].reads][-1:]
    return list(dict.fromkeys(found))
