"""The differences of the instructions of two methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from et_tools.diff.described import DescribedMethod
from et_tools.diff.difference import Difference


def compare_instructions(first: DescribedMethod, second: DescribedMethod) -> Iterator[Difference]:
    """Instructions that only one method has; then, of those both have, other operands, places and source lines."""
    where = f"{first.name}, instructions"
    before = [line.text for line in first.lines]
    after = [line.text for line in second.lines]
    matched: list[tuple[int, int]] = []
    for tag, low, high, new_low, new_high in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            matched += zip(range(low, high), range(new_low, new_high), strict=True)
            continue
        for at in range(low, high):
            yield Difference(where, f"{at}: {before[at]}", None)
        for at in range(new_low, new_high):
            yield Difference(where, None, f"{at}: {after[at]}")

    same: dict[int, int] = dict(zip(first.plan.inputs, second.plan.inputs, strict=False))
    for at, new_at in matched:
        old, new = first.lines[at].registers, second.lines[new_at].registers
        # A call may list its outputs once, and another one twice.
        pairs = zip(old, new, strict=False)
        if len(old) != len(new) or any(same.setdefault(one, other) != other for one, other in pairs):
            yield Difference(
                f"{first.name}, operands",
                f"{at}: {before[at]} on {_registers(old)}",
                f"{new_at}: {after[new_at]} on {_registers(new)}",
            )
    for register, counterpart in same.items():
        if (place := first.place(register)) != (other := second.place(counterpart)):
            yield Difference(
                f"{first.name}, memory",
                f"%{register} {first.describe(register)}: {place}",
                f"%{counterpart} {second.describe(counterpart)}: {other}",
            )
    sources, new_sources = first.sources(), second.sources()
    for at, new_at in matched:
        if sources[at] != new_sources[new_at]:
            yield Difference(
                f"{first.name}, source lines",
                f"{at}: {sources[at]}" if sources[at] else None,
                f"{new_at}: {new_sources[new_at]}" if new_sources[new_at] else None,
            )


def _registers(registers: Iterable[int]) -> str:
    return " ".join(f"%{register}" for register in registers)
