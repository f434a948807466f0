"""Interface of an OpenVINO conversion rule.

A rule says how nodes compute one operator, and which of its ops no nodes can compute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from et_ir.backends.openvino.translation import Lowering
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema import SchemaOp

__all__ = ["Rule", "axis", "is_constant", "numbers", "only_literals"]


def _takes_all(_: SchemaOp) -> Diagnostic | None:
    return None


@dataclass(frozen=True)
class Rule:
    """Mapping of an operator to nodes."""

    lower: Lowering
    """Makes the nodes of an op."""
    refuse: Callable[[SchemaOp], Diagnostic | None] = _takes_all
    """Why no nodes compute this op, `None` if some do."""
    types: frozenset[Attribute] = frozenset({f32})
    """Element types of tensors that it computes with."""
    indices: tuple[str, ...] = ()
    """Arguments that are integers whatever the others are: places of elements."""
    results: int = 1
    """How many of the results are computed."""
    mixes: bool = False
    """Whether the element types of operands and result may differ."""


def axis(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim + rank if dim < 0 else dim


def numbers(value: Any, count: int) -> list[int]:
    """A list of literals of which one stands for all."""
    found = [int(one) for one in value]
    return found * count if len(found) == 1 else found


def is_constant(value: object) -> bool:
    """Whether a value is data of the program that no run changes."""
    return isinstance(value, SSAValue) and isinstance(value.owner, GetOp)


def only_literals(value: object) -> bool:
    """Whether an argument is known when the program is compiled."""
    if isinstance(value, tuple):
        return all(map(only_literals, cast("tuple[object, ...]", value)))
    return not isinstance(value, SSAValue)
