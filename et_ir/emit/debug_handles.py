"""Debug handles: numbers that say which instructions come from one operator of the exported program.

The file has no place for them, so they are given beside it. An instruction keeps the handle that the module
gives it. The others are numbered by where they come from, from 1 in the order of the file: what one node of a
method's exported graph was lowered to has one handle, and where locations have no nodes, as in text of others, what
has one location. An instruction of unknown origin has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, LocationAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.executorch import DelegateCallOp, KernelCallOp, PlanOp
from et_ir.emit.basic_blocks import instruction_order
from et_ir.locations import Frame, frames_of, module_classes, module_path, node_name, parts_of

__all__ = [
    "DebugHandles",
    "DelegateOrigins",
    "Origin",
    "SourcePlace",
    "debug_handle_map",
    "delegate_map",
    "instructions_of",
    "origins",
    "origins_json",
]


@dataclass(frozen=True)
class SourcePlace:
    """A place in the exported program."""

    handle: int | None
    node: str
    """The node of the exported graph; empty where it is not known."""
    module: str
    """The path of the module, as in `named_modules()`; empty for the root and where it is not known."""
    frames: tuple[Frame, ...]
    """The Python source lines, outermost first."""
    classes: tuple[str, ...] = ()
    """The class of the module that each part of the path leads to, empty where it is not known; () where none is."""


@dataclass(frozen=True)
class DelegateOrigins:
    """The debug map of a delegate's own identifiers, by which its events are traced."""

    backend: str
    places: Mapping[str, tuple[SourcePlace, ...]]
    """The places that each identifier stands for. A number is written as text."""
    orders: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Orders of dimensions of values that are not as in the program, by identifier; () for values that no op has."""


@dataclass(frozen=True)
class Origin:
    """Source of an instruction."""

    instruction: int
    """Its index in the method."""
    operator: str
    """The kernel's operator, the delegate's symbol, or what kind of instruction it is."""
    handle: int | None
    node: str
    """The node of the exported graph; empty where it is not known."""
    module: str
    """The path of the module, as in `named_modules()`; empty for the root and where it is not known."""
    frames: tuple[Frame, ...]
    """The Python source lines, outermost first."""
    delegate: DelegateOrigins | None = None
    """The debug map of the delegate that the instruction calls, where its backend gives one."""
    classes: tuple[str, ...] = ()
    """The class of the module that each part of the path leads to, empty where it is not known; () where none is."""


def instructions_of(plan: PlanOp) -> list[Operation]:
    """The ops of a method that the file has an instruction for, in its order."""
    return [op for ops in instruction_order(plan.blocks).instructions.values() for op in ops]


def origins(module: ModuleOp) -> dict[str, list[Origin]]:
    """The origins of all instructions, by method, in the order of the file."""
    return DebugHandles(module).origins


class DebugHandles:
    """The debug handles of a module's instructions, and of further locations of its programs."""

    def __init__(self, module: ModuleOp):
        plans = sorted(
            (op for op in module.body.block.ops if isinstance(op, PlanOp)), key=lambda plan: plan.key
        )
        calls = {plan.key: instructions_of(plan) for plan in plans}
        given = {handle for ops in calls.values() for op in ops if (handle := _given(op)) is not None}
        lowered = {op.key: op for op in module.body.block.ops if isinstance(op, LoweredOp)}
        self._numbers = _Numbers(given)
        self.origins: dict[str, list[Origin]] = {}
        """The origins of all instructions, by method, in the order of the file."""
        self.delegates: dict[str, dict[int, list[int]]] = {}
        """The handles of all ops that a delegate was made of, by method and index of the instruction that calls it."""
        wholes: dict[str, dict[int, LocationAttr]] = {}
        for method, ops in calls.items():
            rows = self.origins[method] = list[Origin]()
            wholes[method] = {}
            for index, op in enumerate(ops):
                known = _given(op)
                place = (
                    self._numbers.place(method, op.location) if known is None else _place(op.location, known)
                )
                inside = None
                if isinstance(op, DelegateCallOp):
                    callee = lowered.get(op.callee.string_value())
                    inside = _inside(callee, method, self._numbers)
                    wholes[method][index] = op.location if callee is None else callee.location
                rows.append(
                    Origin(
                        *(index, _operator(op), place.handle, place.node, place.module, place.frames),
                        delegate=inside,
                        classes=place.classes,
                    )
                )
        for method, locations in wholes.items():
            self.delegates[method] = {
                index: list(dict.fromkeys(self.of(method, one) for one in parts_of(whole)))
                for index, whole in locations.items()
            }

    def of(self, method: str, location: LocationAttr) -> int:
        """The handle of a location, the next number for one that no instruction has; 0 where nothing is known of it."""
        return self._numbers.place(method, location).handle or 0


