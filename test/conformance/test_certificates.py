"""Plan certificates of et-vm against the planner's own bounds.

The certificates are found in the file alone, for files of both compilers.
"""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from test_emit_stock import CASES, compile_with
from torch.export import export

from et_ir.dialects.executorch import PlanOp
from et_ir.driver.stages import run_pipeline
from et_ir.emit import disassemble, write
from et_schema.pte import read_pte
from et_tools.et_vm import main
from et_vm.devtools.certificate import Certificate, certificates
from et_vm.program import Program


@pytest.mark.parametrize("name", CASES)
def test_certificates_of_stock_files(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(1)
    module, inputs, options, how = CASES[name]()
    with torch.no_grad():
        data = compile_with(export(module.eval(), inputs, **options), **how)
    before = certificates(Program.load(data), "forward")
    (tmp_path / "stock.pte").write_bytes(data)
    assert main(["info", str(tmp_path / "stock.pte"), "--plan", "--svg", str(tmp_path / "plan.svg")]) == 0
    assert "forward, arena 1" in capsys.readouterr().out
    ElementTree.parse(tmp_path / "plan.svg")

    program = disassemble(read_pte(data))
    run_pipeline(program, "plan-memory{algorithm=exact check=true}")
    (plan,) = (op for op in program.walk() if isinstance(op, PlanOp))
    stream = io.BytesIO()
    write(program, stream)
    after = certificates(Program.load(stream.getvalue()), "forward")
    assert plan.arena_sizes == [certificate.nbytes for certificate in after.values()]
    assert plan.bounds is not None
    # The planner takes lifetimes as intervals, and state as needed throughout: it may know of more than the file says.
    for proven, certificate in zip(plan.bounds.get_values(), after.values(), strict=True):
        assert certificate.bound <= proven <= certificate.nbytes
    if name not in ("branch", "map"):
        # A stock plan may let branches share what both need.
        assert all(after[number].bound <= certificate.nbytes for number, certificate in before.items())


def test_a_chain_is_certified_by_both() -> None:
    module, inputs, _, _ = CASES["traces"]()
    with torch.no_grad():
        data = compile_with(export(module.eval(), inputs))
    program = disassemble(read_pte(data))
    run_pipeline(program, "plan-memory{algorithm=exact}")
    (plan,) = (op for op in program.walk() if isinstance(op, PlanOp))
    stream = io.BytesIO()
    write(program, stream)
    (certificate,) = certificates(Program.load(stream.getvalue()), "forward").values()
    assert plan.bounds is not None
    assert certificate == Certificate(plan.bounds.get_values()[0], plan.bounds.get_values()[0], 16)
    assert certificate.optimal
