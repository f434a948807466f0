"""The rewriting base: which patterns see which ops, and locations of what they insert."""

from __future__ import annotations

import pytest
from xdsl import pattern_rewriter as xdsl_pattern_rewriter
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.diagnostics import PassReport
from et_ir.dialects.aten import Aten
from et_ir.dialects.aten import ops as aten
from et_ir.rewriting import op_type_rewrite_pattern, rewrite, root_classes

TEXT = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.relu %x : tensor<4xf32> loc("model.py":7:0)
  %1 = aten.neg %0 : tensor<4xf32> loc("model.py":8:0)
  func.return %1 : tensor<4xf32>
}
"""


def module() -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Aten):
        context.load_dialect(dialect)
    return Parser(context, TEXT).parse_module()


class ReluTwice(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.ReluOp, rewriter: PatternRewriter) -> None:
        first = aten.ReluOp.make(op.self)
        rewriter.replace(op, [first, aten.AbsOp.make(first)])


class Either(RewritePattern):
    def __init__(self) -> None:
        self.seen: list[str] = []

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.ReluOp | aten.NegOp, rewriter: PatternRewriter) -> None:
        self.seen.append(op.name)


class Everything(RewritePattern):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        self.seen.append(op.name)


class Nothing(RewritePattern):
    roots = (int,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        raise AssertionError("never called")


def names(target: ModuleOp) -> list[str]:
    return [op.name for op in target.walk() if op.name.startswith("aten.")]


def test_a_pattern_sees_the_ops_of_its_annotation() -> None:
    assert root_classes(ReluTwice()) == (aten.ReluOp,)
    assert root_classes(Either()) == (aten.ReluOp, aten.NegOp)
    pattern = Either()
    assert not rewrite(module(), [pattern])
    assert pattern.seen == ["aten.relu", "aten.neg"]


def test_an_unannotated_pattern_sees_every_op() -> None:
    pattern = Everything()
    rewrite(module(), [pattern])
    assert pattern.seen == ["func.func", "aten.relu", "aten.neg", "func.return"]


def test_declared_roots_take_the_place_of_the_annotation() -> None:
    assert root_classes(Nothing()) == (int,)


def test_an_annotation_that_is_no_op_class_is_refused() -> None:
    class Wrong(RewritePattern):
        def match_and_rewrite(self, op: int, rewriter: PatternRewriter) -> None:  # type: ignore[override]
            raise AssertionError("never called")

    with pytest.raises(TypeError, match=r"Wrong rewrites .*int.* not an op class"):
        root_classes(Wrong())


def test_inserted_ops_get_the_location_of_the_op_they_replace() -> None:
    target = module()
    assert rewrite(target, [ReluTwice()])
    assert names(target) == ["aten.relu", "aten.abs", "aten.neg"]
    located = {op.name: op.location for op in target.walk()}
    assert located["aten.abs"] == FileLineColLoc(StringAttr("model.py"), IntAttr(7), IntAttr(0))


def test_a_lowering_does_not_see_what_it_inserts() -> None:
    target = module()
    rewrite(target, [ReluTwice()])
    assert names(target).count("aten.relu") == 1


def test_what_a_pattern_raises_becomes_a_report_with_the_place_of_the_op() -> None:
    class Broken(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
            raise IndexError("nothing there")

    with pytest.raises(
        PassReport, match=r"'aten.neg': IndexError: nothing there \(test_rewriting.py:"
    ) as raised:
        rewrite(module(), [Broken()])
    assert isinstance(raised.value.__cause__, IndexError)


def test_a_pattern_with_the_decorator_of_xdsl_looks_for_itself() -> None:
    class Theirs(RewritePattern):
        @xdsl_pattern_rewriter.op_type_rewrite_pattern
        def match_and_rewrite(self, op: aten.ReluOp, rewriter: PatternRewriter) -> None:
            rewriter.replace(op, aten.AbsOp.make(op.self))

    assert root_classes(Theirs()) == (Operation,)
    target = module()
    assert rewrite(target, [Theirs()])
    assert "aten.relu" not in names(target)
