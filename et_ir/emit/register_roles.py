"""Register roles inferred from the instructions of a disassembled method.

A file has tensors with memory and does not say what they are for. It is found out from the order of
instructions:

- A tensor that is read before anything is written to it is a *view* of the tensor that was last written where
  it lies; what is written later, in place, is written to both. If others were written last to all parts of it, as
  those of a concatenation are, they are views of it.
- Where there is none, it holds *state* from the execution before.
- A delegate writes as many of its values, counted from the last, as its blob has outputs, where the format is known;
  else the last one, and those before it that nothing has written yet.

A file may leave it open, and then what is found is safe rather than exact: a view and its base share memory
in the file, so keeping them together is always right; state is never given away.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from et_ir.dialects.executorch.layout import nbytes
from et_ir.emit.plan_reader import DecodedInstruction, PlanReader
from et_ops.conventions import ET_VIEW
from et_schema import program as schema
from et_schema.errors import Error, InvalidFile

__all__ = ["RegisterRoles", "find_roles"]


@dataclass
class RegisterRoles:
    """The registers of a method: `order` has all, each of the sets those of one kind. Allocations are in
    none.
    """

    order: list[int] = field(default_factory=list[int])
    inputs: set[int] = field(default_factory=set[int])
    constants: set[int] = field(default_factory=set[int])
    states: set[int] = field(default_factory=set[int])
    references: set[int] = field(default_factory=set[int])
    aliased: set[int] = field(default_factory=set[int])
    """Inputs that instructions write in the caller's own memory."""
    views: dict[int, tuple[int, int]] = field(default_factory=dict[int, "tuple[int, int]"])
    """The base of each view, and the byte at which the view starts in it."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """Bytes of an arena."""

    memory_id: int
    start: int
    end: int

    def overlaps(self, other: _Extent) -> bool:
        return self.memory_id == other.memory_id and self.start < other.end and other.start < self.end

    def contains(self, other: _Extent) -> bool:
        return self.memory_id == other.memory_id and self.start <= other.start and other.end <= self.end


def find_roles(reader: PlanReader, outputs: Callable[[int], int | None]) -> RegisterRoles:
    """The roles of a method's registers; `outputs` gives the number of outputs of a delegate, where that is known.

    Also sets `outs` of the decoded delegate calls. Raises `InvalidFile`.
    """
    return _Finder(reader, outputs).run()


class _Finder:
    def __init__(self, reader: PlanReader, outputs: Callable[[int], int | None]):
        self.reader = reader
        self._outputs = outputs
        self.roles = RegisterRoles()
        self.extents: dict[int, _Extent] = {}
        self.first_read: dict[int, int] = {}
        self.writes: dict[int, list[int]] = {}
        """When each register is written; -1 is before the first instruction."""

    def run(self) -> RegisterRoles:
        reader, roles = self.reader, self.roles
        tensors = [index for index in range(len(reader.values)) if reader.is_tensor(index)]
        self._inputs()
        for index in tensors:
            self._tensor(index)
        for position, step in enumerate(reader.steps):
            if isinstance(step.table, schema.DelegateCall):
                self._delegate(position, step, self._outputs(step.table.delegate_index))
            self._note(position, step.reads, step.writes)
        self._note(len(reader.steps), reader.plan.outputs, ())
        self._et_views()
        for index in tensors:
            self._unwritten(index)
        self._flatten()
        for index in tensors:
            self._untouched(index)
        self._references(tensors)
        roles.aliased |= {index for index in roles.inputs if self._is_aliased(index)}
        self._flatten()
        self._order({*tensors, *self._scalars()})
        return roles

    def _inputs(self) -> None:
        for position, index in enumerate(self.reader.plan.inputs):
            where = f"{self.reader.where}.inputs[{position}]"
            if index in self.roles.inputs:
                raise InvalidFile("two inputs are the same value", code=Error.NotSupported, where=where)
            if self.reader.is_tensor(index) and self._has_data(index):
                raise InvalidFile("an input has data", code=Error.NotSupported, where=where)
            self.roles.inputs.add(index)

    def _is_aliased(self, index: int) -> bool:
        is_unplanned = self.reader.is_tensor(index) and self.reader.place(index) is None
        return is_unplanned and any(position >= 0 for position in self.writes[index])

    def _has_data(self, index: int) -> bool:
        return self.reader.tensor(index).data_buffer_idx > 0 or self.reader.is_external(index)

    def _tensor(self, index: int) -> None:
        place = self.reader.place(index)
        size = nbytes(self.reader.tensor_type(index))
        if place is not None:
            self.extents[index] = _Extent(place[0], place[1], place[1] + size)
        info = self.reader.tensor(index).extra_tensor_info
        if index in self.roles.inputs:
            self.writes[index] = [-1]
        elif place is not None and (
            self._has_data(index) or (info is not None and info.fully_qualified_name)
        ):
            self.roles.states.add(index)
            self.writes[index] = [-1]
        elif self._has_data(index):
            self.roles.constants.add(index)
            self.writes[index] = [-1]

    def _note(self, position: int, reads: Sequence[int], writes: Sequence[int]) -> None:
        for index in reads:
            self.first_read.setdefault(index, position)
        for index in writes:
            self.writes.setdefault(index, []).append(position)

    def _delegate(self, position: int, step: DecodedInstruction, known: int | None) -> None:
        """Split the values of a delegate call: those at the end that are new are its outputs, if their number is not
        known.
        """
        count = len(step.reads)
        if known is not None and known <= count:
            step.outs = known
        while known is None and step.outs < count:
            index = step.reads[count - 1 - step.outs]
            fresh = index not in self.writes and index not in self.first_read
            # The last value is an output. Those before it may be views of what was written where they lie.
            if not fresh or (step.outs and self._base(index, position) is not None):
                break
            step.outs += 1
        step.writes = step.reads[count - step.outs :]
        step.reads = step.reads[: count - step.outs]

    def _base(self, index: int, position: int) -> int | None:
        """The register that was last written, before an instruction, in the memory of another, if it holds
        all of it.
        """
        extent = self.extents.get(index)
        if extent is None:
            return None
        best, best_write = None, -2
        for other, writes in self.writes.items():
            place = self.extents.get(other)
            if other == index or place is None or not place.overlaps(extent):
                continue
            before = bisect_left(writes, position)
            if before and writes[before - 1] > best_write:
                best, best_write = other, writes[before - 1]
        return best if best is not None and self.extents[best].contains(extent) else None

    def _et_views(self) -> None:
        """The prim that views at run time has its result planned where its argument is."""
        for step in self.reader.steps:
            if step.operator != ET_VIEW or not step.shape.arguments or not step.shape.returns:
                continue
            base, view = step.shape.arguments[0], step.shape.returns[0]
            mine, whole = self.extents.get(view), self.extents.get(base)
            if (
                mine is not None
                and whole is not None
                and whole.contains(mine)
                and view not in self.roles.inputs
            ):
                self._add_view(view, base)

    def _add_view(self, view: int, base: int) -> bool:
        """Make a register a view of another, unless that one is, in turn, a view of it."""
        root = self._root(base)
        if root == view:
            return False
        self.roles.views[view] = (root, self.extents[view].start - self.extents[root].start)
        return True

    def _root(self, index: int) -> int:
        while index in self.roles.views:
            index, _ = self.roles.views[index]
        return index

    def _unwritten(self, index: int) -> None:
        """A tensor in an arena that is read before anything is written to it."""
        roles = self.roles
        read = self.first_read.get(index)
        if read is None or index in roles.inputs or index in roles.states or index not in self.extents:
            return
        writes = self.writes.get(index)
        if writes is not None and writes[0] < read:
            return
        sources = self._sources(index, read)
        joined = [self._join(index, source) for source in sources]
        if index not in roles.views and (not sources or not all(joined)):
            roles.states.add(index)

    def _sources(self, index: int, position: int) -> list[int]:
        """The registers that were last written, before an instruction, in the memory of another; none if they have not
        written all of it.
        """
        extent = self.extents[index]
        written: list[tuple[int, int]] = []
        for other, writes in self.writes.items():
            place = self.extents.get(other)
            before = bisect_left(writes, position)
            if other != index and before and place is not None and place.overlaps(extent):
                written.append((writes[before - 1], -other))
        sources: list[int] = []
        missing = [(extent.start, extent.end)]
        for _, other in sorted(written, reverse=True):
            place = self.extents[-other]
            left = _without(missing, place.start, place.end)
            if left != missing:
                sources.append(-other)
            missing = left
        return [] if missing else sources

    def _join(self, index: int, source: int) -> bool:
        """Make two registers one memory: the smaller a view of the larger; of two as large the one that comes first in
        the file stays first. Whether that can be.
        """
        roles = self.roles
        one, other = self._root(index), self._root(source)
        fixed = roles.inputs | roles.states
        if one == other:
            return True
        if self.extents[one].contains(self.extents[other]) and other not in fixed:
            is_same = self.extents[other].contains(self.extents[one])
            if not is_same or one < other or one in fixed:
                return self._add_view(other, one)
        if self.extents[other].contains(self.extents[one]) and one not in fixed:
            return self._add_view(one, other)
        return False

    def _untouched(self, index: int) -> None:
        """A tensor that no instruction names: what others are views of, if those stand before the one that is named.

        A concatenation of which only views are written, and a view is read.
        """
        roles = self.roles
        known = index in roles.inputs or index in roles.constants or index in roles.states
        extent = self.extents.get(index)
        if (
            extent is None
            or known
            or index in roles.views
            or index in self.first_read
            or index in self.writes
        ):
            return
        before = {root for view, (root, _) in roles.views.items() if index < view < root}
        roots = sorted(root for root in before if root not in roles.inputs and root not in roles.states)
        for root in roots:
            if self.extents[root] == extent:
                self._add_view(root, index)
                return

    def _flatten(self) -> None:
        """A view of a view is one of what that views: a register that comes before both."""
        views = self.roles.views
        for index in views:
            root, start = views[index]
            while root in views:
                root, further = views[root]
                start += further
            views[index] = (root, start)

    def _references(self, tensors: Sequence[int]) -> None:
        """Tensors without memory that a move or a view at run time makes refer to that of others."""
        targets: set[int] = set()
        for step in self.reader.steps:
            if isinstance(step.table, schema.MoveCall):
                targets.add(step.table.move_to)
            elif step.operator == ET_VIEW:
                targets.update(step.shape.returns)
        roles = self.roles
        for index in tensors:
            if index in targets and index not in self.extents and index not in roles.inputs:
                roles.references.add(index)

    def _scalars(self) -> set[int]:
        """Numbers, strings and none that are registers: inputs, what instructions write, what they hand
        around.
        """
        scalars = set(self.reader.plan.inputs)
        conditions: set[int] = set()
        for step in self.reader.steps:
            scalars.update(step.writes)
            match step.table:
                case schema.MoveCall() | schema.DelegateCall():
                    scalars.update(step.reads)
                case schema.JumpFalseCall() as jump:
                    conditions.add(jump.cond_value_index)
                case _:
                    pass
        for _, chain in self.reader.chains:
            scalars.update(chain.inputs, chain.outputs)
        # A jump on a false that nothing writes is how the file says 'always'.
        scalars.update(index for index in conditions if self.reader.values[index] != schema.Bool(False))
        return scalars

    def _order(self, registers: set[int]) -> None:
        """All registers by value, but inputs as in the signature, and a view behind its base."""
        inputs = iter(self.reader.plan.inputs)
        done: set[int] = set()

        def add(index: int) -> None:
            if index in done:
                return
            if index in self.roles.views:
                add(self.roles.views[index][0])
            done.add(index)
            self.roles.order.append(index)

        for index in sorted(registers):
            add(next(inputs) if index in self.roles.inputs else index)


def _without(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Ranges of bytes without those from `start` to `end`."""
    cut = [part for first, last in ranges for part in ((first, min(last, start)), (max(first, end), last))]
    return [(first, last) for first, last in cut if first < last]
