"""Source locations of fx nodes, from their stack traces and module stacks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, cast

import torch
from torch.fx import GraphModule, Node
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from et_ir.locations import Frame, location_of, location_of_node

__all__ = ["Frames", "NodeLocations", "node_module_path", "parse_stack_trace"]

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


def node_module_path(node: Node) -> str:
    """The path of the module whose `forward` made the node, as in `named_modules()`."""
    stack: Any = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    entry: Any = next(reversed(stack.values()))
    path = cast(object, entry[0] if isinstance(entry, tuple) else entry)
    return path if isinstance(path, str) else ""


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
    path = node_module_path(node)
    text: Any = node.meta.get("stack_trace")
    if not isinstance(text, str):
        return location_of((), path) if path else UNKNOWN_LOC
    if frames == "innermost":
        return location_of(_innermost(text), path)
    parsed = parse_stack_trace(text)
    return location_of([f for f in parsed if not f.filename.startswith(_NOT_THEIRS)] or parsed, path)
