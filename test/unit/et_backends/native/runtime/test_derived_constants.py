"""Constants that machine code derives from others at load: where their memory comes from, and damaged tables."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from support.native_blobs import SETS, here
from torch import nn

from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import NativeProgram, read_native, serialize_native
from et_backends.native.lines import native_lines
from et_backends.native.runtime.backend import NativeBackend
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.errors import Error, InvalidFile, OutOfMemory
from et_schema.pte import read_pte
from et_vm.backend import BackendInitContext, NativeOptions
from et_vm.platform import Platform

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


def blob(algorithm: str) -> tuple[bytes, dict[str, memoryview]]:
    pte = read_pte(memoryview(file(algorithm)))
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    return bytes(pte.delegate_data(delegate.processed)), dict(pte.named_data())


def tables(algorithm: str) -> NativeProgram:
    return read_native(blob(algorithm)[0])


def load(algorithm: str, program: NativeProgram, limit: int | None = None) -> object:
    platform = Platform(memory_limit=limit)
    _, data = blob(algorithm)
    context = BackendInitContext(platform, None, "forward", data, native=NativeOptions(allowed=True))
    return NativeBackend().init(context, memoryview(serialize_native(program)), [])


def constants(algorithm: str) -> int:
    """Bytes of constants that a loaded program has in memory of its own."""
    return NativeBackend().memory_report(load(algorithm, tables(algorithm)))["constants"]


def test_the_file_keeps_plain_filters() -> None:
    assert len(file("winograd_4")) < len(file("direct")) + 16_000 < len(file("direct")) + FILTERS
    assert list(tables("winograd_4").derived) == [FILTERS]
    assert not tables("direct").derived


def test_the_memory_report() -> None:
    assert constants("winograd_4") - constants("direct") >= FILTERS


def test_the_memory_limit() -> None:
    with pytest.raises(OutOfMemory):
        load("winograd_4", tables("winograd_4"), FILTERS)
    assert load("winograd_4", tables("winograd_4"), 1 << 20) is not None


@pytest.mark.parametrize("derived", [[], [FILTERS - 4], [FILTERS, FILTERS], [2**64 - 4]], ids=str)
def test_sizes_that_the_code_is_not_compiled_for(derived: list[int]) -> None:
    program = tables("winograd_4")
    program.derived = derived
    with pytest.raises(InvalidFile, match="the code is for other sizes, constants") as raised:
        load("winograd_4", program, 1 << 20)
    assert raised.value.code is Error.DelegateInvalidCompatibility


def test_what_info_says() -> None:
    line = f"1 derived constant: {FILTERS:,} bytes, computed when the program is loaded"
    assert native_lines(memoryview(blob("winograd_4")[0]), {}, {})[-1] == line
    assert not any("derived" in one for one in native_lines(memoryview(blob("direct")[0]), {}, {}))
