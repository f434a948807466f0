"""Source locations of fx nodes, from their stack traces and module stacks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, cast

import torch
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from et_ir.locations import Frame, location_of, location_of_node

__all__ = ["Frames", "NodeLocations", "module_stack", "node_module_path", "parse_stack_trace"]

Frames = Literal["innermost", "all"]
"""Frames of user code kept in a location."""

_FRAME: Final = re.compile(
    r'File "(?P<file>.*)", line (?P<line>\d+), in (?P<name>.*)(?:\n(?!\s*File ")(?P<context>.*))?'
)
# Frames that are not the user's: torch's own, and code that torch generates, as in `<eval_with_key>.5`.
_NOT_THEIRS: Final = (os.path.dirname(torch.__file__) + os.sep, "<eval_with_key>")


def _frame(match: re.Match[str]) -> Frame:
    return Frame(match["file"], int(match["line"]), match["name"].strip(), (match["context"] or "").strip())


def parse_stack_trace(text: str) -> list[Frame]:
    """The frames of a traceback's text, outermost first. A frame's own line of source may be missing."""
    return [_frame(match) for match in _FRAME.finditer(text)]


def _innermost(text: str) -> Sequence[Frame]:
    """The last frame outside of torch, or the last one of all, found without parsing those before it."""
    end = len(text)
    last: Frame | None = None
    while True:
        start = text.rfind('File "', 0, end)
        if start < 0:
            return () if last is None else (last,)
        if last is None or not text.startswith(_NOT_THEIRS, start + 6):
            match = _FRAME.match(text, start)
            if match is not None:
                frame = _frame(match)
                if not frame.filename.startswith(_NOT_THEIRS):
                    return (frame,)
                last = last or frame
        end = start


def module_stack(node: Node) -> list[tuple[str, str]]:
    """The modules whose `forward` is running when the node is made, outermost first: paths, as in `named_modules()`,
    and qualified names of classes.
    """
    stack: Any = node.meta.get("nn_module_stack")
    found: list[tuple[str, str]] = []
    for entry in cast("Iterable[object]", stack.values()) if stack else ():
        path, kind = cast("tuple[object, Any]", entry) if isinstance(entry, tuple) else (entry, "")
        # torch's passes put a placeholder where a node has no arguments to take the stack of.
        if isinstance(path, str) and not path.startswith("_empty_nn_module_stack"):
            path = path.removeprefix("L['self']").removeprefix(".")
            found.append((path, kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"))
    return found


def node_module_path(node: Node) -> str:
    """The path of the module whose `forward` made the node, as in `named_modules()`."""
    stack = module_stack(node)
    return stack[-1][0] if stack else ""


def _classes(node: Node) -> tuple[str, tuple[str, ...]]:
    """The path of the node's module, and the classes of the modules along it."""
    stack = module_stack(node)
    path = stack[-1][0] if stack else ""
    known = {module: kind.rpartition(".")[2] for module, kind in stack}
    parts = path.split(".") if path else []
    return path, tuple(known.get(".".join(parts[: end + 1]), "") for end in range(len(parts)))


class NodeLocations:
    """The locations of a graph's nodes: frames of user code (torch's own are left out where there are others), module
    path, and the name of the node, which in a graph of control flow is behind the graph's (`true_graph_0.sin`).
    """

    def __init__(self, module: GraphModule, frames: Frames = "innermost"):
        self._frames: Frames = frames
        parts = cast("Iterator[tuple[str, object]]", module.named_modules())
        self._graphs = {
            part.graph: f"{name}." if name else "" for name, part in parts if isinstance(part, GraphModule)
        }

    def locate(self, node: Node) -> LocationAttr:
        """The location of a node."""
        place = _place(node, self._frames)
        return location_of_node(place, self._graphs.get(node.graph, "") + node.name)


def _place(node: Node, frames: Frames) -> LocationAttr:
    path, classes = _classes(node)
    text: Any = node.meta.get("stack_trace")
    if not isinstance(text, str):
        return location_of((), path, classes) if path else UNKNOWN_LOC
    if frames == "innermost":
        return location_of(_innermost(text), path, classes)
    parsed = parse_stack_trace(text)
    own = [frame for frame in parsed if not frame.filename.startswith(_NOT_THEIRS)]
    return location_of(own or parsed, path, classes)
