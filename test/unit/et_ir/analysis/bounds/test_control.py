"""Bounds of what comes out of branches and loops."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from et_ir.analysis.bounds import Interval, SizeBounds
from et_ir.text import parse_module
from et_ir.universe import dialect_factories


def method(text: str) -> Block:
    """The block of a method with two rows of at most 9 and 5, `%x` and `%y`, and a boolean `%p`."""
    context = Context()
    for name, factory in (
        *dialect_factories().items(),
        ("builtin", lambda: builtin.Builtin),
        ("func", lambda: func.Func),
    ):
        context.register_dialect(name, factory)
    module: ModuleOp = parse_module(
        context,
        """
        func.func @forward(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>, %p: tensor<i1>) {
          %n = aten.sym_size.int %x {dim = 0} : (tensor<?x4xf32>) -> i64
          program.range %n from 0 to 9
          %m = aten.sym_size.int %y {dim = 0} : (tensor<?x4xf32>) -> i64
          program.range %m from 0 to 5
        """
        + text
        + "func.return }",
        "text",
    )
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return function.body.block


def last(block: Block, name: str) -> Operation:
    return [op for op in block.ops if op.name == name][-1]


def test_the_larger_of_two_branches():
    block = method(
        """
        %r, %k = control.cond %p : tensor<i1> -> (tensor<?x4xf32>, i64) {
          %a = aten.relu %x : tensor<?x4xf32>
          control.yield %a, %n : tensor<?x4xf32>, i64
        } else {
          control.yield %y, %m : tensor<?x4xf32>, i64
        }
        """
    )
    op = last(block, "control.cond")
    bounds = SizeBounds(block)
    assert bounds.sizes(op.results[0]) == (9, 4)
    assert bounds.number(op.results[1]) == Interval(0, 9)


def test_a_branch_without_a_bound():
    block = method(
        """
        %k = aten._local_scalar_dense %p : (tensor<i1>) -> i64
        %s = program.compute "floordiv" %n, %k : (i64, i64) -> i64
        %r = control.cond %p : tensor<i1> -> (tensor<?xf32>) {
          %b = aten.full {size = [%s], fill_value = 1} : (i64) -> tensor<?xf32>
          control.yield %b : tensor<?xf32>
        } else {
          %b = aten.full {size = [%n], fill_value = 1} : (i64) -> tensor<?xf32>
          control.yield %b : tensor<?xf32>
        }
        """
    )
    assert SizeBounds(block).sizes(last(block, "control.cond").results[0]) == (None,)


LOOP = """
%i, %r = control.while (%m, %x) : (i64, tensor<?x4xf32>) -> (i64, tensor<?x4xf32>) {{
^bb0(%a: i64, %b: tensor<?x4xf32>):
  %c = program.compute "lt" %a, %n : (i64, i64) -> i1
  control.yield %c : i1
}} do {{
^bb0(%a: i64, %b: tensor<?x4xf32>):
  {}
  control.yield %a, %d : i64, tensor<?x4xf32>
}}
"""


def test_a_loop_that_keeps_its_sizes():
    block = method(LOOP.format("%d = aten.relu %b : tensor<?x4xf32>"))
    op = last(block, "control.while")
    bounds = SizeBounds(block)
    assert bounds.sizes(op.results[1]) == (9, 4)
    assert bounds.number(op.results[0]) == Interval()


def test_a_loop_that_may_grow():
    grow = "%d = aten.cat [%b, %b] {dim = 0} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>"
    block = method(LOOP.format(grow))
    assert SizeBounds(block).sizes(last(block, "control.while").results[1]) == (None, 4)


def test_a_loop_whose_size_is_stated():
    block = method(
        LOOP.format(
            """%d = aten.cat [%b, %b] {dim = 0} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
               %s = aten.sym_size.int %b {dim = 0} : (tensor<?x4xf32>) -> i64
               program.range %s from 0 to 64"""
        )
    )
    assert SizeBounds(block).sizes(last(block, "control.while").results[1]) == (64, 4)


def test_stacks_are_as_long_as_what_is_gone_over():
    block = method(
        """
        %r = control.map over (%x) : (tensor<?x4xf32>) -> (tensor<?x?x4xf32>) {
        ^bb0(%s: tensor<4xf32>):
          control.yield %y : tensor<?x4xf32>
        }
        """
    )
    assert SizeBounds(block).sizes(last(block, "control.map").results[0]) == (9, 5, 4)


def test_state_and_stacks_of_a_scan():
    block = method(
        """
        %h, %r = control.scan (%y) over (%x) : (tensor<?x4xf32>) over (tensor<?x4xf32>)
            -> (tensor<?x4xf32>) stacked (tensor<?x4xf32>) {
        ^bb0(%s: tensor<?x4xf32>, %i: tensor<4xf32>):
          %t = aten.add.Tensor %s, %i : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
          control.yield %t, %i : tensor<?x4xf32>, tensor<4xf32>
        }
        """
    )
    op = last(block, "control.scan")
    bounds = SizeBounds(block)
    assert bounds.sizes(op.results[0]) == (5, 4)
    assert bounds.sizes(op.results[1]) == (9, 4)


def test_bounds_in_nested_regions():
    block = method(
        """
        %r = control.cond %p : tensor<i1> -> (tensor<?x4xf32>) {
          %q = control.cond %p : tensor<i1> -> (tensor<?x4xf32>) {
            control.yield %y : tensor<?x4xf32>
          } else {
            %z = aten.slice.Tensor %x {dim = 0, start = 0, end = 7} : (tensor<?x4xf32>) -> tensor<?x4xf32>
            control.yield %z : tensor<?x4xf32>
          }
          control.yield %q : tensor<?x4xf32>
        } else {
          control.yield %y : tensor<?x4xf32>
        }
        """
    )
    assert SizeBounds(block).sizes(last(block, "control.cond").results[0]) == (7, 4)
