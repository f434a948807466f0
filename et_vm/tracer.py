"""Events of loading and running a method.

A method without a tracer pays nothing: its loop is chosen when it is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from et_schema.wording import in_words


class EventTracer:
    """Receives events; every hook of this class does nothing, so a subclass overrides the ones it wants.

    Times are the platform's ticks, in nanoseconds.
    """

    wants_values: bool = False
    """Whether `on_value` is called, with the outputs of every instruction."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def on_load(self, method: str, phase: str, start: int, end: int) -> None:
        """A phase of loading took place: `registers`, `delegates`, `link` or `prepare`."""

    def on_allocate(self, method: str, label: str, nbytes: int) -> None:
        """The method took `nbytes` of memory for `label`."""

    def on_execute(self, method: str, start: int, end: int) -> None:
        """One execution from set inputs to outputs ready; one that is stepped, from its first step to the one that
        finds its end.
        """

    def on_instruction(self, method: str, index: int, opcode: str, name: str, start: int, end: int) -> None:
        """An instruction ran; `name` is the operator, the backend or the mnemonic."""

    def on_delegate(
        self, method: str, index: int, identifier: int | str, name: str, start: int, end: int
    ) -> None:
        """Something took place in a backend, in its call that is instruction `index`. `identifier` is the
        backend's own: the debug map that the compiler writes says which source lines it stands for.
        """

    def on_delegate_value(
        self, method: str, index: int, identifier: int | str, name: str, output: int, value: object
    ) -> None:
        """A part of the delegate that instruction `index` calls computed `value`, the `output`-th of its results.
        Only with `wants_values`, and of backends that know. A tensor is only valid until the next event.
        """

    def on_value(self, method: str, index: int, register: int, value: object) -> None:
        """Instruction `index` wrote `value` into `register`. A tensor is only valid until the next
        instruction.
        """


class TracerGroup(EventTracer):
    """Passes events on to several tracers."""

    def __init__(self, *tracers: EventTracer) -> None:
        self._tracers = tracers
        self.wants_values = any(one.wants_values for one in tracers)

    def on_load(self, method: str, phase: str, start: int, end: int) -> None:
        for one in self._tracers:
            one.on_load(method, phase, start, end)

    def on_allocate(self, method: str, label: str, nbytes: int) -> None:
        for one in self._tracers:
            one.on_allocate(method, label, nbytes)

    def on_execute(self, method: str, start: int, end: int) -> None:
        for one in self._tracers:
            one.on_execute(method, start, end)

    def on_instruction(self, method: str, index: int, opcode: str, name: str, start: int, end: int) -> None:
        for one in self._tracers:
            one.on_instruction(method, index, opcode, name, start, end)

    def on_delegate(
        self, method: str, index: int, identifier: int | str, name: str, start: int, end: int
    ) -> None:
        for one in self._tracers:
            one.on_delegate(method, index, identifier, name, start, end)

    def on_delegate_value(
        self, method: str, index: int, identifier: int | str, name: str, output: int, value: object
    ) -> None:
        for one in self._tracers:
            if one.wants_values:
                one.on_delegate_value(method, index, identifier, name, output, value)

    def on_value(self, method: str, index: int, register: int, value: object) -> None:
        for one in self._tracers:
            if one.wants_values:
                one.on_value(method, index, register, value)


@dataclass(frozen=True, slots=True)
class InstructionEvent:
    """One executed instruction; times in nanoseconds."""

    index: int
    opcode: str
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DelegateEvent:
    """Event of a backend; times in nanoseconds."""

    index: int
    """The instruction that is the call."""
    identifier: int | str
    name: str
    start: int
    end: int


class RecordingTracer(EventTracer):
    """Keeps events in lists: `instructions` and `delegates` (an object for each), `executions` (start and end),
    `loads` (phase, start and end) and `allocations` (label and bytes). Times are in nanoseconds.
    """

    def __init__(self) -> None:
        self.instructions: list[InstructionEvent] = []
        self.delegates: list[DelegateEvent] = []
        self.executions: list[tuple[int, int]] = []
        self.loads: list[tuple[str, int, int]] = []
        self.allocations: list[tuple[str, int]] = []

    def __repr__(self) -> str:
        counts = (
            in_words(len(self.instructions), "instruction"),
            in_words(len(self.executions), "execution"),
        )
        return f"<{type(self).__name__}: {', '.join(counts)}>"

    def on_load(self, method: str, phase: str, start: int, end: int) -> None:
        self.loads.append((phase, start, end))

    def on_allocate(self, method: str, label: str, nbytes: int) -> None:
        self.allocations.append((label, nbytes))

    def on_execute(self, method: str, start: int, end: int) -> None:
        self.executions.append((start, end))

    def on_instruction(self, method: str, index: int, opcode: str, name: str, start: int, end: int) -> None:
        self.instructions.append(InstructionEvent(index, opcode, name, start, end))

    def on_delegate(
        self, method: str, index: int, identifier: int | str, name: str, start: int, end: int
    ) -> None:
        self.delegates.append(DelegateEvent(index, identifier, name, start, end))
