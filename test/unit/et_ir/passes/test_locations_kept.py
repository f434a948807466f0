"""No standard pass drops a source location: every op of a lowered method comes from a line of Python."""

import pytest
import torch
from support.modules import context
from torch import Tensor, nn
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation

from et_ir.dialects.executorch import InputOp, PlanOp
from et_ir.dialects.executorch import ReturnOp as PlanReturnOp
from et_ir.driver.pipelines import core_aten_passes, edge_passes, executorch_passes
from et_ir.frontend import import_program
from et_ir.locations import frames_of


class Net(nn.Module):
    """A little of everything that passes rewrite: numbers, mixed types, layouts, weights, masks, views."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.layer = nn.LayerNorm(8)
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Tensor, n: Tensor) -> Tensor:
        y = self.norm(self.conv(x.to(memory_format=torch.channels_last))).relu() ** 2
        y = torch.maximum(y * n, 1 / (y + 1)) - torch.tensor(0.5)
        mask = torch.arange(8).unsqueeze(0) <= torch.arange(8).unsqueeze(1)
        z = self.linear(self.layer(y)).transpose(-1, -2)
        z = torch.where(mask, z, float("-inf")).softmax(-1)
        a, b = z.chunk(2, dim=1)
        return torch.cat([b, a], 1).flatten(1).unsqueeze(0)


class Cache(nn.Module):
    """State that is written in parts, at places that are known and others that are not."""

    cache: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 8, 4))

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        self.cache[:, 1:5:2] = x * 2
        self.cache[:, places] = x
        return torch.cat([self.cache.sum(1), x.sum(1)], 1)


def without_location(module: ModuleOp) -> list[str]:
    """The ops of methods that have no frame, other than inputs and the return."""

    def has_none(op: Operation) -> bool:
        return not isinstance(op, ReturnOp | InputOp | PlanReturnOp) and not frames_of(op.location)

    return [
        str(op)
        for method in module.body.block.ops
        if isinstance(method, FuncOp | PlanOp)
        for op in method.body.walk()
        if has_none(op)
    ]


CASES = {
    "layers": (Net, lambda: (torch.rand(1, 3, 8, 8), torch.randint(0, 5, (8,)))),
    "state": (Cache, lambda: (torch.rand(1, 2, 4), torch.tensor([3, 4]))),
}


@pytest.mark.parametrize("name", CASES)
def test_every_pass(name: str) -> None:
    torch.manual_seed(0)
    make, arguments = CASES[name]
    module = import_program(torch.export.export(make().eval(), arguments()))
    assert not without_location(module)
    for one in (*core_aten_passes(), *edge_passes(), *executorch_passes()):
        one.apply(context(), module)
        assert not without_location(module), f"{one.name} dropped a location"
