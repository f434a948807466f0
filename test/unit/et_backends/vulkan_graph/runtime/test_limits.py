"""Memory and work of what is derived from constants, counted before it is made."""

from __future__ import annotations

import numpy as np
import pytest
from support.cost import memory_of
from support.vulkan_graphs import Build

from et_backends.vulkan_graph.runtime.backend import VulkanGraphBackend
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendInitContext
from et_vm.platform import Platform
from et_vm.work import WorkMeter

OBJECTS = 2 << 20
"""Bytes of tables and tensors that are not counted, for the graphs here."""


def layers(count: int) -> bytes:
    """Linear layers with the same 4-bit weights, 2 MB, which each has in float32: 16 MB."""
    build = Build()
    x = build.input(1, 2048)
    weights = build.constant(np.ones((2048, 1024), np.uint8))
    scales = build.constant(np.ones((16, 2048), np.float32))
    group, bias = build.literal(128), build.literal(None)
    for _ in range(count):
        build.call("et_vk.linear_q4gsw.default", x, weights, scales, group, bias, build.tensor(1, 2048))
    return build.blob()


def load(blob: bytes, platform: Platform, meter: WorkMeter | None = None) -> None:
    context = BackendInitContext(platform, None, "forward", {}, meter=meter)
    VulkanGraphBackend().init(context, memoryview(blob), [])


@pytest.mark.parametrize(("count", "limit"), [(1, 8 << 20), (20, 128 << 20)])
def test_memory(count: int, limit: int) -> None:
    blob = layers(count)

    def run() -> None:
        with pytest.raises(ExecutorchError, match="are left of a limit of") as caught:
            load(blob, Platform(memory_limit=limit))
        assert caught.value.code == Error.MemoryAllocationFailed

    assert memory_of(run) < limit + OBJECTS


def test_work() -> None:
    with pytest.raises(ExecutorchError, match="units of work") as caught:
        load(layers(20), Platform(), WorkMeter(10**8))
    assert caught.value.code == Error.OutOfResources
