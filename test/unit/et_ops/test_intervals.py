"""Arithmetic on bounds of which any may be unknown."""

import random
from itertools import product

import pytest

from et_ir.dialects.program import FUNCTIONS
from et_ops.intervals import ANY, Interval, computed, element_count, largest, smallest


def test_both_ranges():
    assert ANY & Interval(1, 5) == Interval(1, 5)
    assert Interval(0, None) & Interval(-3, 7) == Interval(0, 7)
    assert Interval(2, 9) & Interval(4, 20) == Interval(4, 9)


def test_bounds_of_one_size():
    assert smallest(4, None, 3) == 3
    assert smallest(None, None) is None


def test_bounds_of_the_largest_size():
    assert largest(4, 3) == 4
    assert largest(4, None) is None


def test_elements():
    assert element_count(()) == 1
    assert element_count((2, 3)) == 6
    assert element_count((2, None)) is None
    assert element_count((None, 0)) == 0
    assert element_count((0, None)) == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_computed_is_in_its_range(name: str):
    """For each function and some ranges, of which ends may be unknown: what any of their numbers give."""
    chosen = random.Random(name)
    function = FUNCTIONS[name]
    for _ in range(200):
        numbers: list[range] = []
        ranges: list[Interval] = []
        for _ in range(function.arity):
            least = chosen.randint(-4, 6)
            numbers.append(range(least, least + chosen.randint(1, 6)))
            ends = numbers[-1][0], numbers[-1][-1]
            ranges.append(Interval(*(None if chosen.random() < 0.2 else end for end in ends)))
        found = computed(name, *ranges)
        for given in product(*numbers):
            if "div" in name and given[1] == 0:
                continue
            value = function.apply(*given)
            assert found.least is None or found.least <= value, (ranges, given)
            assert found.most is None or value <= found.most, (ranges, given)


def test_what_sizes_give():
    size = Interval(2, 8)
    assert computed("mul", size, Interval(2, 2)) == Interval(4, 16)
    assert computed("mul", Interval(1), Interval(-1, -1)) == Interval(None, -1)
    assert computed("mul", Interval(1), Interval(None, -2)) == Interval(None, -2)
    assert computed("mul", ANY, Interval(0, 0)) == Interval(0, 0)
    assert computed("floordiv", Interval(None, 5), Interval(2)) == Interval(None, 2)
    assert computed("floordiv", Interval(-3, 5), Interval(2)) == Interval(-2, 2)
    assert computed("mul", Interval(2, None), size) == Interval(4, None)
    assert computed("floordiv", size, Interval(2, 2)) == Interval(1, 4)
    assert computed("sub", Interval(20, 20), size) == Interval(12, 18)
    assert computed("truediv", size, Interval(3, 3)) == Interval(0, 3)
    assert computed("min", size, ANY) == Interval(None, 8)
    assert computed("max", size, ANY) == Interval(2, None)
    assert computed("floordiv", size, Interval(0, 2)) == ANY
    assert computed("lt", size, Interval(9, None)) == Interval(1, 1)
    assert computed("ge", size, Interval(9, None)) == Interval(0, 0)
    assert computed("gt", size, Interval(4, 4)) == Interval(0, 1)
    assert computed("eq", size, Interval(1, 1)) == Interval(0, 0)
    assert computed("ite", Interval(0, 1), size, Interval(1, 4)) == Interval(1, 8)
    assert computed("ite", Interval(1, 1), size, ANY) == size
