"""Weights in data files, both ways: stock's runtime with our program and data, ours with stock's."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path

import pytest
import torch
from training_programs import CASES

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
    training_step,
)
from et_schema.errors import InvalidFile
from et_tools.et_compile import main as compile_main
from et_vm.load.data_files import DataFiles
from et_vm.runtime import Runtime
from et_vm.state.files import read_tensors, write_tensors

with warnings.catch_warnings(action="ignore"):
    from executorch.exir import ExecutorchBackendConfig as StockConfig
    from executorch.exir import to_edge as stock_to_edge
    from executorch.extension.pybindings.portable_lib import _load_for_executorch
    from executorch.runtime import Runtime as StockRuntime

pytestmark = pytest.mark.filterwarnings("ignore")


class Net(torch.nn.Module):
    """Two layers; one weight is used twice."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(6, 4)
        self.second = torch.nn.Linear(4, 6)
        self.third = torch.nn.Linear(6, 4)
        self.third.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.third(self.second(torch.relu(self.first(x))))


X = torch.randn(3, 6, generator=torch.Generator().manual_seed(4))


def test_stock_runs_our_program_with_our_data(tmp_path: Path) -> None:
    model = Net().eval()
    exported = torch.export.export(model, (X,))
    et = to_edge(exported, compile_config=EdgeCompileConfig()).to_executorch(
        ExecutorchBackendConfig(external_constants=True)
    )
    et.save(tmp_path / "net.pte")
    et.write_tensor_data_to_file(tmp_path)
    data = tmp_path / "constants.ptd"
    expected = model(X)
    stock = _load_for_executorch(str(tmp_path / "net.pte"), str(data))
    torch.testing.assert_close(stock.run_method("forward", (X,))[0], expected)
    ours = Runtime.get().load_program(tmp_path / "net.pte", external=DataFiles.load(data), poison=True)
    torch.testing.assert_close(ours.load_method("forward").execute([X])[0], expected)


def test_the_same_arguments(tmp_path: Path) -> None:
    """A program is loaded with its data file the same way in both runtimes."""
    model = Net().eval()
    et = to_edge(torch.export.export(model, (X,))).to_executorch(
        ExecutorchBackendConfig(external_constants=True)
    )
    et.save(tmp_path / "net.pte")
    et.write_tensor_data_to_file(tmp_path)
    data = tmp_path / "constants.ptd"
    for runtime in (StockRuntime.get(), Runtime.get()):
        for source in (tmp_path / "net.pte", et.buffer):
            method = runtime.load_program(source, data_path=data).load_method("forward")
            torch.testing.assert_close(method.execute([X])[0], model(X))


def test_we_run_stock_programs_with_stock_data(tmp_path: Path) -> None:
    model = Net().eval()
    stock = stock_to_edge(torch.export.export(model, (X,))).to_executorch(
        StockConfig(external_constants=True)
    )
    stock.save(str(tmp_path / "net.pte"))
    stock.write_tensor_data_to_file(str(tmp_path))
    (data,) = tmp_path.glob("*.ptd")
    ours = Runtime.get().load_program(tmp_path / "net.pte", external=DataFiles.load(data), poison=True)
    torch.testing.assert_close(ours.load_method("forward").execute([X])[0], model(X))


def test_weights_of_delegates(tmp_path: Path) -> None:
    """XNNPACK's weights are data by name, and may be in a data file too: what two programs share is there once."""
    model = Net().eval()
    edge = to_edge_transform_and_lower(torch.export.export(model, (X,)), partitioner=XnnpackPartitioner())
    et = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
    et.save(tmp_path / "net.pte")
    et.write_tensor_data_to_file(tmp_path)
    data = tmp_path / "constants.ptd"
    weight = model.first.weight.detach().numpy().tobytes()
    assert (tmp_path / "net.pte").read_bytes().count(weight) == 0
    assert data.read_bytes().count(weight) == 1
    stock = _load_for_executorch(str(tmp_path / "net.pte"), str(data))
    torch.testing.assert_close(stock.run_method("forward", (X,))[0], model(X))
    ours = Runtime.get().load_program(tmp_path / "net.pte", external=DataFiles.load(data), poison=True)
    torch.testing.assert_close(ours.load_method("forward").execute([X])[0], model(X))
    with pytest.raises(InvalidFile, match=r"no data named .*; if it is in a data file, pass the file"):
        Runtime.get().load_program(tmp_path / "net.pte").load_method("forward")


