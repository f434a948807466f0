"""The digits network quantized in each mode: accuracy on the held-out digits, on et-vm and on the stock runtime."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest
import torch
from stock import StockRuntime
from torch import nn

from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends.xnnpack.partitioner import XnnpackPartitioner
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
def quantized_stock() -> Iterator[StockRuntime]:
    """The stock runtime with its library of quantized kernels."""
    with StockRuntime(quantized=True) as runtime:
        yield runtime


@pytest.fixture(scope="module")
def trained() -> nn.Module:
    return network.train(network.dataset())


@cache
def held_out() -> tuple[torch.Tensor, np.ndarray]:
    data = network.dataset()
    return data.test_images, data.test_labels.numpy()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_accuracy(mode: str, trained: nn.Module, quantized_stock: StockRuntime, tmp_path: Path) -> None:
    program = quantized(mode, trained)
    images, labels = held_out()
    with torch.no_grad():
        module = program.module()
        eager = torch.cat([module(image) for image in images.split(1)])
    edge = to_edge(program)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    if mode != "float":
        assert len(file) < SHARE * len(to_edge(quantized("float", trained)).to_executorch().buffer)
    step = float(eager.abs().max()) / 64
    for kernels in ("portable", "aten"):
        method = Runtime.get().load_program(file, kernels=kernels).load_method("forward")
        found = torch.cat([torch.as_tensor(method.execute([image])[0]) for image in images.split(1)])
        assert (found - eager).abs().max() <= step
        assert (found.argmax(1).numpy() == labels).mean() >= LEAST[mode]
        # A prediction differs only where two classes are within a step of the output's grid.
        differ = found.argmax(1) != eager.argmax(1)
        best = eager.topk(2).values
        assert bool((best[differ, 0] - best[differ, 1] <= 2 * step).all())
    path = tmp_path / "stock.pte"
    edge.to_executorch(ExecutorchBackendConfig(target="stock-1.5-quantized")).save(path)
    right = 0
    for image, label in zip(images[:60].split(1), labels[:60], strict=True):
        (logits,) = quantized_stock.run(path, (image,))
        right += int(logits.argmax()) == label
    assert right >= 58
    assert evaluate(trained) >= LEAST["float"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["int8", "int8, trained", "4-bit weights"])
def test_accuracy_with_xnnpack(mode: str, trained: nn.Module, stock: StockRuntime, tmp_path: Path) -> None:
    images, labels = held_out()
    edge = to_edge_transform_and_lower(quantized(mode, trained), partitioner=XnnpackPartitioner())
    assert not [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    path = tmp_path / "digits.pte"
    edge.to_executorch().save(path)
    method = Runtime.get().load_program(path).load_method("forward")
    found = np.concatenate([np.array(method.execute([image])[0]) for image in images.numpy()[:, None]])
    assert (found.argmax(1) == labels).mean() >= LEAST[mode]
    for number, image in enumerate(images[:60].split(1)):
        (logits,) = stock.run(path, (image,))
        # XNNPACK's own kernels round what is half way between two steps either way.
        assert np.abs(logits.numpy() - found[number]).max() <= np.abs(found).max() / 64