class _Numbers:
    """Numbers places by their location, and by the method whose node it names, from 1, but for the handles that the
    module gives.
    """

    def __init__(self, given: set[int]):
        self._given = given
        self._places: dict[tuple[str, LocationAttr], SourcePlace] = {}
        self._last = 0

    def place(self, method: str, location: LocationAttr) -> SourcePlace:
        key = (method if node_name(location) else "", location)
        known = self._places.get(key)
        if known is not None:
            return known
        place = _place(location, None)
        if place.node or place.module or place.frames:
            self._last += 1
            while self._last in self._given:
                self._last += 1
            place = replace(place, handle=self._last)
        self._places[key] = place
        return place


def _place(location: LocationAttr, handle: int | None) -> SourcePlace:
    return SourcePlace(
        *(handle, node_name(location), module_path(location), tuple(frames_of(location))),
        classes=module_classes(location),
    )


def _inside(lowered: LoweredOp | None, method: str, numbers: _Numbers) -> DelegateOrigins | None:
    """Ops by backend identifier."""
    if lowered is None or lowered.debug_handles is None:
        return None
    places: dict[str, tuple[SourcePlace, ...]] = {}
    for identifier, value in lowered.debug_handles.data.items():
        locations = cast("ArrayAttr[Attribute]", value).data if isinstance(value, ArrayAttr) else ()
        places[identifier] = tuple(
            numbers.place(method, one) for one in locations if isinstance(one, LocationAttr)
        )
    return DelegateOrigins(lowered.backend.data, places, lowered.orders)


def delegate_map(module: ModuleOp) -> dict[str, dict[int, dict[str, Any]]]:
    """The delegates of each method, by the index of the instruction that calls them: `name` is the backend's, and
    `delegate_map` has the debug handles that each of its own identifiers stands for.
    """
    return {
        method: {
            row.instruction: {
                "name": row.delegate.backend,
                "delegate_map": {
                    int(key) if key.isdecimal() else key: tuple(
                        p.handle for p in places if p.handle is not None
                    )
                    for key, places in row.delegate.places.items()
                },
            }
            for row in rows
            if row.delegate is not None
        }
        for method, rows in origins(module).items()
    }


def debug_handle_map(module: ModuleOp) -> dict[str, dict[int, int]]:
    """The handles of a module's instructions: by method, and by the instruction's index."""
    return {
        method: {row.instruction: row.handle for row in rows if row.handle is not None}
        for method, rows in origins(module).items()
    }


def origins_json(module: ModuleOp) -> dict[str, list[dict[str, Any]]]:
    """The origins as JSON has them: by method a list of objects, one an instruction."""
    return {
        method: [
            {
                "instruction": row.instruction,
                "operator": row.operator,
                "debug_handle": row.handle,
                "node": row.node,
                "module": row.module,
                **({"classes": list(row.classes)} if row.classes else {}),
                "source": _source(row.frames),
                **({} if row.delegate is None else {"delegate": _delegate_json(row.delegate)}),
            }
            for row in rows
        ]
        for method, rows in origins(module).items()
    }


def _source(frames: Sequence[Frame]) -> list[dict[str, Any]]:
    return [{"file": f.filename, "line": f.lineno, "function": f.name, "code": f.context} for f in frames]


def _delegate_json(delegate: DelegateOrigins) -> dict[str, Any]:
    return {
        "backend": delegate.backend,
        "identifiers": {
            key: [
                {
                    "debug_handle": place.handle,
                    "node": place.node,
                    "module": place.module,
                    **({"classes": list(place.classes)} if place.classes else {}),
                    "source": _source(place.frames),
                }
                for place in places
            ]
            for key, places in delegate.places.items()
        },
    }


def _given(op: Operation) -> int | None:
    attr = op.properties.get("debug_handle")
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def _operator(op: Operation) -> str:
    if isinstance(op, KernelCallOp):
        return op.key
    if isinstance(op, DelegateCallOp):
        return op.callee.string_value()
    return op.name.partition(".")[2]
