"""Sizes that are the same whatever they are, and what a size that is not given comes to by them."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f32, i64
from xdsl.ir import Attribute, Block, Operation

from et_ir.analysis.bounds import SizeBounds
from et_ir.analysis.bounds.same import SameSizes
from et_ir.dialects.aten import ops as aten
from et_ir.dialects.program import LiteralOp, RangeOp
from et_ir.dialects.schema import DYNAMIC


def tensor(*sizes: int) -> TensorType[Attribute]:
    """A tensor type; -1 is a size known at run time only."""
    return TensorType(f32, [DYNAMIC if size < 0 else size for size in sizes])


def same(*ops: Operation) -> SameSizes:
    found = SameSizes()
    for op in ops:
        found.note(op)
    return found


def test_sizes_go_through_operators():
    x = Block(arg_types=[tensor(-1, 2, -1)]).args[0]
    turned = aten.PermuteOp.make(x, (2, 0, 1))
    soft = aten.UnderscoreSoftmaxOp.make(turned, -1, False)
    rows = aten.SymSizeIntOp.make(soft, 0)
    wide = aten.ExpandOp.make(soft, (rows.result, -1, 2))
    across = aten.PermuteOp.make(wide, (0, 2, 1))
    product = aten.BmmOp.make(wide, across)
    found = same(turned, soft, rows, wide, across, product)
    assert [found.size(product.result, dim) for dim in range(3)] == [(x, 2), (x, 0), (x, 0)]
    assert found.number(rows.result) == (x, 2)
    assert found.size(x, 1) == 2


def test_sums_are_of_one_size_if_nothing_else_can_be():
    x, y = Block(arg_types=[tensor(-1, 4), tensor(-1, 4)]).args
    other = aten.AddTensorOp.make(x, y)
    row = aten.AddTensorOp.make(x, Block(arg_types=[tensor(4)]).args[0])
    found = same(other, row)
    assert found.size(row.result, 0) == (x, 0)
    assert found.size(other.result, 0) == (other.result, 0)


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


def test_literals():
    assert same().number(LiteralOp(3).result) == 3
