"""The Core ML backend: which ops it takes, what its programs compute, and its errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from support.programs import Calls, exported, operators, run
from torch import nn

from et_backends.coreml.compiler import CoreMLPartitioner
from et_backends.coreml.format.blob import read_coreml
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_ir.delegation.errors import BackendError
from et_schema.errors import ExecutorchError
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

CONFIG = ExecutorchBackendConfig(target="et-vm")


class Net(nn.Module):
    """Layers of most families, with what the backend leaves between them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)
        self.layer_norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = nn.functional.hardswish(self.norm(self.stem(x)))
        y = nn.functional.max_pool2d(self.depthwise(y) + y, 2)
        y = nn.functional.gelu(self.up(y))
        rows = self.layer_norm(y.flatten(2).mean(1).reshape(-1, 16))
        return torch.softmax(self.head(rows), -1), torch.sort(y)[0].argmax(1)


def file_of(module: nn.Module, *inputs: Any, **options: Any) -> bytes:
    partitioner = CoreMLPartitioner(**options)
    made = to_edge_transform_and_lower(exported(module, *inputs), partitioner=partitioner)
    return made.to_executorch(CONFIG).buffer


def test_a_network() -> None:
    torch.manual_seed(0)
    net, x = Net(), torch.randn(2, 3, 16, 16)
    file = file_of(net, x)
    assert operators(file) == ["CoreMLBackend", "aten::sort.values", "CoreMLBackend"]
    expected = net(x)
    found = run(file, x)
    torch.testing.assert_close(found[0], expected[0], rtol=1e-5, atol=1e-6)
    assert torch.equal(found[1], expected[1])


def test_half_precision() -> None:
    torch.manual_seed(0)
    net, x = Net(), torch.randn(2, 3, 16, 16)
    file = file_of(net, x, precision="f16")
    assert len(file) < len(file_of(net, x))
    torch.testing.assert_close(run(file, x)[0], net(x)[0], rtol=0, atol=2e-3)


def test_the_same_bytes_each_time() -> None:
    torch.manual_seed(0)
    net, x = Net(), torch.randn(2, 3, 16, 16)
    assert file_of(net, x) == file_of(net, x)


def test_compile_specs_and_names_are_those_of_upstream() -> None:
    pte = read_pte(file_of(nn.ReLU(), torch.randn(2), units="cpu_and_ne"))
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.id == "CoreMLBackend"
    assert {spec.key: bytes(spec.value) for spec in delegate.compile_specs} == {
        "compute_units": b"cpu_and_ne",
        "model_compute_precision": b"float32",
    }
    assert delegate.processed is not None
    blob = pte.delegate_data(delegate.processed)
    metadata = json.loads(bytes(blob[: bytes(blob).index(b"}") + 1]))
    assert set(metadata) == {"inputNames", "outputNames", "identifier"}
    assert read_coreml(blob).program.opset == "CoreML6"


def test_scalars_booleans_and_integers_go_in_and_out() -> None:
    def select(mask: Any, x: Any, y: Any, n: Any) -> Any:
        return torch.where(mask, x, y), (x > y) & mask, x.sum() * 2, n.reshape(2, 1), x

    inputs = (
        torch.tensor([True, False]),
        torch.tensor([1.0, 2.0]),
        torch.tensor(1.5),
        torch.tensor([3, -4]),
    )
    file = file_of(Calls(select), *inputs)
    assert set(operators(file)) == {"CoreMLBackend"}
    for found, expected in zip(run(file, *inputs), Calls(select)(*inputs), strict=True):
        assert torch.equal(found, expected)
    with pytest.raises(ExecutorchError, match="has integers that int32 does not hold"):
        run(file, *inputs[:3], torch.tensor([3, 1 << 40]))


