"""Corrections of results that torch traces wrongly."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.programs import Calls
from torch import Tensor

from et_ir.frontend import UnsupportedProgram, import_program


def imported(function: Callable[..., Any], *args: Tensor) -> str:
    module = import_program(torch.export.export(Calls(function), args))
    module.verify()
    return str(module)


@pytest.mark.parametrize("function", [torch.unique_consecutive, torch.unique])
def test_slices_along_the_last_dimension(function: Callable[..., Any]):
    text = imported(lambda x: function(x, dim=-1), torch.ones(2, 3))
    assert "(tensor<2x?xf32, #program.sizes<u0>>, tensor<3xi64>, tensor<?xi64, #program.sizes<u0>>)" in text


def test_what_is_traced_by_it():
    with pytest.raises(UnsupportedProgram, match="count the dimension from the front: dim=1"):
        imported(lambda x: torch.unique_consecutive(x, dim=-1) * 2, torch.ones(2, 3))


def test_elements_that_a_larger_mask_selects():
    x, mask = torch.ones(3), torch.ones(2, 3, dtype=torch.bool)
    assert "program.ranges<u0 from 0>" in imported(torch.masked_select, x, mask)
    assert "program.ranges<u0 from 0>" in imported(torch.masked_select, x[:, None], mask[:1])
    assert "program.ranges<u0 from 0 to 6>" in imported(torch.masked_select, mask, mask[0])
