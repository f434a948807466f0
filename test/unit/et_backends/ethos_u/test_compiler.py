"""The Ethos-U backend: which ops it takes, what it reports, and its errors."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

import pytest
import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from et_backends.ethos_u.compiler import EthosUCompileSpec, EthosUPartitioner, vela
from et_backends.ethos_u.format import read_vela
from et_backends.tosa.compiler import TosaCompileSpec, TOSAPartitioner
from et_backends.tosa.format.blob import block_of, read_tosa
from et_backends.tosa.format.graph import DType
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.delegation.backends_by_name import make_partitioner
from et_ir.delegation.errors import BackendError
from et_ir.delegation.lowering import BackendFailed
from et_ir.quantization import XNNPACKQuantizer, get_symmetric_quantization_config
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

CONFIG = ExecutorchBackendConfig(extra_backends=["EthosUBackend"])


class Residual(nn.Module):
    """A layer whose operand is read by floats as well, and a sum that is not quantized."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x).relu()
        return torch.tanh(self.second(y)) + y


def quantized(module: nn.Module, *inputs: torch.Tensor) -> torch.export.ExportedProgram:
    with warnings.catch_warnings(action="ignore"):
        prepared = prepare_pt2e(
            torch.export.export(module.eval(), inputs).module(),
            XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True)),
        )
        prepared(*inputs)
        return torch.export.export(convert_pt2e(prepared), inputs)


def delegates(edge: Any, config: ExecutorchBackendConfig) -> list[tuple[memoryview, dict[str, bytes]]]:
    """The blobs of a program, with their compile specs."""
    pte = read_pte(edge.to_executorch(config).buffer)
    found = pte.program.execution_plan[0].delegates
    return [
        (pte.delegate_data(one.processed), {spec.key: bytes(spec.value) for spec in one.compile_specs})
        for one in found
        if one.processed is not None
    ]


def test_blob() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
    program = quantized(module, torch.randn(1, 3, 8, 8))
    spec = EthosUCompileSpec("ethos-u55-128")
    edge = to_edge_transform_and_lower(program, partitioner=EthosUPartitioner(spec))
    ((blob, specs),) = delegates(edge, CONFIG)
    made = read_vela(blob)
    assert [one.nbytes for one in made.inputs] == [3 * 8 * 8]
    assert [one.nbytes for one in made.outputs] == [8 * 4 * 4]
    assert specs["target"] == b"ethos-u55-128"
    assert specs["tosa_spec"] == b"TOSA-1.0+INT+int16+int4+u55"
    estimate = json.loads(specs["vela_estimate"])
    assert estimate["macs"] >= 8 * 8 * 8 * 3 * 9
    assert estimate["cycles"] > 0


def test_targets_without_floats() -> None:
    """Every value of a part is of integers, whatever else reads what they stand for; the result is as without."""
    torch.manual_seed(0)
    x = torch.randn(2, 8)
    program = quantized(Residual(), x)
    config = ExecutorchBackendConfig(target="et-vm")
    edge = to_edge_transform_and_lower(program, partitioner=TOSAPartitioner(TosaCompileSpec("TOSA-1.0+INT")))
    file = edge.to_executorch(config).buffer
    parts = [block_of(read_tosa(blob)) for blob, _ in delegates(edge, config)]
    assert parts
    for part in parts:
        assert {tensor.type for tensor in part.tensors} <= {DType.INT8, DType.INT32}
    kinds = [op.op.name for part in parts for op in part.operators]
    assert kinds.count("CONV2D") == 2
    (found,) = Runtime().load_program(file, poison=True).load_method("forward").execute([x])
    torch.testing.assert_close(found, program.module()(x), rtol=0, atol=0.02)


def test_bits_stay_outside_of_older_processors() -> None:
    class Logic(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.logical_and(x, y).logical_not()

    bits = torch.tensor([[True, False], [False, False]])
    program = torch.export.export(Logic(), (bits, bits))
    counts: list[int] = []
    for target in ("ethos-u65-256", "ethos-u85-256"):
        partitioner = EthosUPartitioner(EthosUCompileSpec(target))
        counts.append(len(delegates(to_edge_transform_and_lower(program, partitioner=partitioner), CONFIG)))
    assert counts == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ethos-u", "a target is required, as in ethos-u:target=ethos-u85-256"),
        ("ethos-u:target=ethos-u55-129", "unknown target 'ethos-u55-129'.*did you mean 'ethos-u55-12"),
        ("ethos-u:target=ethos-u55-128,speed=1", "speed"),
        ("ethos-u:target=ethos-u55-128,memory-mode=A B", "has a space"),
    ],
)
def test_options_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        make_partitioner(text)


def test_flags_that_vela_refuses() -> None:
    program = quantized(nn.Linear(4, 2), torch.randn(1, 4))
    spec = EthosUCompileSpec("ethos-u55-128", memory_mode="Nowhere")
    with pytest.raises(BackendFailed, match=r"Vela cannot compile it.*Nowhere"):
        to_edge_transform_and_lower(program, partitioner=EthosUPartitioner(spec), strict=True)


def test_vela_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: Callable[[str], ModuleSpec | None] = lambda name: None  # noqa: E731
    monkeypatch.setattr(vela, "find_spec", missing)
    with pytest.raises(BackendError, match="pip install ethos-u-vela"):
        make_partitioner("ethos-u:target=ethos-u55-128")
