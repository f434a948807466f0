"""Operators that keep the elements of their operand, by what torch computes."""

from __future__ import annotations

import pytest
import torch

from et_ops import OPERATORS
from et_ops.facts import DECLARED
from et_ops.library import rearranging_copies

ARGUMENTS: dict[str, tuple[object, ...]] = {
    "_reshape_alias": ([3, 2, 1], [2, 1, 1]),
    "_unsafe_view": ([3, 2],),
    "flatten.using_ints": (0, -1),
    "permute": ([2, 0, 1],),
    "reshape": ([3, 2],),
    "squeeze.dim": (0,),
    "squeeze.dims": ([0],),
    "transpose.int": (1, 2),
    "unflatten.int": (2, [3, 1]),
    "unsqueeze": (1,),
    "view": ([3, 2],),
}
REARRANGING = sorted(name for name in OPERATORS if OPERATORS[name].rearranges)


@pytest.mark.parametrize("name", [name for name in REARRANGING if OPERATORS[name].namespace == "aten"])
def test_elements(name: str) -> None:
    operator = OPERATORS[name]
    packet, _, overload = name.partition(".")
    x = torch.arange(6.0).view(1, 2, 3) if operator.view_form != "t" else torch.arange(6.0).view(2, 3)
    made = getattr(getattr(torch.ops.aten, packet), overload or "default")(
        x, *ARGUMENTS.get(operator.view_form, ())
    )
    if operator.reshapes:
        assert torch.equal(made.flatten(), x.flatten())
    else:
        assert sorted(made.flatten().tolist()) == x.flatten().tolist()


def test_copying_forms() -> None:
    copies = rearranging_copies()
    assert {"permute_copy", "t_copy", "transpose_copy.int"} == copies - rearranging_copies(reshaping=True)
    assert {"squeeze_copy", "unsqueeze_copy", "view_copy"} < copies
    assert not copies & {"expand_copy", "select_copy.int", "slice_copy.Tensor", "view_as_real_copy"}
    assert all(OPERATORS[name].rearranges for name in DECLARED if DECLARED[name].permutes)
