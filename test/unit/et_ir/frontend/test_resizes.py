"""Factors of resizes by the layout of the operand."""

from __future__ import annotations

from typing import Any, Final

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

from et_ir.frontend import UnsupportedProgram, import_program

LAST: Final = torch.channels_last
USUAL: Final = torch.contiguous_format


class _Resize(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, scale_factor=self.factor)


def _text(factor: float, layout: torch.memory_format, *, channels: int = 5, least: int | None = None) -> str:
    image = torch.rand(1, channels, 3, 110).contiguous(memory_format=layout)
    sizes: Any = None if least is None else ({3: Dim("w", min=least, max=200)},)
    return str(import_program(torch.export.export(_Resize(factor), (image,), dynamic_shapes=sizes)))


@pytest.mark.parametrize(
    ("factor", "layout", "channels", "used"),
    [
        (1.3, LAST, 5, "[1.0, 1.3]"),
        (2.01, LAST, 5, "[2.0, 2.01]"),
        (1.3, LAST, 3, "[1.3, 1.3]"),
        (1.3, USUAL, 5, "[1.3, 1.3]"),
        (0.7, LAST, 5, "[0.7, 0.7]"),
    ],
)
def test_sizes_that_are_kept_or_doubled(
    factor: float, layout: torch.memory_format, channels: int, used: str
) -> None:
    assert f"scale_factors = {used}" in _text(factor, layout, channels=channels)


def test_run_time_sizes_that_a_factor_cannot_keep() -> None:
    assert "scale_factors = [1.0, 1.3]" in _text(1.3, LAST, least=4)
    assert "scale_factors = [1.3, 1.3]" in _text(1.3, USUAL, least=3)


def test_run_time_sizes_of_which_a_factor_keeps_some() -> None:
    with pytest.raises(UnsupportedProgram, match=r"a factor of 1\.3 keeps or doubles some sizes"):
        _text(1.3, LAST, least=3)
