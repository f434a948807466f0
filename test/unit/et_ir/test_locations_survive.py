"""No standard pass drops a source location: every op of every method keeps one from import to the last level."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.passes import ModulePass

from et_ir.driver.observer import Observer
from et_ir.driver.pipelines import (
    aten_passes,
    backend_passes,
    core_aten_passes,
    edge_passes,
    executorch_passes,
)
from et_ir.driver.stages import run_passes
from et_ir.frontend import import_program
from et_ir.locations import place_of


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.conv(x)))
        return torch.softmax(self.fc(y.mean((2, 3))), -1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.qkv = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
        q, k, v = self.qkv(self.norm(self.embed(ids))).chunk(3, -1)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, mask.bool())
        return {"out": nn.functional.gelu(attended) * 2 + ids.unsqueeze(-1)}


class Stateful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return torch.cumsum(self.total, 0) / torch.arange(1, 4)


class Written(nn.Module):
    """Constants that are written into rows of state, parts of it, and an input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(3, 4))

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        self.rows.index_copy_(0, index, x[None])
        self.rows[:, 1:].mul_(torch.tensor([2.0, 3.0, 4.0]))
        x.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        return self.rows.sum()


@pytest.mark.parametrize(
    ("model", "args"),
    [
        (Convolutional(), (torch.randn(1, 3, 6, 6),)),
        (Attention(), (torch.arange(6).reshape(1, 6), torch.ones(1, 6, 6, dtype=torch.long))),
        (Stateful(), (torch.randn(3),)),
        (Written(), (torch.randn(4), torch.tensor([1]))),
    ],
    ids=["convolutional", "attention", "stateful", "written"],
)
def test_every_op_keeps_a_place_in_this_file(model: nn.Module, args: tuple[torch.Tensor, ...]) -> None:
    def check(after: str, module: ModuleOp) -> None:
        for top in module.body.block.ops:
            for region in top.regions:
                for op in region.walk():
                    if isinstance(op, ReturnOp) or op.name in DECLARATIONS:
                        continue
                    assert op.location != UNKNOWN_LOC, f"{op.name} has no location after {after}"
                    frame = place_of(op.location).frame
                    file = frame.filename
                    assert Path(file).name == Path(__file__).name, f"{op.name} is said to be in {file}"
                    assert frame.lineno > 0

    module = import_program(torch.export.export(model.eval(), args))

    class Locations(Observer):
        def after_pass(self, one: ModulePass, module: ModuleOp) -> None:
            check(one.name, module)

    check("import", module)
    levels = (aten_passes(), core_aten_passes(), edge_passes(), backend_passes(), executorch_passes())
    run_passes(module, [one for passes in levels for one in passes], Locations())


# Inputs, weights and state stand for no line of the program.
DECLARATIONS = frozenset(
    {
        "program.get",
        "program.load",
        "executorch.input",
        "executorch.constant",
        "executorch.state",
        "executorch.return",
    }
)
