"""Graphs of methods for other viewers: Graphviz, and Google's Model Explorer.

Model Explorer reads graph collections: lists of nodes, each with its namespace and the edges that lead to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["dot", "model_explorer"]


def dot(facts: dict[str, Any]) -> str:
    """A digraph of all methods, modules as clusters."""
    return "".join(f"{line}\n" for line in _dot(facts))


def _dot(facts: dict[str, Any]) -> Iterator[str]:
    yield "digraph {"
    yield "  node [shape=box];"
    for at, program in enumerate(facts["programs"]):
        for number, method in enumerate(program["methods"]):
            name = f"{at}.{number}"
            yield f"  subgraph {_quoted(f'cluster_{name}')} {{"
            yield f"    label={_quoted(method['name'])};"
            yield from _cluster(name, method, -1, "    ")
            for source, target, register in method["edges"]:
                label = "" if register < 0 else f" [tooltip={_quoted(method['values'][register]['text'])}]"
                yield f"    {_quoted(f'{name}.{source}')} -> {_quoted(f'{name}.{target}')}{label};"
            yield "  }"
    yield "}"


def _cluster(name: str, method: dict[str, Any], top: int, indent: str) -> Iterator[str]:
    """The parts of a module, nested; modules are listed parents first, and are as deep as their paths."""
    modules, nodes = method["graph"]["modules"], method["graph"]["nodes"]
    inside: dict[int, list[int]] = {}
    for at, module in enumerate(modules):
        inside.setdefault(module[4], []).append(at)
    held: dict[int, list[int]] = {}
    for node, box in enumerate(nodes):
        held.setdefault(box[4], []).append(node)
    waiting: list[tuple[int, str, bool]] = [(top, indent, False)]
    while waiting:
        at, space, done = waiting.pop()
        if done:
            yield f"{space}}}"
            continue
        if at >= 0:
            yield f"{space}subgraph {_quoted(f'cluster_{name}.m{at}')} {{"
            yield f"{space}  label={_quoted(modules[at][5])};"
            waiting.append((at, space, True))
            space += "  "
        for node in held.get(at, ()):
            yield f"{space}{_quoted(f'{name}.{node}')} [label={_quoted(method['graph']['labels'][node])}];"
        waiting += [(part, space, False) for part in reversed(inside.get(at, ()))]


def _quoted(text: str) -> str:
    """A string of the language, in which only quotes and backslashes are special."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\0", "") + '"'


def model_explorer(facts: dict[str, Any]) -> str:
    """A list of graph collections, one for each program, with a graph for each method."""
    collections = [
        {"label": program["file"], "graphs": [_graph(method) for method in program["methods"]]}
        for program in facts["programs"]
    ]
    return json.dumps(collections, indent=1, allow_nan=False) + "\n"


def _graph(method: dict[str, Any]) -> dict[str, Any]:
    instructions, labels, values = method["instructions"], method["graph"]["labels"], method["values"]
    nodes: list[dict[str, Any]] = []
    outputs: list[dict[int, int]] = []
    for at, label in enumerate(labels):
        one = instructions[at] if at < len(instructions) else None
        node: dict[str, Any] = {
            "id": str(at),
            "label": label,
            "namespace": "" if one is None else one["module"].replace("/", "_").replace(".", "/"),
            "attrs": [],
            "incomingEdges": [],
            "outputsMetadata": [],
        }
        if one is not None:
            node["attrs"].append({"key": "instruction", "value": one["text"]})
            if "frames" in one:
                file, line, name, text = one["frames"][-1]
                node["attrs"].append({"key": "source", "value": f"{file}:{line} in {name}: {text.strip()}"})
        nodes.append(node)
        outputs.append({})
    for source, target, register in method["edges"]:
        # An output of a node is a register of which another node reads bytes.
        known = outputs[source]
        if register not in known:
            known[register] = len(known)
            shape = "jump" if register < 0 else values[register]["text"]
            metadata = {"id": str(known[register]), "attrs": [{"key": "tensor_shape", "value": shape}]}
            nodes[source]["outputsMetadata"].append(metadata)
        edges = nodes[target]["incomingEdges"]
        edges.append(
            {
                "sourceNodeId": str(source),
                "sourceNodeOutputId": str(known[register]),
                "targetNodeInputId": str(len(edges)),
            }
        )
    return {"id": method["name"], "nodes": nodes}
