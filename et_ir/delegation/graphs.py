"""Graphs of ops as patterns: what a backend has one operation for, and a program several.

    linear_relu = Graph("relu", Graph("add.Tensor", Graph("mm", ANY, CONSTANT), CONSTANT))

The last op comes first, its tensor operands behind it. `Value("x")` stands for a value that is the same wherever the
name is. The operands of `add.Tensor`, `mul.Tensor`, `maximum` and `minimum` may be in either order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from xdsl.ir import Operation, SSAValue

from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import is_tensor

__all__ = ["ANY", "CONSTANT", "Graph", "Match", "Value"]


@dataclass(frozen=True)
class Value:
    """A value from outside of the pattern. With a name, it is the same value wherever the name is."""

    name: str = ""
    constant: bool = False
    """Whether it has to be a constant of the program."""


ANY: Final = Value()
CONSTANT: Final = Value(constant=True)


@dataclass(frozen=True)
class Match:
    """Occurrence of a pattern."""

    ops: tuple[Operation, ...]
    """In the order in which they are computed."""
    values: Mapping[str, SSAValue]
    """The values that have a name in the pattern."""


@dataclass(frozen=True, init=False)
class Graph:
    """An op of an operator (`add.Tensor`; of the copying form of a view: `view`), computed of such operands.

    What ops within compute is used in the pattern only, so that a backend need not give it back. Without operands,
    they are whatever they are. `literals` are the arguments that are no tensors, as far as they matter; `where` says
    of an op whether it will do.
    """

    operator: str
    operands: tuple[Operand, ...]
    literals: Mapping[str, object] = field(default_factory=dict[str, object])
    where: Callable[[SchemaOp], bool] | None = None

    def __init__(
        self,
        operator: str,
        *operands: Operand,
        literals: Mapping[str, object] | None = None,
        where: Callable[[SchemaOp], bool] | None = None,
    ):
        for name, value in (
            ("operator", operator),
            ("operands", operands),
            ("literals", dict(literals or {})),
            ("where", where),
        ):
            object.__setattr__(self, name, value)

    def match(self, op: Operation) -> Match | None:
        """The pattern with its last op at `op`, in its block."""
        found = _match(self, op, _Found({}, {}), op.parent)
        if found is None:
            return None
        inside = set(found.ops)
        for other in found.ops:
            if other is not op and any(use.operation not in inside for r in other.results for use in r.uses):
                return None
        return Match(tuple(found.ops), found.values)


Operand: TypeAlias = Graph | Value


@dataclass(frozen=True)
class _Found:
    """A part of a match; ops in the order in which they are computed."""

    ops: Mapping[Operation, Graph]
    values: Mapping[str, SSAValue]


def _match(graph: Graph, op: Operation, found: _Found, block: object) -> _Found | None:
    """`found` with an op as the pattern says it is, None if it is not."""
    if op in found.ops:
        return found if found.ops[op] is graph else None
    if not isinstance(op, SchemaOp) or op.parent is not block or op.operator.view_form != graph.operator:
        return None
    schema = op.info().schema.by_name
    if any(name not in schema or op.arg(name) != wanted for name, wanted in graph.literals.items()):
        return None
    if graph.where is not None and not graph.where(op):
        return None
    tensors = [value for value in op.operands if is_tensor(value.type)]
    orders = [tensors]
    if op.operator.facts.commutative and len(tensors) == 2:
        orders.append(tensors[::-1])
    for order in orders if graph.operands else [[]]:
        inner = _operands(graph.operands, order, found, block)
        if inner is not None:
            return _Found({**inner.ops, op: graph}, inner.values)
    return None


def _operands(
    operands: Sequence[Operand], values: Sequence[SSAValue], found: _Found, block: object
) -> _Found | None:
    if len(operands) != len(values):
        return None
    current: _Found | None = found
    for operand, value in zip(operands, values, strict=True):
        if current is None:
            return None
        if isinstance(operand, Graph):
            owner = value.owner
            current = _match(operand, owner, current, block) if isinstance(owner, Operation) else None
        elif operand.constant and not isinstance(value.owner, GetOp):
            return None
        elif operand.name:
            if current.values.get(operand.name, value) is not value:
                return None
            current = _Found(current.ops, {**current.values, operand.name: value})
    return current
