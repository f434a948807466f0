"""Placement of code, constants, arena and stack in memory banks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from et_ir.backends.freestanding.compiler import FreestandingObject
from et_ir.planning.banks import Bank

__all__ = ["FLASH", "placed", "usage"]

FLASH = "flash"
"""The name of the bank that code and constants are in."""


def placed(made: FreestandingObject, banks: Sequence[Bank]) -> dict[str, str]:
    """The bank of code and constants, of the arena and of the stack: `flash`, and of the others the first with room.

    Raises ValueError, whose message says what does not fit where.
    """
    left = {bank.name: bank.capacity for bank in banks}
    if FLASH not in left:
        raise ValueError(f"no bank '{FLASH}' for code and constants, there are: {', '.join(left)}")
    places: dict[str, str] = {}
    for what, nbytes in _parts(made).items():
        candidates = [name for name in left if (name == FLASH) == (what == "code and constants")]
        for name in candidates:
            free = left[name]
            if free is None or nbytes <= free:
                left[name] = None if free is None else free - nbytes
                places[what] = name
                break
        else:
            rooms = ", ".join(f"{name} has {left[name]:,} bytes left" for name in candidates)
            verb = "need" if what == "code and constants" else "needs"
            raise ValueError(f"{what} {verb} {nbytes:,} bytes: {rooms or 'there is no bank for memory'}")
    return places


def usage(made: FreestandingObject, banks: Sequence[Bank], places: Mapping[str, str]) -> str:
    """The contents of each bank and the share of it that they take: a line for each, of what `placed` has found."""
    lines: list[str] = []
    parts = _parts(made)
    for bank in banks:
        held = [what for what, name in places.items() if name == bank.name and parts[what]]
        if not held:
            continue
        size = "" if bank.capacity is None else f" of {bank.capacity:,}"
        names = ", ".join(what.removeprefix("the ") for what in held)
        lines.append(f"{bank.name}: {sum(parts[what] for what in held):,}{size} bytes for {names}\n")
    return "".join(lines)


def _parts(made: FreestandingObject) -> dict[str, int]:
    """Bytes by what they are for."""
    return {
        "code and constants": made.code_bytes + made.constant_bytes,
        "the state": made.state_bytes,
        "the arena": made.arena_bytes,
        "the stack": made.stack_bytes,
    }
