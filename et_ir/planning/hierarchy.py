"""Bank assignment of buffers in a memory hierarchy.

Memory is fast and small, or slow and large.

The cost of a buffer in a bank is its bytes, times how often it is used, divided by the bank's speed; the sum of all is
to be small, and what each bank holds has to fit. Banks are filled from the fastest to the slowest. All that is left
begins in a bank. While it does not fit, a buffer leaves it: where too much is needed at one time, the one that costs
the least for each byte that it relieves such times of; where only the layout is too large, the one that costs the least
of those that stick out. Then those that left come back where they fit after all, the most costly first.

This is a heuristic: to choose the best set for one bank is a knapsack problem already. What a bank holds is proven to
fit, by its layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from et_ir.planning.banks import Bank
from et_ir.planning.buffer import Buffer, Layout
from et_ir.planning.exact import QUICK, plan_exact
from et_ir.planning.infeasible import Conflict, conflict_of
from et_ir.planning.lower_bounds import lower_bound
from et_ir.planning.plan import Plan
from et_ir.planning.sections import sections

__all__ = ["Assignment", "Infeasible", "assign_banks", "transfer_cost"]

RETURNS: Final = 64
"""Layouts that are tried to bring buffers back."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The bank of each buffer, by its place among the banks, and a layout of what each bank holds."""

    bank: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    """The buffers of each bank, by index."""
    layouts: tuple[Layout, ...]
    """The layout of each bank, of its members in order."""


class Infeasible(Exception):
    """Overflow of a bank by buffers that must be in it.

    `conflict` are buffers that cannot live together in it, by index, or `None` if no layout was found without proof
    that there is none. `plan` is the smallest layout known of what has to be there.
    """

    def __init__(self, bank: Bank, conflict: Conflict | None, plan: Plan):
        super().__init__(f"{bank.name} has {bank.capacity} bytes, {plan.size} are needed")
        self.bank = bank
        self.conflict = conflict
        self.plan = plan


def transfer_cost(
    buffers: Sequence[Buffer], uses: Sequence[int], banks: Sequence[Bank], assigned: Sequence[int]
) -> float:
    """Cost of an assignment: bytes × uses ÷ speed, over all buffers."""
    return sum(
        buffer.size * count / banks[bank].speed
        for buffer, count, bank in zip(buffers, uses, assigned, strict=True)
    )


def assign_banks(
    buffers: Sequence[Buffer],
    uses: Sequence[int],
    banks: Sequence[Bank],
    pinned: Mapping[int, int] | None = None,
) -> Assignment:
    """The bank of each buffer. `uses` are how often each is read or written, `pinned` the banks that are not to be
    chosen, by index. Raises `Infeasible`.
    """
    fixed: Mapping[int, int] = {} if pinned is None else pinned
    left = [index for index in range(len(buffers)) if index not in fixed]
    chosen: dict[int, tuple[list[int], Layout]] = {}
    order = sorted(range(len(banks)), key=lambda at: -banks[at].speed)
    for at in order:
        here = [index for index, bank in fixed.items() if bank == at]
        last = at == order[-1]
        try:
            members, layout = _fill(buffers, uses, banks[at], here, left, leave=not last)
        except Infeasible as error:
            raise _anywhere(buffers, banks, fixed) or error from None
        chosen[at] = members, layout
        left = [index for index in left if index not in set(members)]
    bank = [0] * len(buffers)
    for at, (members, _) in chosen.items():
        for index in members:
            bank[index] = at
    return Assignment(
        tuple(bank),
        tuple(tuple(chosen[at][0]) for at in range(len(banks))),
        tuple(chosen[at][1] for at in range(len(banks))),
    )


def _fill(
    buffers: Sequence[Buffer],
    uses: Sequence[int],
    bank: Bank,
    here: list[int],
    left: list[int],
    *,
    leave: bool,
) -> tuple[list[int], Layout]:
    """The remaining buffers that fit a bank beside `here`; all of them, unless some may `leave`."""
    members = sorted([*here, *left])
    if bank.capacity is None:
        return members, plan_exact([buffers[index] for index in members], budget=0).layout
    if not leave:
        here = members
    movable = set(members) - set(here)
    members = _relieve(buffers, uses, bank.capacity, members, movable)
    while (layout := _layout(buffers, bank.capacity, members)).size > bank.capacity:
        outside = [
            index
            for index, offset in zip(members, layout.offsets, strict=True)
            if offset + buffers[index].size > bank.capacity
        ]
        candidates = [index for index in outside if index in movable] or sorted(movable.intersection(members))
        if not candidates:
            raise _infeasible(buffers, bank, members)
        out = min(
            candidates, key=lambda index: (buffers[index].size * uses[index], -buffers[index].size, index)
        )
        members = [index for index in members if index != out]
    away = sorted(movable - set(members), key=lambda index: (-buffers[index].size * uses[index], index))
    tries = 0
    for index in away:
        more = sorted([*members, index])
        if tries == RETURNS or lower_bound([buffers[each] for each in more]) > bank.capacity:
            continue
        tries += 1
        larger = _layout(buffers, bank.capacity, more)
        if larger.size <= bank.capacity:
            members, layout = more, larger
    return members, layout


def _relieve(
    buffers: Sequence[Buffer], uses: Sequence[int], capacity: int, members: list[int], movable: set[int]
) -> list[int]:
    """Those that remain when at no time more is needed than there is, as far as those that are movable allow it."""
    live = [[members[at] for at in each] for each in sections([buffers[index] for index in members])]
    over = [sum(buffers[index].size for index in each) - capacity for each in live]
    of: dict[int, list[int]] = {}
    for section, each in enumerate(live):
        for index in each:
            of.setdefault(index, []).append(section)
    gone: set[int] = set()

    def price(index: int) -> tuple[float, int]:
        size = buffers[index].size
        relieved = sum(min(size, over[section]) for section in of[index] if over[section] > 0)
        return size * uses[index] / relieved, index

    while True:
        worst = max(range(len(live)), key=over.__getitem__, default=0)
        candidates = [index for index in live[worst] if index in movable - gone] if live else []
        if not candidates or over[worst] <= 0:
            return [index for index in members if index not in gone]
        out = min(candidates, key=price)
        gone.add(out)
        for section in of[out]:
            over[section] -= buffers[out].size


def _layout(buffers: Sequence[Buffer], capacity: int, members: Sequence[int]) -> Layout:
    """A layout of buffers, within a capacity if a short search finds one."""
    return plan_exact([buffers[index] for index in members], budget=QUICK, goal=capacity).layout


def _anywhere(
    buffers: Sequence[Buffer], banks: Sequence[Bank], fixed: Mapping[int, int]
) -> Infeasible | None:
    """That all banks together are too small for what may be in any of them, if that is why there is no room."""
    capacities = [bank.capacity for bank in banks if bank.capacity is not None]
    if len(banks) == 1 or len(capacities) < len(banks):
        return None
    together = Bank(" and ".join(bank.name for bank in banks), 0, sum(capacities))
    members = [index for index in range(len(buffers)) if index not in fixed]
    error = _infeasible(buffers, together, members)
    return error if error.conflict is not None else None


def _infeasible(buffers: Sequence[Buffer], bank: Bank, members: Sequence[int]) -> Infeasible:
    assert bank.capacity is not None
    own = [buffers[index] for index in members]
    conflict = conflict_of(own, bank.capacity, budget=QUICK)
    if conflict is not None:
        conflict = Conflict(tuple(members[at] for at in conflict.members), conflict.irreducible)
    return Infeasible(bank, conflict, plan_exact(own, budget=QUICK))
