"""et-opt, right and wrong."""

from pathlib import Path

import pytest
from support.command_line import RELU, Command
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from et_ir.passes.common.dce import DcePass

ADDMV = RELU.replace(
    "relu %x : tensor<4xf32>",
    "addmv %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
)
BROKEN = RELU.replace("tensor<4xf32>\n  func", "tensor<5xf32>\n  func")


def test_prints_what_it_reads(command: Command) -> None:
    ran = command("et-opt", "relu.mlir")
    assert ran.code == 0
    assert ran.err == ""
    assert command("et-opt", "-", stdin=ran.out.encode()).out == ran.out
    assert command("et-opt", stdin=ran.out.encode()).out == ran.out


@pytest.mark.parametrize("text", ["", "\n  // nothing\n", "\ufeff" + RELU, RELU.replace("\n", "\r\n")])
def test_texts_that_are_good(command: Command, text: str) -> None:
    assert command("et-opt", stdin=text.encode()).code == 0


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (b"nonsense", "1:1", "Operation nonsense is not registered"),
        (b"(", "1:1", "expected an operation"),
        (b'"unclosed', "1:1", "closing string literal"),
        (b'"a.b" "' + b"x" * 200, "1:7", "closing string literal"),
        (RELU[:-2].encode(), "4:1", "expected an operation, a block or '}': the '{' of 1:56 is not closed"),
        (RELU.replace("aten.relu", "aten.rely").encode(), "2:8", "not registered, did you mean aten.relu?"),
        (RELU.replace("relu %x", "relu %y").encode(), "2:18", "values used but not defined: [%y]"),
        (RELU.replace("%x :", "%x {a = 1} :").encode(), "2:22", "'a' is not a literal argument"),
        (
            ADDMV.encode(),
            "2:3",
            "[operand_c3] argument 'self': expected 2 dimensions",
        ),
        (BROKEN.encode(), "2:18", "operand is used with type tensor<5xf32>"),
        (RELU.replace("4xf32", "-4xf32").encode(), "1:31", "expected sizes and an element type"),
        (RELU.replace("4xf32", "4xf32, #edge.dim_order<1>").encode(), "1:56", "[dim_order_c1]"),
        (
            b"func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n^a:\n  func.return\n}",
            "5:1",
            "re-declaration of block 'a'",
        ),
        (b"func.func @f(%x: " + b"tuple<" * 3000 + b">" * 3000 + b")", "1:402", "nested more than 64 deep"),
        (
            b"program.parameter @w : tensor<1xf32> = #program.data<f32, [--1.0]>",
            "1:61",
            "expected a number after '-'",
        ),
        (b"func.func @f() attributes {x = 1 : i99999999999} {}", "1:36", "has at most 16777215 bits"),
        (b"func.func @f() attributes {x = 1" + b"0" * 5000 + b"} {}", "1:32", "at most 4,300 digits"),
        (b'func.func @"\\FF"() { func.return }', "1:17", "can't decode byte"),
    ],
)
def test_texts_that_are_not(command: Command, text: bytes, place: str, message: str) -> None:
    Path("bad.mlir").write_bytes(text)
    ran = command("et-opt", "bad.mlir")
    assert ran.code == 3
    assert ran.out == ""
    assert ran.err.startswith(f"bad.mlir:{place}: error: ")
    assert message in ran.err


def test_long_lines_are_quoted_in_part(command: Command) -> None:
    ran = command("et-opt", stdin=b" " * 100_000 + b"nonsense" + b" " * 100_000)
    assert len(ran.err) < 600
    _, quoted, caret = ran.err.rstrip("\n").split("\n")
    assert quoted.index("nonsense") <= caret.index("^") <= quoted.index("nonsense") + len("nonsense")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(range(128, 256)), "not a text file: invalid UTF-8 at byte 0x0"),
        (b"\x18\0\0\0ET12", "a .pte file, not text: convert it with et-translate --pte-to-mlir"),
    ],
)
def test_files_that_are_no_text(command: Command, data: bytes, message: str) -> None:
    Path("x.mlir").write_bytes(data)
    for line in (
        ("et-opt", "x.mlir"),
        ("et-compile", "x.mlir", "-o", "y.pte"),
        ("et-translate", "--mlir-to-pte", "x.mlir"),
    ):
        ran = command(*line)
        assert ran.code == 3
        assert message in ran.err
    assert not Path("y.pte").exists()


