"""Modules that `torch.export` made: how they differ from those of users.

`ExportedProgram.module()` has no evaluation mode to be switched to, and is exported again with the sizes that it was
exported with.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

import torch
from torch import nn
from torch.export import Dim
from torch.fx import GraphModule
from torch.utils import _pytree as pytree

__all__ = ["dynamic_shapes_of", "example_inputs_of", "in_evaluation", "input_names", "is_exported"]

_GENERIC: Final = 2
"""The least size that torch takes for one of any."""


def is_exported(module: nn.Module) -> bool:
    """Whether a module is the graph of an exported program."""
    if not isinstance(module, GraphModule):
        return False
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    codegen: Any = module.graph._codegen  # pyright: ignore[reportPrivateUsage]  (there is no other way to its inputs)
    return hasattr(codegen, "pytree_info") and all("val" in node.meta for node in inputs)


def in_evaluation(module: nn.Module) -> nn.Module:
    """The module in evaluation mode; one that was exported is in the mode that it was exported in."""
    return module if is_exported(module) else module.eval()


def input_names(module: nn.Module) -> list[str]:
    """The names of a module's inputs, in the order of its signature."""
    return list(inspect.signature(module.forward).parameters)


def example_inputs_of(module: GraphModule) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword inputs to export an exported module again with: zeros of the sizes that it was exported
    with. Its graph does not depend on their values.
    """
    codegen: Any = module.graph._codegen  # pyright: ignore[reportPrivateUsage]  (there is no other way to its inputs)
    values = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    return pytree.tree_unflatten([_example(value) for value in values], codegen.pytree_info.in_spec)


def _example(value: object) -> Any:
    if isinstance(value, torch.Tensor):
        shape: Any = value.shape
        return torch.zeros([_hint(size) for size in shape], dtype=value.dtype)
    return _hint(value) if isinstance(value, torch.SymInt) else value


def _hint(size: int | torch.SymInt) -> int:
    node: Any = getattr(size, "node", None)
    return int(size) if node is None else int(node.hint)


def dynamic_shapes_of(module: nn.Module, ranges: Mapping[Any, Any] | None = None) -> dict[str, Any] | None:
    """The `dynamic_shapes` to export an exported module again with the same sizes; `None` if all are known.

    `ranges` are the `range_constraints` of the program. Without them a size may be 0 or 1 if it may be 2, as modules do
    not tell.
    """
    if not isinstance(module, GraphModule) or not is_exported(module):
        return None
    codegen: Any = module.graph._codegen  # pyright: ignore[reportPrivateUsage]  (there is no other way to its inputs)
    dims: dict[str, Any] = {}
    values = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    leaves = [_sizes(value, ranges or {}, dims) for value in values]
    if not any(leaf is not None for leaf in leaves):
        return None
    args, kwargs = pytree.tree_unflatten(leaves, codegen.pytree_info.in_spec)
    names = input_names(module)
    return {**dict(zip(names, args, strict=False)), **kwargs}


def _sizes(value: object, ranges: Mapping[Any, Any], dims: dict[str, Any]) -> Any:
    """The dynamic sizes of an input by dimension; of a number, the number itself."""
    if isinstance(value, torch.SymInt):
        return _dim(value, ranges, dims)
    if not isinstance(value, torch.Tensor):
        return None
    found = {
        at: _dim(size, ranges, dims) for at, size in enumerate(value.shape) if isinstance(size, torch.SymInt)
    }
    return found or None


def _dim(size: torch.SymInt, ranges: Mapping[Any, Any], dims: dict[str, Any]) -> Any:
    node: Any = size.node
    if not node.expr.is_Symbol:
        return Dim.AUTO  # what is computed of other sizes
    name = str(node.expr)
    if name not in dims:
        bounds = ranges.get(node.expr)
        known = bounds is not None
        if not known:
            bounds = node.shape_env.var_to_range[node.expr]
        limits: dict[str, int] = {}
        # Graphs are made for sizes of 2 or more, whatever the least one is.
        if bounds.lower.is_Integer and (known or int(bounds.lower) > _GENERIC):
            limits["min"] = int(bounds.lower)
        if bounds.upper.is_Integer:
            limits["max"] = int(bounds.upper)
        dims[name] = Dim(name, **limits)
    return dims[name]
