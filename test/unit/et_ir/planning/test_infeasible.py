"""Minimal infeasible sets of buffers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from et_ir.planning import Buffer, plan_exact
from et_ir.planning.infeasible import Conflict, conflict_of

buffers = st.lists(
    st.builds(
        lambda size, first, length: Buffer(size, first, first + length, 1),
        st.integers(0, 9),
        st.integers(0, 6),
        st.integers(0, 4),
    ),
    max_size=9,
)


@settings(max_examples=50)
@given(buffers, st.integers(0, 20))
def test_irreducible(given: list[Buffer], capacity: int) -> None:
    conflict = conflict_of(given, capacity)
    if plan_exact(given).size <= capacity:
        assert conflict is None
        return
    assert conflict is not None
    assert conflict.irreducible
    members = [given[index] for index in conflict.members]
    assert plan_exact(members).size > capacity
    for index in range(len(members)):
        assert plan_exact(members[:index] + members[index + 1 :]).size <= capacity


def test_the_largest_of_one_time() -> None:
    given = [Buffer(size, 0, 0, 1) for size in (1, 8, 2, 8, 3)]
    assert conflict_of(given, 15) == Conflict((1, 3), irreducible=True)
