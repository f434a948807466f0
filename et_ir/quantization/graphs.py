"""Graphs of `torch.export` before quantization: what torchao's folding and observers take for granted."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from operator import getitem
from typing import Any, Final, TypeVar, cast

import torch
from torch import nn
from torch.export._tree_utils import reorder_kwargs
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from et_ir.frontend.torch_registry import as_operator, schema_of

__all__ = [
    "BATCH_NORMS",
    "constant_nodes",
    "copy_with_same_weights",
    "flat_inputs",
    "kept_state",
    "last_reads",
    "order_of_use",
    "separate_normalized",
    "set_parameter",
    "tensor_of",
    "writes_to_shared",
    "writes_to_state",
    "written_states",
]

_Module = TypeVar("_Module", bound=nn.Module)

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
        if not isinstance(layer, Node) or not (layer.target in _FOLDED_INTO or _is_normalized(layer)):
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
                set_parameter(module, layer, place, tensor_of(module, given).detach().clone())
    module.recompile()


def _is_folded_right(layer: Node, norm: Node) -> bool:
    """Whether torchao folds a normalization as it is computed: the only one, by statistics that there are, and by the
    channels of the result, which filters of transposed groups do not list.
    """
    if _is_normalized(layer) or any(norm.args[place] is None for place in _STATISTICS):
        return False
    if norm.target is _aten.batch_norm.default and norm.args[_IN_TRAINING]:
        return False
    groups = layer.args[_TRANSPOSED_GROUPS] if len(layer.args) > _TRANSPOSED_GROUPS else 1
    return layer.target not in _TRANSPOSED or bool(groups == 1)


def _is_normalized(node: Node) -> bool:
    """Whether a value is the result of a batch normalization: it becomes that of the layer before."""
    made = node.args[0] if node.target is getitem else node
    return isinstance(made, Node) and made.target in BATCH_NORMS


def set_parameter(module: GraphModule, layer: Node, place: int, value: torch.Tensor) -> None:
    """Give a layer a parameter that nothing else reads, as an argument that it has, or as the next one."""
    name = next(name for number in count() if not hasattr(module, name := f"_own_parameter_{number}"))
    parameter = nn.Parameter(value, requires_grad=False)
    setattr(module, name, parameter)
    with module.graph.inserting_before(layer):
        own = module.graph.get_attr(name)
    given = layer.args[place] if place < len(layer.args) else None
    if isinstance(given, Node):
        own.meta = copy.copy(given.meta)
    else:
        mode: Any = getattr(layer.meta.get("val"), "fake_mode", None)
        own.meta["val"] = parameter if mode is None else mode.from_tensor(parameter, static_shapes=True)
    layer.args = (*layer.args[:place], own, *layer.args[place + 1 :])


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
    """Whether a value may be in the memory of the first operand; parts of lists are in that of the list."""
    if node.target is getitem:
        return True
    schema: Any = getattr(node.target, "_schema", None)
    return schema is not None and any(one.alias_info is not None for one in schema.returns)


def written_states(graph: Graph) -> frozenset[str]:
    """The names of the states of the module that ops of a graph write to, themselves or a view of them."""
    found: set[str] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        schema: Any = getattr(node.target, "_schema", None)
        if schema is None:  # control flow, whose branches are graphs of their own
            found.update(str(one.target) for one in node.all_input_nodes if one.op == "get_attr")
        elif schema.is_mutable:
            for argument, value in zip(schema.arguments, node.args, strict=False):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    found.update(name for one in _nodes(value) if (name := _state_behind(one)) is not None)
    return frozenset(found)


def _nodes(value: Any) -> list[Node]:
    given = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else [value]
    return [one for one in given if isinstance(one, Node)]


def _state_behind(node: Node) -> str | None:
    """The name of the state that a value is, or a view of."""
    while node.op == "call_function" and _is_alias(node) and isinstance(node.args[0], Node):
        node = node.args[0]
    return str(node.target) if node.op == "get_attr" else None


def constant_nodes(graph: Graph, but: Callable[[Node], bool] = lambda _: False) -> set[Node]:
    """The nodes that are functions of constants alone, of no input and no state that the graph writes to.

    `but` says which are not to count, nor what is computed of them.
    """
    written = written_states(graph)
    found: set[Node] = set()
    for node in graph.nodes:
        if node.op == "get_attr":
            if str(node.target) not in written:
                found.add(node)
        elif (
            node.all_input_nodes
            and found.issuperset(node.all_input_nodes)
            and _is_function(node)
            and not but(node)
        ):
            found.add(node)
    return found


def _is_function(node: Node) -> bool:
    """Whether the result of a node depends on its operands alone; observers count, which return what they see."""
    target = as_operator(node.target)
    if target is None:
        return node.op == "call_module" or node.target is getitem
    return not schema_of(target).is_mutable and torch.Tag.nondeterministic_seeded not in target.tags


def order_of_use(graph: Graph) -> list[Node]:
    """The nodes of a graph, with those of constants as late as possible: not all weights in floats are in memory."""
    constants = constant_nodes(graph)
    order: dict[Node, None] = {}

    def add(node: Node) -> None:
        for one in node.all_input_nodes:
            if one in constants and one not in order:
                add(one)
        order[node] = None

    for node in graph.nodes:
        if node not in constants:
            add(node)
    return list(order)


def last_reads(order: Sequence[Node]) -> dict[Node, list[Node]]:
    """The values that nothing reads after a node, in an order of the nodes."""
    last: dict[Node, Node] = {}
    for node in order:
        for one in node.all_input_nodes:
            last[one] = node
    found: dict[Node, list[Node]] = {node: [] for node in order}
    for one, node in last.items():
        found[node].append(one)
    return found


def tensor_of(module: nn.Module, node: Node) -> Any:
    """The tensor, or the graph, that a `get_attr` node reads."""
    found: Any = module
    for part in str(node.target).split("."):
        found = getattr(found, part)
    return found


def copy_with_same_weights(module: _Module) -> _Module:
    """A copy of a module, its states and its graph, whose parameters are those of the module."""
    return copy.deepcopy(module, {id(one): one for one in module.parameters()})


@contextmanager
def kept_state(module: nn.Module) -> Generator[None]:
    """Give the states that a module has the values that they had, whatever runs meanwhile."""
    written = written_states(module.graph) if isinstance(module, GraphModule) else None
    before = {
        name: buffer.clone() for name, buffer in module.named_buffers() if written is None or name in written
    }
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