GATHERS: dict[str, Any] = {
    "first": lambda x, places: x.index_select(0, places),
    "middle": lambda x, places: x.index_select(1, places),
    "last": lambda x, places: x.index_select(-1, places),
    "embedding": lambda x, places: nn.functional.embedding(places.reshape(1, 2), x[0] * 2),
    "of each row": lambda x, places: x.gather(2, places.reshape(1, 1, 2).expand(2, 3, 2)),
}


def test_gathers() -> None:
    x, places = torch.randn(2, 3, 4), torch.tensor([1, 0])
    together = Calls(lambda x, places: tuple(function(x, places) for function in GATHERS.values()))
    file = file_of(together, x, places)
    assert set(operators(file)) == {"CoreMLBackend"}
    for name, found, expected in zip(GATHERS, run(file, x, places), together(x, places), strict=True):
        assert torch.equal(found, expected), name


@pytest.mark.parametrize(
    ("function", "inputs", "reason"),
    [
        (lambda x: x * 2, (torch.arange(4),), "element type"),
        (lambda x: torch.sort(x)[0], (torch.randn(4),), "Core ML has no such node"),
        (lambda x: x.to(torch.int32), (torch.randn(4),), "conversion of floats to integers"),
        (lambda x: nn.functional.avg_pool2d(x, 2, ceil_mode=True), (torch.randn(1, 1, 5, 5),), "ceil_mode"),
        (lambda x: nn.functional.pad(x, (-1, 1)), (torch.randn(4),), "negative padding"),
        (lambda x: x + 1, (torch.randn(0, 4),), "empty tensor"),
        (lambda x: x.argmax(), (torch.randn(4),), "of all elements"),
        (lambda x: x + 1, (torch.randn(1, 1, 1, 1, 1, 2),), "more than 5 dimensions"),
        (lambda x: x == 1 << 40, (torch.arange(4),), "a number with a tensor that is not f32"),
        (lambda x, w: nn.functional.conv1d(x, w), (torch.randn(1, 2, 5), torch.randn(3, 2, 2)), "computed"),
        (
            lambda x: x.reshape(2, 2) == torch.tensor([1, 1 << 40]),
            (torch.arange(4),),
            "integers that 32 bits do not hold",
        ),
        (
            lambda x: x + 1,
            (torch.randn(1, 2, 3, 3).contiguous(memory_format=torch.channels_last),),
            "dim order",
        ),
    ],
)
def test_refusals(function: Any, inputs: tuple[torch.Tensor, ...], reason: str) -> None:
    program = exported(Calls(function), *inputs)
    made = to_edge_transform_and_lower(program, partitioner=CoreMLPartitioner())
    report = made.delegation
    assert report is not None
    assert reason in str(report), str(report)
    method = Runtime().load_program(made.to_executorch(CONFIG).buffer).load_method("forward")
    (found,) = method.execute([one.clone() for one in inputs])
    torch.testing.assert_close(torch.as_tensor(found), function(*inputs))


def test_sizes_known_at_run_time_are_left() -> None:
    program = exported(
        nn.Sequential(nn.Linear(4, 4)),
        torch.randn(3, 4),
        dynamic_shapes=({0: torch.export.Dim("n", max=8)},),
    )
    made = to_edge_transform_and_lower(program, partitioner=CoreMLPartitioner())
    assert "CoreMLBackend" not in operators(made.to_executorch(CONFIG).buffer)


def test_options() -> None:
    partitioner = make_partitioner("coreml:precision=f16,units=cpu_only,without=relu")
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    made = to_edge_transform_and_lower(exported(module, torch.randn(2, 4)), partitioner=partitioner)
    assert operators(made.to_executorch(CONFIG).buffer) == ["CoreMLBackend", "aten::relu.out"]
    for text, message in (
        ("coreml:precision=f64", "unknown precision 'f64': expected f32 or f16"),
        ("coreml:units=gpu", "unknown units 'gpu'"),
    ):
        with pytest.raises(BackendError, match=message):
            make_partitioner(text)
