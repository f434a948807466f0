"""Programs in several arenas, by speed: on et-vm, its dead memory overwritten, and on the stock runtime."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from stock import StockRuntime
from torch.export import export

from et_ir.emit import write
from et_ir.frontend import import_program
from et_ir.passes.pipelines import ATEN, BACKEND, CORE_ATEN, EDGE, executorch_pipeline, run_pipeline
from et_vm.runtime import Runtime


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.two = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.fc = torch.nn.Linear(8, 5)
        self.register_buffer("seen", torch.zeros(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.one(x))
        z = y + torch.tanh(self.two(y))
        out = self.fc(z.mean((2, 3)))
        self.seen.add_(out[0])
        return out + self.seen


def compiled(path: Path, memory: str, module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
    program = import_program({"forward": export(module, inputs)})
    lower = executorch_pipeline(check_plan=True, memory=memory)
    run_pipeline(program, ",".join((ATEN, CORE_ATEN, EDGE, BACKEND, lower)))
    with path.open("wb") as stream:
        write(program, stream)


@pytest.mark.parametrize(
    ("memory", "arenas"),
    [
        ("sram:id=1,size=4K;dram:id=2", {1, 2}),
        ("dram:id=1,speed=1;sram:id=2,size=3K,speed=4", {1, 2}),
        ("l1:id=3,size=1K;l2:id=1,size=3K;dram:id=2", {1, 2, 3}),
        ("far:id=3", {3}),
    ],
)
def test_several_arenas(memory: str, arenas: set[int], stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = Net().eval(), (torch.randn(1, 3, 8, 8),)
    path = tmp_path / "net.pte"
    compiled(path, memory, module, inputs)
    with torch.no_grad():
        expected = [module(*inputs), module(*inputs)]
    method = Runtime.get().load_program(path, poison=True).load_method("forward")
    assert method is not None
    sizes = method.metadata.memory_planned_buffer_sizes()
    assert {number for number, size in sizes.items() if size} == arenas
    for bank in memory.split(";"):
        options = dict(option.split("=") for option in bank.partition(":")[2].split(","))
        if "size" in options:
            assert sizes[int(options["id"])] <= int(options["size"].removesuffix("K")) * 1024
    for want in expected:
        torch.testing.assert_close(method.execute(list(inputs))[0], want)
        torch.testing.assert_close(stock.run_on(path, list(inputs))[0], want)
