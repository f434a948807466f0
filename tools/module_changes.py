"""Differences in ops between two versions of a module, for messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from et_ir.dialects.executorch import PlanOp
from et_ir.locations import node_name, place_of

__all__ = ["OpChange", "changed_ops"]


class OpChange(NamedTuple):
    """An op that only one of two versions has."""

    sign: str
    """`-` for the first version, `+` for the second."""
    op: Operation

    def __str__(self) -> str:
        return f"{self.sign} {self.op.name} at {place_of(self.op.location).source}"


def changed_ops(before: ModuleOp, after: ModuleOp) -> list[OpChange]:
    """Ops that only one version has, in program order; those that are gone first.

    Two ops are the same if they have one name, one location, equal attributes and types, and operands that come from
    the same places.
    """
    first, second = list(_ops(before)), list(_ops(after))
    known, made = Counter(map(_key, first)), Counter(map(_key, second))
    gone, new = known - made, made - known
    found = [*_taken("-", first, gone), *_taken("+", second, new)]
    # What a terminator takes is said by what came or went, unless it alone is another.
    return [one for one in found if not one.op.has_trait(IsTerminator)] or found


def _taken(sign: str, ops: list[Operation], wanted: Counter[Hashable]) -> Iterator[OpChange]:
    for op in ops:
        key = _key(op)
        if wanted[key] > 0:
            wanted[key] -= 1
            yield OpChange(sign, op)


def _ops(module: ModuleOp) -> Iterator[Operation]:
    for method in module.body.block.ops:
        if isinstance(method, FuncOp | PlanOp):
            yield from (op for op in method.walk() if op is not method)


def _key(op: Operation) -> Hashable:
    return (
        op.name,
        node_name(op.location) or op.location,
        tuple(sorted(op.properties.items(), key=lambda item: item[0])),
        tuple(result.type for result in op.results),
        tuple(map(_source, op.operands)),
    )


def _source(value: SSAValue) -> Hashable:
    """A value by the op that makes it, or its number among the arguments of its block."""
    if isinstance(value, BlockArgument):
        return value.index
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner.name, node_name(owner.location) or owner.location, value.type
