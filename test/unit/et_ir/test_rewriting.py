"""The rewriting base: which patterns see which ops, and locations of what they insert."""

from __future__ import annotations

import pytest
from xdsl import pattern_rewriter as xdsl_pattern_rewriter
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from et_ir.diagnostics import PassReport
from et_ir.dialects.aten import Aten
from et_ir.dialects.aten import ops as aten
from et_ir.driver.stages import run_passes
from et_ir.rewrite_limit import RewriteLimit, limited
from et_ir.rewriting import PatternFailed, op_type_rewrite_pattern, rewrite, root_classes
from et_ir.verification import InvalidModule

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
        PassReport,
        match=r"'aten.neg': the pattern Broken raised IndexError: nothing there \(\S*test_rewriting.py:",
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


class Mirrors(RewritePattern):
    """Relu to neg and back."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, aten.NegOp.make(op.self))


class Mirrored(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, aten.ReluOp.make(op.self))


class Grows(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
        rewriter.insert(aten.NegOp.make(op.self))


class Touches(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
        rewriter.notify_op_modified(op)


class Wraps(RewritePattern):
    """Puts what it makes into a region."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
        rewriter.insert(ModuleOp([op.clone()]))


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        (
            [Wraps()],
            r"model.py:8: 'aten.neg': the pattern Wraps does not end: it still applies after 10\d+ rewrites",
        ),
        (
            [Grows()],
            r"model.py:8: 'aten.neg': the pattern Grows does not end: it still applies after \d+ rewrites of this op",
        ),
        ([Touches()], r"model.py:8: 'aten.neg': the pattern Touches does not end"),
        (
            [Mirrors(), Mirrored()],
            r"model.py:\d: 'aten.(relu|neg)': the pattern Mirror\w+ does not end: .* in turn with Mirror\w+",
        ),
    ],
    ids=["wrapping", "growing", "touching", "two"],
)
def test_recursive_patterns_that_do_not_end(patterns: list[RewritePattern], message: str) -> None:
    with pytest.raises(PatternFailed, match=message):
        rewrite(module(), patterns, recursive=True)


