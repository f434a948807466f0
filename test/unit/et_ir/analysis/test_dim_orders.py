from itertools import permutations

import numpy as np
import pytest

from et_ir.analysis.dim_orders import (
    NHWC,
    in_order,
    permuted_order,
    reshaped_order,
    step,
    straight,
)


def test_step_takes_memory_from_one_order_to_another():
    array = np.arange(24).reshape(2, 3, 4)
    for have in permutations(range(3)):
        for want in permutations(range(3)):
            moved = array.transpose(have).transpose(step(have, want))
            assert (moved == array.transpose(want)).all()


def test_a_permutation_is_another_order_of_the_same_memory():
    array = np.arange(24).reshape(2, 3, 4)
    for order in permutations(range(3)):
        for dims in permutations(range(3)):
            result = array.transpose(dims)
            assert (result.transpose(permuted_order(order, dims)) == array.transpose(order)).all()


SHAPES = [
    ((2, 3, 4), (6, 4)),
    ((2, 3, 4), (2, 12)),
    ((6, 4), (2, 3, 4)),
    ((2, 3, 4), (2, 3, 2, 2)),
    ((2, 3, 4), (2, 1, 3, 4)),
    ((2, 1, 3, 4), (2, 3, 4, 1)),
    ((1, 8, 1, 1), (1, 8)),
    ((2, 6), (4, 3)),
    ((1, 1), (1, 1, 1)),
    ((2, 3, 5), (2, 3, 5)),
]


@pytest.mark.parametrize(("before", "after"), SHAPES)
def test_a_view_where_memory_stays_is_right(before: tuple[int, ...], after: tuple[int, ...]):
    """Memory reshaped in the order that was found holds the view of the contiguous tensor."""
    array = np.arange(np.prod(before)).reshape(before)
    found = 0
    for order in permutations(range(len(before))):
        kept = reshaped_order(order, before, after)
        if kept is None:
            continue
        found += 1
        assert sorted(kept) == list(range(len(after)))
        memory = np.ascontiguousarray(array.transpose(order)).reshape(in_order(after, kept))
        back = memory.transpose([kept.index(dim) for dim in range(len(after))])
        assert (back == array.reshape(after)).all()
    assert found, "a contiguous tensor can always be viewed"
    assert reshaped_order(straight(len(before)), before, after) == straight(len(after))


def test_images_can_lose_what_has_one_element():
    assert reshaped_order(NHWC, (1, 8, 1, 1), (1, 8)) == (0, 1)
    assert reshaped_order(NHWC, (1, 8, 2, 3), (1, 8, 6)) == (0, 2, 1)
    assert reshaped_order(NHWC, (1, 8, 2, 3), (1, 48)) is None


def test_one_unknown_size_is_carried_along():
    assert reshaped_order((0, 1, 2), (-1, 3, 4), (-1, 12)) == (0, 1)
    assert reshaped_order((0, 1, 2), (-1, 3, 4), (-1, 4)) == (0, 1)
    assert reshaped_order((0, 2, 1), (-1, 3, 4), (-1, 12)) is None
    assert reshaped_order((0, 1), (-1, -1), (-1, 4)) is None
