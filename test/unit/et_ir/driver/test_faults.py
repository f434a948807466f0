"""Faults of later stages in the first failing stage's report."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from et_ir.diagnostics import PassReport, diagnose
from et_ir.dialects.aten import ops as aten
from et_ir.driver.faults import ProgramFaults, with_later_faults
from et_ir.driver.pipelines import core_aten_passes, edge_passes, executorch_passes
from et_ir.locations import place_of
from et_ir.passes.verify.link_check import MissingKernels

TYPE = TensorType(f32, [4])


def line(number: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("model.py"), IntAttr(number), IntAttr(0))


def module() -> ModuleOp:
    """`nextafter`, which has no kernel, after an op that a stage is to blame."""
    block = Block(arg_types=[TYPE])
    blamed = aten.ReluOp.make(block.args[0], location=line(1))
    without = aten.NextafterOp.make(blamed, blamed, location=line(2))
    block.add_ops([blamed, without, ReturnOp(without.result)])
    return ModuleOp([FuncOp("forward", ([TYPE], [TYPE]), Region(block))])


def report(program: ModuleOp) -> PassReport:
    blamed = next(op for op in program.walk() if isinstance(op, aten.ReluOp))
    return PassReport("no such thing", [diagnose(blamed, "is blamed", "leave it out")])


STAGES = [*core_aten_passes(), *edge_passes(), *executorch_passes()]


def test_later_faults_follow() -> None:
    program = module()
    found = with_later_faults(report(program), program, STAGES)
    assert isinstance(found, ProgramFaults)
    assert [(f.subject, f.at) for f in found.diagnostics] == [
        ("aten.relu", place_of(line(1))),
        ("aten::nextafter.out", place_of(line(2))),
    ]
    assert found.exit_code == 3


def test_missing_kernels_of_several_stages_are_missing_kernels() -> None:
    program = module()
    blamed = next(op for op in program.walk() if isinstance(op, aten.ReluOp))
    found = with_later_faults(MissingKernels("limits", [diagnose(blamed, "is blamed")]), program, STAGES)
    assert isinstance(found, MissingKernels)
    assert len(found.diagnostics) == 2


def test_an_error_with_nothing_to_add_stays() -> None:
    program = module()
    error = report(program)
    assert with_later_faults(error, program, core_aten_passes()) is error


def test_what_is_no_report_stays() -> None:
    error = ValueError("a mistake")
    assert with_later_faults(error, module(), STAGES) is error
