"""Portable programs beside machine code: where they run, what they compute, and damage to them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import pytest
import torch
from support.native_blobs import program
from torch import nn

from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import read_native, serialize_native
from et_backends.native.runtime import backend as native
from et_backends.native.runtime.backend import NativeBackend
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_schema.errors import Error, ExecutorchError
from et_schema.pte import read_pte
from et_vm.backend import BackendInitContext, NativeOptions
from et_vm.platform import Platform
from et_vm.runtime import Runtime
from et_vm.tracer import RecordingTracer

VM = ExecutorchBackendConfig(target="et-vm")


class Net(nn.Module):
    """Ops of which the backend keeps some that are decomposed without it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 40)
        self.convolution = nn.Conv2d(3, 8, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        features = nn.functional.silu(self.convolution(y)).mean((2, 3))
        return nn.functional.hardswish(self.linear(x + features)).softmax(-1)


@pytest.fixture(scope="module")
def exported() -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    return torch.export.export(Net().eval(), (torch.randn(5, 8), torch.randn(1, 3, 10, 10)))


@pytest.fixture(scope="module")
def both(exported: torch.export.ExportedProgram) -> bytes:
    partitioner = NativePartitioner(fallback=True)
    return to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch(VM).buffer


def run(file: bytes, *, allowed: bool, tracer: RecordingTracer | None = None) -> np.ndarray:
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(shape, np.float32) for shape in ((5, 8), (1, 3, 10, 10))]
    loaded = Runtime().load_program(file, allow_native=allowed, poison=True, tracer=tracer)
    return np.array(loaded.load_method("forward").execute(inputs)[0])


def test_where_the_code_is_not_allowed(exported: torch.export.ExportedProgram, both: bytes) -> None:
    portable = run(to_edge(exported).to_executorch(VM).buffer, allowed=False)
    tracer = RecordingTracer()
    np.testing.assert_allclose(run(both, allowed=False, tracer=tracer), portable, atol=1e-6)
    # The debug map is of the kernels of the code.
    assert not tracer.delegates
    np.testing.assert_allclose(run(both, allowed=True), portable, atol=1e-6)


def test_where_features_are_missing(both: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run(both, allowed=False)
    monkeypatch.setattr(native, "cpu_features", frozenset)
    np.testing.assert_array_equal(run(both, allowed=True), expected)
    monkeypatch.setattr(native, "machine", lambda: None)
    np.testing.assert_array_equal(run(both, allowed=True), expected)


def test_weights_are_named_data(both: bytes) -> None:
    """The programs in the blobs hold no data of their own but small constants."""
    pte = read_pte(memoryview(both))
    delegates = pte.program.execution_plan[0].delegates
    assert delegates
    for delegate in delegates:
        assert delegate.processed is not None
        fallback = read_native(pte.delegate_data(delegate.processed)).fallback
        assert 0 < len(fallback) < 4096


def init(blob: bytes, data: Mapping[str, memoryview], *, allowed: bool) -> ExecutorchError | None:
    """The problem of a blob, if it has one."""
    platform = Platform(memory_limit=1 << 24)
    context = BackendInitContext(platform, None, "forward", data, native=NativeOptions(allowed=allowed))
    try:
        NativeBackend().init(context, memoryview(blob), [])
    except ExecutorchError as error:
        return error
    return None


def test_damage(both: bytes) -> None:
    """Damaged portable programs are errors where they would run, and of no account where the code does."""
    pte = read_pte(memoryview(both))
    processed = pte.program.execution_plan[0].delegates[0].processed
    assert processed is not None
    blob = read_native(pte.delegate_data(processed))
    whole = bytes(blob.fallback)
    random = Random(0)
    found: set[Error] = set()
    damaged = [whole[: len(whole) // 2], b"\0" * 64]
    for _ in range(60):
        changed = bytearray(whole)
        for _ in range(random.randint(1, 8)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        damaged.append(bytes(changed))
    for fallback in damaged:
        blob.fallback = fallback
        for allowed in (False, True):
            problem = init(serialize_native(blob), pte.named_data(), allowed=allowed)
            if problem is not None:
                assert not allowed
                assert problem.where.startswith("fallback")
                found.add(problem.code)
    assert Error.InvalidProgram in found


def test_none_unless_asked_for() -> None:
    assert not program().fallback


def test_sizes_known_at_run_time() -> None:
    """The portable program takes sizes as the code does."""

    class Rows(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x @ torch.ones(8, 3)).sum(0) * x.shape[0]

    exported = torch.export.export(
        Rows(), (torch.ones(4, 8),), dynamic_shapes=({0: torch.export.Dim("rows", min=1, max=64)},)
    )
    partitioner = NativePartitioner(fallback=True)
    file = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch(VM).buffer
    for rows in (1, 7, 64):
        x = np.random.default_rng(rows).standard_normal((rows, 8), np.float32)
        expected = np.maximum(x @ np.ones((8, 3), np.float32), 0).sum(0) * rows
        for allowed in (False, True):
            program = Runtime().load_program(file, allow_native=allowed)
            found = np.array(program.load_method("forward").execute([x])[0])
            np.testing.assert_allclose(found, expected, rtol=1e-5)
