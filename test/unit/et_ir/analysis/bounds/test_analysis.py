"""Bounds as they go through a method."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, f32, i1, i8, i64
from xdsl.ir import Attribute, Block, Operation

from et_ir.analysis.bounds import Interval, SizeBounds
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import LiteralOp, RangeOp
from et_ir.dialects.schema import DYNAMIC
from et_ir.dialects.schema.literals import ELEMENT_TYPES

U8 = ELEMENT_TYPES["ui8"]


def tensor(*sizes: int, element: Attribute = f32) -> TensorType[Attribute]:
    """A tensor type; -1 is a size known at run time only."""
    return TensorType(element, [DYNAMIC if size < 0 else size for size in sizes])


def method(*types: Attribute) -> Block:
    return Block(arg_types=types)


def add(block: Block, *ops: Operation) -> SizeBounds:
    block.add_ops(ops)
    return SizeBounds(block)


def test_sizes_that_types_state():
    block = method(tensor(2, 3), tensor(-1, 3))
    bounds = add(block)
    assert bounds.sizes(block.args[0]) == (2, 3)
    assert bounds.sizes(block.args[1]) == (None, 3)


def test_the_tightest_of_what_is_stated():
    block = method(tensor(-1))
    size = aten.SymSizeIntOp.make(block.args[0], -1)
    bounds = add(block, size, RangeOp(size.result, 2, 9), RangeOp(size.result, None, 7))
    assert bounds.sizes(block.args[0]) == (7,)
    assert bounds.number(size.result) == Interval(2, 7)


@pytest.mark.parametrize(
    ("element", "expected"),
    [(i1, Interval(0, 1)), (U8, Interval(0, 255)), (i8, Interval(-128, 127)), (i64, Interval())],
)
def test_numbers_read_from_tensors(element: Attribute, expected: Interval):
    block = method(tensor(element=element))
    item = aten.UnderscoreLocalScalarDenseOp.make(block.args[0])
    assert add(block, item).number(item.result) == expected


def test_literals_and_element_counts():
    block = method(tensor(4, 2))
    found = aten.NonzeroOp.make(block.args[0])
    count = aten.SymNumelOp.make(found)
    literal = LiteralOp(5)
    bounds = add(block, found, count, literal)
    assert bounds.number(count.result) == Interval(0, 16)
    assert bounds.number(literal.result) == Interval(5, 5)


def test_a_size_that_nothing_bounds():
    block = method(tensor(3, element=i64))
    places = aten.RepeatInterleaveTensorOp.make(block.args[0])
    total = aten.NegOp.make(places)
    bounds = add(block, places, total)
    assert bounds.sizes(total.result) == (None,)


@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [
        (None, None, 1, 8),
        (2, None, 1, 6),
        (2, 5, 1, 3),
        (0, 100, 3, 3),
        (-3, None, 1, 3),
        (None, -3, 1, 5),
        (5, 2, 1, 0),
        ("n", None, 1, 6),
        (None, "n", 1, 4),
        ("n", "n", 1, 2),
        ("any", "any", 1, 8),
    ],
)
def test_slices(start: int | str | None, end: int | str | None, step: int, expected: int):
    """Of at most 8 elements; n is from 2 to 4, of the other number nothing is known."""
    block = method(tensor(-1), i64, i64)
    x, n, other = block.args
    size = aten.SymSizeIntOp.make(x, 0)
    numbers = {"n": n, "any": other}
    ends = [numbers[one] if isinstance(one, str) else one for one in (start, end)]
    part = aten.SliceTensorOp.make(x, 0, *ends, step, result_types=[tensor(-1)])
    bounds = add(block, size, RangeOp(size.result, 0, 8), RangeOp(n, 2, 4), part)
    assert bounds.sizes(part.result) == (expected,)


def test_what_is_stated_of_a_result_holds_for_its_source():
    block = method(tensor(3, element=i64), tensor(4, 3))
    places = aten.RepeatInterleaveTensorOp.make(block.args[0])
    rows = aten.IndexSelectOp.make(block.args[1], 1, places)
    turned = aten.PermuteOp.make(rows, (1, 0))
    size = aten.SymSizeIntOp.make(turned, 0)
    bounds = add(block, places, rows, turned, size, RangeOp(size.result, 0, 5))
    assert bounds.sizes(places.result) == (5,)
    assert bounds.sizes(rows.result) == (4, 5)


def view(*sizes: str | int) -> tuple[int | None, ...]:
    """The bounds of a view of at most 16 x 2 x 32 elements: `h` is the operand's last size, `n` some number from 4."""
    block = Block(arg_types=[tensor(-1, 2, -1), i64])
    x, number = block.args
    first, last = aten.SymSizeIntOp.make(x, 0), aten.SymSizeIntOp.make(x, 2)
    named = {"h": last.result, "n": number}
    items = [named[item] if isinstance(item, str) else item for item in sizes]
    result = tensor(*(item if isinstance(item, int) else -1 for item in sizes))
    made = aten.ViewOp.make(x, items, result_types=[result])
    block.add_ops((first, last))
    block.add_ops(
        (RangeOp(first.result, 1, 16), RangeOp(last.result, 1, 32), RangeOp(named["n"], 4, None), made)
    )
    return SizeBounds(block).sizes(made.result)


def test_a_size_that_is_left_to_a_view():
    assert view(-1, 4) == (256, 4)
    assert view(-1, "h") == (32, 32)
    assert view("h", -1) == (32, 32)
    assert view(-1, "h", 2) == (16, 32, 2)
    # Of a number from 4 on, a fourth of the elements is left, and the number is no more than all of them.
    assert view(-1, "n") == (256, 1024)


def test_products_of_operands_with_bounds_of_their_own():
    block = Block(arg_types=[tensor(-1, -1, 4), tensor(-1, 4, -1)])
    a, b = block.args
    sizes = [aten.SymSizeIntOp.make(*place) for place in ((a, 0), (a, 1), (b, 0), (b, 2))]
    product = aten.BmmOp.make(a, b)
    block.add_ops(sizes)
    block.add_ops([RangeOp(s.result, 0, most) for s, most in zip(sizes, (9, 5, 6, 3), strict=True)])
    block.add_op(product)
    assert SizeBounds(block).sizes(product.result) == (6, 5, 3)
