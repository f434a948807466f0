"""SSA dominance and block structure, over texts that xDSL's own verifier accepts."""

from __future__ import annotations

import pytest
from support.cost import lines_of
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.cf import Cf
from xdsl.dialects.func import Func
from xdsl.dialects.test import Test
from xdsl.parser import Parser

from et_ir.verification import InvalidModule, check_module, verify_module


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Cf, Test):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def problems(text: str) -> list[str]:
    return [p.message for p in check_module(parse(text))]


def test_a_use_before_its_definition_in_one_block() -> None:
    found = problems("""
        "test.op"(%0) : (i32) -> ()
        %0 = "test.op"() : () -> i32
    """)
    assert len(found) == 1
    assert "dominance_c1" in found[0]


def test_values_of_an_enclosing_region_are_visible() -> None:
    text = """
        %0 = "test.op"() : () -> i32
        "test.op"() ({
          %1 = "test.op"(%0) : (i32) -> i32
          "test.termop"() : () -> ()
        }) : () -> ()
    """
    assert problems(text) == []


def test_values_of_a_region_are_not_visible_after_it() -> None:
    module = parse("""
        "test.op"() ({
          %1 = "test.op"() : () -> i32
          "test.termop"() : () -> ()
        }) : () -> ()
        %2 = "test.op"() : () -> i32
        "test.op"(%2) : (i32) -> ()
    """)
    first, _, last = list(module.body.block.ops)
    last.operands = [first.regions[0].block.first_op.results[0]]
    assert ["dominance_c1" in p.message for p in check_module(module)] == [True]


def test_a_definition_dominates_across_blocks() -> None:
    text = """
        func.func @f(%c: i1) {
          %0 = "test.op"() : () -> i32
          cf.cond_br %c, ^a, ^b
        ^a:
          "test.op"(%0) : (i32) -> ()
          cf.br ^c
        ^b:
          cf.br ^c
        ^c:
          "test.op"(%0) : (i32) -> ()
          func.return
        }
    """
    assert problems(text) == []


def test_a_branch_does_not_dominate_the_join() -> None:
    text = """
        func.func @f(%c: i1) {
          cf.cond_br %c, ^a, ^b
        ^a:
          %0 = "test.op"() : () -> i32
          cf.br ^c
        ^b:
          cf.br ^c
        ^c:
          "test.op"(%0) : (i32) -> ()
          func.return
        }
    """
    found = problems(text)
    assert len(found) == 1
    assert "%0" not in found[0] or "dominance_c1" in found[0]


def test_a_loop_body_sees_its_header() -> None:
    text = """
        func.func @f(%c: i1) {
          cf.br ^head
        ^head:
          %0 = "test.op"() : () -> i32
          cf.cond_br %c, ^body, ^exit
        ^body:
          "test.op"(%0) : (i32) -> ()
          cf.br ^head
        ^exit:
          "test.op"(%0) : (i32) -> ()
          func.return
        }
    """
    assert problems(text) == []


def test_every_problem_is_reported_at_once() -> None:
    module = parse("""
        "test.op"(%0) : (i32) -> ()
        "test.op"(%0) : (i32) -> ()
        %0 = "test.op"() : () -> i32
    """)
    with pytest.raises(InvalidModule) as caught:
        verify_module(module)
    assert len(caught.value.diagnostics) == 2


def test_a_block_without_a_terminator() -> None:
    module = parse("""
        func.func @f() {
          func.return
        }
    """)
    function = next(iter(module.body.block.ops))
    block = function.regions[0].block
    last = block.last_op
    assert last is not None
    last.detach()
    last.erase()
    assert any("block_c1" in p.message for p in check_module(module))


def test_a_branch_into_another_region() -> None:
    module = parse("""
        func.func @f() {
          cf.br ^end
        ^end:
          func.return
        }
        func.func @g() {
          func.return
        }
    """)
    f, g = (op.regions[0] for op in module.body.block.ops)
    branch = f.blocks[0].last_op
    assert branch is not None
    branch.successors = [g.blocks[0]]
    assert any("block_c3" in p.message for p in check_module(module))


def test_cost_is_linear_in_the_number_of_ops() -> None:
    def lines(count: int) -> int:
        text = ['%0 = "test.op"() : () -> i32']
        text += [f'%{i} = "test.op"(%{i - 1}) : (i32) -> i32' for i in range(1, count)]
        module = parse("\n".join(text))
        return lines_of(lambda: verify_module(module))

    assert lines(4_000) < 4.4 * lines(1_000)


def test_attributes_with_the_prefix_of_a_dialect_are_declared_by_it() -> None:
    module = parse("""
        %0 = "test.op"() {edge.apart = 1 : i64, free = 2 : i64, other.free = 3 : i64} : () -> i32
        %1 = "test.op"() {edge.apart = "a"} : () -> i32
        %2 = "test.op"() {edge.aprt = 1 : i64} : () -> i32
    """)
    with pytest.raises(InvalidModule) as caught:
        verify_module(module)
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [
        "[discardable_c2] the attribute 'edge.apart' is of class integer, not \"a\"",
        "[discardable_c1] the dialect 'edge' declares no attribute 'edge.aprt'",
    ]
