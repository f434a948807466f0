"""Reports list every finding with place and fix."""

import pytest
from support.modules import parse
from xdsl.dialects.builtin import UNKNOWN_LOC

from et_ir.diagnostics import Diagnostic, PassReport
from et_ir.driver.stages import run_pipeline
from et_ir.locations import Frame, location_of, place_of


def test_text() -> None:
    place = place_of(location_of([Frame("model.py", 12, "forward")], "blocks.0.fc"))
    report = PassReport(
        "the program breaks the contract",
        [
            Diagnostic("[core_aten_c1] is not Core ATen", subject="aten.silu", fix="decompose it", at=place),
            Diagnostic("[aten_c1] is foreign", subject="aten.relu", at=place_of(UNKNOWN_LOC)),
        ],
    )
    assert str(report) == (
        "the program breaks the contract (2 places)\n"
        "  model.py:12 in blocks.0.fc: 'aten.silu': [core_aten_c1] is not Core ATen\n"
        "    fix: decompose it\n"
        "  unknown location: 'aten.relu': [aten_c1] is foreign"
    )


def test_nothing_to_report() -> None:
    PassReport.raise_if("title", [])
    with pytest.raises(PassReport, match="1 place"):
        PassReport.raise_if("title", [Diagnostic("message")])


def test_every_op_is_listed_in_program_order() -> None:
    lines = "\n".join(f"%{i + 1} = aten.silu %{i} : tensor<4xf32>" for i in range(20))
    head, tail = (
        "func.func @forward(%0: tensor<4xf32>) -> tensor<4xf32> {",
        "func.return %20 : tensor<4xf32>\n}",
    )
    module = parse(f"{head}\n{lines}\n{tail}")
    with pytest.raises(PassReport) as caught:
        run_pipeline(module, "verify-core-aten")
    assert len(caught.value.diagnostics) == 20
    assert str(caught.value).count("fix:") == 20
