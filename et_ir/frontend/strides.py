"""Operators that address memory by strides. Values of the IR have none."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.fx import Node

from et_ir.frontend.torch_registry import Operator, schema_of
from et_ir.frontend.unsupported import UnsupportedNode

__all__ = ["STRIDED", "check_strided"]

STRIDED: Final = frozenset({"aten::as_strided", "aten::as_strided_copy", "aten::as_strided_scatter"})
"""The operators, which can be imported where the operand is laid out as its value is."""


def check_strided(target: Operator, node: Node) -> None:
    """Refuse an operator that reads memory beyond its operand, or an operand that is not laid out as its value is."""
    names = [argument.name for argument in schema_of(target).arguments]
    arguments: dict[str, Any] = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    operand: Any = arguments["self"].meta.get("val")
    sizes, strides = arguments["size"], arguments["stride"]
    start = arguments.get("storage_offset")
    fits = (
        isinstance(operand, torch.Tensor)
        and operand.is_contiguous()
        and operand.storage_offset() == 0
        and all(type(number) is int for number in (*operand.shape, *sizes, *strides, start or 0))
        and (start or 0) + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) < operand.numel()
    )
    if not fits:
        raise UnsupportedNode(
            "it addresses memory outside of its operand",
            "call contiguous() on the operand first, or use narrow, unfold or expand",
        )
