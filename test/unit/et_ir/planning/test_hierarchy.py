"""Bank assignment: feasible layouts at low cost."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from et_ir.planning import Buffer, layout_problems, plan_exact
from et_ir.planning.banks import Bank
from et_ir.planning.hierarchy import Assignment, Infeasible, assign_banks, transfer_cost

used = st.lists(
    st.tuples(
        st.builds(
            lambda size, first, length: Buffer(size, first, first + length, 1),
            st.integers(0, 9),
            st.integers(0, 6),
            st.integers(0, 4),
        ),
        st.integers(0, 5),
    ),
    max_size=6,
)


def check(buffers: list[Buffer], banks: list[Bank], assigned: Assignment) -> None:
    for bank, members, layout in zip(banks, assigned.members, assigned.layouts, strict=True):
        assert layout_problems([buffers[index] for index in members], layout) == []
        assert bank.capacity is None or layout.size <= bank.capacity
    assert sorted(index for members in assigned.members for index in members) == list(range(len(buffers)))
    for at, members in enumerate(assigned.members):
        assert {assigned.bank[index] for index in members} <= {at}


@settings(max_examples=60)
@given(used, st.integers(0, 25))
def test_what_fits_is_fast(given: list[tuple[Buffer, int]], capacity: int) -> None:
    buffers, uses = [buffer for buffer, _ in given], [count for _, count in given]
    banks = [Bank("fast", 1, capacity, 4.0), Bank("slow", 2, None, 1.0)]
    assigned = assign_banks(buffers, uses, banks)
    check(buffers, banks, assigned)
    # Nothing that is slow would fit beside what is fast.
    for index in assigned.members[1]:
        more = [buffers[other] for other in (*assigned.members[0], index)]
        assert plan_exact(more).size > capacity


@settings(max_examples=40)
@given(used, st.integers(1, 20))
def test_no_choice_costs_much_less(given: list[tuple[Buffer, int]], capacity: int) -> None:
    buffers, uses = [buffer for buffer, _ in given], [count for _, count in given]
    banks = [Bank("fast", 1, capacity, 4.0), Bank("slow", 2, None, 1.0)]
    cost = transfer_cost(buffers, uses, banks, assign_banks(buffers, uses, banks).bank)
    least = min(
        transfer_cost(buffers, uses, banks, choice)
        for choice in product((0, 1), repeat=len(buffers))
        if plan_exact([b for b, bank in zip(buffers, choice, strict=True) if bank == 0]).size <= capacity
    )
    assert least <= cost <= 2 * least


def test_pins() -> None:
    buffers = [Buffer(16, 0, 9), Buffer(16, 0, 9), Buffer(16, 0, 9)]
    banks = [Bank("fast", 1, 32, 4.0), Bank("slow", 2, None, 1.0)]
    assert assign_banks(buffers, [9, 9, 1], banks).bank == (0, 0, 1)
    assert assign_banks(buffers, [9, 9, 1], banks, {0: 1}).bank == (1, 0, 0)
    assert assign_banks(buffers, [9, 9, 1], banks, {2: 0}).bank[2] == 0
    with pytest.raises(Infeasible) as caught:
        assign_banks(buffers, [9, 9, 1], banks, dict.fromkeys(range(3), 0))
    assert caught.value.conflict is not None
    assert caught.value.conflict.members == (0, 1, 2)
    assert caught.value.plan.size == 48


def test_the_order_of_banks_is_that_of_their_speeds() -> None:
    buffers = [Buffer(16, 0, 0)]
    banks = [Bank("slow", 2, None, 1.0), Bank("fast", 1, 16, 2.0)]
    assert assign_banks(buffers, [1], banks).bank == (1,)


def test_all_banks_together_are_too_small() -> None:
    buffers = [Buffer(16, 0, 0), Buffer(16, 0, 0), Buffer(16, 0, 1), Buffer(16, 1, 1)]
    banks = [Bank("fast", 1, 16, 2.0), Bank("slow", 2, 16, 1.0)]
    with pytest.raises(Infeasible) as caught:
        assign_banks(buffers, [1, 1, 1, 1], banks)
    assert (caught.value.bank.name, caught.value.bank.capacity) == ("fast and slow", 32)
    assert caught.value.conflict is not None
    assert caught.value.conflict.members == (0, 1, 2)
    assert caught.value.conflict.irreducible


def test_a_layout_that_is_too_large_though_its_bytes_are_not() -> None:
    # Five buffers that need 4 at most at one time, and 5 in any layout.
    buffers = [
        Buffer(1, 0, 1, 1),
        Buffer(1, 3, 4, 1),
        Buffer(2, 1, 3, 1),
        Buffer(3, 0, 0, 1),
        Buffer(3, 4, 4, 1),
    ]
    needed = plan_exact(buffers).size
    banks = [Bank("fast", 1, needed - 1, 2.0), Bank("slow", 2, None, 1.0)]
    assigned = assign_banks(buffers, [3, 3, 3, 1, 1], banks)
    check(buffers, banks, assigned)
