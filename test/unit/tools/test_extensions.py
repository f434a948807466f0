"""Dialects, passes and targets of users' files in et-opt and et-compile, and exceptions in them."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
from support.command_line import Command

from et_ir.targets import lookup

EXAMPLE = Path(__file__).parents[3] / "examples" / "dialect"

FUSED = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fma.fma %x, %x, %x : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
SUM = """func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.mul.Tensor %x, %x : tensor<4xf32>
  %1 = edge.add.Tensor %0, %x : tensor<4xf32>
  %2 = edge.mul.Tensor %1, %x : tensor<4xf32>
  %3 = edge.add.Tensor %2, %x : tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
"""
PASS = """
from dataclasses import dataclass
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from et_ir.dialects.edge import ops as edge
from et_ir.rewriting import rewrite
"""


@pytest.fixture(autouse=True)
def files(workplace: Path) -> None:
    for name in ("fma.py", "fma_kernels.py"):
        shutil.copy(EXAMPLE / name, name)
    Path("sum.mlir").write_text(SUM)
    Path("fused.mlir").write_text(FUSED)


@pytest.fixture
def targets():
    """Targets that files register are forgotten."""
    yield
    lookup._registered.clear()
    lookup.find_target.cache_clear()


class TestDialects:
    def test_its_own_output_is_read_back(self, command: Command):
        made = command("et-opt", "--load", "fma.py", "-p", "fuse-fma", "sum.mlir")
        assert made.code == 0
        assert "%1 = fma.fma %0, %x, %x : tensor<4xf32>" in made.out
        again = command("et-opt", "--load", "fma.py", "-", stdin=made.out.encode())
        assert (again.code, again.out) == (0, made.out)

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            (FUSED, "2:8"),
            ("func.func private @f(!fma.vec)", "1:30"),
            ("func.func @f(%x: i1 {a = #fma.b}) {", "1:32"),
        ],
    )
    def test_one_that_is_not_loaded(self, command: Command, text: str, place: str):
        ran = command("et-opt", "-", stdin=text.encode())
        assert ran.code == 3
        assert ran.err.startswith(f"<stdin>:{place}: error: ")
        assert "is not registered; load the file that defines the dialect 'fma' with --load FILE" in ran.err
        assert "--allow-unregistered-dialect" in ran.err

    def test_from_a_text_to_a_file(self, command: Command):
        line = ("et-compile", "-q", "fused.mlir", "-o", "x.pte", "--target", "et-vm")
        loads = ("--load", "fma.py", "--load", "fma_kernels.py")
        assert "load the file that defines the dialect 'fma'" in command(*line).err
        assert "[edge_c1] belongs to the dialect 'fma'" in command(*line, *loads).err
        assert command(*line, *loads, "--pass", "edge:lower-fma") == (0, "", "")
        ran = command("et-vm", "run", "x.pte", "--load", "fma_kernels.py", "--input", "ones")
        assert "min 2  mean 2  max 2" in ran.out

    def test_a_name_that_is_taken(self, command: Command):
        Path("mine.py").write_text(
            "from xdsl.ir import Dialect\nfrom fma import FmaOp\nA = Dialect('arith', [FmaOp])"
        )
        ran = command("et-opt", "--load", "mine.py", "relu.mlir")
        assert ran.code == 2
        assert "--load mine.py: a dialect named 'arith' exists already: rename it" in ran.err

    def test_imported_ones_are_no_one_elses(self, command: Command):
        Path("mine.py").write_text("from xdsl.dialects.arith import Arith\nfrom fma import *\n")
        line = ("et-opt", "--load", "mine.py", "--load", "fma.py", "-p", "fuse-fma", "sum.mlir")
        assert "fma.fma" in command(*line).out

    def test_a_verifier_that_raises(self, command: Command):
        text = (
            Path("fma.py")
            .read_text()
            .replace(
                "    def __init__(self, a",
                "    def verify_(self):\n        self.d\n\n    def __init__(self, a",
            )
        )
        Path("fma.py").write_text(text)
        ran = command("et-opt", "--load", "fma.py", "fused.mlir")
        assert ran.code == 3
        assert "fused.mlir:2:3: error: 'fma.fma': its verifier raised AttributeError: " in ran.err
        assert "(fma.py:35 in verify_)" in ran.err

    def test_a_module_that_does_not_verify(self, command: Command):
        text = (
            Path("fma.py")
            .read_text()
            .replace("result_types=[a.type]", "result_types=[c.owner.parent_op().function_type]")
        )
        Path("fma.py").write_text(text.replace("op.other))", "op.other))  # typed as a function"))
        ran = command("et-opt", "--load", "fma.py", "-p", "fuse-fma", "sum.mlir")
        assert ran.code == 3
        assert "note: after the pass 'fuse-fma'" in ran.err
        ran = command(
            "et-compile", "sum.mlir", "--emit", "edge", "--load", "fma.py", "--pass", "edge:fuse-fma"
        )
        assert ran.code == 3
        assert "note: after the pass 'fuse-fma'" in ran.err


class TestPasses:
    @pytest.mark.parametrize("level", ["aten", "core-aten", "edge", "backend", "executorch"])
    def test_at_any_level(self, command: Command, level: str):
        Path("marks.py").write_text(
            PASS
            + "@dataclass(frozen=True)\nclass Marks(ModulePass):\n    name = 'marks'\n    text: str = 'none'\n"
            "    def apply(self, ctx, op):\n"
            "        print('marked', self.text, *sorted({one.name.split('.')[0] for one in op.walk()}))\n"
        )
        line = ("et-compile", "-q", "relu.mlir", "-o", "x.pte", "--load", "marks.py")
        ran = command(*line, "--pass", f'{level}:marks{{text="here"}}')
        assert ran.code == 0
        dialects = {"aten": "aten", "core-aten": "aten", "executorch": "executorch"}.get(level, "edge")
        assert ran.out.startswith("marked here ")
        assert dialects in ran.out.split()

    def test_in_the_pipeline(self, command: Command):
        line = (
            "et-compile",
            "relu.mlir",
            "--load",
            "fma.py",
            "--pass",
            "edge:fuse-fma,lower-fma",
            "--print-pipeline",
        )
        ran = command(*line)
        assert ran.code == 0
        (edge,) = [text for text in ran.out.splitlines() if text.startswith("edge: ")]
        assert edge.endswith(",fuse-fma,lower-fma,verify-edge")
        assert command("et-opt", "-p", "O1-edge,cse", "--print-pipeline").out.endswith(",verify-edge,cse\n")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (("--pass", "fuse-fma"), "--pass fuse-fma: expected LEVEL:PIPELINE, where LEVEL is one of aten,"),
            (("--pass", "pte:fuse-fma"), "expected LEVEL:PIPELINE"),
            (("--pass", "edge:fuse-fmaa"), "unknown pass 'fuse-fmaa', did you mean fuse-fma"),
            (("--pass", "edge:fuse-fma{a=1}"), "no option 'a'; it has none"),
            (("--pass", "edge:cse", "--emit", "aten"), "--emit aten stops before that level"),
            (("--stop-after", "nothing"), "--stop-after nothing: the pipeline does not have 'nothing'"),
            (("--stop-after", "cse,9"), "--stop-after cse,9: the pipeline does not have 'cse' 9 times"),
            (("--stop-after", "cse,x"), "expected NAME or NAME,N"),
            (
                ("--print-ir-before", "csee"),
                "--print-ir-before csee: the pipeline has no such pass, did you mean cse?",
            ),
        ],
    )
    def test_what_is_wrong(self, command: Command, given: tuple[str, ...], message: str):
        output = "x.mlir" if given[0] == "--stop-after" or "--emit" in given else "x.pte"
        ran = command("et-compile", "-q", "relu.mlir", "-o", output, "--load", "fma.py", *given)
        assert ran.code == 2
        assert message in ran.err

    def test_a_program_past_the_level(self, command: Command):
        ran = command("et-compile", "-q", "sum.mlir", "-o", "x.pte", "--pass", "aten:cse")
        assert ran.code == 2
        assert "--pass aten:…: the program is at the edge level already" in ran.err

    def test_a_file_that_brings_nothing(self, command: Command):
        Path("empty.py").write_text("x = 1\n")
        for line in (("et-opt", "relu.mlir"), ("et-compile", "-q", "relu.mlir", "-o", "x.pte")):
            ran = command(*line, "--load", "empty.py")
            assert ran.code == 0
            assert f"{line[0]}: warning: --load empty.py: it defines nothing that is used" in ran.err
            assert command(*line, "--load", "fma.py").err == ""
            assert command(*line, "--load", "fma_kernels.py").err == ""

    def test_a_file_that_registers_a_backend_and_keeps_no_name_for_it(self, command: Command, backends: None):
        Path("unnamed.py").write_text(
            "import et_ir.backends as et\n"
            "class UnnamedBackend(et.BackendDetails):\n"
            "    @classmethod\n"
            "    def preprocess(cls, edge_program, compile_specs):\n"
            "        return et.PreprocessResult(b'')\n"
            "et.register_backend(et.Backend('unnamed', UnnamedBackend, lambda options: None))\n"
        )
        assert command("et-opt", "relu.mlir", "--load", "unnamed.py").err == ""

    def test_a_file_of_passes_that_do_not_run(self, command: Command):
        Path("broken.py").write_text(BROKEN)
        ran = command("et-compile", "-q", "relu.mlir", "-o", "x.pte", "--load", "broken.py")
        assert ran.code == 0
        assert ran.err == (
            "et-compile: warning: --load broken.py: none of its passes runs; give --pass LEVEL:endless\n"
        )


class TestTargets:
    TEXT = """
