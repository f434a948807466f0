"""Example models as compute shaders, on the Vulkan device that there is."""

from __future__ import annotations

import pytest
import torch
from example_models import Model
from vulkan_device import require_device

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.vulkan import VulkanPartitioner
from et_vm.runtime import Runtime

ACCURACY = 1e-3
"""Of an output, its largest error to its standard deviation."""


@pytest.mark.sweep
def test_on_the_device(model: Model) -> None:
    require_device()
    edge = to_edge_transform_and_lower(model.program, partitioner=VulkanPartitioner())
    calls = [op for op in edge.module.walk() if op.name == "backend.call"]
    assert len(calls) == 1
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for _ in range(2):
        for got, wanted in zip(method.execute(model.inputs), model.expected, strict=True):
            assert (torch.as_tensor(got) - wanted).abs().max() <= ACCURACY * wanted.std()
