"""Example models as compute shaders, on the Vulkan device that there is."""

from __future__ import annotations

import pytest
import torch
from example_models import Model
from support.vulkan_device import require_device

from et_backends.vulkan.compiler import VulkanPartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_vm.runtime import Runtime

ACCURACY = {"f32": 1e-3, "f16": 0.05}
"""Of an output, its largest error to its standard deviation, by the type that floats are stored in."""


@pytest.mark.sweep
@pytest.mark.parametrize("storage", ACCURACY)
def test_on_the_device(model: Model, storage: str) -> None:
    require_device()
    edge = to_edge_transform_and_lower(model.program, partitioner=VulkanPartitioner(storage=storage))
    calls = [op for op in edge.module.walk() if op.name == "backend.call"]
    assert len(calls) == 1
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for _ in range(2):
        for got, wanted in zip(method.execute(model.inputs), model.expected, strict=True):
            assert (torch.as_tensor(got) - wanted).abs().max() <= ACCURACY[storage] * wanted.std()
