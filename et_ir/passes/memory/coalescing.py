"""Coalescing of registers: several become one memory, in the text of a plan.

What may become one is for `Interference` to say; passes choose what is worth it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.analysis.aliasing import Extent, extent_of, has_exact_size, root_of, size_of
from et_ir.analysis.byte_copies import ByteCopy, copies_of, is_copy
from et_ir.analysis.interference import NOTHING, Interference, may_write_over
from et_ir.dialects.executorch import AllocOp, InputOp, KernelCallOp, PlanOp, RegisterOp, ViewOp
from et_ir.dialects.executorch.layout import Tensor, is_contiguous
from et_ir.passes.memory.read_views import read_through_views

__all__ = ["Coalescing"]


class Coalescing(Interference):
    """The interference of a plan's registers, kept up to date while some of them become one."""

    def __init__(self, plan: PlanOp, over: Mapping[str, frozenset[str]], *, planned_inputs: bool = False):
        super().__init__(plan, over)
        self.plan = plan
        self.planned_inputs = planned_inputs
        """Whether the plan has the memory of inputs that it does not write."""
        self.position: dict[Operation, int] = {op: at for at, op in enumerate(self.liveness.registers)}
        """Declarations in order."""

    def may_unite(
        self,
        one: SSAValue,
        other: SSAValue,
        first: int = 0,
        *,
        in_place: Collection[Operation] = (),
        replaced: Mapping[Operation, Sequence[ByteCopy]] = NOTHING,
    ) -> bool:
        return self._can_show(one, other, first) and super().may_unite(
            one, other, first, in_place=in_place, replaced=replaced
        )

    def _can_show(self, one: SSAValue, other: SSAValue, first: int) -> bool:
        """Whether a register and its views can be views of another from byte `first` on.

        A view of an input in the caller's memory is made at run time, of all of its elements, as what they are and in
        their order.
        """
        owner = other.owner
        if not isinstance(owner, InputOp) or (self.planned_inputs and owner.aliased is None):
            return True
        size = size_of(other)
        return first == 0 and all(
            (shown.first, shown.end) == (0, size) and _can_show_at_run_time(register.type, other.type)
            for register, shown in _views(one)
        )

    def coalesce(
        self, register: SSAValue, root: SSAValue, first: int = 0, place: SSAValue | None = None
    ) -> SSAValue:
        """Make a register that a plan allocates the bytes of another from `first` on: a view of it, or `place`, which
        shows those bytes. Returns what stands for the register then.
        """
        alloc = register.owner
        assert isinstance(alloc, AllocOp)
        self.unite(register, root, first)
        self._declare_before(root, alloc)
        if place is None or not self.is_declared_before(place, alloc):
            view = ViewOp(root, register.type, start=first, dynamism=alloc.dynamism)
            self.replace(alloc, view)
            return view.result
        register.replace_all_uses_with(place)
        erase(alloc)
        return place

    def replace(self, alloc: AllocOp, register: RegisterOp) -> None:
        """Declare another register instead of one."""
        register.location = alloc.location
        register.result.name_hint = alloc.result.name_hint
        insert_before(register, alloc)
        self.position[register] = self.position[alloc]
        alloc.result.replace_all_uses_with(register.result)
        erase(alloc)

    def is_declared_before(self, register: SSAValue, other: Operation) -> bool:
        """Whether a register is declared before another op that declares one."""
        return self.position[_owner(register)] <= self.position[other]

    def _declare_before(self, root: SSAValue, alloc: AllocOp) -> None:
        """Declare a register before another that becomes a part of it."""
        owner = _owner(root)
        if self.position[owner] > self.position[alloc]:
            owner.detach()
            insert_before(owner, alloc)
            self.position[owner] = self.position[alloc]

    def finish(self) -> None:
        """Erase calls that copy bytes to where they are, and name the result of a call that writes over an argument in
        that argument's place, and a view in that of a register whose bytes another writes: what runs a plan takes two
        registers of the same bytes for a clash.
        """
        if self.over:
            self._name_overwritten()
        for block in self.plan.blocks:
            for op in list(block.ops):
                if not is_copy(op) or len({root_of(register) for register in op.operands}) != 1:
                    continue
                copies = copies_of(op)
                # Registers of dynamic shape may differ in what their sizes are at run time.
                same = len({*op.operands}) == 1 or has_exact_size(*op.operands)
                if same and copies and all(copy.target == copy.source for copy in copies):
                    erase(op)
        read_through_views(self.plan)

    def _name_overwritten(self) -> None:
        for block in self.plan.blocks:
            for op in block.ops:
                if not isinstance(op, KernelCallOp) or op.key not in self.over or not op.outs:
                    continue
                result = op.outs[0]
                for at, argument in enumerate(op.operands):
                    if (
                        argument is not result
                        and extent_of(argument) == extent_of(result)
                        and may_write_over(op, argument, self.over)
                    ):
                        op.operands[at] = result


def insert_before(op: Operation, anchor: Operation) -> None:
    """Insert an op in front of another in its block."""
    block = anchor.parent_block()
    assert block is not None
    block.insert_op_before(op, anchor)


def erase(*ops: Operation) -> None:
    """Erase ops whose results nothing uses."""
    for op in ops:
        op.detach()
        op.erase()


def _views(register: SSAValue) -> Iterator[tuple[SSAValue, Extent]]:
    """A register, and the views of it, with the bytes that each shows."""
    yield register, extent_of(register)
    for use in register.uses:
        if isinstance(use.operation, ViewOp):
            yield from _views(use.operation.result)


def _can_show_at_run_time(view: Attribute, whole: Attribute) -> bool:
    """Whether a call can make a tensor of one type a view of all of another."""
    view, whole = cast(Tensor, view), cast(Tensor, whole)
    return view == whole or (view.element_type == whole.element_type and is_contiguous(view))


def _owner(register: SSAValue) -> Operation:
    owner = register.owner
    assert isinstance(owner, Operation)
    return owner
