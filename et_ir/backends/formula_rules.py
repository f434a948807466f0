"""Lowering of edge ops by the formulas of the operator library.

A back end states the nodes that its format has, each by the operator that it computes (`Nodes`); all other pointwise
operators are made of these. `docs/backends.md` has an example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_ops.formulas import FORMULAS, Builder, Literal, lacking
from et_ops.library import OPERATORS

__all__ = ["Maker", "Nodes", "always", "find", "gives_mask", "lower", "operators_of", "refusal"]

_Value = TypeVar("_Value")

Maker: TypeAlias = Callable[..., Any]
"""Makes a node, given the translation and the operands."""

Nodes: TypeAlias = Mapping[str, Callable[..., Maker | None]]
"""Nodes by operator: given the arguments that are no tensors, what makes the node; None where it takes others only."""


def always(make: Maker) -> Callable[..., Maker]:
    """An entry of `Nodes` for an operator that has no other arguments than tensors."""
    return lambda *_: make


def find(nodes: Nodes, name: str, literals: Sequence[Literal]) -> Maker | None:
    """What makes the node of an operator with the arguments that are no tensors; None without one."""
    entry = nodes.get(name)
    return None if entry is None else entry(*literals)


def operators_of(nodes: Nodes) -> list[str]:
    """The operators that have a node or a formula."""
    return [name for name in dict.fromkeys((*FORMULAS, *nodes)) if name in OPERATORS]


def gives_mask(name: str) -> bool:
    """Whether the results of an operator are truth values."""
    return name in FORMULAS and FORMULAS[name].gives_mask


def lower(builder: Builder[_Value], op: SchemaOp, read: Callable[[SSAValue], _Value]) -> _Value:
    """What an op computes, of what `read` gives for its operands."""
    arguments = cast("list[SSAValue | Literal]", list(op.args().values()))
    given = [read(one) if isinstance(one, SSAValue) else one for one in arguments]
    return builder.operator(op.name.removeprefix("edge."), *given)


def refusal(op: SchemaOp, nodes: Nodes, device: str) -> Diagnostic | None:
    """Why an op is not made of nodes; `device` names the back end."""
    name = op.name.removeprefix("edge.")
    if gives_mask(name) and any(tensor_type(value).element_type == i1 for value in op.operands):
        return Diagnostic("element type", "bools, it takes floats")
    lacks = lacking(lambda one, literals: find(nodes, one, literals), name, list(op.args().values()))
    if lacks is None:
        return None
    return Diagnostic(f"{device} has no such node", name if lacks == name else f"{lacks}, for {name}")