from dataclasses import replace
from et_ir.targets.lookup import find_target
from et_ir.targets.stock import STOCK_1_5
ACME = replace(find_target("stock-1.5"), name="acme-2", added_kernels=frozenset({"fma::fma.out"}))
"""

    def test_of_a_file(self, command: Command, targets: None):
        Path("acme.py").write_text(self.TEXT)
        line = (
            "et-compile",
            "-q",
            "fused.mlir",
            "-o",
            "x.pte",
            "--load",
            "fma.py",
            "--pass",
            "edge:lower-fma",
        )
        assert command(*line).code == 4
        assert "unknown target 'acme-2'" in command(*line, "--target", "acme-2").err
        assert command(*line, "--target", "acme-2", "--load", "acme.py") == (0, "", "")
        ran = command("et-opt", "--load", "acme.py", "-p", "O1-executorch{target=acme-2}", "sum.mlir")
        assert (ran.code, ran.err) == (0, "")

    def test_a_name_that_is_taken(self, command: Command):
        Path("acme.py").write_text(self.TEXT.replace("acme-2", "et-vm"))
        ran = command("et-opt", "--load", "acme.py", "relu.mlir")
        assert ran.code == 2
        assert "--load acme.py: a target named 'et-vm' exists already: rename it" in ran.err


def test_kernels_that_are_installed(command: Command, monkeypatch: pytest.MonkeyPatch):
    points = [
        EntryPoint("fma", "fma_kernels", "et_vm.kernels"),
        EntryPoint("b", "broken_package", "et_vm.kernels"),
    ]
    Path("broken_package.py").write_text("1 / 0")

    def published(*, group: str, name: str | None = None) -> list[EntryPoint]:
        return [p for p in points if p.group == group and name in (None, p.name)]

    monkeypatch.syspath_prepend(".")
    line = ("et-compile", "-q", "fused.mlir", "-o", "x.pte", "--load", "fma.py", "--pass", "edge:lower-fma")
    assert command(*line, "--target", "et-vm").code == 4
    monkeypatch.setattr("importlib.metadata.entry_points", published)
    ran = command(*line, "--target", "et-vm")
    assert ran.code == 0
    assert (
        "warning: the kernels of 'b' cannot be loaded from broken_package: importing it failed: Zero"
        in ran.err
    )
    assert "mean 2" in command("et-vm", "run", "x.pte", "--input", "ones").out


def test_dialects_and_passes_that_are_installed(command: Command, monkeypatch: pytest.MonkeyPatch):
    Path("universe.py").write_text(
        "from xdsl.universe import Universe\nfrom fma import FMA, LowerFmaPass\n"
        "UNIVERSE = Universe(all_dialects={'fma': lambda: FMA}, all_passes={'lower-fma': lambda: LowerFmaPass})\n"
    )
    points = [*entry_points(group="xdsl.universe"), EntryPoint("fma", "universe:UNIVERSE", "xdsl.universe")]
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group, name=None: [p for p in points if p.group == group]
    )
    monkeypatch.syspath_prepend(".")
    line = ("et-compile", "-q", "fused.mlir", "-o", "x.pte", "--target", "et-vm", "--load", "fma_kernels.py")
    assert "[edge_c1] belongs to the dialect 'fma'" in command(*line).err
    assert command(*line, "--pass", "edge:lower-fma") == (0, "", "")
    assert "edge.fma.fma" in command("et-opt", "-p", "lower-fma", "fused.mlir").out


class TestDumps:
    LINE = ("et-compile", "-q", "relu.mlir", "-o", "x.pte")

    @pytest.mark.parametrize("command_line", [LINE, ("et-opt", "-p", "aten-to-edge,cse,dce", "relu.mlir")])
    def test_of_modules(self, command: Command, command_line: tuple[str, ...]):
        def dumps(*options: str) -> list[str]:
            lines = command(*command_line, *options).err.splitlines()
            return [
                line.split()[4] + " " + line.split()[5] for line in lines if line.startswith("// -----//")
            ]

        assert dumps() == []
        every = dumps("--print-ir-after-all")
        assert "After aten-to-edge" in every
        assert "After cse" in every
        assert [text.replace("Before", "After") for text in dumps("--print-ir-before-all")] == every
        assert set(dumps("--print-ir-before", "cse,dce")) == {"Before cse", "Before dce"}
        assert set(dumps("--print-ir-after", "cse")) == {"After cse"}
        changes = dumps("--print-ir-after-change")
        assert "After aten-to-edge" in changes
        assert "After cse" not in changes

    def test_of_the_module_after_a_pass(self, command: Command):
        ran = command("et-compile", "-q", "relu.mlir", "--stop-after", "aten-to-edge")
        assert ran.code == 0
        assert "edge.relu" in ran.out
        assert (
            command("et-compile", "-q", "relu.mlir", "--stop-after", "verify-aten").out.count("aten.relu")
            == 1
        )
        line = ("et-compile", "-q", "relu.mlir", "-o", "x.mlir")
        assert command(*line, "--stop-after", "plan-memory").code == 0
        assert "memory_id = 1" in Path("x.mlir").read_text()
        line = ("et-opt", "sum.mlir", "--load", "fma.py", "-p", "fuse-fma,lower-fma,fuse-fma")
        assert "fma.fma" in command(*line, "--stop-after", "fuse-fma").out
        assert "edge.fma.fma" in command(*line, "--stop-after", "fuse-fma,2").out


class TestRewriteLimit:
    def test_in_et_opt(self, command: Command):
        line = ("et-opt", "sum.mlir", "--load", "fma.py", "-p", "fuse-fma")
        counts = {}
        for limit in (0, 1, 2, 3, -1):
            ran = command(*line, "--rewrite-limit", str(limit))
            assert ran.code == 0
            counts[limit] = ran.out.count("fma.fma")
        assert counts == {0: 0, 1: 1, 2: 2, 3: 2, -1: 2}
        ran = command(*line, "--rewrite-limit", "2")
        assert ran.err == (
            "et-opt: rewrite limit 2: 2 rewrites applied, limit reached; the last: the pattern FuseFma of the pass "
            "'fuse-fma' on 'edge.add.Tensor' at sum.mlir:5\n"
        )
        assert "no more to apply" in command(*line, "--rewrite-limit", "3").err

    def test_in_et_compile_what_is_needed_is_done(self, command: Command):
        line = ("et-compile", "-q", "sum.mlir", "-o", "x.pte", "--load", "fma.py", "--load", "fma_kernels.py")
        line += ("--target", "et-vm", "--pass", "edge:fuse-fma,lower-fma", "--rewrite-limit")
        ran = command(*line, "1")
        assert ran.code == 0
        assert (
            "et-compile: rewrite limit 1: 1 rewrite applied, limit reached; the last: the pattern FuseFma"
            in ran.err
        )
        ran = command("et-translate", "--pte-to-mlir", "x.pte")
        assert (ran.out.count('"fma::fma.out"'), ran.out.count('"aten::mul.out"')) == (1, 1)


class TestLoading:
    def test_a_file_beside_it(self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "sub").mkdir()
        (tmp_path / "elsewhere").mkdir()
        shutil.move("fma.py", "sub/fma.py")
        Path("sub/all_of_it.py").write_text("from fma import *\n")
        monkeypatch.chdir("elsewhere")
        ran = command("et-opt", "--load", "../sub/all_of_it.py", "-p", "fuse-fma", "../sum.mlir")
        assert "fma.fma" in ran.out

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("\n\ndef f(:\n", "--load mine.py:3: importing it failed: SyntaxError: invalid syntax"),
            (
                "import nothing_there\n",
                "--load mine.py:1: importing it failed: ModuleNotFoundError: No module named",
            ),
            (
                "from xdsl.irdl import *\n\n@irdl_op_definition\nclass A(IRDLOperation):\n    name = 'a.b'\n    c = 3",
                "--load mine.py:3: importing it failed: ",
            ),
            (
                "import broken\n",
                "--load mine.py: broken.py:2: importing it failed: ZeroDivisionError: division by zero",
            ),
        ],
    )
    def test_the_users_line(self, command: Command, text: str, message: str):
        Path("mine.py").write_text(text)
        Path("broken.py").write_text("\n1 / 0\n")
        for line in (("et-opt", "relu.mlir"), ("et-compile", "-q", "relu.mlir", "-o", "x.pte")):
            ran = command(*line, "--load", "mine.py")
            assert ran.code == 2
            assert ran.err.startswith(f"{line[0]}: error: {message}")

    @pytest.mark.parametrize("name", ["json", "statistics", "xdsl"])
    def test_modules_of_its_name_stay(self, command: Command, name: str):
        shutil.copy("fma.py", f"{name}.py")
        before = sys.modules.get(name)
        ran = command("et-opt", "--load", f"{name}.py", "relu.mlir")
        assert ran.code == 2
        assert f"--load {name}.py: another module is named '{name}'; rename the file" in ran.err
        assert sys.modules.get(name) is before


BROKEN = (
    PASS
    + """

