"""Complex Python numbers become tensors, or the call becomes others; what torch computes stays the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram

from et_ir.frontend import UnsupportedProgram, import_program
from et_ir.frontend.complex_numbers import with_lifted_complex_numbers

aten: Any = torch.ops.aten
Function = Callable[[torch.Tensor], torch.Tensor]


class Calls(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def exported(function: Function, x: torch.Tensor) -> ExportedProgram:
    return torch.export.export(Calls(function), (x,), strict=False)


C64, F32, F64, I64 = torch.complex64, torch.float32, torch.float64, torch.int64

CASES: dict[str, tuple[Function, torch.dtype]] = {
    "mul": (lambda x: x * 2j, C64),
    "mul of floats": (lambda x: x * 2j, F32),
    "mul of doubles": (lambda x: x * 0.1j, F64),
    "mul of integers": (lambda x: x * 2j, I64),
    "rsub": (lambda x: 1j - x, F32),
    "pow": (lambda x: x ** (1 + 1j), C64),
    "pow of a number": (lambda x: (2j) ** x, C64),
    "eq": (lambda x: x == 1j, C64),
    "in place": (lambda x: (x + 1).mul_(1j), C64),
    "fill in place": (lambda x: x.clone().fill_(3j), C64),
    "add.Scalar": (lambda x: aten.add.Scalar(x, 2j), C64),
    "masked_fill": (lambda x: x.masked_fill(x.abs() > 1, 1j), C64),
    "index_fill": (lambda x: x.index_fill(0, torch.arange(2), 1j), C64),
    "where": (lambda x: torch.where(x.abs() > 1, x, 1j), C64),
    "lerp": (lambda x: torch.lerp(x, x * 2, 0.5j), C64),
    "add by a factor": (lambda x: torch.add(x, x, alpha=1j), C64),
    "sub by a factor": (lambda x: torch.sub(x, x, alpha=1j), C64),
    "full": (lambda x: torch.full((3, 4), 1 + 2j) + x, C64),
    "full of a real number": (lambda x: torch.full((3, 4), 2 + 0j) + x, C64),
    "full_like": (lambda x: torch.full_like(x, 1j), C64),
    "new_full": (lambda x: x.new_full((2,), 1j), C64),
    "scalar_tensor": (lambda x: x + aten.scalar_tensor(1j, dtype=C64), C64),
    "pad": (lambda x: aten.constant_pad_nd(x, (1, -2), 1 + 2j), C64),
    "pad by a real number": (lambda x: aten.constant_pad_nd(x, (1, 2), 1 + 0j), C64),
    "addmm": (lambda x: torch.addmm(x[:, :3], x, x.mT, beta=1 + 2j, alpha=0.3j), C64),
    "addbmm": (lambda x: torch.addbmm(x[:, :3], x[None], x.mT[None], beta=1 + 2j), C64),
    "addcmul": (lambda x: torch.addcmul(x, x, x, value=2j), C64),
    "decomposition with a list": (
        lambda x: aten._unsafe_masked_index(x, torch.eye(3, 4).bool(), [torch.arange(3)[:, None], None], 1j),
        C64,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_computes_what_torch_does(name: str) -> None:
    function, dtype = CASES[name]
    x = torch.arange(1, 13).reshape(3, 4).to(dtype)
    program = exported(function, x)
    before = program.graph_module.code
    lifted = with_lifted_complex_numbers(program)
    assert lifted is not program
    assert program.graph_module.code == before
    numbers = [
        leaf
        for node in lifted.graph_module.graph.nodes
        for leaf in (*node.args, *node.kwargs.values())
        if isinstance(leaf, complex)
    ]
    assert numbers == []
    (result,) = lifted.graph_module(x)
    torch.testing.assert_close(result, function(x))
    import_program(program)


def test_leaves_others_alone() -> None:
    program = exported(lambda x: x * 2, torch.ones(3))
    assert with_lifted_complex_numbers(program) is program


def test_names_what_takes_no_tensor() -> None:
    program = exported(lambda x: x.scatter(0, torch.arange(1)[:, None], 1j), torch.ones(3, 4, dtype=C64))
    with pytest.raises(UnsupportedProgram, match=r"'value' is 1j.*, which is not of type Scalar"):
        import_program(program)
