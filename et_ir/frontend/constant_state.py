"""Constants that a program writes, as buffers.

`torch.export` lifts a tensor that is an attribute of no module, such as one in a list of caches, as a constant. Where
the program writes to it, its value lasts from one call to the next, which is what a buffer is. Static caches of
transformers are both: the tensors that the program writes to, in a list, are registered as buffers too.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec
from torch.fx import GraphModule, Node

from et_ir.frontend.mutation import may_alias, writes_memory

__all__ = ["with_written_constants_as_buffers"]


def with_written_constants_as_buffers(program: ExportedProgram) -> ExportedProgram:
    """The program with each constant that it may write to as a buffer; the program itself if there is none.

    A constant that is the tensor of a buffer becomes that buffer.
    """
    specs = program.graph_signature.input_specs
    constants = {spec.arg.name for spec in specs if spec.kind is InputKind.CONSTANT_TENSOR}
    if not constants:
        return program
    written = {node.name for node in _written(program.graph_module) if node.name in constants}
    if not written:
        return program
    module = copy.deepcopy(program.graph_module)
    kept: list[InputSpec] = []
    buffers: dict[tuple[object, ...], Node] = {}
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, spec in zip(placeholders, specs, strict=True):
        is_written = spec.arg.name in written
        found = replace(spec, kind=InputKind.BUFFER, persistent=False) if is_written else spec
        if found.kind is InputKind.BUFFER and found.target is not None:
            tensors = program.state_dict if found.persistent else program.constants
            same = buffers.setdefault(_key(tensors, found.target), node)
            if same is not node and is_written:
                node.replace_all_uses_with(same)
                module.graph.erase_node(node)
                continue
        kept.append(found)
    module.recompile()
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=ExportGraphSignature(kept, program.graph_signature.output_specs),
        state_dict=program.state_dict,
        range_constraints=cast(Any, program).range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=program.verifiers,
    )


def _key(tensors: Mapping[str, Any], name: str) -> tuple[object, ...]:
    """A key that tensors of the same elements in memory share; of a tensor without memory, its name."""
    tensor = tensors[name]
    has_memory = (
        isinstance(tensor, torch.Tensor) and not isinstance(tensor, FakeTensor) and not tensor.is_meta
    )
    if not has_memory or not tensor.numel():
        return (name,)
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))


def _written(module: GraphModule) -> set[Node]:
    """The values whose memory nodes of the graph, or of what it calls with them, may write to."""
    found: set[Node] = set()
    for node in module.graph.nodes:
        inner = [
            argument
            for argument in node.all_input_nodes
            if argument.op == "get_attr"
            and isinstance(getattr(module, str(argument.target), None), GraphModule)
        ]
        # An operator with a graph, such as a condition, may write to what that graph writes to.
        if writes_memory(node) or any(_writes(getattr(module, str(one.target))) for one in inner):
            found.update(argument for argument in node.all_input_nodes if argument not in inner)
    for node in reversed(module.graph.nodes):
        if node in found and node.op == "call_function" and may_alias(node):
            found.update(node.all_input_nodes)
    return found


def _writes(module: GraphModule) -> bool:
    graphs = [one for one in module.modules() if isinstance(one, GraphModule)]
    return any(writes_memory(node) for graph in graphs for node in graph.graph.nodes)
