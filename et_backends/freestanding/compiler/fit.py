"""Placement of code, constants, arenas and stack in memory banks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from et_backends.freestanding.compiler.programs import FreestandingObject
from et_ir.planning.banks import Bank
from et_ir.planning.hierarchy import Infeasible

__all__ = ["FLASH", "fitted", "placed", "usage"]

FLASH = "flash"
"""The name of the bank that code and constants are in."""
ARENA = "the arena"
ATTEMPTS = 3
"""Objects with arenas in several banks that are made, as long as each has a larger stack than the one before."""


def fitted(
    make: Callable[[Sequence[Bank]], FreestandingObject], banks: Sequence[Bank]
) -> tuple[FreestandingObject, dict[str, str]]:
    """An object that fits memory banks, and what is in which of them.

    `make` compiles a program with arenas in the given banks, or with one arena for none. An arena that does not fit the
    fastest bank is distributed over all; the banks of state and stack are chosen before. Where no distribution fits,
    the arena is in a slower bank as a whole.

    Raises ValueError, whose message says what does not fit where.
    """
    whole = make(())
    memory = [bank for bank in banks if bank.name != FLASH]
    if len(memory) < 2 or not whole.arena_bytes:
        return whole, placed(whole, banks)
    try:
        places = placed(whole, banks)
    except ValueError:
        places = {}
    speed = max(bank.speed for bank in memory)
    if places.get(ARENA) in [bank.name for bank in memory if bank.speed == speed]:
        return whole, places
    try:
        return _distributed(make, whole, banks)
    except ValueError:
        if not places:
            raise
        return whole, places


def _distributed(
    make: Callable[[Sequence[Bank]], FreestandingObject], whole: FreestandingObject, banks: Sequence[Bank]
) -> tuple[FreestandingObject, dict[str, str]]:
    """The object with arenas in several banks, `whole` being that with one arena. Raises ValueError."""
    made = whole
    memory = [bank for bank in banks if bank.name != FLASH]
    for _ in range(ATTEMPTS):
        # What a bank has left beside the state and a stack of this size.
        left = _free(made, banks)
        stack = made.stack_bytes
        try:
            made = make([replace(bank, capacity=left[bank.name]) for bank in memory])
        except Infeasible as error:
            raise ValueError(_refusal(made, memory, left, error)) from None
        if made.stack_bytes <= stack:
            break
    return made, placed(made, banks)


def placed(made: FreestandingObject, banks: Sequence[Bank]) -> dict[str, str]:
    """The bank of code and constants, of the arena and of the stack: `flash`, and of the others the first with room.

    Arenas that were planned for a bank are in it. Raises ValueError, whose message says what does not fit where.
    """
    left = _capacities(banks)
    places: dict[str, str] = {}
    parts = _parts(made)
    for arena in made.arenas:
        if arena.bank:
            _take(left, [arena.bank], _title(arena.bank), arena.nbytes)
            places[_title(arena.bank)] = arena.bank
            del parts[_title(arena.bank)]
    for what, nbytes in parts.items():
        candidates = [name for name in left if (name == FLASH) == (what == "code and constants")]
        places[what] = _take(left, candidates, what, nbytes)
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


def _capacities(banks: Sequence[Bank]) -> dict[str, int | None]:
    left = {bank.name: bank.capacity for bank in banks}
    if FLASH not in left:
        raise ValueError(f"no bank '{FLASH}' for code and constants, there are: {', '.join(left)}")
    return left


def _take(left: dict[str, int | None], candidates: Sequence[str], what: str, nbytes: int) -> str:
    """The first bank with so many bytes left, which then has fewer."""
    for name in candidates:
        free = left[name]
        if free is None or nbytes <= free:
            left[name] = None if free is None else free - nbytes
            return name
    rooms = ", ".join(f"{name} has {left[name]:,} bytes left" for name in candidates)
    verb = "need" if what == "code and constants" else "needs"
    raise ValueError(f"{what} {verb} {nbytes:,} bytes: {rooms or 'there is no bank for memory'}")


def _free(made: FreestandingObject, banks: Sequence[Bank]) -> dict[str, int | None]:
    """What banks have left for arenas."""
    left = _capacities(banks)
    for what, nbytes in _parts(made).items():
        if what in ("the state", "the stack"):
            _take(left, [name for name in left if name != FLASH], what, nbytes)
    return left


def _refusal(
    made: FreestandingObject, memory: Sequence[Bank], left: Mapping[str, int | None], error: Infeasible
) -> str:
    rooms = ", ".join(
        f"{bank.name} has no limit" if free is None else f"{bank.name} has {free:,} bytes left"
        for bank, free in ((bank, left[bank.name]) for bank in memory)
    )
    return (
        f"{ARENA} needs {made.arena_bytes:,} bytes, {error.plan.size:,} of them in {error.bank.name}: {rooms}"
    )


def _title(bank: str) -> str:
    return f"{ARENA} in {bank}" if bank else ARENA


def _parts(made: FreestandingObject) -> dict[str, int]:
    """Bytes by what they are for."""
    return {
        "code and constants": made.code_bytes + made.constant_bytes,
        "the state": made.state_bytes,
        **{_title(one.bank): one.nbytes for one in made.arenas},
        "the stack": made.stack_bytes,
    }
