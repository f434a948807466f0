"""Bounds that the user gives to sizes that export knows none of."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim
from xdsl.dialects.func import FuncOp

from et_ir import EdgeCompileConfig, to_edge
from et_ir.diagnostics import PassReport
from et_ir.dialects.program import GuardsAttr
from et_ir.frontend import import_program
from et_ir.frontend.default_bounds import BoundError


class Net(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x, y]).relu()


def exported(x: Any, y: Any, rows: int = 6) -> torch.export.ExportedProgram:
    return torch.export.export(
        Net(), (torch.ones(5, 4), torch.ones(rows, 4)), dynamic_shapes=({0: x}, {0: y})
    )


def guards(program: torch.export.ExportedProgram, **bounds: int) -> list[str]:
    module = import_program(
        program, default_bounds={name.replace("__", "."): n for name, n in bounds.items()}
    )
    (method,) = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    attr = method.attributes["program.guards"]
    assert isinstance(attr, GuardsAttr)
    *found, x, y = attr.data.conditions
    assert (x, y) == ("x.shape[1] == 4", "y.shape[1] == 4")
    return found


def test_by_input_and_dimension() -> None:
    program = exported(Dim("n"), Dim("m", min=2))
    found = guards(program, x__0=64, y__0=100)
    assert found == ["x.shape[0] <= 64", "2 <= y.shape[0] <= 100"]


def test_by_symbol() -> None:
    program = exported(Dim("n", min=3), Dim("m", max=8))
    (symbol,) = (s for s in program.range_constraints if program.range_constraints[s].lower == 3)
    assert guards(program, **{str(symbol): 64}) == ["3 <= x.shape[0] <= 64", "y.shape[0] <= 8"]


def test_what_the_program_states_stays() -> None:
    program = exported(Dim("n", max=8), Dim("m", max=8))
    assert guards(program, x__0=64) == ["x.shape[0] <= 8", "y.shape[0] <= 8"]


def test_of_a_derived_dimension() -> None:
    program = exported(Dim("n", max=8), 2 * Dim("m", min=1))
    assert guards(program, y__0=65) == ["y.shape[0] % 2 == 0", "x.shape[0] <= 8", "4 <= y.shape[0] <= 64"]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"z__0": 4}, "for z.0: the unbounded sizes are x.0, y.0, s"),
        ({"x__1": 4}, "for x.1: the unbounded sizes are"),
        ({"x__0": 2}, "x.0=2: the program requires at least 3"),
        ({"x__0": 0}, "expected a symbol or input.dimension, and a size"),
        ({"x-0": 4}, "expected a symbol or input.dimension, and a size"),
    ],
)
def test_what_is_no_bound(bounds: dict[str, int], message: str) -> None:
    with pytest.raises(BoundError, match=message):
        guards(exported(Dim("n", min=3), Dim("m")), **bounds)


def test_memory_is_planned_for_them() -> None:
    program = exported(Dim("n"), Dim("m"))
    with pytest.raises(PassReport, match=r"EdgeCompileConfig\(default_bounds=\{'x\.0': N\}\)"):
        to_edge(program).to_executorch()
    config = EdgeCompileConfig(default_bounds={"x.0": 10, "y.0": 6})
    text = str(to_edge(program, compile_config=config).to_executorch().module)
    assert "bound {memory_id = 1, offset" in text
    assert "tensor<16x4xf32>" in text
