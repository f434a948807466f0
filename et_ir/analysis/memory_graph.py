"""Arena demand of a block as a graph of tasks and storages.

Memory is shared as it will be planned: views have the memory of what they view, kernels of the target write over an
argument that nothing needs any more, and what is concatenated along the outermost dimension is computed in its place.
Constants and state have memory of their own, and what is computed at run time only is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod
from typing import Final, cast

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from et_ir.dialects.edge import EdgeOp
from et_ir.dialects.edge import ops as edge
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.program import GetOp, LoadOp
from et_ir.dialects.program.attributes import item_size
from et_ir.dialects.schema.tensors import is_static, is_tensor, tensor_type
from et_ir.planning.tasks import OrderProblem, Storage, needs_of, peak_of
from et_ir.targets.lookup import find_target

__all__ = ["MemoryGraph", "bytes_of_value"]

ALIGNMENT: Final = 16
"""Bytes that sizes are rounded up to, as places in an arena are."""

RESHAPES: Final = (
    edge.ViewCopyOp,
    edge.SqueezeCopyDimOp,
    edge.SqueezeCopyDimsOp,
    edge.UnsqueezeCopyOp,
)
PARTS: Final = (edge.SliceCopyTensorOp, edge.SelectCopyIntOp)


def bytes_of_value(value: SSAValue) -> int:
    """The bytes of a tensor of known size, 0 for anything else."""
    type = value.type
    if not is_tensor(type):
        return 0
    shape = type.get_shape()
    return prod(shape) * item_size(type.element_type) if min(shape, default=0) >= 0 else 0


class MemoryGraph:
    """The tasks of a block: its ops but its end and reads of constants."""

    def __init__(self, block: Block, target: str):
        self.block = block
        self.table = find_target(target).in_place
        self.tasks = [op for op in block.ops if not _is_free(op)]
        self.number = {op: index for index, op in enumerate(self.tasks)}
        self.roots: dict[SSAValue, SSAValue] = {}
        """For a view what it is a view of."""
        self.users: dict[SSAValue, list[int]] = {}
        """The tasks that use the memory of each value with memory of its own."""
        self.returned: set[SSAValue] = set()
        self._sizes: dict[SSAValue, int] = {}
        for op in block.ops:
            viewed = _viewed(op)
            if viewed is not None and self._is_local(viewed):
                self.roots[op.results[0]] = self.root(viewed)
            for value in _used(op):
                if self._is_local(value):
                    root = self.root(value)
                    if op in self.number:
                        self.users.setdefault(root, []).append(self.number[op])
                    else:
                        self.returned.add(root)

    def root(self, value: SSAValue) -> SSAValue:
        return self.roots.get(value, value)

    def _is_local(self, value: SSAValue) -> bool:
        """Whether the block itself makes a value: what it takes from around it is there anyway."""
        owner = value.owner
        return owner is self.block or (isinstance(owner, Operation) and owner.parent is self.block)

    @cached_property
    def copied(self) -> OrderProblem:
        """The order of tasks as a problem of storages; what is concatenated is copied."""
        return self._problem()

    @cached_property
    def concatenated(self) -> OrderProblem:
        """The order of tasks as a problem of storages; what is concatenated is computed in its place."""
        concatenations = [op for op in self.tasks if isinstance(op, edge.CatOp) and _is_outermost(op)]
        return self._problem(concatenations) if concatenations else self.copied

    @property
    def peak(self) -> int:
        """The bytes that the tasks need at once, in the order that they are in."""
        return min(peak_of(problem, range(problem.count)) for problem in (self.copied, self.concatenated))

    @cached_property
    def needs(self) -> list[int]:
        """The bytes that are needed while each task runs, in the order that they are in."""
        return needs_of(self.copied, range(len(self.tasks)))

    def ends_at(self, value: SSAValue, op: Operation) -> bool:
        """Whether the memory of a value that is the block's own is needed by a task for the last time."""
        root = self.root(value)
        own = root.owner is self.block or self._is_made(root)
        return own and root not in self.returned and self.users[root][-1] == self.number[op]

    def _problem(self, concatenations: Sequence[edge.CatOp] = ()) -> OrderProblem:
        merged = _Merged()
        replaces: dict[int, tuple[SSAValue, list[SSAValue]]] = {}
        for index, over in self._overwritable.items():
            op = self.tasks[index]
            alone = [root for root in over if set(self.users[root]) == {index} and root not in self.returned]
            if alone:
                merged.join(op.results[0], alone[0])
            else:
                replaces[index] = (op.results[0], over)
        for op in concatenations:
            self._concatenate(op, merged)
        return self._storages(merged, replaces)

    @cached_property
    def _overwritable(self) -> dict[int, list[SSAValue]]:
        """For each task whose kernel may write its result over operands the memory of these."""
        found = {
            index: [self.root(value) for value in self._replaceable(op)]
            for index, op in enumerate(self.tasks)
        }
        return {index: over for index, over in found.items() if over}

    def _size(self, value: SSAValue) -> int:
        """The bytes of a value."""
        size = self._sizes.get(value)
        if size is None:
            size = self._sizes[value] = bytes_of_value(value)
        return size

    def _replaceable(self, op: Operation) -> list[SSAValue]:
        """The operands that the kernel of an op may write its result over."""
        if not isinstance(op, EdgeOp) or op.operator.out is None or not op.results:
            return []
        allowed = self.table.get(op.operator.kernel, frozenset())
        found: list[SSAValue] = []
        for arg in op.operator.out.args:
            value: object = op.arg(arg.name) if arg.name in allowed else None
            if isinstance(value, SSAValue):
                operand = cast("SSAValue[Attribute]", value)
                if operand.type == op.results[0].type and self._is_made(self.root(operand)):
                    found.append(operand)
        return found

    def _is_made(self, root: SSAValue) -> bool:
        """Whether a task makes a value, in memory of the arena."""
        owner = root.owner
        return isinstance(owner, Operation) and owner in self.number and not isinstance(owner, LoadOp)

    def _concatenate(self, op: edge.CatOp, merged: _Merged) -> None:
        whole = op.results[0]
        roots = [self.root(value) for value in op.operands]
        uses = Counter(roots)
        for value, root in zip(op.operands, roots, strict=True):
            complete = bytes_of_value(value) == bytes_of_value(root)
            if (
                self._is_made(root)
                and complete
                and uses[root] == 1
                and merged.size(root) < bytes_of_value(whole)
            ):
                merged.join(whole, root)

    def _storages(
        self, merged: _Merged, replaces: dict[int, tuple[SSAValue, list[SSAValue]]]
    ) -> OrderProblem:
        members: dict[SSAValue, list[SSAValue]] = {}
        made = (result for op in self.tasks if not isinstance(op, LoadOp) for result in op.results)
        for value in (*self.block.args, *made):
            if value not in self.roots and self._size(value):
                members.setdefault(merged.of(value), []).append(value)
        numbers: dict[SSAValue, int] = {}
        storages: list[Storage] = []
        for values in members.values():
            writers = {self.number[v.owner] for v in values if isinstance(v.owner, Operation)}
            users = {task for value in values for task in self.users.get(value, ())}
            size = max(map(self._size, values))
            numbers.update(dict.fromkeys(values, len(storages)))
            storages.append(
                Storage(
                    -(-size // ALIGNMENT) * ALIGNMENT,
                    frozenset(writers),
                    frozenset(users),
                    initial=not writers,
                    kept=any(value in self.returned for value in values),
                )
            )
        over = {
            task: (numbers[result], [numbers[root] for root in roots if root in numbers])
            for task, (result, roots) in replaces.items()
            if result in numbers
        }
        return OrderProblem(len(self.tasks), self._after, storages, over)

    @cached_property
    def _after(self) -> list[list[int]]:
        """The tasks that each comes after: what makes its operands, and for one with effects the one before."""
        after: list[list[int]] = []
        effect = -1
        for index, op in enumerate(self.tasks):
            before = [
                self.number[value.owner]
                for value in _used(op)
                if isinstance(value.owner, Operation) and value.owner in self.number
            ]
            if not op.has_trait(Pure):
                if effect >= 0:
                    before.append(effect)
                effect = index
            after.append(before)
        return after

    def run_in(self, order: Sequence[int]) -> None:
        """Put the tasks in an order, and reads of constants before their first use."""
        end = self.block.last_op
        assert end is not None
        placed: set[Operation] = set()

        def place(op: Operation) -> None:
            if op in placed or op is end:
                return
            placed.add(op)
            for value in _used(op):
                owner = value.owner
                if isinstance(owner, Operation) and owner.parent is self.block and owner not in self.number:
                    place(owner)
            op.detach()
            self.block.insert_op_before(op, end)

        for index in order:
            place(self.tasks[index])


class _Merged:
    """Values that have one memory."""

    def __init__(self) -> None:
        self.leaders: dict[SSAValue, SSAValue] = {}
        self.sizes: dict[SSAValue, int] = {}

    def of(self, value: SSAValue) -> SSAValue:
        leader = value
        while leader in self.leaders:
            leader = self.leaders[leader]
        while value in self.leaders:  # next time it takes one step
            self.leaders[value], value = leader, self.leaders[value]
        return leader

    def size(self, value: SSAValue) -> int:
        leader = self.of(value)
        return self.sizes.get(leader, bytes_of_value(leader))

    def join(self, into: SSAValue, value: SSAValue) -> None:
        size = max(self.size(into), self.size(value))
        leader, other = self.of(into), self.of(value)
        if leader is not other:
            self.leaders[other] = leader
            self.sizes[leader] = size


def _is_free(op: Operation) -> bool:
    """Whether an op needs no memory whenever it runs: what makes no tensor of the plan's, and ends."""
    if isinstance(op, GetOp) or op.has_trait(IsTerminator):
        return True
    return (
        not op.operands and not op.regions and op.has_trait(Pure) and not any(map(bytes_of_value, op.results))
    )


def _used(op: Operation) -> Iterable[SSAValue]:
    """Operands of an op, including those used in its regions."""
    for inner in op.walk() if op.regions else (op,):
        yield from inner.operands


def _viewed(op: Operation) -> SSAValue | None:
    """The base of the view that the result of an op will be, `None` for one with memory of its own."""
    if not isinstance(op, EdgeOp) or len(op.results) != 1 or not op.operands:
        return None
    source, result = op.operands[0], op.results[0]
    if not _is_contiguous(source) or not _is_contiguous(result):
        return None
    if isinstance(op, RESHAPES):
        return source
    if not isinstance(op, PARTS):
        return None
    shape = tensor_type(source).get_shape()
    if any(size != 1 for size in shape[: op.dim % len(shape)]):
        return None
    if isinstance(op, edge.SelectCopyIntOp):
        return source if isinstance(op.index, int) else None
    return source if op.step == 1 and isinstance(op.start, int | None) else None


def _is_contiguous(value: SSAValue) -> bool:
    type = value.type
    return is_tensor(type) and is_static(type) and dim_order_of(type) == contiguous(type.get_num_dims())


def _is_outermost(op: edge.CatOp) -> bool:
    """Whether the parts of a concatenation lie one behind the other."""
    type = tensor_type(op.results[0])
    if not is_static(type) or not type.get_num_dims():
        return False
    order, shape = dim_order_of(type), type.get_shape()
    return all(shape[dim] == 1 for dim in order[: order.index(op.dim % len(order))])
