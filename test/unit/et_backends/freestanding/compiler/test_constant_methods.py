"""Constant methods, which become macros of the header."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.constant_methods import c_literal
from et_backends.freestanding.compiler.programs import FreestandingObject, compile_freestanding
from et_backends.freestanding.compiler.targets import FREESTANDING_TARGETS
from et_backends.freestanding.compiler.whole_program import UnsupportedProgram
from et_ir.driver.managers import to_edge


class Relu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x)


def made(**constants: Any) -> FreestandingObject:
    program = torch.export.export(Relu(), (torch.zeros(4),))
    edge = to_edge(program, constant_methods=constants)
    return compile_freestanding(edge.module, FREESTANDING_TARGETS["cortex-m4"], "net")


def test_macros():
    header = made(rate=16000, gain=0.1, loud=True, name='of "x"').header
    for line in ("RATE 16000", "GAIN 0.1", "LOUD 1", 'NAME "of \\042x\\042"'):
        assert f"#define NET_{line}\n" in header
    assert "net_rate" not in header


def test_names_of_macros():
    with pytest.raises(UnsupportedProgram, match="a second macro would be 'NET_STACK_BYTES'"):
        made(stack_bytes=1)


def test_other_results():
    """A tensor is data, which a method returns; a pair of numbers has no name for each."""
    assert [one.method for one in made(table=torch.ones(3)).methods] == ["forward", "table"]
    with pytest.raises(UnsupportedProgram, match="output 0 is a number, not a tensor"):
        made(pair=(1, 2))


class Count(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.number = nn.Buffer(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.number.add_(1)
        return x * self.number


class Reset(Count):
    def forward(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.number.zero_()
        return 0


def test_a_number_beside_an_update_of_state():
    """No macro updates state."""
    programs = {
        "forward": torch.export.export(Count(), (torch.zeros(4),)),
        "reset": torch.export.export(Reset(), ()),
    }
    module = to_edge(programs).module
    with pytest.raises(UnsupportedProgram, match="output 0 is a number, not a tensor"):
        compile_freestanding(module, FREESTANDING_TARGETS["cortex-m4"], "net")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-5, "(-5)"),
        (-0.5, "(-0.5)"),
        (True, "1"),
        (1 << 40, "1099511627776LL"),
        (-(1 << 63), "(-9223372036854775807LL - 1)"),
        (1e-30, "1e-30"),
        ("ü??/\n", r'"\303\274\077\077/\012"'),
    ],
)
def test_literals(value: Any, text: str):
    assert c_literal(value) == text