class Broken(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddTensorOp, rewriter: PatternRewriter) -> None:
        helps(op)

def helps(op):
    op.nothing_there

@dataclass(frozen=True)
class InPattern(ModulePass):
    name = "in-pattern"
    def apply(self, ctx, op):
        rewrite(op, [Broken()])

@dataclass(frozen=True)
class InPass(ModulePass):
    name = "in-pass"
    def apply(self, ctx, op):
        {}["tiles"]

@dataclass(frozen=True)
class Leaves(ModulePass):
    name = "leaves"
    def apply(self, ctx, op):
        raise SystemExit(1)

class Again(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: edge.AddTensorOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, edge.AddTensorOp.make(op.other, op.self))

@dataclass(frozen=True)
class Endless(ModulePass):
    name = "endless"
    def apply(self, ctx, op):
        rewrite(op, [Again()], recursive=True)
"""
)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "in-pattern",
            "sum.mlir:3:3: error: 'edge.add.Tensor': the pattern Broken of the pass 'in-pattern' raised "
            "AttributeError: … 'nothing_there' (broken.py:17 in helps)",
        ),
        ("in-pass", "error: the pass 'in-pass' raised KeyError: 'tiles' (broken.py:29 in apply)"),
        ("leaves", "error: the pass 'leaves' raised SystemExit: 1 (broken.py:35 in apply)"),
        (
            "endless",
            "error: 'edge.add.Tensor': the pattern Again of the pass 'endless' does not end: it still applies after ",
        ),
    ],
)
def test_exceptions_in_passes(command: Command, name: str, message: str):
    Path("broken.py").write_text(BROKEN)
    for line in (
        ("et-opt", "sum.mlir", "-p", name),
        ("et-compile", "-q", "sum.mlir", "-o", "x.pte", "--pass", f"edge:{name}"),
    ):
        ran = command(*line, "--load", "broken.py")
        assert ran.code == 3
        assert all(part in ran.err for part in message.split("… "))
        assert ("note: --traceback prints the Python stack" in ran.err) == (name != "endless")


def test_tracebacks(capfd: pytest.CaptureFixture[str]):
    from et_tools.et_compile import main as et_compile
    from et_tools.et_opt import main as et_opt

    Path("broken.py").write_text(BROKEN)
    load = ["sum.mlir", "--load", "broken.py", "--traceback"]
    assert et_opt([*load, "-p", "in-pattern"]) == 3
    assert 'broken.py", line 17, in helps' in capfd.readouterr().err
    assert et_compile([*load, "-q", "--pass", "edge:in-pass", "-o", "x.pte"]) == 3
    err = capfd.readouterr().err
    assert 'broken.py", line 29, in apply' in err
    assert "note: --traceback" not in err
    assert et_opt(["sum.mlir", "-p", "none"]) == 2
    assert "Traceback" not in capfd.readouterr().err


def test_a_bug_of_ours_is_no_failed_check(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    from et_tools.et_opt import main

    monkeypatch.setattr("et_tools.opt_driver.check_text_output", 3)
    assert main(["sum.mlir", "-o", "x.mlir"]) == 70
    err = capfd.readouterr().err
    assert "TypeError: 'int' object is not callable" in err
    assert err.endswith("et-opt: error: this is a bug in et-opt: please report it with the lines above\n")


BACKEND = """
from et_ir.backends import Backend, BackendDetails, CapabilityPartitioner, DelegationSpec, OperatorSupport
from et_ir.backends import EverythingSupported, PreprocessResult, register_backend

