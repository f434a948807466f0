"""Recording of the values that instructions and nodes of delegates compute."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from et_schema.diagnostics import Frame, Location
from et_schema.errors import InvalidFile
from et_vm.devtools.debug_map import HINT, rows_of_method
from et_vm.tracer import EventTracer
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_ir.emit.debug_handles import Origin
    from et_vm.devtools.events import Event

__all__ = [
    "InstructionSource",
    "ObservedValue",
    "Recorder",
    "recorded_values",
    "sources_of",
    "sources_of_map",
]


_OUTPUT = 1 << 30
"""The number of an instruction's outputs behind those of all nodes of its delegate."""


@dataclass(frozen=True)
class ObservedValue:
    """A value that one op, instruction or node of a delegate computed."""

    node: str
    """The node of the exported graph; empty where it is not known."""
    operator: str
    """The op, the operator of the instruction, or the node of the delegate."""
    place: Location
    """Source line and module."""
    index: int
    """Which of the results."""
    step: tuple[int, int]
    """The place of the op in its program: the number of the op or instruction, and of the node in its delegate."""
    value: Any
    """An array, or a Python number."""
    nodes: tuple[str, ...] = ()
    """Of an output of a delegate that says nothing of its nodes: all nodes that it stands for."""
    fused: tuple[tuple[str, Location], ...] = ()
    """Nodes that are computed with it, inside of one part of a delegate, and their places."""
    is_reordered: bool = False
    """Whether its dimensions may have changed places, as those of nodes of XNNPACK."""

    @property
    def line(self) -> str:
        """The source line as `file:line`; empty where it is not known."""
        frame = self.place.frame
        return f"{frame.filename}:{frame.lineno}" if frame.lineno else ""


@dataclass(frozen=True)
class InstructionSource:
    """Source of an instruction."""

    node: str
    operator: str
    place: Location
    inside: Mapping[str, Sequence[tuple[str, Location]]] = field(
        default_factory=dict[str, "Sequence[tuple[str, Location]]"]
    )
    """Nodes and their places by the identifiers of the delegate that it calls."""
    backend: str = ""
    """The backend that it calls."""

    @property
    def reorders(self) -> bool:
        """Whether values inside the delegate may have other orders of dimensions than in the program."""
        return self.backend == "XnnpackBackend"


def sources_of(rows: Sequence[Origin]) -> dict[int, InstructionSource]:
    """The sources of a method's instructions, by index."""
    found: dict[int, InstructionSource] = {}
    for row in rows:
        places = {} if row.delegate is None else row.delegate.places
        inside = {
            identifier: [(one.node, Location(one.frames, one.module)) for one in several if one.node]
            for identifier, several in places.items()
        }
        place = Location(row.frames, row.module)
        backend = "" if row.delegate is None else row.delegate.backend
        found[row.instruction] = InstructionSource(row.node, row.operator, place, inside, backend)
    return found


def sources_of_map(path: str, method: str) -> dict[int, InstructionSource]:
    """The same from a file of `et-compile --debug-map`.

    Raises ExecutorchError(AccessFailed) for a file that cannot be read, InvalidFile for one that is no debug map or
    lacks the method.
    """
    found: dict[int, InstructionSource] = {}
    try:
        for row in rows_of_method(path, method):
            inside = {
                identifier: [(one["node"], _place(one)) for one in places if one["node"]]
                for identifier, places in row.get("delegate", {}).get("identifiers", {}).items()
            }
            backend = str(row.get("delegate", {}).get("backend", ""))
            source = InstructionSource(row["node"], row["operator"], _place(row), inside, backend)
            found[row["instruction"]] = source
    except KeyError as error:
        raise InvalidFile(f"the debug map has a row without {error}", where=path, hint=HINT) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidFile(f"not a debug map: {error}", where=path, hint=HINT) from error
    return found


