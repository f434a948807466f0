"""Graphs of ExecuTorch's Vulkan backend as text, for `et-vm info --delegates`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from et_schema.wording import count

if TYPE_CHECKING:
    from et_backends.vulkan_graph.format.tables import GraphTypes, OperatorCall, VkGraph, VkTensor

__all__ = ["vkgraph_lines"]


def vkgraph_lines(blob: memoryview, specs: dict[str, bytes], named: Mapping[str, memoryview]) -> list[str]:
    """The decoder: operators by name, tensors by type, constants by size, then each call.

    Raises InvalidFile for a blob that makes no sense.
    """
    from et_backends.vulkan_graph.format.blob import read_vkgraph

    del specs
    graph = read_vkgraph(blob).graph
    return [*_summary(graph), *(_call(graph, call) for call in graph.chain)]


def _summary(graph: VkGraph) -> Iterator[str]:
    from et_backends.vulkan_graph.format.tables import VkTensor

    kinds = Counter(call.name for call in graph.chain)
    counted = ", ".join(f"{times} {name}" for name, times in kinds.most_common())
    yield f"{count(len(graph.chain), 'operator call')}: {counted}"
    tensors = [value.value for value in graph.values if isinstance(value.value, VkTensor)]
    types = Counter(tensor.datatype.name.lower() for tensor in tensors)
    counted = ", ".join(f"{times} {name}" for name, times in types.most_common())
    arguments = f"{count(len(graph.input_ids), 'input')}, {count(len(graph.output_ids), 'output')}"
    yield f"{count(len(tensors), 'tensor')}: {counted}; {arguments}"
    objects = {tensor.mem_obj_id for tensor in tensors if tensor.mem_obj_id >= 0}
    yield f"{count(len(objects), 'shared memory object')}"
    nbytes = sum(one.length for one in graph.constants)
    named = sum(1 for one in graph.constants if one.named_key)
    place = f", {named} of them named data of the program" if named else ""
    yield f"{count(len(graph.constants), 'constant')}: {nbytes:,} bytes{place}"


def _call(graph: VkGraph, call: OperatorCall) -> str:
    from et_backends.vulkan_graph.format.blob import results_of

    results = ", ".join(_shown(graph, one) for one in results_of(graph, call.args))
    args = ", ".join(_shown(graph, arg) for arg in call.args[:-1])
    return f"{call.node_id}: {results} = {call.name}({args})"


def _shown(graph: VkGraph, number: int) -> str:
    """Id, shape, type and storage of a tensor, `%3:1x8xfloat32`; a constant has no `%` but `@`. The rest by value."""
    from et_backends.vulkan_graph.format import tables as v

    found: GraphTypes | None = graph.values[number].value
    match found:
        case v.VkTensor():
            return _tensor(number, found)
        case v.SymInt():
            return f"%{number}:int"
        case v.ValueList():
            return f"[{', '.join(_shown(graph, item) for item in found.items)}]"
        case v.IntList() | v.DoubleList() | v.BoolList():
            return str(list(found.items))
        case v.Int():
            return str(found.int_val)
        case v.Double():
            return f"{found.double_val:g}"
        case v.Bool():
            return str(found.bool_val)
        case v.String():
            return repr(found.string_val)
        case _:
            return "None"


def _tensor(number: int, tensor: VkTensor) -> str:
    from et_backends.vulkan_graph.format.tables import VkMemoryLayout, VkStorageType

    sign = "@" if tensor.constant_id >= 0 else "%"
    shape = "".join(f"{size}x" for size in tensor.dims)
    text = f"{sign}{number}:{shape}{tensor.datatype.name.lower()}"
    placed = [
        value.name.lower()
        for value, usual in (
            (tensor.storage_type, VkStorageType.DEFAULT_STORAGE),
            (tensor.memory_layout, VkMemoryLayout.DEFAULT_LAYOUT),
        )
        if value is not usual
    ]
    return f"{text} {'/'.join(placed)}" if placed else text
