"""Weights of few bits in files for the VM: their bytes, and results to the bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)

from et_ir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_vm.runtime import Runtime

Q: Any = torch.ops.quantized_decomposed
ROWS, COLUMNS, GROUP = 96, 64, 16


class Quantized(nn.Module):
    """A matrix that has scales for groups, or rows of it."""

    def __init__(
        self,
        bits: int,
        *,
        zeros: bool,
        table: bool,
        shape: tuple[int, int] = (ROWS, COLUMNS),
        group: int = GROUP,
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(bits)
        half = 1 << (bits - 1)
        self.limits = (-half, half - 1)
        self.group = group
        weight = torch.randint(-half, half, shape, generator=generator)
        shape = (shape[0], shape[1] // group)
        self.register_buffer("weight", weight.to(torch.int8))
        self.register_buffer("scales", torch.rand(shape, generator=generator) + 0.01)
        points = torch.randint(-half, half, shape, generator=generator) * zeros
        self.register_buffer("zeros", points)
        self.table = table

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        restored = Q.dequantize_per_channel_group(
            self.weight, self.scales, self.zeros, *self.limits, torch.int8, self.group, torch.float32
        )
        return nn.functional.embedding(x, restored) if self.table else x + restored


def compiled(module: nn.Module, x: torch.Tensor, level: str) -> bytes:
    exported = torch.export.export(module, (x,), strict=False)
    edge = to_edge(exported, compile_config=EdgeCompileConfig(level=level))
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm", level=level)).buffer


def run(file: bytes, x: torch.Tensor) -> torch.Tensor:
    (result,) = Runtime.get().load_program(file, poison=True).load_method("forward").execute([x])
    return torch.as_tensor(result)


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_bits_and_bytes(bits: int, *, zeros: bool, table: bool) -> None:
    module = Quantized(bits, zeros=zeros, table=table)
    x = torch.tensor([[3, 0, 95], [7, 7, 1]]) if table else torch.randn(ROWS, COLUMNS)
    packed, plain = (compiled(module, x, level) for level in ("1", "0"))
    saved = ROWS * COLUMNS * (8 - bits) // 8
    indices = 0 if table else ROWS * 8
    floats = ROWS * COLUMNS // GROUP * 4  # zero points that are not zero are i64, and become f32
    if bits < 8:
        assert len(plain) - len(packed) > saved - indices - 500
    assert len(packed) <= len(plain) + 500 + floats
    assert torch.equal(run(packed, x), module(x))
    assert torch.equal(run(plain, x), module(x))


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(
    ("bits", "shape", "group"),
    [
        (4, (96, 63), 63),
        (4, (95, 63), 63),
        (4, (96, 63), 9),
        (2, (95, 66), 33),
        (2, (96, 63), 63),
        (4, (1, 3), 3),
    ],
)
def test_rows_that_are_no_whole_number_of_bytes(
    bits: int, shape: tuple[int, int], group: int, *, zeros: bool, table: bool
) -> None:
    module = Quantized(bits, zeros=zeros, table=table, shape=shape, group=group)
    x = torch.tensor([[0, shape[0] - 1]]) if table else torch.randn(shape)
    packed, plain = (compiled(module, x, level) for level in ("1", "0"))
    rows, columns = shape
    scales = rows * (columns // group) * 4
    # What is added takes up to half a byte for each row of a matrix, and a group for one of a table.
    saved = rows * columns * (8 - bits) // 8 - rows * (group if table else 1)
    assert len(plain) - len(packed) > saved - rows * 8 - 2 * scales - 1000
    assert torch.equal(run(packed, x), module(x))
    assert torch.equal(run(plain, x), module(x))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(("bits", "columns"), [(4, 7), (2, 5)])
def test_tables_of_odd_rows_with_a_scale_each(bits: int, columns: int, *, zeros: bool) -> None:
    rows, half = 6, 1 << (bits - 1)

    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.randint(-half, half, (rows, columns)).to(torch.int8))
            self.register_buffer("scales", torch.rand(rows) + 0.01)
            self.register_buffer("zeros", torch.randint(-half, half, (rows,)) * zeros)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            limits = -half, half - 1, torch.int8
            restored = Q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, *limits)
            return nn.functional.embedding(x, restored)

    module, x = Table(), torch.arange(rows)
    packed = compiled(module, x, "1")
    assert f"embedding_{bits}bit".encode() in packed
    assert torch.equal(run(packed, x), module(x))


def test_one_matrix_of_odd_rows_with_two_scales() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.randint(-8, 8, (6, 7)).to(torch.int8))
            self.register_buffer("small", torch.rand(6) + 0.01)
            self.register_buffer("large", torch.rand(6) + 5)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            limits = 0, -8, 7, torch.int8
            small = Q.dequantize_per_channel(self.weight, self.small, None, *limits)
            return x + small, x + Q.dequantize_per_channel(self.weight, self.large, None, *limits)

    module, x = Twice(), torch.zeros(6, 7)
    packed = compiled(module, x, "1")
    assert b"embedding_4bit" in packed
    results = Runtime.get().load_program(packed).load_method("forward").execute([x])
    assert all(torch.equal(torch.as_tensor(a), b) for a, b in zip(results, module(x), strict=True))


@pytest.mark.parametrize("backend", [None, "xnnpack", "native"])
@pytest.mark.parametrize("bits", [4, 8])
def test_the_memory_report(bits: int, backend: str | None) -> None:
    """Weights take half a byte or one each, in the file that is mapped and in what a method holds beside it."""
    rows, columns = 256, 512

    class Layer(nn.Module):
        """A layer of rows that are quantized by their range, with a scale for each channel."""

        def __init__(self) -> None:
            super().__init__()
            half = 1 << (bits - 1)
            self.limits = (-half, half - 1)
            self.register_buffer("weight", torch.randint(-half, half, (rows, columns), dtype=torch.int8))
            self.register_buffer("scales", torch.rand(rows) * 0.01 + 0.001)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scale, zero = Q.choose_qparams.tensor(x, -128, 127, 1e-7, torch.int8)
            limits = scale, zero, -128, 127, torch.int8
            x = Q.dequantize_per_tensor.tensor(Q.quantize_per_tensor.tensor(x, *limits), *limits)
            weight = Q.dequantize_per_channel(self.weight, self.scales, None, 0, *self.limits, torch.int8)
            return nn.functional.linear(x, weight)

    x = torch.randn(1, columns)
    partitioner = None if backend is None else make_partitioner(backend)
    edge = to_edge_transform_and_lower(torch.export.export(Layer(), (x,)), partitioner=partitioner)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    assert (backend is None) == ("backend.call" not in {op.name for op in edge.module.walk()})
    stored = rows * columns * bits // 8
    code = 110_000 if backend == "native" else 0  # of three instruction sets
    assert stored < len(file) < stored + rows * 16 + 6000 + code
    method = Runtime().load_program(file, allow_native=True).load_method("forward")
    method.execute([x])
    report = method.memory_report()
    held = sum(size for name, size in report.items() if name.endswith("constants"))
    assert held <= rows * 16, report
