"""Layers with a clamp behind them in 8 bits: one value, rounded once, on every back end that computes in integers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stock import StockRuntime
from support.quantized_nets import Net
from torch import Tensor, nn
from torch.nn import functional as F

from et_backends.native.compiler import NativePartitioner
from et_backends.tosa.compiler import TOSAPartitioner
from et_backends.tosa.compiler.partitioner import TosaCompileSpec
from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.delegation.partitioner import Partitioner
from et_ir.quantization import quantize
from et_vm.runtime import Runtime

CLAMPS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu6": F.relu6,
    "relu6 in place": lambda y: F.relu6(y, inplace=True),
    "hardtanh": lambda y: F.hardtanh(y, -0.5, 0.25),
    "clamp": lambda y: y.clamp(-0.25, 0.5),
    "clamp from below": lambda y: y.clamp(min=-0.25),
    "clamp from above": lambda y: y.clamp_max(0.5),
}
"""Most outputs of the layers, which are scaled by 20, are beyond the limits."""

LAYERS: dict[str, tuple[nn.Module, ...]] = {
    "linear": (nn.Linear(4, 4),),
    "convolution": (nn.Conv2d(4, 6, 3, padding=1),),
    "convolution and norm": (nn.Sequential(nn.Conv2d(4, 6, 1), nn.BatchNorm2d(6)),),
    "depthwise": (nn.Conv2d(4, 4, 3, groups=4),),
    "transposed": (nn.ConvTranspose2d(4, 3, 2),),
    "sum": (nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1)),
}


def quantized_net(
    layer: str, clamp: str
) -> tuple[torch.export.ExportedProgram, nn.Module, tuple[Tensor, ...]]:
    torch.manual_seed(0)

    def forward(m: Any, x: Tensor) -> Tensor:
        return CLAMPS[clamp](m[0](x) + m[1](x) if len(m) > 1 else m[0](x))

    net = Net(forward, *LAYERS[layer]).eval()
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            torch.nn.init.normal_(parameter, std=2.0 if name.endswith("weight") else 0.1)
    inputs = (torch.randn(1, 4, 6, 4),)
    made = quantize(net, inputs, "int8", calibration=[inputs])
    return torch.export.export(made.module, inputs), net, inputs


def roundings(program: torch.export.ExportedProgram) -> int:
    targets = [str(node.target) for node in program.graph.nodes]
    return targets.count("quantized_decomposed.quantize_per_tensor.default")


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("clamp", CLAMPS)
def test_one_rounding(layer: str, clamp: str) -> None:
    program, net, inputs = quantized_net(layer, clamp)
    # The input, the result, and the terms of a sum.
    assert roundings(program) == 2 + (2 if layer == "sum" else 0)
    truth = net(*inputs).detach()
    error = (program.module()(*inputs).detach() - truth).abs()
    # A step of the range after the clamp, not of that before it, which is many times as large. Between the limits the
    # roundings of inputs and weights are more than that.
    beyond = (truth == truth.max()) | (truth == truth.min())
    step = float(np.ptp(truth.numpy())) / 255
    assert error[beyond].median() <= step


def partitioners() -> dict[str, Callable[[], list[Partitioner]]]:
    return {
        "et-vm": list,
        "native": lambda: [NativePartitioner()],
        "tosa": lambda: [TOSAPartitioner(TosaCompileSpec("TOSA-1.0+INT"))],
        "xnnpack": lambda: [XnnpackPartitioner()],
    }


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("clamp", CLAMPS)
@pytest.mark.parametrize("backend", partitioners())
def test_integers(backend: str, clamp: str, layer: str, stock: StockRuntime, tmp_path: Path) -> None:
    program, _, inputs = quantized_net(layer, clamp)
    edge = to_edge_transform_and_lower(program, partitioner=partitioners()[backend]())
    path = tmp_path / "clamps.pte"
    edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).save(path)
    names = [op.name for op in edge.module.walk()]
    if backend != "et-vm":
        assert names.count("backend.call") == 1
        assert not [name for name in names if name.startswith("edge.") and "quantize_per_tensor" not in name]
    made = Runtime.get().load_program(path, allow_native=True).load_method("forward").execute(list(inputs))
    wanted = program.module()(*inputs).detach().numpy()
    for found in (made, *([stock.run(path, inputs)] if backend == "xnnpack" else [])):
        assert np.abs(np.asarray(found[0]) - wanted).max() <= 1.01 * float(np.ptp(wanted)) / 255
