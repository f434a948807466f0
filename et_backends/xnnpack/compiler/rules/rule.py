"""Interface of an XNNPACK conversion rule.

A rule says how nodes compute one operator, and which of its ops no node can compute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import SSAValue

from et_backends.xnnpack.compiler.constants import is_constant
from et_backends.xnnpack.compiler.translation import Translation
from et_ir.diagnostics import Diagnostic
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Rule", "axis", "numbers", "refuse_variable", "shape_of"]


def _takes_all(_: SchemaOp) -> Diagnostic | None:
    return None


@dataclass(frozen=True)
class Rule:
    """Mapping of an operator to XNNPACK nodes."""

    lower: Callable[[Translation, SchemaOp], None]
    """Adds the nodes that compute an op."""
    refuse: Callable[[SchemaOp], Diagnostic | None] = _takes_all
    """Why no nodes compute this op, `None` if some do."""
    places: tuple[int, ...] = ()
    """The results that are places of elements: 64 bits to the program, 32 in the graph, where nothing reads them."""


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor, -1 where one is known at run time only."""
    return tuple(tensor_type(value).get_shape())


def refuse_variable(op: SchemaOp, *arguments: str) -> Diagnostic | None:
    """Why an op is not taken of which an argument is to be a constant, and is none."""
    for argument in arguments:
        value = op.arg(argument)
        if value is None or is_constant(value):
            continue
        return Diagnostic(f"the {argument} is not a constant")
    return None


def axis(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim + rank if dim < 0 else dim


def numbers(value: Any, count: int) -> list[int]:
    """A list of literals of which one stands for all."""
    found = [int(one) for one in value]
    return found * count if len(found) == 1 else found