class Sinks(RewritePattern):
    """Moves each neg below the relu that uses it: as many rewrites of one op as there are ops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.ReluOp, rewriter: PatternRewriter) -> None:
        inner = op.self.owner
        if isinstance(inner, aten.NegOp):
            relu = aten.ReluOp.make(inner.self)
            rewriter.replace(op, [relu, aten.NegOp.make(relu)])


def test_a_long_chain_that_ends() -> None:
    relus = "\n".join(f"  %r{i} = aten.relu %r{i - 1} : tensor<4xf32>" for i in range(1, 1200))
    text = f"""func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %r0 = aten.neg %x : tensor<4xf32>
{relus}
  func.return %r1199 : tensor<4xf32>
}}"""
    context = Context()
    for dialect in (Builtin, Func, Aten):
        context.load_dialect(dialect)
    parsed = Parser(context, text).parse_module()
    assert rewrite(parsed, [Sinks()], recursive=True)
    (function,) = parsed.body.block.ops
    *_, last, _ = [op.name for op in function.walk() if op.name != "aten.neg" or op.results[0].uses]
    assert last == "aten.neg"


class ReluToNeg(ModulePass):
    name = "relu-to-neg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [Mirrors()])


class NegToRelu(ModulePass):
    name = "neg-to-relu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [Mirrored()])


class DropBody(ModulePass):
    """A pass without patterns."""

    name = "drop-body"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            function.attributes["dropped"] = UnitAttr()


PASSES = [ReluToNeg(), NegToRelu(), DropBody()]


@pytest.mark.parametrize(
    ("limit", "names", "text"),
    [
        (0, ["relu", "neg"], "0 rewrites applied, limit reached"),
        (1, ["neg", "neg"], "the pattern Mirrors of the pass 'relu-to-neg' on 'aten.relu' at model.py:7"),
        (2, ["relu", "neg"], "2 rewrites applied, limit reached; the last: the pattern Mirrored of"),
        (3, ["relu", "relu"], "'aten.neg' at model.py:8"),
        (4, ["relu", "relu", "dropped"], "4 rewrites applied, limit reached; the last: the pass 'drop-body'"),
        (-1, ["relu", "relu", "dropped"], "4 rewrites applied, no more to apply; the last: the pass"),
        (99, ["relu", "relu", "dropped"], "4 rewrites applied, no more to apply; the last: the pass"),
    ],
)
def test_limit_of_rewrites(limit: int, names: list[str], text: str) -> None:
    counter = RewriteLimit(limit)
    subject = module()
    with limited(counter):
        run_passes(subject, PASSES)
    (function,) = subject.body.block.ops
    found = [op.name.removeprefix("aten.") for op in function.walk() if op.name.startswith("aten.")]
    assert [*found, *function.attributes] == names
    assert text in str(counter)
    rewrite(subject, [Mirrored()])  # nothing holds outside
    assert counter.applied == (4 if limit < 0 else min(limit, 4))


def test_passes_that_are_not_optional_have_no_limit() -> None:
    subject, counter = module(), RewriteLimit(0, lambda one: one.name != "neg-to-relu")
    with limited(counter):
        run_passes(subject, PASSES)
    assert str(subject).count("aten.relu") == 2
    assert counter.applied == 0


class Fails(ModulePass):
    name = "fails"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("tiles")


class FailsInPattern(ModulePass):
    name = "fails-in-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        class Broken(RewritePattern):
            @op_type_rewrite_pattern
            def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
                op.nothing_there  # noqa: B018

        rewrite(op, [Broken()])


class FailsInWalker(ModulePass):
    name = "fails-in-walker"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        class Broken(RewritePattern):
            @xdsl_pattern_rewriter.op_type_rewrite_pattern
            def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
                raise KeyError("tiles")

        xdsl_pattern_rewriter.PatternRewriteWalker(Broken()).rewrite_module(op)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (Fails(), r"the pass 'fails' raised KeyError: 'tiles' \(\S*test_rewriting.py:\d+ in apply\)"),
        (
            FailsInPattern(),
            r"model.py:8: 'aten.neg': the pattern Broken of the pass 'fails-in-pattern' raised AttributeError: "
            r".*nothing_there.* \(\S*test_rewriting.py:\d+ in match_and_rewrite\)",
        ),
        (
            FailsInWalker(),
            r"model.py:8: 'aten.neg': the pass 'fails-in-walker' raised KeyError: 'tiles' "
            r"\(\S*test_rewriting.py:\d+ in match_and_rewrite\)",
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_exceptions_name_the_pass_the_op_and_the_line(one: ModulePass, message: str) -> None:
    with pytest.raises(PassReport, match=message) as caught:
        run_passes(module(), [one])
    assert caught.value.__cause__ is not None


class Interrupted(RewritePattern):
    @xdsl_pattern_rewriter.op_type_rewrite_pattern
    def match_and_rewrite(self, op: aten.NegOp, rewriter: PatternRewriter) -> None:
        raise KeyboardInterrupt


class InterruptedInWalker(ModulePass):
    name = "in-walker"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        applier = xdsl_pattern_rewriter.GreedyRewritePatternApplier([Everything(), Interrupted()])
        xdsl_pattern_rewriter.PatternRewriteWalker(applier).rewrite_module(op)


class InterruptedInRewrite(ModulePass):
    name = "in-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite(op, [Interrupted()])


class InterruptedAlone(ModulePass):
    name = "alone"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("one", "where"),
    [
        (
            InterruptedInWalker(),
            "the pattern Interrupted on 'aten.neg' at model.py:8 of the pass 'in-walker'",
        ),
        (
            InterruptedInRewrite(),
            "the pattern Interrupted on 'aten.neg' at model.py:8 of the pass 'in-rewrite'",
        ),
        (InterruptedAlone(), "the pass 'alone'"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_interrupts_name_the_pass_the_pattern_and_the_op(one: ModulePass, where: str) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        run_passes(module(), [one])
    assert caught.value.__notes__ == [f"in {where}"]


class Breaks(ModulePass):
    name = "breaks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for neg in [inner for inner in op.walk() if isinstance(inner, aten.NegOp)]:
            neg.detach()
            block = next(iter(op.body.block.ops)).regions[0].block
            block.insert_op_before(neg, block.first_op)


def test_a_module_that_a_pass_of_the_users_breaks() -> None:
    with pytest.raises(
        InvalidModule, match=r"(?s)'aten.neg': \[dominance_c1\].*note: after the pass 'breaks'"
    ):
        run_passes(module(), [Breaks()])
