"""Graphs of `torch.export` before quantization: what torchao's folding and observers take for granted."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import torch
from torch import nn
from torch.export._tree_utils import reorder_kwargs
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

__all__ = [
    "BATCH_NORMS",
    "flat_inputs",
    "kept_state",
    "separate_normalized",
    "writes_to_shared",
    "writes_to_state",
]

_aten: Final[Any] = torch.ops.aten
BATCH_NORMS: Final = frozenset({_aten.batch_norm.default, _aten._native_batch_norm_legit_no_training.default})
"""The operators that torchao folds into the layer before them."""
_FOLDED_INTO: Final = frozenset(
    {
        _aten.conv1d.default,
        _aten.conv1d.padding,
        _aten.conv2d.default,
        _aten.conv2d.padding,
        _aten.conv3d.default,
        _aten.conv3d.padding,
        _aten.convolution.default,
        _aten.conv_transpose1d.default,
        _aten.conv_transpose2d.input,
        _aten.conv_transpose3d.input,
        _aten.linear.default,
    }
)
_PARAMETERS: Final = (1, 2)
"""The arguments of layers that are their weight and bias."""
_STATISTICS: Final = (3, 4)
"""The arguments of batch normalizations that are the running mean and variance."""
_IN_TRAINING: Final = 5
"""The argument of `batch_norm` that says that the statistics are those of the batch."""
_TRANSPOSED_GROUPS: Final = 6
"""The argument of transposed convolutions that is the number of groups."""
_TRANSPOSED: Final = frozenset(
    {_aten.conv_transpose1d.default, _aten.conv_transpose2d.input, _aten.conv_transpose3d.input}
)


def separate_normalized(module: GraphModule) -> None:
    """Give each layer before a batch normalization a result, a weight and a bias that nothing else reads.

    torchao folds the normalization into the parameters, and takes the layer for the normalization, whoever reads these.
    What it would fold wrongly is kept apart from the layer.
    """
    graph = module.graph
    for norm in [node for node in graph.nodes if node.target in BATCH_NORMS]:
        layer = norm.args[0]
        if not isinstance(layer, Node) or layer.target not in _FOLDED_INTO:
            continue
        if not _is_folded_right(layer, norm):
            with graph.inserting_before(norm):
                apart = graph.call_function(_aten.alias.default, (layer,))
            apart.meta = copy.copy(layer.meta)
            norm.replace_input_with(layer, apart)
            continue
        if len(layer.users) > 1:
            with graph.inserting_before(norm):
                own = graph.node_copy(layer, lambda node: node)
            norm.replace_input_with(layer, own)
            layer = own
        for place in _PARAMETERS:
            given = layer.args[place] if place < len(layer.args) else None
            if isinstance(given, Node) and given.op == "get_attr" and len(given.users) > 1:
                _own_parameter(module, layer, place, given)
    module.recompile()


def _is_folded_right(layer: Node, norm: Node) -> bool:
    """Whether torchao folds a normalization as it is computed: by statistics that there are, and by the channels of the
    result, which filters of transposed groups do not list.
    """
    if any(norm.args[place] is None for place in _STATISTICS):
        return False
    if norm.target is _aten.batch_norm.default and norm.args[_IN_TRAINING]:
        return False
    groups = layer.args[_TRANSPOSED_GROUPS] if len(layer.args) > _TRANSPOSED_GROUPS else 1
    return layer.target not in _TRANSPOSED or bool(groups == 1)


def _own_parameter(module: GraphModule, layer: Node, place: int, given: Node) -> None:
    tensor: Any = module
    for part in str(given.target).split("."):
        tensor = getattr(tensor, part)
    name = next(name for number in count() if not hasattr(module, name := f"_own_parameter_{number}"))
    setattr(module, name, nn.Parameter(tensor.detach().clone(), requires_grad=False))
    with module.graph.inserting_before(layer):
        own = module.graph.get_attr(name)
    own.meta = copy.copy(given.meta)
    layer.update_arg(place, own)


def writes_to_shared(graph: Graph) -> bool:
    """Whether an op writes to a computed value that others read, or to a view of one."""
    return any(_is_shared(node.args[0]) for node in graph.nodes if _writes(node))


def writes_to_state(node: Node) -> bool:
    """Whether an op writes to a state of the module, to an input, or to a view of one."""
    if not _writes(node):
        return False
    value: Any = node.args[0]
    while value.op == "call_function" and _is_alias(value) and isinstance(value.args[0], Node):
        value = value.args[0]
    return value.op != "call_function"


def _is_alias(node: Node) -> bool:
    schema: Any = getattr(node.target, "_schema", None)
    return schema is not None and any(one.alias_info is not None for one in schema.returns)


@contextmanager
def kept_state(module: nn.Module) -> Generator[None]:
    """Give the states that a module has the values that they had, whatever runs meanwhile."""
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        yield
    finally:
        for name, buffer in module.named_buffers():
            if name in before:
                buffer.copy_(before[name])


def flat_inputs(module: GraphModule, batch: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """The inputs of an exported module in the order of its placeholders."""
    if not kwargs:
        return pytree.arg_tree_leaves(*batch)
    codegen: Any = module.graph._codegen  # pyright: ignore[reportPrivateUsage]  (there is no other way to its inputs)
    return pytree.arg_tree_leaves(*batch, **reorder_kwargs(dict(kwargs), codegen.pytree_info.in_spec))


def _writes(node: Node) -> bool:
    schema: Any = getattr(node.target, "_schema", None)
    return bool(schema is not None and schema.is_mutable and node.args and isinstance(node.args[0], Node))


def _is_shared(value: Any) -> bool:
    is_shared = False
    while value.op == "call_function":
        is_shared |= len(value.users) > 1
        if not _is_alias(value) or not isinstance(value.args[0], Node):
            return is_shared
        value = value.args[0]
    return False  # state, or an argument
