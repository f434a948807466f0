"""Events of kernels: their names, times and places in the program."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.native_blobs import here, program, tensor
from torch import nn

from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import NativeProgram, NativeWork, serialize_native
from et_backends.native.runtime.backend import NativeBackend
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_vm.backend import BackendExecuteContext, BackendInitContext, NativeOptions
from et_vm.backends.elf import machine_of
from et_vm.platform import Platform
from et_vm.runtime import Runtime
from et_vm.tracer import RecordingTracer


def events(blob: NativeProgram) -> RecordingTracer:
    """What two calls of the delegate tell a tracer."""
    tracer, backend = RecordingTracer(), NativeBackend()
    context = BackendInitContext(
        Platform(), tracer, "forward", {}, native=NativeOptions(allowed=True, threads=2)
    )
    handle = backend.init(context, memoryview(serialize_native(blob)), [])
    args = [tensor(np.ones(shape, np.float32)) for shape in ((5, 8), (8, 20), (5, 20), (5, 8))]
    for call in range(2):
        backend.execute(BackendExecuteContext(Platform(), tracer, "forward", call), handle, args)
    return tracer


def test_each_kernel_of_each_call() -> None:
    (chosen,) = (one for one in program().objects if machine_of(memoryview(one.code)) == here())
    start = Platform().ticks()
    found = events(program()).delegates
    end = Platform().ticks()
    expected = [(kernel.identifier, kernel.name) for kernel in chosen.kernels]
    assert [name for _, name in expected] == ["product_0", "pointwise_0"]
    assert [(one.index, one.identifier, one.name) for one in found] == [
        (call, *kernel) for call in range(2) for kernel in expected
    ]
    times = [time for one in found for time in (one.start, one.end)]
    assert sorted(times) == times
    assert start <= times[0]
    assert times[-1] <= end


def test_the_work_of_kernels() -> None:
    """In the file's tables; of kernels that the object does not name there is none."""
    blob = program()
    assert [one.identifier for one in blob.work] == [0, 1]
    blob.work = [*blob.work, NativeWork(2**32 - 1, 1, 2, 3)]
    context = BackendInitContext(Platform(), None, "forward", {}, native=NativeOptions(allowed=True))
    backend = NativeBackend()
    found = backend.work_report(backend.init(context, memoryview(serialize_native(blob)), []))
    assert [tuple(one) for one in found] == [
        (0, "product_0", 4 * (5 * 8 + 8 * 20), 4 * 5 * 20, 2 * 5 * 20 * 8),
        (1, "pointwise_0", 4 * 5 * 8, 4 * 5 * 8, 5 * 8),
    ]


@pytest.mark.parametrize("kept", [0, 1])
def test_tables_that_name_fewer_kernels(kept: int) -> None:
    """Times are noted only where there is memory for them."""
    blob = program()
    for one in blob.objects:
        one.kernels = list(one.kernels)[:kept]
    assert len(events(blob).delegates) == 2 * kept


def test_places_in_the_program() -> None:
    """The debug map says which ops a kernel computes."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x)).sum(dim=1)

    exported = torch.export.export(Net(), (torch.ones(2, 4),))
    partitioner = NativePartitioner(instruction_sets=["x86-64-v3", "aarch64"])
    manager = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch(
        ExecutorchBackendConfig(target="et-vm")
    )
    tracer = RecordingTracer()
    loaded = Runtime().load_program(manager.buffer, allow_native=True, tracer=tracer)
    loaded.load_method("forward").execute([np.ones((2, 4), np.float32)])
    (known,) = manager.delegate_map["forward"].values()
    assert [one.name for one in tracer.delegates] == ["product_0", "sum_0"]
    assert [one.identifier for one in tracer.delegates] == list(known["delegate_map"]) == [0, 1]


def test_kernels_of_the_same_code() -> None:
    """Each call is named by what it computes, even where one function of the object computes several."""

    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
            left, right = torch.split(x, [2, 4], 1)
            return (
                torch.cat([x, y], 1),
                left.clone(),
                right.clone(),
                torch.cat([y, z, y], 1),
                z[:, 1:3].clone(),
            )

    inputs = torch.randn(4, 6), torch.randn(4, 2), torch.randn(4, 5)
    edge = to_edge_transform_and_lower(torch.export.export(Net(), inputs), partitioner=NativePartitioner())
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    tracer = RecordingTracer()
    loaded = Runtime().load_program(file, allow_native=True, tracer=tracer)
    loaded.load_method("forward").execute([one.numpy() for one in inputs])
    found = [one.name.rpartition("_")[0] for one in tracer.delegates]
    assert found == ["split", "split", "cat", "cat", "cat", "cat", "cat", "slice"]