def test_weights_of_another_compilation(tmp_path: Path) -> None:
    """An old program beside a new data file, as a copy that was interrupted leaves them: shapes agree."""
    models = [Net().eval(), Net().eval()]
    with torch.no_grad():
        models[1].second.weight += 1
    for name, model in zip(("old", "new"), models, strict=True):
        et = to_edge(torch.export.export(model, (X,))).to_executorch(
            ExecutorchBackendConfig(external_constants=True)
        )
        (tmp_path / name).mkdir()
        et.save(tmp_path / name / "net.pte")
        et.write_tensor_data_to_file(tmp_path / name)
    program, data = tmp_path / "old" / "net.pte", tmp_path / "new" / "constants.ptd"
    with pytest.raises(InvalidFile, match="is not what the program was compiled with"):
        Runtime.get().load_program(program, data_path=data).load_method("forward")
    ours = Runtime.get().load_program(program, data_path=data, any_data=True).load_method("forward")
    torch.testing.assert_close(ours.execute([X])[0], models[1](X))


def test_several_files(tmp_path: Path) -> None:
    model = Net().eval()
    torch.export.save(torch.export.export(model, (X,)), tmp_path / "net.pt2")
    wanted = ["--external-constants", "*weight*=weights.ptd", "--external-constants", "biases.ptd"]
    output = tmp_path / "net.pte"
    assert compile_main(["-q", str(tmp_path / "net.pt2"), "-o", str(output), *wanted]) == 0
    files = DataFiles.load(tmp_path / "weights.ptd", tmp_path / "biases.ptd")
    ours = Runtime.get().load_program(output, external=files)
    torch.testing.assert_close(ours.load_method("forward").execute([X])[0], model(X))


def test_checkpoints_of_both_runtimes(tmp_path: Path) -> None:
    """What is trained here is computed with by a program of stock's compiler, and its weights are trained here."""
    case = CASES["mlp"]
    module, program = case.program()
    x, y = case.batch(0)
    names = ("forward", "train_step")
    edge = to_edge(dict(zip(names, (program, training_step(program, "adam:lr=0.1")), strict=True)))
    loaded = Runtime.get().load_program(edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer)
    step = loaded.load_method("train_step")
    for _ in range(5):
        step.execute([x, y])
    step.state.save(tmp_path / "trained.ptd")
    trained = copy.deepcopy(module)
    trained.load_state_dict({name: torch.as_tensor(step.state[name]) for name in module.state_dict()})
    predicting = stock_to_edge(torch.export.export(module.net.eval(), (x,)))
    stock = predicting.to_executorch(StockConfig(external_constants=True))
    stock.save(str(tmp_path / "net.pte"))
    stock.write_tensor_data_to_file(str(tmp_path))
    [initial] = [path for path in tmp_path.glob("*.ptd") if path.name != "trained.ptd"]
    weights = read_tensors(tmp_path / "trained.ptd")
    write_tensors(tmp_path / "net.ptd", {name.removeprefix("net."): value for name, value in weights.items()})
    found = StockRuntime.get().load_program(tmp_path / "net.pte", data_path=tmp_path / "net.ptd")
    torch.testing.assert_close(found.load_method("forward").execute([x])[0], trained.net(x).detach())
    # Stock's weights under the names of the training program.
    for name, value in read_tensors(initial).items():
        step.state[f"net.{name}"] = value
    loss, *_ = loaded.load_method("forward").execute([x, y])
    torch.testing.assert_close(torch.as_tensor(loss), module(x, y)[0].detach())
