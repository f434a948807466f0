"""Source locations: the line of Python and the module path that an op comes from.

    loc("%layer_norm_1"("blocks.0.norm1"(".Block.LayerNorm"(fused["forward"("model.py":34:0), "y = self.norm1(x)"]))))

A *frame* is one line of a Python traceback: two fused locations, the place under the function's name and the
text of the line. (Metadata of a fused location would be the natural place for the text, but xDSL cannot read
that back.) A place without name and text stands alone. Several frames nest as call sites, callee first. The
module path (`blocks.0.norm1`, as in `named_modules()`) is a name around all of it, directly around the classes of
these modules where they are known (`.Block.LayerNorm`: a list of modules calls nothing, so its class is not), and the
node of the exported graph (`%layer_norm_1`) one around that: turns of a loop have the same lines and modules, but nodes
of their own. What other tools put into locations is read as far as it goes: the first frame or path that a fused
location holds stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute

from et_schema.diagnostics import Frame, Location

__all__ = [
    "Frame",
    "frames_of",
    "fused_location",
    "location_of",
    "location_of_node",
    "module_classes",
    "module_path",
    "node_name",
    "parts_of",
    "place_of",
    "source_line",
]

_NODE = "%"
"""In front of the name of a node, which no module path starts with."""


@lru_cache(maxsize=4096)
def _frame_location(frame: Frame) -> LocationAttr:
    line = FileLineColLoc(StringAttr(frame.filename), IntAttr(frame.lineno), IntAttr(frame.column))
    if not frame.context and not frame.name:
        return line
    parts = (NameLoc(StringAttr(frame.name), line), NameLoc(StringAttr(frame.context), NoneAttr()))
    return FusedLoc(parts, NoneAttr())


@lru_cache(maxsize=16384)
def _location(frames: tuple[Frame, ...], path: str, classes: tuple[str, ...]) -> LocationAttr:
    location: LocationAttr = UNKNOWN_LOC
    for index, frame in enumerate(frames):
        inner = _frame_location(frame)
        location = CallSiteLoc(inner, location) if index else inner
    if any(classes):
        location = NameLoc(StringAttr(".".join(classes)), location)
    return NameLoc(StringAttr(path), location) if path else location


def location_of(frames: Sequence[Frame], module_path: str = "", classes: Sequence[str] = ()) -> LocationAttr:
    """The location of frames, outermost first as in a traceback, in a module; equal ones are one object.

    `classes` has the class of the module that each part of the path leads to, empty where it is not known. Raises
    ValueError if their number is not that of the parts.
    """
    if classes and len(classes) != module_path.count(".") + 1:
        raise ValueError(f"{len(classes)} classes for the modules of {module_path!r}")
    return _location(tuple(frames), module_path, tuple(classes))


def location_of_node(location: LocationAttr, name: str) -> LocationAttr:
    """The location of a node of an exported graph, where that is `location`."""
    return NameLoc(StringAttr(_NODE + name), location)


def node_name(location: Attribute) -> str:
    """The node of the exported graph that an op comes from; empty where it is not known."""
    match location:
        case NameLoc(desc=desc) if desc.data.startswith(_NODE):
            return desc.data[len(_NODE) :]
        case NameLoc():
            return node_name(location.location)
        case CallSiteLoc():
            return node_name(location.callee) or node_name(location.caller)
        case FusedLoc():
            parts = cast("ArrayAttr[Attribute]", location.locations).data
            return next((name for part in parts if (name := node_name(part))), "")
        case _:
            return ""


def fused_location(locations: Iterable[LocationAttr]) -> LocationAttr:
    """The location of an op that computes what several ops have computed, in the order of the program: the last has its
    value, the first stands for all where one is shown.
    """
    known = tuple(dict.fromkeys(one for part in locations for one in parts_of(part) if one != UNKNOWN_LOC))
    return FusedLoc(known, NoneAttr()) if len(known) > 1 else (*known, UNKNOWN_LOC)[0]


def parts_of(location: LocationAttr) -> list[LocationAttr]:
    """The locations that were fused, of those that name nodes; else the location itself."""
    if isinstance(location, FusedLoc):
        fused = cast("ArrayAttr[Attribute]", location.locations).data
        parts = [one for one in fused if isinstance(one, LocationAttr) and node_name(one)]
        if parts:
            return parts
    return [location]


def _frame_of(location: Attribute) -> Frame | None:
    """The frame that a location is, if it is one frame."""
    match location:
        case FileLineColLoc():
            return Frame(location.filename.data, location.line.data, column=location.column.data)
        case FusedLoc():
            match cast("ArrayAttr[Attribute]", location.locations).data:
                case (
                    NameLoc(desc=name, location=FileLineColLoc(filename=file, line=line)),
                    NameLoc(desc=context, location=NoneAttr()),
                ):
                    return Frame(file.data, line.data, name.data, context.data)
                case _:
                    return None
        case _:
            return None


def frames_of(location: Attribute) -> list[Frame]:
    """The frames of a location, outermost first as in a traceback; empty if it has none."""
    frame = _frame_of(location)
    if frame is not None:
        return [frame]
    match location:
        case CallSiteLoc():
            return frames_of(location.caller) + frames_of(location.callee)
        case NameLoc():
            return frames_of(location.location)
        case FusedLoc():
            for part in cast("ArrayAttr[Attribute]", location.locations):
                frames = frames_of(part)
                if frames:
                    return frames
            return []
        case _:
            return []


def module_path(location: Attribute) -> str:
    """The path of the module that a location is in; empty for the root module and where it is not known."""
    module = _module_of(location)
    return "" if module is None else module.desc.data


def module_classes(location: Attribute) -> tuple[str, ...]:
    """The class of the module that each part of the path leads to, empty where it is not known; () where none is."""
    module = _module_of(location)
    if module is None or not isinstance(module.location, NameLoc):
        return ()
    classes = tuple(module.location.desc.data.split("."))
    return classes if len(classes) == module.desc.data.count(".") + 1 else ()


def _module_of(location: Attribute) -> NameLoc | None:
    """The part of a location whose name is the path of its module."""
    if _frame_of(location) is not None:
        return None
    match location:
        case NameLoc(desc=desc) if desc.data.startswith(_NODE):
            return _module_of(location.location)
        case NameLoc():
            return location
        case CallSiteLoc():
            return _module_of(location.callee) or _module_of(location.caller)
        case FusedLoc():
            parts = cast("ArrayAttr[Attribute]", location.locations)
            return next((module for part in parts if (module := _module_of(part)) and module.desc.data), None)
        case _:
            return None


def place_of(location: Attribute) -> Location:
    """The place that a location is, for diagnostics."""
    return Location(tuple(frames_of(location)), module_path(location))


def source_line(location: Attribute) -> str:
    """The source place of an op, for messages: `model.py:12 in fc`; see `Location.source`."""
    return place_of(location).source
