"""Complex Python numbers in graphs as tensors without dimensions. Programs have no literals for them.

`x * 2j` multiplies by a constant of the element type that torch computes in; a call with a number where a tensor
cannot stand (`full`, the factors of `addmm`) becomes others that take one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from struct import pack
from typing import Any, Final, cast

import torch
from torch import _decomp
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from et_ir.frontend.torch_registry import Operator, as_operator, schema_of, writes

__all__ = ["lift_complex_numbers", "with_lifted_complex_numbers"]

aten: Any = torch.ops.aten


def with_lifted_complex_numbers(program: ExportedProgram) -> ExportedProgram:
    """The program without complex numbers; itself if it has none, else a copy that shares its tensors."""
    if not any(_has_complex(node) for graph in _graphs(program.graph_module) for node in graph.graph.nodes):
        return program
    changed = copy.copy(program)
    module = copy.deepcopy(program.graph_module)
    for graph in _graphs(module):
        lift_complex_numbers(graph)
    cast(Any, changed)._graph_module = module
    return changed


def _graphs(module: GraphModule) -> list[GraphModule]:
    """A graph, and those of its branches and bodies."""
    return [m for m in module.modules() if isinstance(m, GraphModule)]


def lift_complex_numbers(module: GraphModule) -> None:
    """Replace the complex numbers in the calls of a graph; those that nothing can take the place of stay."""
    waiting = [node for node in module.graph.nodes if _has_complex(node)]
    if not waiting:
        return
    seen: dict[Node, frozenset[Operator]] = {}
    while waiting:
        node = waiting.pop()
        target = as_operator(node.target)
        if target is None or _stands_for_tensors(module, target, node) or target in seen.get(node, ()):
            continue
        made = _inlined(module, target, node)
        within = seen.get(node, frozenset()) | {target}
        seen |= dict.fromkeys(made, within)
        waiting += filter(_has_complex, made)
    module.recompile()


def _has_complex(node: Node) -> bool:
    leaves = pytree.tree_leaves((list(node.args), dict(node.kwargs))) if node.op == "call_function" else ()
    return any(isinstance(leaf, complex) for leaf in leaves)


# -- a tensor in the place of the number


def _stands_for_tensors(module: GraphModule, target: Operator, node: Node) -> bool:
    """Put tensors in the place of complex numbers, by an overload that takes them there; whether there is one."""
    fitting = _overload_for(target, node)
    if fitting is None:
        return False
    tensors = {torch.empty(0, dtype=n.meta["val"].dtype) for n in node.all_input_nodes if _is_tensor(n)}
    dtype = _complex_dtype(tensor.dtype for tensor in tensors)

    def constant(value: complex) -> Node:
        with module.graph.inserting_before(node):
            return _constant(module, value, dtype)

    args, kwargs = pytree.tree_map_only(complex, constant, (list(node.args), dict(node.kwargs)))
    node.target, node.args, node.kwargs = fitting, tuple(args), kwargs
    return True


def _overload_for(target: Operator, node: Node) -> Operator | None:
    """The overload of an operator that takes tensors in the places where a call has complex numbers."""
    names = [name for name, value in _arguments(target, node) if isinstance(value, complex)]
    packet: Any = target.overloadpacket
    for overload in [target, *(getattr(packet, name) for name in packet.overloads())]:
        mine, theirs = schema_of(target).arguments, schema_of(overload).arguments
        types = {arg.name: str(arg.type) for arg in theirs}
        if [arg.name for arg in mine] == list(types) and all(
            types[arg.name] in ("Tensor", "Optional[Tensor]")
            if arg.name in names
            else types[arg.name] in (str(arg.type), "Tensor" if str(arg.type) == "number" else "")
            for arg in mine
        ):
            return overload
    return None


def _arguments(target: Operator, node: Node) -> Iterator[tuple[str, Any]]:
    names = [arg.name for arg in schema_of(target).arguments]
    yield from zip(names, node.args, strict=False)
    yield from node.kwargs.items()


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _complex_dtype(dtypes: Iterator[torch.dtype]) -> torch.dtype:
    """The type of complex numbers beside tensors of these types: double only if one of them is."""
    wide = (torch.float64, torch.complex128)
    return torch.complex128 if any(dtype in wide for dtype in dtypes) else torch.complex64


def _constant(module: GraphModule, value: complex, dtype: torch.dtype) -> Node:
    tensor = torch.tensor(value, dtype=dtype)
    name = f"complex{tensor.itemsize * 8}_{pack('<dd', value.real, value.imag).hex()}"
    if not hasattr(module, name):
        module.register_buffer(name, tensor, persistent=False)
    node = module.graph.get_attr(name)
    node.meta["val"] = tensor
    return node


# -- other calls in the place of the call


def _full(size: Sequence[int], fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(size, fill_value, dtype or torch.complex64)


def _full_like(self: torch.Tensor, fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(self.shape, fill_value, dtype or self.dtype)


def _new_full(
    self: torch.Tensor,
    size: Sequence[int],
    fill_value: complex,
    *,
    dtype: torch.dtype | None = None,
    **_: Any,
) -> Any:
    return _filled(size, fill_value, dtype or self.dtype)


def _filled(size: Sequence[int], value: complex, dtype: torch.dtype) -> torch.Tensor:
    if not value.imag or not dtype.is_complex:
        return torch.full(size, value.real, dtype=dtype)
    return torch.full(size, 1, dtype=dtype) * value


def _add(self: torch.Tensor, other: Any, *, alpha: complex) -> torch.Tensor:
    return self + other * alpha


def _sub(self: torch.Tensor, other: Any, *, alpha: complex) -> torch.Tensor:
    return self - other * alpha


def _constant_pad(self: torch.Tensor, pad: Sequence[int], value: complex) -> torch.Tensor:
    """Padding with the real part of the number, and with its imaginary part where only padding is."""
    padded = aten.constant_pad_nd(self, pad, value.real)
    if not value.imag:
        return padded
    inside = aten.constant_pad_nd(torch.ones_like(self, dtype=torch.bool), pad, False)
    return torch.where(inside, padded, _filled((), value, self.dtype))


def _scalar_tensor(value: complex, *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return _filled((), value, dtype or torch.complex64)


def _addbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: complex = 1, alpha: complex = 1
) -> torch.Tensor:
    return self * beta + torch.bmm(batch1, batch2).sum(0) * alpha


_CALLS: Final[dict[Operator, Callable[..., Any]]] = {
    aten.full.default: _full,
    aten.full_like.default: _full_like,
    aten.new_full.default: _new_full,
    aten.add.Tensor: _add,
    aten.sub.Tensor: _sub,
    aten.constant_pad_nd.default: _constant_pad,
    aten.scalar_tensor.default: _scalar_tensor,
    aten.addbmm.default: _addbmm,
}


def _inlined(module: GraphModule, target: Operator, node: Node) -> list[Node]:
    """The nodes that take the place of a call: those of the call in other words, or of torch's decomposition of it.

    None, and nothing changes, if there are no such words.
    """
    tables: dict[str, dict[object, Any]] = cast(Any, _decomp).global_decomposition_table
    function = _CALLS.get(target) or tables["post_autograd"].get(target)
    inputs = node.all_input_nodes
    if function is None or writes(target) or not all(map(_is_tensor, inputs)):
        return []
    graph = _traced(function, node, inputs)
    if graph is None:
        return []
    values: dict[Node, Node] = {}
    made: list[Node] = []
    result: Any = None
    placeholders = iter(inputs)
    with module.graph.inserting_before(node):
        for one in graph.nodes:
            if one.op == "placeholder":
                values[one] = next(placeholders)
            elif one.op == "output":
                result = one.args[0]
            else:
                values[one] = module.graph.node_copy(one, values.__getitem__)
                values[one].meta = {**node.meta, "val": one.meta["val"]}
                made.append(values[one])
    node.replace_all_uses_with(values[result])
    module.graph.erase_node(node)
    return made


def _traced(function: Callable[..., Any], node: Node, inputs: Sequence[Node]) -> Graph | None:
    def call(*tensors: torch.Tensor) -> Any:
        given = dict(zip(inputs, tensors, strict=True))
        found = pytree.tree_map_only(Node, given.__getitem__, (list(node.args), dict(node.kwargs)))
        args, kwargs = cast("tuple[list[Any], dict[str, Any]]", found)
        # Decompositions write into lists that they are given, and those of nodes refuse that.
        return function(
            *(list(cast("list[Any]", arg)) if isinstance(arg, list) else arg for arg in args), **kwargs
        )

    values = [cast(torch.Tensor, one.meta["val"]) for one in inputs]
    if any(type(size) is not int for value in values for size in value.shape):
        return None
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        fakes = [torch.empty(tuple(value.shape), dtype=value.dtype) for value in values]
        try:
            graph = make_fx(call)(*fakes).graph
        except Exception:
            # Torch's decompositions raise what they like for what they do not take. The call stays, and is reported.
            return None
    results = [one.args[0] for one in graph.nodes if one.op == "output"]
    calls = [one for one in graph.nodes if one.op not in ("placeholder", "output")]
    known = all(one.op == "call_function" and _is_tensor(one) for one in calls)
    return graph if known and isinstance(results[0], Node) else None
