"""Programs in several arenas, by speed: on et-vm, its dead memory overwritten, and on the stock runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from stock import StockRuntime
from test_emit_stock import METHODS, parse
from torch.export import export

from et_ir.driver.configs import ExecutorchBackendConfig
from et_ir.driver.pipelines import (
    aten_passes,
    backend_passes,
    core_aten_passes,
    edge_passes,
    executorch_passes,
)
from et_ir.driver.stages import run_passes
from et_ir.emit import write
from et_ir.frontend import import_program
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


def compiled(
    path: Path,
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    memory: str = "",
    caller: Sequence[str] = (),
) -> None:
    program = import_program({"forward": export(module, inputs)})
    lower = executorch_passes(ExecutorchBackendConfig(check_plan=True, memory=memory, caller_memory=caller))
    run_passes(program, [*aten_passes(), *core_aten_passes(), *edge_passes(), *backend_passes(), *lower])
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
    compiled(path, module, inputs, memory)
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


class Two(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tanh(x * y), torch.relu(x + y)


@pytest.mark.parametrize(
    ("caller", "planned"),
    [
        ((), ((True, True), (True, True))),
        (("forward.inputs.0",), ((False, True), (True, True))),
        (("forward.outputs.1",), ((True, True), (True, False))),
        (("forward.inputs", "forward.outputs.0"), ((False, False), (False, True))),
    ],
)
def test_values_of_the_caller(
    caller: tuple[str, ...],
    planned: tuple[tuple[bool, bool], tuple[bool, bool]],
    stock: StockRuntime,
    tmp_path: Path,
) -> None:
    inputs = (torch.randn(3, 4), torch.randn(3, 4))
    path = tmp_path / "two.pte"
    compiled(path, Two().eval(), inputs, caller=caller)
    method = Runtime.get().load_program(path, poison=True).load_method("forward")
    assert method is not None
    meta = method.metadata
    assert tuple(meta.input_tensor_meta(at).is_memory_planned() for at in range(2)) == planned[0]
    assert tuple(meta.output_tensor_meta(at).is_memory_planned() for at in range(2)) == planned[1]
    for _ in range(2):
        for got, want in zip(method.execute(list(inputs)), Two()(*inputs), strict=True):
            torch.testing.assert_close(got, want)
    for got, want in zip(stock.run(path, list(inputs)), Two()(*inputs), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("memory", ["", "near:id=1,size=64;far:id=2", "near:id=2,size=96"])
def test_methods_share_arenas(memory: str, stock: StockRuntime, tmp_path: Path) -> None:
    """State stays where it is, whatever another method does with the rest of the arena."""
    program = parse(METHODS)
    run_passes(program, executorch_passes(ExecutorchBackendConfig(memory=memory, check_plan=True)))
    path = tmp_path / "methods.pte"
    with path.open("wb") as stream:
        write(program, stream)
    one, start = torch.ones(4), torch.tensor([10.0, 20.0, 30.0, 40.0])
    loaded = Runtime.get().load_program(path, poison=True)
    methods = {name: loaded.load_method(name) for name in ("add", "look")}
    wanted = [
        ("add", start),
        ("look", start + 2),
        ("add", start + 1),
        ("look", start + 3),
        ("look", start + 3),
    ]
    for name, want in wanted:
        method = methods[name]
        assert method is not None
        assert torch.equal(method.execute([one])[0], want)
        assert torch.equal(stock.run_on(path, [one], name)[0], want)
