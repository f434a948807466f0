"""Operators that address memory by strides. Values of the IR have none."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils import _pytree as pytree

from et_ir.frontend.torch_registry import Operator, schema_of
from et_ir.frontend.unsupported import UnsupportedNode

__all__ = ["STRIDED", "check_strided"]

STRIDED: Final = frozenset({"aten::as_strided", "aten::as_strided_copy", "aten::as_strided_scatter"})
"""The operators, which can be imported where the operand is laid out as its value is."""


def check_strided(target: Operator, node: Node) -> None:
    """Refuse an operator that reads memory beyond its operand, or an operand that is not laid out as its value is.

    Sizes that are known at run time only are symbols: whatever they are, there has to be the memory.
    """
    names = [argument.name for argument in schema_of(target).arguments]
    given = pytree.tree_map_only(Node, lambda n: n.meta.get("val"), (node.args, node.kwargs))
    arguments: dict[str, Any] = {**dict(zip(names, given[0], strict=False)), **given[1]}
    operand = arguments["self"]
    start = arguments.get("storage_offset") or 0
    pairs = zip(arguments["size"], arguments["stride"], strict=True)
    fits = (
        isinstance(operand, torch.Tensor)
        and operand.is_contiguous()
        and operand.storage_offset() == 0
        and statically_known_true(start + sum((n - 1) * s for n, s in pairs) < operand.numel())
    )
    if not fits:
        raise UnsupportedNode(
            "it addresses memory outside of its operand",
            "call contiguous() on the operand first, or use narrow, unfold or expand",
        )