def recorded_values(
    events: Sequence[Event], sources: Mapping[int, InstructionSource], inputs: Sequence[Any] = ()
) -> list[ObservedValue]:
    """The values that an ETDump has of the instructions of one execution, and of parts of delegates."""
    found: list[ObservedValue] = []
    told = {event.instruction_id for event in events if event.is_delegated_op and event.debug_data}
    parts: dict[int, int] = {}
    before: list[Any] = [value for value in inputs if isinstance(value, np.ndarray)]
    for event in events:
        if event.name == "OPERATOR_CALL" or event.instruction_id < 0 or event.name.startswith("Method::"):
            continue
        index = event.instruction_id
        source = sources.get(index) or InstructionSource("", f"instruction {index}", Location())
        values = [
            one for value in event.debug_data for one in (value if isinstance(value, list) else [value])
        ]
        node, operator, place, nodes = source.node, source.operator, source.place, ()
        step, fused = (index, 0), ()
        if event.is_delegated_op:
            parts[index] = parts.get(index, 0) + 1
            inside = source.inside.get(str(event.delegate_debug_identifier), [])
            node, place = inside[-1] if inside else ("", Location())
            fused = tuple(inside[:-1])
            # Of a part that is several calls, the last one completes the value.
            names = event.raw_delegate_debug_metadatas or [b""]
            operator, step = names[-1].decode("utf-8", "replace"), (index, parts[index])
        elif event.name == "DELEGATE_CALL":
            # The values are those of all arguments, inputs too.
            values = [one for one in values if not any(_same(one, other) for other in before)]
            node, step = "", (index, _OUTPUT)
            if index not in told:
                nodes = tuple(dict.fromkeys(name for places in source.inside.values() for name, _ in places))
        before += [one for one in values if isinstance(one, np.ndarray)]
        found += [
            ObservedValue(
                *(node, operator, place, number, step, one, nodes, fused),
                is_reordered=event.is_delegated_op and source.reorders,
            )
            for number, one in enumerate(values)
            if isinstance(one, np.ndarray | bool | int | float)
        ]
    return found


def _place(row: Mapping[str, Any]) -> Location:
    frames = tuple(
        Frame(str(one["file"]), int(one["line"]), str(one["function"]), str(one["code"]))
        for one in row["source"]
    )
    return Location(frames, str(row["module"]))


def _same(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and bool(np.all(np.asarray(one) == np.asarray(other)))


class Recorder(EventTracer):
    """Keeps copies of what instructions and the nodes of delegates write, in `values`."""

    wants_values = True

    def __init__(self, sources: Mapping[int, InstructionSource], inputs: Collection[int] = ()):
        """`inputs` are the registers of the method's inputs."""
        self.values: list[ObservedValue] = []
        self._inputs = frozenset(inputs)
        self._registers: dict[int, Any] = {}
        self._outputs: dict[tuple[int, int], bool] = {}
        self._sources = sources
        self._seen = (-1, 0)
        self._nodes = (-1, 0)

    def on_value(self, method: str, index: int, register: int, value: object) -> None:
        last, count = self._seen
        count = count + 1 if last == index else 0
        self._seen = (index, count)
        plain: Any = value.array.copy() if isinstance(value, Tensor) else value
        known = self._registers.get(register)
        self._registers[register] = plain
        source = self._sources.get(index) or InstructionSource("", f"instruction {index}", Location())
        if not source.inside:
            self._keep(source.node, source.operator, source.place, count, (index, 0), value)
            return
        # A call does not say which of its arguments are outputs: what is as it was the first time is none.
        is_output = register not in self._inputs and (known is None or not _same(known, plain))
        if not self._outputs.setdefault((index, register), is_output):
            return
        # Its location is that of one of its ops. Its outputs are values of nodes, which a backend may have told.
        told = self._nodes[0] == index
        nodes = [node for places in source.inside.values() for node, _ in places]
        self._keep("", source.operator, source.place, count, (index, _OUTPUT), value, () if told else nodes)

    def on_delegate_value(
        self, method: str, index: int, identifier: int | str, name: str, output: int, value: object
    ) -> None:
        source = self._sources.get(index)
        places = [] if source is None else source.inside.get(str(identifier), [])
        # A node of the delegate that stands for several has the value of the last.
        node, place = places[-1] if places else ("", Location())
        last, count = self._nodes
        count = (count if output else count + 1) if last == index else 1
        self._nodes = (index, count)
        reorders = source is not None and source.reorders
        self._keep(node, name, place, output, (index, count), value, (), places[:-1], is_reordered=reorders)

    def on_instruction(self, method: str, index: int, opcode: str, name: str, start: int, end: int) -> None:
        self._seen = (-1, 0)
        if self._nodes[0] != index:
            self._nodes = (-1, 0)

    def _keep(
        self,
        node: str,
        operator: str,
        place: Location,
        output: int,
        step: tuple[int, int],
        value: object,
        nodes: Sequence[str] = (),
        fused: Sequence[tuple[str, Location]] = (),
        *,
        is_reordered: bool = False,
    ) -> None:
        plain: Any = value.array.copy() if isinstance(value, Tensor) else value
        if isinstance(plain, np.ndarray | bool | int | float):
            several = tuple(dict.fromkeys(nodes))
            self.values.append(
                ObservedValue(node, operator, place, output, step, plain, several, tuple(fused), is_reordered)
            )
