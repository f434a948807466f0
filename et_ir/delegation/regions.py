"""From tags to regions: the ops of each tag move into a `backend.partition`.

What a partition reads that is no result of another op, it reads by itself: constants are copied into it, and so is what
tells a size. Everything else comes in as an argument. A block is put into an order in which each partition stands
behind what it needs; where there is none, the partitions are not convex, and the report says which ops go round.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from et_ir.delegation.dependences import Dependences, is_copied, is_statement, outer_operands
from et_ir.delegation.specs import DelegationSpec
from et_ir.delegation.tags import clear_tags, tag_of
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.backend import PartitionOp, YieldOp
from et_ir.dialects.backend.attributes import DELEGATION_TAG
from et_ir.dialects.program import RangeOp

__all__ = ["PartitionError", "form_partitions"]


class PartitionError(PassReport):
    """An impossible request of a partitioner."""


def form_partitions(method: FuncOp, specs: Mapping[str, DelegationSpec]) -> list[PartitionOp]:
    """Make a partition of the ops of each tag, in the method's block and in those of its control flow.

    Removes the tags. Raises `PartitionError` before anything changes: for a tag that `specs` does not have
    (`partition_t1`), one in several blocks (`partition_t2`), on a constant, a statement or the end of a block
    (`partition_t3`), and for partitions that are not convex (`partition_t4`).
    """
    blocks = _tagged_blocks(method)
    findings: list[Diagnostic] = []
    home: dict[str, Block] = {}
    for block, tagged in blocks:
        for name, ops in tagged.items():
            if name not in specs:
                message = f"[partition_t1] the tag '{name}' has no delegation spec"
                findings.append(diagnose(ops[0], message, "add it to PartitionResult.partition_tags"))
            if home.setdefault(name, block) is not block:
                message = f"[partition_t2] the tag '{name}' occurs in another block as well"
                findings.append(diagnose(ops[0], message, "use a separate tag for the ops of each block"))
            for op in ops:
                if is_copied(op) or is_statement(op) or op is block.last_op:
                    message = f"[partition_t3] is tagged '{name}', but cannot be in a partition"
                    fix = "tag only ops that compute: partitions read constants and sizes themselves"
                    findings.append(diagnose(op, message, fix))
    PartitionError.raise_if("invalid partitions", findings)
    orders = [_Order(block, tagged) for block, tagged in blocks]
    findings = [order.circle for order in orders if order.circle is not None]
    PartitionError.raise_if("invalid partitions", findings)
    copied = [op for op in method.walk() if is_copied(op) and op.results[0].first_use is not None]
    made = [op for order in orders for op in order.apply(specs)]
    _drop_unused(copied)
    clear_tags(method)
    return made


def _drop_unused(copied: Sequence[Operation]) -> None:
    """Erase what only partitions used, which have copies of it. What is said of a number stays: it holds outside."""
    for op in reversed(copied):
        if op.results[0].first_use is None:
            block = op.parent_block()
            assert block is not None
            block.erase_op(op)


def _tagged_blocks(method: FuncOp) -> list[tuple[Block, dict[str, list[Operation]]]]:
    """The blocks with tagged ops, outer ones first; what is in a tagged op goes with it."""
    found: list[tuple[Block, dict[str, list[Operation]]]] = []
    pending = [block for region in method.regions for block in region.blocks]
    while pending:
        block = pending.pop(0)
        tagged: dict[str, list[Operation]] = {}
        for op in block.ops:
            name = tag_of(op)
            if name is not None:
                tagged.setdefault(name, []).append(op)
            elif not isinstance(op, PartitionOp):
                pending.extend(inner for region in op.regions for inner in region.blocks)
        if tagged:
            found.append((block, tagged))
    return found


class _Order:
    """An order of the ops of a block in which those of a partition stand together."""

    def __init__(self, block: Block, tagged: Mapping[str, Sequence[Operation]]):
        self.block = block
        self.tagged = tagged
        graph = Dependences(block)
        unit = [tag_of(op) or number for number, op in enumerate(graph.ops)]
        first: dict[str | int, int] = {}
        for number, one in enumerate(unit):
            first.setdefault(one, number)
        needs: dict[str | int, set[str | int]] = {one: set() for one in first}
        users: dict[str | int, set[str | int]] = {one: set() for one in first}
        for number, one in enumerate(unit):
            for other in (unit[before] for before in graph.before[number]):
                if other != one:
                    needs[one].add(other)
                    users[other].add(one)
        missing = {one: len(others) for one, others in needs.items()}
        ready = [(first[one], one) for one, count in missing.items() if not count]
        heapq.heapify(ready)
        self.units: list[str | int] = []
        while ready:
            one = heapq.heappop(ready)[1]
            self.units.append(one)
            for other in users[one]:
                missing[other] -= 1
                if not missing[other]:
                    heapq.heappush(ready, (first[other], other))
        self.ops = graph.ops
        self.first = first
        left = {one for one, count in missing.items() if count}
        self.circle = self._circle(left, needs) if left else None

    def _circle(self, left: set[str | int], needs: Mapping[str | int, set[str | int]]) -> Diagnostic:
        one = min(left, key=self.first.__getitem__)
        path: list[str | int] = []
        while one not in path:
            path.append(one)
            one = min(needs[one] & left, key=self.first.__getitem__)
        path = path[path.index(one) :]
        # Ops alone go round nowhere.
        tag = next(step for step in path if isinstance(step, str))
        at = path.index(tag)
        names = [self._say(step) for step in (*path[at:], *path[:at], tag)]
        message = f"[partition_t4] {' needs '.join(names)}: the partition is not convex"
        fix = "exclude one of these ops, or derive from CapabilityPartitioner, whose partitions are convex"
        return diagnose(self.tagged[tag][0], message, fix)

    def _say(self, unit: str | int) -> str:
        if isinstance(unit, str):
            return f"the partition '{unit}'"
        op = self.ops[unit]
        hint = op.results[0].name_hint if op.results else None
        return f"'{op.name}'" + (f" (%{hint})" if hint else "")

    def apply(self, specs: Mapping[str, DelegationSpec]) -> list[PartitionOp]:
        """Reorder the block, and make the partitions."""
        block, last = self.block, self.block.last_op
        assert last is not None
        ops = [op for op in block.ops if op is not last]
        copied = [op for op in ops if is_copied(op)]
        for op in ops:
            op.detach()
        placer = _Placer(block, last)
        for op in copied:
            if not op.operands:
                placer.place(op)
        made: list[PartitionOp] = []
        for unit in self.units:
            if isinstance(unit, int):
                placer.place(self.ops[unit])
            else:
                made.append(_Body(self.tagged[unit], specs[unit]).partition)
                placer.place(made[-1])
        for op in ops:
            if op.parent is None and (is_copied(op) or is_statement(op)):
                placer.place(op)
        return made


class _Placer:
    """Puts ops into a block, at its end, behind the sizes and constants they use."""

    def __init__(self, block: Block, last: Operation):
        self.block = block
        self.last = last

    def place(self, op: Operation) -> None:
        """Place an op that has no place yet."""
        waiting = [op]
        while waiting:
            current = waiting[-1]
            if current.parent is not None:
                waiting.pop()
                continue
            needed = [
                owner
                for value in outer_operands(current)
                if isinstance(owner := value.owner, Operation) and owner.parent is None and is_copied(owner)
            ]
            if needed:
                waiting.extend(needed)
                continue
            waiting.pop()
            self.block.insert_op_before(current, self.last)
            for result in current.results:
                waiting.extend(
                    use.operation
                    for use in result.uses
                    if is_statement(use.operation) and use.operation.parent is None
                )


class _Body:
    """The region of a partition, made of detached ops."""

    def __init__(self, ops: Sequence[Operation], spec: DelegationSpec):
        inside = set(ops)
        self.block = Block()
        self.values: dict[SSAValue, SSAValue] = {}
        """Block argument for a value from outside the region."""
        self.inputs: list[SSAValue] = []
        self._stated: set[Operation] = set()
        results = [result for op in ops for result in op.results if _is_used_outside(result, inside)]
        for op in ops:
            self._adopt(op, inside)
            op.attributes.pop(DELEGATION_TAG, None)
            self.block.add_op(op)
        specs = [one.attribute for one in spec.compile_specs]
        self.partition = PartitionOp(
            spec.backend_id, specs, self.inputs, [result.type for result in results], Region(self.block)
        )
        self.partition.location = ops[0].location
        for result, output in zip(results, self.partition.outputs, strict=True):
            output.name_hint = result.name_hint
            result.replace_uses_with_if(output, lambda use: not self.partition.is_ancestor(use.operation))
        self.block.add_op(YieldOp(results))

    def _adopt(self, op: Operation, inside: set[Operation]) -> None:
        """Make an op, and what is in its regions, use what there is in the partition."""
        for inner in op.walk():
            for index, value in enumerate(inner.operands):
                owner = value.owner
                if owner in inside or op.is_ancestor(owner) or _root(owner, inside):
                    continue
                inner.operands[index] = self._inside(value, inside)

    def _inside(self, value: SSAValue, inside: set[Operation]) -> SSAValue:
        found = self.values.get(value)
        if found is not None:
            return found
        owner = value.owner
        if isinstance(owner, Operation) and owner in inside:
            return value
        if isinstance(owner, Operation) and is_copied(owner):
            copy = owner.clone()
            for index, operand in enumerate(owner.operands):
                copy.operands[index] = self._inside(operand, inside)
            self.block.add_op(copy)
            for old, new in zip(owner.results, copy.results, strict=True):
                self.values[old] = new
                new.name_hint = old.name_hint
            self._state(value)
            return self.values[value]
        argument = self.block.insert_arg(value.type, len(self.block.args))
        argument.name_hint = value.name_hint
        self.values[value] = argument
        self.inputs.append(value)
        return argument

    def _state(self, value: SSAValue) -> None:
        """Say of a copied number what is said of it outside."""
        for use in list(value.uses):
            if isinstance(use.operation, RangeOp) and use.operation not in self._stated:
                self._stated.add(use.operation)
                copy = RangeOp(self.values[value], use.operation.least, use.operation.most)
                copy.location = use.operation.location
                self.block.add_op(copy)


def _root(owner: Operation | Block, inside: set[Operation]) -> bool:
    """Whether something is in a region of one of a set of ops."""
    at: Operation | None = owner if isinstance(owner, Operation) else owner.parent_op()
    while at is not None:
        if at in inside:
            return True
        at = at.parent_op()
    return False


def _is_used_outside(value: SSAValue, inside: set[Operation]) -> bool:
    """Whether a value is used outside of a set of ops, by more than what only computes sizes for these."""
    for use in value.uses:
        op = use.operation
        if is_copied(op):
            if any(_is_used_outside(result, inside) for result in op.results):
                return True
        elif not _root(op, inside):
            return True
    return False
