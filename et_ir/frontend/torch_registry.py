"""Operator properties from torch's registry."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final, cast

import torch
from torch._ops import OpOverload

from et_ops import OPERATORS
from et_ops.fact import Facts

__all__ = [
    "COMPOSITE",
    "Operator",
    "as_operator",
    "facts_of",
    "is_core",
    "name_of",
    "overload",
    "schema_of",
    "writes",
]

Operator = OpOverload[..., Any]
"""One overload of an operator, as `torch.ops.aten.add.Tensor`."""

COMPOSITE: Final = cast(Any, torch)._C.DispatchKey.CompositeImplicitAutograd
"""The key of kernels that are written in terms of other operators."""


def schema_of(op: Operator) -> torch.FunctionSchema:
    """The schema of an operator."""
    return op._schema  # pyright: ignore[reportPrivateUsage]  # torch has no public name for it


def as_operator(target: object) -> Operator | None:
    """The target of a node if it is an operator, else `None`."""
    return cast(Operator, target) if isinstance(target, OpOverload) else None


def writes(target: object) -> bool:
    """Whether the schema of an operator says that it writes into an argument; false for others."""
    op = as_operator(target)
    return op is not None and schema_of(op).is_mutable


@cache
def is_core(op: Operator) -> bool:
    """Whether torch tags an operator as Core ATen, or as the copying form of a view."""
    return torch.Tag.core in op.tags or torch.Tag.view_copy in op.tags


def name_of(op: Operator) -> str:
    """The name of an operator as op classes have it: `add.Tensor`, with the namespace where it is not `aten`."""
    return op.name().removeprefix("aten::").replace("::", ".")


def overload(name: str) -> Operator:
    """Torch's operator for the name of an `aten` op class, as `aten.add.Tensor`.

    Raises `AttributeError` for an operator that only a runtime's own library registers.
    """
    known = OPERATORS[name.removeprefix("aten.")]
    if known.namespace == "quantized_decomposed":
        # Registers them. The import takes as long as a pass, and where a program has them it has been made.
        import_module("torch.ao.quantization.fx._decomposed")
    packet = getattr(getattr(torch.ops, known.namespace), known.schema.name)
    return cast(Operator, getattr(packet, known.schema.overload or "default"))


def facts_of(op: Operator) -> Facts:
    """Declared facts of an operator of torch; none for an unknown one."""
    known = OPERATORS.get(name_of(op))
    return Facts() if known is None else known.facts
