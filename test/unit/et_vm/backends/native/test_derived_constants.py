"""Constants that machine code derives from others at load: where their memory comes from, and damaged tables."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from native_blobs import SETS, here
from torch import nn

from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends.native import NativePartitioner
from et_schema.errors import Error, InvalidFile, OutOfMemory
from et_schema.native import NativeProgram, read_native, serialize_native
from et_schema.pte import read_pte
from et_vm.backend import BackendInitContext, NativeOptions
from et_vm.backends.native.backend import NativeBackend
from et_vm.platform import Platform
from et_vm.runtime import Runtime

FILTERS = 36 * 16 * 16 * 4
"""Bytes of the transformed filters."""


@cache
def file(algorithm: str) -> bytes:
    torch.manual_seed(0)
    module = nn.Conv2d(16, 16, 3, padding=1).eval()
    program = torch.export.export(module, (torch.randn(1, 16, 8, 8),))
    partitioner = NativePartitioner(instruction_sets=[SETS[here()]], algorithm=algorithm)
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


def tables(algorithm: str) -> tuple[NativeProgram, dict[str, memoryview]]:
    pte = read_pte(memoryview(file(algorithm)))
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    return read_native(pte.delegate_data(delegate.processed)), dict(pte.named_data())


def load(algorithm: str, program: NativeProgram, limit: int | None = None) -> object:
    _, data = tables(algorithm)
    platform = Platform(memory_limit=limit)
    context = BackendInitContext(platform, None, "forward", data, native=NativeOptions(allowed=True))
    return NativeBackend().init(context, memoryview(serialize_native(program)), [])


def test_the_file_keeps_plain_filters() -> None:
    assert len(file("winograd_4")) < len(file("direct")) + 16_000
    program, data = tables("winograd_4")
    (derived,) = [one for one in program.constants if one.is_derived]
    assert derived.nbytes == FILTERS
    assert derived.key not in data


def test_the_memory_report() -> None:
    program, _ = tables("winograd_4")
    assert NativeBackend().memory_report(load("winograd_4", program))["derived constants"] == FILTERS
    program, _ = tables("direct")
    assert NativeBackend().memory_report(load("direct", program))["derived constants"] == 0


def test_the_memory_limit() -> None:
    program, _ = tables("winograd_4")
    with pytest.raises(OutOfMemory):
        load("winograd_4", program, FILTERS)
    next(one for one in program.constants if one.is_derived).nbytes = 2**60
    with pytest.raises(OutOfMemory):
        load("winograd_4", program, 1 << 30)


def test_code_that_derives_nothing() -> None:
    program, _ = tables("direct")
    program.constants[0].is_derived = True
    with pytest.raises(InvalidFile, match="no code computes them") as raised:
        load("direct", program)
    assert raised.value.code is Error.DelegateInvalidCompatibility


def test_a_derived_constant_said_to_be_stored() -> None:
    program, _ = tables("winograd_4")
    next(one for one in program.constants if one.is_derived).is_derived = False
    with pytest.raises(InvalidFile, match="no data named"):
        load("winograd_4", program)


def test_methods_loaded_twice() -> None:
    """Each has its own memory."""
    x = np.random.default_rng(0).standard_normal((1, 16, 8, 8)).astype(np.float32)
    program = Runtime().load_program(file("winograd_4"), allow_native=True)
    one, other = (np.array(program.load_method("forward").execute([x])[0]) for _ in range(2))
    np.testing.assert_array_equal(one, other)
