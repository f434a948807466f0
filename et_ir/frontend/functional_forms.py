"""Functional forms of operators that write to their arguments.

Torch's functionalisation wraps an operator of another library that writes into an argument:
`auto_functionalized_v2(foo_, by=2.0, _x_base_index=0, _all_bases=[y])` returns what `foo_` returns, nothing, and what
`y` is afterwards. Where there is a `foo` that computes it, that is `foo(y, 2.0)`; where the argument is a slice of `y`,
it is scattered into `y`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch._guards import detect_fake_mode
from torch._ops import HigherOrderOperator
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from et_ir.frontend.torch_registry import Operator, as_operator, schema_of

__all__ = ["use_functional_forms"]

_SLICE = ("slice_dim", "slice_start", "slice_end")

FormOf = Callable[[Operator], Operator | None]
"""The operator that computes what another one writes to its first argument, if there is one."""


def use_functional_forms(module: GraphModule, form_of: FormOf) -> None:
    """Replace, in the graph of a module, what has a functional form; what has none stays."""
    changed = False
    for node in list(module.graph.nodes):
        target: Any = node.target
        if node.op == "call_function" and isinstance(target, HigherOrderOperator):
            name: str = target.name()  # pyright: ignore[reportUnknownMemberType]  (not annotated)
            changed |= name == "auto_functionalized_v2" and _replace(module.graph, node, form_of)
    if changed:
        module.graph.lint()
        module.recompile()


def _replace(graph: Graph, node: Node, form_of: FormOf) -> bool:
    op = as_operator(node.args[0])
    form = None if op is None else form_of(op)
    if op is None or form is None or schema_of(op).returns:
        return False
    first: str = schema_of(op).arguments[0].name
    given = {
        key.removeprefix(f"_{first}_"): value
        for key, value in node.kwargs.items()
        if key.startswith(f"_{first}_")
    }
    index = given.pop("base_index", None)
    given.pop("alias", None)
    if not isinstance(index, int) or (given and set(given) != set(_SLICE)):
        return False  # written through another view than a slice
    base = cast("Sequence[Node]", node.kwargs["_all_bases"])[index]
    part = [given[key] for key in _SLICE] if given else []
    others = [node.kwargs[a.name] for a in schema_of(form).arguments[1:]]
    with graph.inserting_before(node):
        target = _call(graph, node, torch.ops.aten.slice.Tensor, [base, *part]) if part else base
        new = _call(graph, node, form, [target, *others])
        if part:
            new = _call(graph, node, torch.ops.aten.slice_scatter.default, [base, new, *part])
    for user in list(node.users):
        if user.target is operator.getitem and user.args[1] == 1 + index:
            user.replace_all_uses_with(new)
        elif user.users:
            continue
        graph.erase_node(user)
    if not node.users:
        graph.erase_node(node)
    return True


def _call(graph: Graph, like: Node, op: Operator, args: list[Any]) -> Node:
    """A call with the place in the source of another node, and with what torch knows of its result."""
    node = graph.call_function(op, tuple(args))
    node.meta = {key: value for key, value in like.meta.items() if key != "val"}
    values = pytree.tree_map_only(Node, lambda n: n.meta["val"], args)
    mode: Any = detect_fake_mode(values)
    with mode:
        node.meta["val"] = op(*values)
    return node
