"""Graphs of XNNPACK blobs as text, for `et-vm info --delegates`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from et_schema.wording import in_words

if TYPE_CHECKING:
    from et_backends.xnnpack.format.graph import XNNGraph, XNNTensorValue, XNode, XNodeUnion, XValue

__all__ = ["xnnpack_lines"]


def xnnpack_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """The decoder: what there is of each kind of node, values by type and constants by size, then each node.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_backends.xnnpack.format.blob import read_xnnpack

    del specs
    graph = read_xnnpack(blob).graph
    return [*_summary(graph), *_nodes(graph)]


def _summary(graph: XNNGraph) -> Iterator[str]:
    from et_backends.xnnpack.format.nodes import constant_bytes, kind_name, tensor_of

    kinds = Counter(kind_name(node.xnode_union) for node in graph.xnodes if node.xnode_union is not None)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    yield f"{len(graph.xnodes)} nodes: {counted}"
    tensors = [tensor for tensor in map(tensor_of, graph.xvalues) if tensor is not None]
    types = Counter(tensor.datatype.name for tensor in tensors)
    counted = ", ".join(f"{count} {name}" for name, count in types.most_common())
    yield (
        f"{len(tensors)} values: {counted}; {in_words(len(graph.input_ids), 'input')}, "
        f"{in_words(len(graph.output_ids), 'output')}"
    )
    weights = [tensor for tensor in tensors if tensor.constant_buffer_idx]
    nbytes = sum(constant_bytes(tensor.datatype, tensor.dims) for tensor in weights)
    named = sum(1 for data in graph.constant_data if data.named_key)
    place = f", {named} of them named data of the program" if named else ""
    yield f"{len(weights)} constants: {nbytes:,} bytes{place}"


def _nodes(graph: XNNGraph) -> Iterator[str]:
    from et_backends.xnnpack.format.nodes import tensor_of

    values: dict[int, XValue] = {}
    for value in graph.xvalues:
        tensor = tensor_of(value)
        if tensor is not None:
            values[tensor.id_out] = value
    for node in graph.xnodes:
        yield _node(node, values)


def _node(item: XNode, values: dict[int, XValue]) -> str:
    from et_backends.xnnpack.format.nodes import NO_VALUE, kind_name, roles_of

    node = item.xnode_union
    assert node is not None, "reading the blob checks that nodes are of a kind"
    roles = roles_of(node)
    operands = [getattr(node, name) for name in roles.operands]
    shown = ", ".join(_value(values[used]) for used in operands if used != NO_VALUE)
    results = ", ".join(_value(values[getattr(node, name)]) for name in roles.results)
    details = _details(node)
    if item.output_min_max is not None:
        details.append(f"{item.output_min_max.output_min:g}..{item.output_min_max.output_max:g}")
    return f"{results} = {kind_name(node)}({shown})" + (f" {' '.join(details)}" if details else "")


_SIDES = ("padding_top", "padding_right", "padding_bottom", "padding_left")
_SAID_BY_SHAPES = frozenset({"num_dims", "group_input_channels", "group_output_channels"})


def _details(node: XNodeUnion) -> list[str]:
    """The fields of a node besides its values, unless they are 0 or follow from shapes.

    Heights stand with widths, and the sides of the padding together.
    """
    found = {
        field.name: getattr(node, field.name)
        for field in fields(node)
        if not field.name.endswith("_id") and field.name not in _SAID_BY_SHAPES
    }
    details: list[str] = []
    for name, value in found.items():
        stem, _, side = name.rpartition("_")
        if name == _SIDES[0] and any(found[other] for other in _SIDES):
            details.append(f"padding={','.join(str(found[other]) for other in _SIDES)}")
        elif name in _SIDES or side == "width" or not value:
            continue
        elif side == "height" and stem != "new":
            width = found[f"{stem}_width"]
            details += [f"{stem}={value}x{width}"] if (value, width) != (1, 1) else []
        elif name != "groups" or value > 1:
            details.append(f"{name}={value}")
    return details


def _value(value: XValue) -> str:
    """Id, shape and type: `%3:1x16x16x8xfp32`; a constant has no `%` but `@`."""
    from et_backends.xnnpack.format.nodes import tensor_of

    tensor: XNNTensorValue | None = tensor_of(value)
    assert tensor is not None, "reading the blob checks that values are tensors"
    sign = "@" if tensor.constant_buffer_idx else "%"
    shape = "".join(f"{size}x" for size in tensor.dims)
    return f"{sign}{tensor.id_out}:{shape}{tensor.datatype.name}"