class Details(BackendDetails):
    backend_id = "FaultyBackend"
    @classmethod
    def preprocess(cls, edge_program, compile_specs):
        raise fault()

def fault():
    {}["tiles"]

class Support(OperatorSupport):
    def refusal(self, op):
        raise SystemExit(1)

def partitioner(options):
    if "creating" in options:
        fault()
    support = Support() if "asking" in options else EverythingSupported()
    return CapabilityPartitioner(DelegationSpec("FaultyBackend"), support)

BACKEND = register_backend(Backend("faulty", Details, partitioner))
"""


@pytest.fixture
def backends():
    """Backends that files register are forgotten."""
    from et_ir.delegation import backends_by_name as known

    before = dict(known._registered)
    yield
    known._registered.clear()
    known._registered.update(before)


@pytest.mark.parametrize(
    ("given", "code", "messages"),
    [
        (
            ("--load", "faulty.py", "--backend", "faulty", "--strict", "--extra-backends", "FaultyBackend"),
            3,
            ("sum.mlir:2:3: error: ", "cannot compile it: KeyError: 'tiles' (faulty.py:12 in fault)"),
        ),
        (
            (
                "--load",
                "faulty.py",
                "--backend",
                "faulty:asking=1",
                "--strict",
                "--extra-backends",
                "FaultyBackend",
            ),
            3,
            (
                "sum.mlir:2:3: error: 'edge.mul.Tensor': ",
                "raised SystemExit: 1 (faulty.py:16 in refusal)",
            ),
        ),
        (
            ("--load", "faulty.py", "--backend", "faulty:creating=1"),
            2,
            (
                "backend 'faulty': its partitioner cannot be created: KeyError: 'tiles' (faulty.py:12 in fault)",
            ),
        ),
        (
            ("--planner", "plans.py:plan"),
            3,
            ("the planner plans.py:plan raised SystemExit: 1 (plans.py:5 in helps)",),
        ),
    ],
    ids=["preprocess", "partitioner", "factory", "planner"],
)
def test_exceptions_elsewhere(
    command: Command, backends: None, given: tuple[str, ...], code: int, messages: tuple[str, ...]
):
    Path("faulty.py").write_text(BACKEND)
    Path("plans.py").write_text("def plan(buffers):\n    helps()\n\ndef helps():\n    raise SystemExit(1)\n")
    ran = command("et-compile", "-q", "sum.mlir", "-o", "x.pte", *given)
    assert ran.code == code
    for message in messages:
        assert message in ran.err
    assert "message is above" not in ran.err
    assert "note: --traceback prints the Python stack" in ran.err


@pytest.mark.parametrize("raises", ['{}["tiles"]', "raise SystemExit(1)"])
def test_exceptions_in_kernels(command: Command, raises: str):
    Path("fma_kernels.py").write_text(
        Path("fma_kernels.py").read_text().replace("np.add(a * b, c, out=out)", raises)
    )
    line = ("et-compile", "-q", "fused.mlir", "-o", "x.pte", "--target", "et-vm", "--pass", "edge:lower-fma")
    assert command(*line, "--load", "fma.py", "--load", "fma_kernels.py").code == 0
    ran = command("et-vm", "run", "x.pte", "--load", "fma_kernels.py")
    assert ran.code == 5
    assert "(fma_kernels.py:13 in fma_out)" in ran.err
    assert "fma::fma.out" in ran.err


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (("et-opt", "relu.mlir", "--load", "bad.py"), 'bad.py", line 2'),
        (("et-compile", "relu.mlir", "-o", "x.pte", "--load", "bad.py"), 'bad.py", line 2'),
        (("et-translate", "--pt2-to-mlir", "x.pt2", "--load", "bad.py"), 'bad.py", line 2'),
        (("et-vm", "run", "x.pte", "--load", "bad.py"), 'bad.py", line 2'),
        (("et-plan", "--planner", "bad.py:plan", "x.csv"), 'bad.py", line 2'),
        (("et-compile", "bad.py:net", "-o", "x.pte"), 'bad.py", line 2'),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_tracebacks_in_every_command(
    command: Command, capfd: pytest.CaptureFixture[str], line: tuple[str, ...], place: str
):
    from importlib import import_module

    Path("bad.py").write_text("def net():\n    {}['x']\n\nnet()\n")
    Path("x.csv").write_text("id,lower,upper,size\n0,0,1,16\n")
    assert command("et-compile", "-q", "relu.mlir", "-o", "x.pte").code == 0
    main = import_module(f"et_tools.{line[0].replace('-', '_')}").main
    codes = set()
    for extra in ((), ("--traceback",)):
        codes.add(main([*line[1:], *extra]))
        err = capfd.readouterr().err
        assert ("Traceback (most recent call last)" in err) == bool(extra)
        assert (place in err) == bool(extra)
        assert "bad.py:2" in err
    assert codes <= {2, 3}
