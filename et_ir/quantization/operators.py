"""Names of operators in an exported module, and patterns that choose them.

An operator is named by the path of the module that calls it: `mel:add` is the first `add` of the module `mel`, and
`mel:add.1` the second one. Names do not depend on which operators are quantized.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from torch.fx import Graph, Node

from et_ir.frontend.sources import node_module_path

__all__ = ["is_kept", "module_and_operator_names", "no_match", "operator_names", "outer_paths"]

_SHOWN = 5
"""Maximum number of names in a message."""


def operator_names(graph: Graph) -> dict[Node, str]:
    """The names of the calls of operators, in their order."""
    found: dict[Node, str] = {}
    seen: Counter[str] = Counter()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        name = f"{node_module_path(node)}:{operator_of(node)}"
        found[node] = f"{name}.{seen[name]}" if seen[name] else name
        seen[name] += 1
    return found


def module_and_operator_names(graph: Graph) -> list[str]:
    """The paths of the modules that call operators, those of the modules that they are in, and the operators' names."""
    names = list(operator_names(graph).values())
    paths = [name.partition(":")[0] for name in names]
    modules = [outer for path in dict.fromkeys(paths) for outer in outer_paths(path)]
    return [*dict.fromkeys(modules), *names]


def outer_paths(path: str) -> list[str]:
    """The path of a module, and those of the modules that it is in, outermost first."""
    parts = path.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)] if path else []


def operator_of(node: Node) -> str:
    """The name of a node's operator without namespace and overload, as `conv2d`."""
    name = getattr(getattr(node.target, "overloadpacket", node.target), "__name__", str(node.target))
    return name.rpartition(".")[2]


def is_kept(name: str, patterns: Sequence[str]) -> bool:
    """Whether patterns choose a module, by its path, or an operator, by its name: itself, or a module that it is in.

    `head.*` chooses the module `head`, too.
    """
    path, _, operator = name.partition(":")
    names = outer_paths(path)
    if operator:
        names.append(name)
    return any(_matches(one, pattern) for one in names for pattern in patterns)


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or (pattern.endswith(".*") and fnmatchcase(name, pattern[:-2]))


def no_match(pattern: str, names: Iterable[str]) -> str:
    """Why a pattern is wrong: no name matches it, and which ones there are, those like it first; empty if one does."""
    known = list(dict.fromkeys(name for name in names if name))
    if any(_matches(name, pattern) for name in known):
        return ""
    near = get_close_matches(pattern.removesuffix(".*"), known, n=_SHOWN)
    listed = list(dict.fromkeys([*near, *known]))
    kind = "operator's name" if ":" in pattern else "module's path"
    there = ", ".join(listed[:_SHOWN]) + (", …" if len(listed) > _SHOWN else "")
    return f"no {kind} matches '{pattern}': there is {there or 'none'}"