def test_paths_that_lead_nowhere(command: Command) -> None:
    assert "nothing.mlir: No such file or directory" in command("et-opt", "nothing.mlir").err
    assert command("et-opt", "nothing.mlir").code == 2
    assert command("et-opt", ".").code == 2
    for output in ("no/where.mlir", "."):
        ran = command("et-opt", "relu.mlir", "-o", output)
        assert ran.code == 2
        assert ".tmp" not in ran.err


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("csee", "unknown pass 'csee', did you mean cse or et-cse"),
        ("cse{", "Expected argument name here"),
        (",", "Expected pass name here"),
        ("cse{nope=1}", "pass 'cse': no option 'nope'; it has none"),
        ("plan-memory{nope=1}", "no option 'nope'; it has algorithm, alignment"),
        ("plan-memory{alignmnt=4}", "pass 'plan-memory': no option 'alignmnt', did you mean 'alignment'?"),
        ("to-out-variant{unbounded=rumtime}", "is error or runtime, not rumtime, did you mean 'runtime'?"),
        ('O2-executorch{target="stock-1.6"}', "did you mean 'stock-1.5'?"),
        (
            "O2-executorch{target=stock-1.6}",
            'quote values other than names and numbers: a{target="stock-1.5"}',
        ),
        ("to-out-variant{unbounded=best}", "option 'unbounded' is error or runtime, not best"),
        ("plan-memory{alignment=x}", "option 'alignment' is a whole number, not x"),
        ("plan-memory{plan-inputs=7}", "option 'plan-inputs' is true or false, not 7"),
        ("builtin.module(gpu.func(cse))", "passes run on a module and all of its methods, not on gpu.func"),
    ],
)
def test_wrong_pipelines(command: Command, pipeline: str, message: str) -> None:
    ran = command("et-opt", "-p", pipeline, "relu.mlir")
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize(
    "pipeline", ["cse,dce", "builtin.module(cse,dce)", " builtin.module( cse,dce ) ", "et-cse", ""]
)
def test_pipelines(command: Command, pipeline: str) -> None:
    ran = command("et-opt", f"--pass-pipeline={pipeline}", "relu.mlir")
    assert ran.code == 0
    assert "aten.relu" in ran.out


def test_list_of_passes_fits_a_terminal(command: Command) -> None:
    lines = command("et-opt", "--list-passes").out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if len(line.split()) < 2] == []


@pytest.mark.parametrize("name", ["cse", "apply-pdl", "apply-pdl-interp", "apply-eqsat-pdl", "eqsat-extract"])
def test_list_of_passes_has_those_of_libraries(command: Command, name: str) -> None:
    names = [line.split()[0] for line in command("et-opt", "--list-passes").out.splitlines()]
    assert names.count(name) == 1


def test_missing_mlir_opt(command: Command) -> None:
    ran = command("et-opt", "-p", 'mlir-opt{executable="no-mlir-opt"}', "relu.mlir")
    assert ran.code == 2
    assert "the tool no-mlir-opt is not installed: install MLIR's tools" in ran.err


def test_exceptions_in_passes_of_xdsl(command: Command) -> None:
    """They are no bugs of this project."""
    Path("costs.json").write_text("none")
    ran = command("et-opt", "-p", 'eqsat-add-costs{cost-file="costs.json"}', "relu.mlir")
    assert ran.code == 3
    assert "the pass 'eqsat-add-costs' raised JSONDecodeError" in ran.err


def test_help_of_a_pass(command: Command) -> None:
    lines = command("et-opt", "--help-pass", "convolutions-to-products").out.splitlines()
    assert lines[:2] == [
        "convolutions-to-products: Compute convolutions as matrix products.",
        "options:",
    ]
    assert "  memory (peak|fast|any, default: peak)" in lines
    assert "  workspace (a whole number, default: 1048576)" in lines
    assert "      Bytes that the copies for one tile may take." in lines
    Path("mine.py").write_text(PASS)
    assert command("et-opt", "--load", "mine.py", "--help-pass", "my-pass").out.startswith("my-pass: ")
    ran = command("et-opt", "--help-pass", "convolution-to-product")
    assert (ran.code, "did you mean convolutions-to-products" in ran.err) == (2, True)


