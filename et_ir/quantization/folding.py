"""Weights in integers: what a converted graph quantizes of constants alone becomes a constant.

Folding in `convert_pt2e` evaluates the graph with all weights in floats in memory, and restores each of them. Here a
weight is quantized some rows at a time, and its floats do not belong to the module any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx import node as fx_node

from et_ir.quantization.graphs import constant_nodes, tensor_of
from et_ir.quantization.rows import new_stored, rowwise

__all__ = ["fold_quantized_weights"]

_QUANTIZE: Final = "quantized_decomposed::quantize_per_"
_RESTORE: Final = ("quantized_decomposed::dequantize_per_", "torchao::dequantize_affine")
_BODIES: Final = {"scan": 0, "while_loop": 1}
"""The argument of a loop that is its body, which `convert_pt2e` converts, too."""
_map_nodes: Final[Callable[[Any, Callable[[Node], Any]], Any]] = cast(Any, fx_node).map_arg


def fold_quantized_weights(module: GraphModule) -> None:
    """Replace the ops of a graph of `convert_pt2e`, and of its loops, that quantize constants, by their results."""
    graph = module.graph
    for node in graph.nodes:
        place = (
            None if isinstance(node.target, OpOverload) else _BODIES.get(getattr(node.target, "__name__", ""))
        )
        if place is not None:
            fold_quantized_weights(tensor_of(module, node.args[place]))
    before = _read(graph)
    constants = constant_nodes(graph, lambda one: _name(one).startswith(_RESTORE))
    quantized = [one for one in graph.nodes if one in constants and _name(one).startswith(_QUANTIZE)]
    for number, node in enumerate(quantized):
        name = f"_frozen_param{number}"
        module.register_buffer(name, _evaluated(module, node))
        with graph.inserting_before(node):
            folded = graph.get_attr(name)
        folded.meta.update(node.meta)
        node.replace_all_uses_with(folded)
        graph.erase_node(node)
        folded.name = node.name
    graph.eliminate_dead_code()
    for name in before - _read(graph):  # the floats
        path, _, leaf = name.rpartition(".")
        delattr(module.get_submodule(path), leaf)
    graph.lint()
    module.recompile()


def _read(graph: Graph) -> set[str]:
    """The names of what a graph reads of its module."""
    return {str(node.target) for node in graph.nodes if node.op == "get_attr"}


def _name(node: Node) -> str:
    target: Any = node.target
    return target.name() if isinstance(target, OpOverload) else ""


def _evaluated(module: GraphModule, node: Node) -> Any:
    """The value of a constant node."""
    if node.op == "get_attr":
        return tensor_of(module, node)
    args, kwargs = _map_nodes((node.args, node.kwargs), lambda one: _evaluated(module, one))
    allocate = {"allocate": new_stored} if _name(node).startswith(_QUANTIZE) else {}
    return rowwise(node.target, args, kwargs, **allocate)
