"""The digits network quantized in each mode: accuracy on all held-out digits, on each runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest
import torch
from stock import StockRuntime
from torch import nn
from torch.export import ExportedProgram

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_vm.runtime import Runtime
from examples.digits import network
from examples.digits.quantized import MODES, evaluate, quantized

LEAST: Final = {
    "float": 0.994,
    "int8": 0.99,
    "int8, trained": 0.992,
    "int8-dynamic": 0.99,
    "int8-weights": 0.99,
    "4-bit weights": 0.985,
}
"""Accuracy that each mode reaches at least."""
SHARE: Final = 0.4
"""Of the float file, the largest file of weights in integers."""


@pytest.fixture(scope="module")
def trained() -> nn.Module:
    return network.train(network.dataset())


@cache
def held_out() -> tuple[torch.Tensor, np.ndarray]:
    data = network.dataset()
    return data.test_images, data.test_labels.numpy()


def logits_of(run: Callable[[list[torch.Tensor]], Sequence[object]]) -> torch.Tensor:
    """What a runtime says of each held-out digit."""
    images, _ = held_out()
    return torch.cat([torch.as_tensor(run([image])[0]) for image in images.split(1)])


def on_vm(file: bytes, **options: str | bool) -> torch.Tensor:
    method = Runtime().load_program(file, allow_native=True, **options).load_method("forward")
    return logits_of(method.execute)


def on_stock(runtime: StockRuntime, path: Path) -> torch.Tensor:
    return logits_of(lambda inputs: runtime.run_on(path, inputs))


def check(found: torch.Tensor, eager: torch.Tensor, mode: str) -> None:
    """A runtime tells as many digits right as the mode has to, and the same as eager but for ties: a prediction differs
    only where two classes are within a step of the output's grid.
    """
    _, labels = held_out()
    step = float(eager.abs().max()) / 64
    assert (found - eager).abs().max() <= step
    assert (found.argmax(1).numpy() == labels).mean() >= LEAST[mode]
    differ = found.argmax(1) != eager.argmax(1)
    best = eager.topk(2).values
    assert bool((best[differ, 0] - best[differ, 1] <= 2 * step).all())


def eager_logits(program: ExportedProgram) -> torch.Tensor:
    module = program.module()
    with torch.no_grad():
        return logits_of(lambda inputs: [module(*inputs)])


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_accuracy(mode: str, trained: nn.Module, quantized_stock: StockRuntime, tmp_path: Path) -> None:
    program = quantized(mode, trained)
    eager = eager_logits(program)
    edge = to_edge(program)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    if mode != "float":
        assert len(file) < SHARE * len(to_edge(quantized("float", trained)).to_executorch().buffer)
    for kernels in ("portable", "aten"):
        check(on_vm(file, kernels=kernels), eager, mode)
    path = tmp_path / "stock.pte"
    edge.to_executorch(ExecutorchBackendConfig(target="stock-1.5-quantized")).save(path)
    check(on_stock(quantized_stock, path), eager, mode)
    native = to_edge_transform_and_lower(program, partitioner=make_partitioner("native"))
    assert "backend.call" in {op.name for op in native.module.walk()}
    check(on_vm(native.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer), eager, mode)
    assert evaluate(trained) >= LEAST["float"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["float", "int8", "int8, trained", "int8-dynamic", "4-bit weights"])
def test_accuracy_with_xnnpack(mode: str, trained: nn.Module, stock: StockRuntime, tmp_path: Path) -> None:
    program = quantized(mode, trained)
    eager = eager_logits(program)
    edge = to_edge_transform_and_lower(program, partitioner=XnnpackPartitioner())
    assert not [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    path = tmp_path / "digits.pte"
    edge.to_executorch().save(path)
    found, theirs = on_vm(path.read_bytes()), on_stock(stock, path)
    check(found, eager, mode)
    check(theirs, eager, mode)
    # XNNPACK's own kernels round what is half way between two steps either way.
    assert (theirs - found).abs().max() <= found.abs().max() / 64
