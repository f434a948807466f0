"""Arithmetic on bounds of which any may be unknown."""

from et_ir.bounds.intervals import ANY, Interval, element_count, largest, smallest


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