def test_passes_that_leave_an_invalid_module(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes of this project are verified by et-opt, and by et-compile with `--verify-each`."""
    monkeypatch.setattr(DcePass, "apply", _drop_return)
    for line, verified in (
        (("et-opt", "-p", "dce", "relu.mlir"), True),
        (("et-opt", "-p", "dce", "--no-verify-each", "relu.mlir"), False),
        (("et-opt", "-p", "dce", "--no-verify", "relu.mlir"), False),
        (("et-compile", "-q", "--emit", "core-aten", "--stop-after", "dce", "relu.mlir"), False),
        (("et-compile", "-q", "--verify-each", "--emit", "core-aten", "relu.mlir"), True),
    ):
        ran = command(*line)
        assert (ran.code == 3) == verified, ran
        assert ("note: after the pass 'dce'" in ran.err) == verified


def _drop_return(_: ModulePass, ctx: Context, module: ModuleOp) -> None:
    (method,) = module.ops
    assert isinstance(method, FuncOp)
    last = method.body.block.last_op
    assert last is not None
    last.detach()


def test_options_of_mlir_opt(command: Command) -> None:
    ran = command("et-opt", "-p", "cse,dce", "--print-ir-after-all", "--mlir-timing", "relu.mlir")
    assert ran.code == 0
    assert ran.out.count("aten.relu") == 1
    assert ran.err.count("IR Dump After") == 2
    assert "total" in ran.err
    assert 'loc("relu.mlir":2:3)' in command("et-opt", "--mlir-print-debuginfo", "relu.mlir").out
    assert '"aten.relu"(%x)' in command("et-opt", "--mlir-print-op-generic", "relu.mlir").out


CONSTANT = """builtin.module {
  program.constant @c : tensor<3xf32> = #program.data<f32, [1.0, 2.0, 3.0]>
  func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {
    %c = program.get @c : tensor<3xf32>
    %0 = aten.relu %x : tensor<3xf32>
    %1 = aten.relu %x : tensor<3xf32>
    %2 = aten.mul.Tensor %0, %c : tensor<3xf32>
    %3 = aten.add.Tensor %2, %1 : tensor<3xf32>
    func.return %3 : tensor<3xf32>
  }
}
"""


@pytest.mark.parametrize("option", ["--elide-constants-larger", "--mlir-elide-elementsattrs-if-larger"])
def test_constants_without_elements(command: Command, option: str) -> None:
    """With an output file their elements are beside it, and come back from there."""
    Path("constant.mlir").write_text(CONSTANT)
    assert command("et-opt", "constant.mlir", option, "3").out == CONSTANT
    elided = command("et-opt", "constant.mlir", f"{option}=2")
    assert "@c : tensor<3xf32> = #program.data<f32, 3, " in elided.out
    assert "1.0" not in elided.out
    assert command("et-opt", "constant.mlir", option, "2", "-o", "elided.mlir").err == ""
    assert Path("elided.mlir").read_text() == elided.out
    assert command("et-opt", "elided.mlir").out == CONSTANT
    assert f"argument {option}" in command("et-opt", "constant.mlir", option, "-1").err.replace(
        "--elide-constants-larger/--mlir-elide-elementsattrs-if-larger", option
    )


def test_dumps_of_changes(command: Command) -> None:
    """A value that is still there has the name that it had, so that nothing else differs."""
    Path("constant.mlir").write_text(CONSTANT)
    ran = command(
        "et-opt", "constant.mlir", "-p", "cse,dce", "--print-ir-diff", "--elide-constants-larger", "2"
    )
    head, *lines = ran.err.splitlines()
    assert head == "// -----// IR Dump After cse //----- //"
    assert [line for line in lines if line[0] in "+-"] == [
        "-    %1 = aten.relu %x : tensor<3xf32>",
        "-    %3 = aten.add.Tensor %2, %1 : tensor<3xf32>",
        "+    %3 = aten.add.Tensor %2, %0 : tensor<3xf32>",
    ]
    assert "1.0" not in ran.err
    every = command("et-opt", "constant.mlir", "-p", "cse,dce", "--print-ir-diff", "--print-ir-after-all")
    assert every.err.endswith("// -----// IR Dump After dce //----- //\n// no changes\n")


def test_passes_that_are_listed(command: Command) -> None:
    """Each is one that -p takes."""
    names = [line.split()[0] for line in command("et-opt", "--list-passes").out.splitlines()]
    assert {"cse", "O2-edge", "plan-memory"} <= set(names)
    assert len(names) == len(set(names))
    for name in names:
        ran = command("et-opt", "-p", name, "--print-pipeline")
        # Some have options that must be given, or run a tool that is not installed.
        assert "unknown pass" not in ran.err
        assert "did you mean" not in ran.err


def test_split_input(command: Command) -> None:
    text = RELU + "// -----\n" + BROKEN + "// -----// IR Dump //----- //\n// -----  \n" + RELU
    Path("parts.mlir").write_text(text)
    ran = command("et-opt", "--split-input-file", "parts.mlir")
    assert ran.code == 3
    assert ran.out.count("// -----\n") == 1
    assert ran.err.startswith("parts.mlir:7:18: error: ")
    ran = command("et-opt", "--split-input-file", "parts.mlir", "-o", "out.mlir")
    assert ran.code == 3
    assert not Path("out.mlir").exists()


def test_expected_errors(command: Command) -> None:
    Path("good.mlir").write_text(
        BROKEN.replace("f32>\n  func", "f32> // expected-error {{is used with type}}\n  func")
    )
    assert command("et-opt", "--verify-diagnostics", "good.mlir") == (0, "", "")
    Path("none.mlir").write_text(RELU + "// expected-error@above {{never}}\n")
    ran = command("et-opt", "--verify-diagnostics", "none.mlir")
    assert ran.code == 1
    assert ran.err.startswith("none.mlir:4: error: expected 'error: never' was not produced")
    ran = command("et-opt", "--verify-diagnostics", "-", stdin=BROKEN.encode())
    assert ran.code == 1
    assert ran.err.startswith("<stdin>:2:18: error: unexpected error: ")


def test_expected_errors_of_reports(command: Command) -> None:
    text = RELU.replace("  %1", "  // expected-error@below {{[edge_c1]}}\n  %1")
    assert command("et-opt", "-p", "verify-edge", "--verify-diagnostics", "-", stdin=text.encode()).code == 0


def test_a_failure_leaves_the_output_as_it_was(command: Command) -> None:
    Path("out.mlir").write_text("before")
    Path("bad.mlir").write_text(BROKEN)
    assert command("et-opt", "bad.mlir", "-o", "out.mlir").code == 3
    assert command("et-opt", "-p", "verify-edge", "relu.mlir", "-o", "out.mlir").code == 3
    assert Path("out.mlir").read_text() == "before"


PASS = '''
from dataclasses import dataclass

from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import RewritePattern
from xdsl.utils.exceptions import PassFailedException

from et_ir.dialects.aten import OP_BY_NAME
from et_ir.rewriting import rewrite


class Refuse(RewritePattern):
    roots = (OP_BY_NAME["relu"],)

    def match_and_rewrite(self, op, rewriter):
        raise PassFailedException("relu is not liked here")


@dataclass(frozen=True)
class MyPass(ModulePass):
    """Refuse."""

    name = "my-pass"

    def apply(self, ctx, op):
        rewrite(op, [Refuse()])
'''


def test_what_a_pattern_raises_names_the_op_not_the_module(command: Command) -> None:
    Path("my_pass.py").write_text(PASS)
    ran = command("et-opt", "--load", "my_pass.py", "-p", "my-pass", "relu.mlir")
    assert ran.code == 3
    assert ran.err.splitlines()[0] == "relu.mlir:2:3: error: 'aten.relu': relu is not liked here"
    assert "func.func" not in ran.err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys\nsys.exit(3)", "--load bad.py:2: importing it failed: SystemExit: 3"),
        ("def f(:", "--load bad.py:1: importing it failed: SyntaxError: "),
        (None, "bad.py: no such file"),
    ],
)
def test_passes_that_do_not_load(command: Command, source: str | None, message: str) -> None:
    if source is not None:
        Path("bad.py").write_text(source)
    ran = command("et-opt", "--load", "bad.py", "relu.mlir")
    assert ran.code == 2
    assert message in ran.err


TWICE = RELU.replace("func.return %1", "%2 = aten.relu %1 : tensor<4xf32>\n  func.return %2")


@pytest.mark.parametrize(
    ("pipeline", "passes"),
    [
        ("cse , dce", "cse,dce"),
        (" cse,\n dce ", "cse,dce"),
        ("func.func(cse)", "cse"),
        ("func.func( cse , canonicalize )", "cse,canonicalize"),
        ("builtin.module(cse,func.func(canonicalize,dce),dce)", "cse,canonicalize,dce,dce"),
        ("builtin.module( builtin.module(any(cse)) )", "cse"),
        (
            'func.func(plan-memory{algorithm="naive" slack=4}),dce',
            'plan-memory{algorithm="naive" slack=4},dce',
        ),
        ('kernel-limits{target="stock-1.5"} , dce', "kernel-limits,dce"),
    ],
)
def test_pipelines_of_mlir_opt(command: Command, pipeline: str, passes: str) -> None:
    ran = command("et-opt", "-p", pipeline, "--print-pipeline")
    assert (ran.code, ran.out.strip()) == (0, passes)


def test_a_pipeline_on_another_op(command: Command) -> None:
    ran = command("et-opt", "-p", "builtin.module(gpu.module( cse ))", "relu.mlir")
    assert ran.code == 2
    assert "not on gpu.module: write 'cse', or nest it in builtin.module or func.func" in ran.err


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        (["--cse", "--canonicalize", "--dce"], "cse,canonicalize,dce"),
        (["--plan-memory=algorithm=naive slack=4"], 'plan-memory{algorithm="naive" slack=4}'),
        (["--dce", "--print-ir-after-all", "--cse"], "dce,cse"),
    ],
)
def test_passes_as_options(command: Command, options: list[str], passes: str) -> None:
    ran = command("et-opt", *options, "--print-pipeline")
    assert (ran.code, ran.out.strip()) == (0, passes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--canonicalise"], "--canonicalise is neither an option nor a pass, did you mean 'canonicalize'?"),
        (["--nothing-like-it"], "unrecognized arguments: --nothing-like-it"),
        (["--cse", "-p", "dce"], "--cse: give all passes by --pass-pipeline, or none"),
    ],
)
def test_options_that_are_no_passes(command: Command, options: list[str], message: str) -> None:
    ran = command("et-opt", *options, "relu.mlir")
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize("which", ["before-all", "after-all", "before=cse", "after=cse", "after-change"])
def test_spellings_of_mlir_opt(command: Command, which: str) -> None:
    Path("twice.mlir").write_text(TWICE)
    pipeline = ("-p", "cse,canonicalize", "twice.mlir")
    theirs = command("et-opt", *pipeline, f"--mlir-print-ir-{which}", "--mlir-disable-threading")
    assert theirs == command("et-opt", *pipeline, f"--print-ir-{which}")
    assert "IR Dump" in theirs.err


def test_statistics(command: Command) -> None:
    Path("twice.mlir").write_text(TWICE)
    ran = command("et-opt", "--canonicalize", "--cse", "--pass-statistics", "twice.mlir")
    assert [line.split() for line in ran.err.splitlines()[1:]] == [
        ["canonicalize", "5", "4", "1"],
        ["UndoOrRepeat", "1"],
        ["cse", "4", "4", "0"],
    ]
    assert command("et-opt", "--canonicalize", "--cse", "--mlir-pass-statistics", "twice.mlir") == ran


def test_a_reproducer(command: Command) -> None:
    pipeline = ("-p", "cse,plan-memory,dce", "relu.mlir", "--mlir-pass-pipeline-crash-reproducer=again.mlir")
    ran = command("et-opt", *pipeline, "--mlir-print-ir-after-failure")
    assert ran.code == 3
    assert "IR Dump After plan-memory Failed" in ran.err
    first, *_ = Path("again.mlir").read_text().splitlines()
    assert first == "// To reproduce: et-opt -p plan-memory again.mlir"
    again = command(*first.partition(": ")[2].split())
    assert again.code == 3
    assert "runs on plans" in again.err


def test_no_reproducer_without_failure(command: Command) -> None:
    assert command("et-opt", "--cse", "relu.mlir", "--crash-reproducer", "again.mlir").code == 0
    assert not Path("again.mlir").exists()


def test_round_trips(command: Command) -> None:
    assert command("et-opt", "--verify-roundtrip", "relu.mlir") == command("et-opt", "relu.mlir")


def test_metadata_of_fused_locations(command: Command) -> None:
    located = RELU.replace(
        "%x : tensor<4xf32>\n  func",
        '%x : tensor<4xf32> loc(fused<"cse">["a.py":1:2, fused["b.py":3:4]])\n  func',
    )
    assert located != RELU
    ran = command("et-opt", "-g", "--verify-roundtrip", stdin=located.encode())
    assert 'loc(fused<"cse">["a.py":1:2, fused["b.py":3:4]])' in ran.out
