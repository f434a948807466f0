"""Input size guard checks.

They run when an input has another size than before.

The schema has upper bounds only; the rest is named data (`et_schema.guards`) that other runtimes leave alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_schema.errors import FIRST, Error, InputError, InvalidFile, Problems
from et_schema.guards import KEY, Condition, MethodGuards, Size, decode
from et_schema.program import Tensor

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_schema.pte import PteFile

__all__ = ["InputGuards", "guards_of", "verify_guards"]


def guards_of(pte: PteFile, plan: ExecutionPlan) -> MethodGuards | None:
    """A method's conditions on sizes, if the file has any. The file has passed `verify_guards`."""
    for entry in pte.program.named_data:
        if entry.key == KEY:
            return decode(pte.segments[entry.segment_index]).get(plan.name)
    return None


def verify_guards(pte: PteFile, problems: Problems = FIRST) -> None:
    """Check that the guards of a file can be read, and are about inputs that its methods have."""
    for index, entry in enumerate(pte.program.named_data):
        if entry.key != KEY or id(entry) in pte.malformed:
            continue
        where = f"named_data[{index}]"
        try:
            methods = decode(pte.segments[entry.segment_index])
        except ValueError as error:
            problems.add(InvalidFile(f"guards: {error}", where=where))
            continue
        plans = {plan.name: plan for plan in pte.program.execution_plan if id(plan) not in pte.malformed}
        for name, guards in methods.items():
            absent = None if pte.malformed else "no such method"
            fault = _fault(guards, plans[name]) if name in plans else absent
            if fault is not None:
                problems.add(InvalidFile(f"guards of method {name!r}: {fault}", where=where))


def _fault(guards: MethodGuards, plan: ExecutionPlan) -> str | None:
    """Fault in the guards of a method."""
    if len(guards.inputs) != len(plan.inputs):
        return f"{len(guards.inputs)} inputs, the method has {len(plan.inputs)}"
    ranks: dict[str, int | None] = {}
    for name, register in zip(guards.inputs, plan.inputs, strict=True):
        value = plan.values[register].val if 0 <= register < len(plan.values) else None
        ranks[name] = len(value.sizes) if isinstance(value, Tensor) else None
    for condition in guards.conditions:
        for name, dim in condition.sizes:
            rank = ranks[name]
            if (dim is None) != (rank is None) or (dim is not None and rank is not None and dim >= rank):
                return f"{condition.text!r} does not refer to an input size"
    return None


class InputGuards:
    """The checks of one method, and the sizes that its inputs have."""

    def __init__(self, guards: MethodGuards, values: Sequence[object]) -> None:
        """`values` are what the registers of the inputs hold: numbers are what the method was exported with."""
        self.names = guards.inputs
        self.unchecked = set(range(len(self.names)))
        """Inputs whose shape has not been checked, or did not fit."""
        self._pending = True
        self._sizes: dict[Size, int] = {
            (name, None): value
            for name, value in zip(self.names, values, strict=True)
            if isinstance(value, int)
        }
        self._alone: list[list[Condition]] = [[] for _ in self.names]
        self._together: list[Condition] = []
        for condition in guards.conditions:
            about = {name for name, _ in condition.sizes}
            if len(about) == 1:
                self._alone[self.names.index(about.pop())].append(condition)
            else:
                self._together.append(condition)

    def check(self, index: int, shape: tuple[int, ...]) -> None:
        """Check the shape that an input will have, by itself. Raises InputError."""
        name = self.names[index]
        self.unchecked.add(index)
        self._pending = True
        self._sizes.update({(name, dim): size for dim, size in enumerate(shape)})
        for condition in self._alone[index]:
            if not condition.holds(self._sizes):
                raise self._error(condition, f"input {index} ({name})")

    def accept(self, index: int) -> None:
        """Note that an input has the shape that was checked."""
        self.unchecked.discard(index)

    def check_together(self) -> None:
        """Check what concerns several inputs, if one of them has another shape. Raises InputError."""
        if self._pending:
            for condition in self._together:
                if not condition.holds(self._sizes):
                    raise self._error(condition, " and ".join(self._described(condition)))
            self._pending = False

    def _described(self, condition: Condition) -> list[str]:
        names = dict.fromkeys(name for name, _ in condition.sizes)
        return [f"input {self.names.index(name)} ({name})" for name in names]

    def _error(self, condition: Condition, where: str) -> InputError:
        got = " and ".join(
            f"dimension {dim} of {name} is {self._sizes.get((name, dim))}"
            for name, dim in condition.sizes
            if dim is not None
        )
        return InputError(
            f"{got}, the program requires {condition.text}", code=Error.NotSupported, where=where
        )
