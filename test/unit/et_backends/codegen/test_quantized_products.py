"""Products with quantized weights as machine code, against sums in float64."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.native_modules import compiled, lowered, run, sets
from torch import nn

from et_backends.codegen.object_code import INSTRUCTION_SETS
from et_backends.native.compiler import NativePartitioner
from et_backends.native.format import read_native
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_schema.errors import ExecutorchError
from et_schema.pte import read_pte
from et_vm.backends.cpu import cpu_features
from et_vm.runtime import Runtime

SETS = [
    name
    for name, one in INSTRUCTION_SETS.items()
    if cpu_features().issuperset(one.with_dot_products().cpu_flags)
]

import_module("torch.ao.quantization.fx._decomposed")  # registers the operators
_OPS: Any = torch.ops.quantized_decomposed


@dataclass(frozen=True)
class Weights:
    """Weights of a linear layer: their sizes, bits, and the elements that share a scale, 0 for a channel's."""

    columns: int
    inner: int
    bits: int = 8
    group: int = 0
    bias: bool = True
    zero_point: int = 0
    has_short_scales: bool = False
    """Whether scales are numbers of bf16."""


class Layer(nn.Module):
    """A linear layer that restores its weights from integers."""

    weights: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    bias: torch.Tensor

    def __init__(self, facts: Weights) -> None:
        super().__init__()
        self.facts = facts
        generator = torch.Generator().manual_seed(facts.columns + facts.inner)
        self.limits = (-(1 << facts.bits - 1), (1 << facts.bits - 1) - 1)
        sizes = (facts.columns, facts.inner)
        weights = torch.randint(
            self.limits[0], self.limits[1] + 1, sizes, dtype=torch.int8, generator=generator
        )
        self.register_buffer("weights", weights)
        groups = (facts.columns, facts.inner // facts.group) if facts.group else (facts.columns,)
        scales = torch.rand(groups, generator=generator) * 0.01 + 1e-3
        self.register_buffer("scales", scales.bfloat16().float() if facts.has_short_scales else scales)
        self.register_buffer("zeros", torch.full(groups, facts.zero_point, dtype=torch.int64))
        bias = torch.randn(facts.columns, generator=generator)
        self.register_buffer("bias", bias if facts.bias else None)

    def restored(self) -> torch.Tensor:
        """The weights in floats."""
        if self.facts.group:
            return _OPS.dequantize_per_channel_group(
                self.weights,
                self.scales,
                self.zeros,
                *self.limits,
                torch.int8,
                self.facts.group,
                torch.float32,
            )
        return _OPS.dequantize_per_channel(self.weights, self.scales, self.zeros, 0, *self.limits, torch.int8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.restored(), self.bias)

    def expected(self, x: torch.Tensor) -> np.ndarray:
        """In float64."""
        scales = self.scales.double().repeat_interleave(self.facts.group, 1) if self.facts.group else None
        weights = self.weights.double() * (self.scales.double()[:, None] if scales is None else scales)
        return F.linear(x.double(), weights, self.bias.double() if self.facts.bias else None).numpy()


class Rows(nn.Module):
    """A layer of bytes with a scale and a zero point for each row, and an op on its results."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, stored: torch.Tensor, scales: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
        axis = stored.dim() - 2
        x = _OPS.dequantize_per_channel(stored, scales, points, axis, -128, 127, torch.int8)
        return torch.neg(self.layer(x))


WEIGHTS = {
    "bytes": Weights(50, 64),
    "bytes-odd": Weights(37, 53),
    "bytes-groups": Weights(33, 96, group=32, bias=False),
    "nibbles": Weights(48, 64, bits=4),
    "nibbles-odd": Weights(19, 27, bits=4),
    "nibbles-groups": Weights(70, 128, bits=4, group=32),
    "nibbles-odd-groups": Weights(23, 45, bits=4, group=9),
    "nibbles-odd-quads": Weights(18, 36, bits=4, group=12),
    "nibbles-small-groups": Weights(17, 24, bits=4, group=4),
    "nibbles-short-scales": Weights(70, 64, bits=4, group=32, has_short_scales=True),
    "nibbles-wide-panels": Weights(600, 64, bits=4, group=32, has_short_scales=True),
    "nibbles-wide-channels": Weights(531, 36, bits=4),
    "nibbles-wide-long-groups": Weights(512, 320, bits=4, group=160),
    "bytes-wide-panels": Weights(600, 64),
    "bytes-wide-groups": Weights(531, 96, group=32),
    "bytes-wide-without-bias": Weights(512, 36, bias=False),
    "bytes-short-scales": Weights(17, 24, group=4, has_short_scales=True),
    "one-column": Weights(1, 32),
}
ROWS = [1, 3, 5, 17, 200]

CASES = [
    pytest.param(name, rows, marks=() if (column - row) % len(ROWS) in (0, 2) else pytest.mark.sweep)
    for row, name in enumerate(WEIGHTS)
    for column, rows in enumerate(ROWS)
]
"""All weights with all numbers of rows: each kind of weights with two of them, and the others as a sweep."""


def check(module: nn.Module, arguments: tuple[torch.Tensor, ...], expected: np.ndarray, scale: float) -> None:
    """All instruction sets and numbers of threads within rounding of sums of f32."""
    program = torch.export.export(module, arguments)
    for instruction_set in sets(SETS):
        file = lowered(program, instruction_set)
        for threads in (1, 2):
            np.testing.assert_allclose(
                run(file, arguments, threads), expected, rtol=0, atol=scale, err_msg=instruction_set
            )


@pytest.mark.parametrize(("name", "rows"), CASES)
def test_floats(name: str, rows: int) -> None:
    layer = Layer(WEIGHTS[name]).eval()
    x = torch.randn(rows, layer.facts.inner, generator=torch.Generator().manual_seed(rows))
    expected = layer.expected(x)
    check(layer, (x,), expected, 2e-6 * float(np.abs(expected).max()))


@pytest.mark.parametrize(("name", "rows"), CASES)
def test_rows_of_bytes(name: str, rows: int) -> None:
    """All bytes and zero points, also where rows are no whole quads and are read as floats."""
    layer = Layer(WEIGHTS[name]).eval()
    generator = torch.Generator().manual_seed(rows)
    stored = torch.randint(-128, 128, (1, rows, layer.facts.inner), dtype=torch.int8, generator=generator)
    scales = torch.rand(rows, generator=generator) * 0.1 + 1e-3
    points = torch.randint(-128, 128, (rows,), generator=generator)
    real = (stored.double() - points[:, None]) * scales.double()[:, None]
    expected = -layer.expected(real)
    largest = float((real.abs() @ layer.restored().double().abs().T).max())
    check(Rows(layer).eval(), (stored, scales, points), expected, 1e-6 * largest)


def test_extreme_bytes() -> None:
    """The largest sums that bytes and halves of bytes have, in one group."""
    for bits in (4, 8):
        layer = Layer(Weights(16, 4096, bits=bits, bias=False)).eval()
        layer.weights[:] = layer.limits[0]
        stored = torch.full((2, 4096), 127, dtype=torch.int8)
        scales, points = torch.tensor([0.5, 0.25]), torch.tensor([-128, 127])
        real = (stored.double() - points[:, None]) * scales.double()[:, None]
        module = Rows(layer).eval()
        expected = -layer.expected(real)
        assert expected[0].min() > 0
        check(module, (stored, scales, points), expected, 1e-6 * float(expected.max()))


class Shared(nn.Module):
    """Two layers of one activation, which is returned too."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = (Layer(Weights(n, 64, bits=4, group=16)) for n in (24, 32))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scales = (x.amax(1) - x.amin(1)) / 255 + 1e-6
        points = torch.round(-128 - x.amin(1) / scales).to(torch.int64)
        stored = torch.clamp(torch.round(x / scales[:, None]) + points[:, None], -128, 127).to(torch.int8)
        real = _OPS.dequantize_per_channel(stored, scales, points, 0, -128, 127, torch.int8)
        return torch.cat([self.one(real), self.other(real)], 1), real


@pytest.mark.parametrize("instruction_set", SETS)
def test_shared_activation(instruction_set: str) -> None:
    module = Shared().eval()
    x = torch.randn(6, 64)
    file = compiled(module, (x,), instruction_set)
    method = Runtime().load_program(file, allow_native=True, poison=True).load_method("forward")
    for got, expected in zip(method.execute([x.numpy()]), module(x), strict=True):
        np.testing.assert_allclose(got, expected.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("by_rows", [False, True])
def test_number_of_rows_known_at_run_time(instruction_set: str, by_rows: bool) -> None:
    layer = Layer(WEIGHTS["nibbles-groups"]).eval()
    size = torch.export.Dim("rows", min=1, max=300)
    module: nn.Module = Rows(layer).eval() if by_rows else layer

    def arguments(rows: int) -> tuple[torch.Tensor, ...]:
        generator = torch.Generator().manual_seed(rows)
        if not by_rows:
            return (torch.randn(rows, 128, generator=generator),)
        stored = torch.randint(-128, 128, (rows, 128), dtype=torch.int8, generator=generator)
        points = torch.randint(-128, 128, (rows,), generator=generator)
        return stored, torch.rand(rows, generator=generator), points

    program = torch.export.export(
        module, arguments(7), dynamic_shapes=tuple({0: size} for _ in arguments(7)), strict=True
    )
    edge = to_edge_transform_and_lower(
        program, partitioner=NativePartitioner(instruction_sets=[instruction_set])
    )
    outside = [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    assert outside == []
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    for rows in (1, 2, 5, 9, 13, 16, 97, 300):
        expected = module(*arguments(rows)).numpy()
        got = run(file, arguments(rows), 2)
        assert {run(file, arguments(rows), threads).tobytes() for threads in (1, 3)} == {got.tobytes()}
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))


def test_size_of_weights() -> None:
    """Weights take their bits, and a scale for each group, in the file: half of one where that is all there is."""
    sizes = []
    for bits, short in ((8, False), (4, False), (4, True)):
        layer = Layer(Weights(512, 512, bits=bits, group=64, bias=False, has_short_scales=short)).eval()
        file = compiled(layer, (torch.randn(1, 512),), SETS[0])
        pte = read_pte(memoryview(file))
        (delegate,) = pte.program.execution_plan[0].delegates
        assert delegate.processed is not None
        sizes.append(sum(one.nbytes for one in read_native(pte.delegate_data(delegate.processed)).constants))
    scales = 512 * 512 // 64 * 4
    assert sizes == [512 * 512 + scales, 512 * 512 // 2 + scales, 512 * 512 // 2 + scales // 2]


@pytest.mark.parametrize(("inner", "group", "halves"), [(511, 0, 256), (45, 9, 25), (45, 0, 23)])
def test_size_of_odd_rows(inner: int, group: int, halves: int) -> None:
    """Where rows or groups have an odd number of weights of 4 bits, the last has a byte alone."""
    layer = Layer(Weights(16, inner, bits=4, group=group, bias=False)).eval()
    pte = read_pte(memoryview(compiled(layer, (torch.randn(1, inner),), SETS[0])))
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    constants = read_native(pte.delegate_data(delegate.processed)).constants
    assert sum(one.nbytes for one in constants) == 16 * halves + 16 * 4 * (inner // group if group else 1)


def test_unfit_weights_stay_outside() -> None:
    """Weights with zero points are restored by a kernel of the program."""
    layer = Layer(Weights(20, 12, zero_point=3)).eval()
    x = torch.randn(3, 12)
    edge = to_edge_transform_and_lower(
        torch.export.export(layer, (x,)), partitioner=NativePartitioner(instruction_sets=SETS[:1])
    )
    outside = [op.name for op in edge.module.walk() if op.name.startswith("edge.")]
    assert "edge.quantized_decomposed.dequantize_per_channel" in outside
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    np.testing.assert_allclose(run(file, (x,)), layer(x).numpy(), rtol=0, atol=1e-5)


class Table(nn.Module):
    """A table of integers before a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Layer(Weights(3000, 32, bias=False))
        self.table.zeros = self.table.zeros.to(torch.int8)[:, None]  # as torchao has them
        self.layer = Layer(Weights(16, 32, bits=4, group=8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = self.table
        zeros = one.zeros.to(torch.int64).reshape(-1)
        table = _OPS.dequantize_per_channel(one.weights, one.scales, zeros, 0, *one.limits, torch.int8)
        return self.layer(F.embedding(x, table))


def test_table_is_not_restored() -> None:
    """Only the rows of a table that are looked up are restored."""
    module = Table().eval()
    x = torch.tensor([3, 2999, 0])
    edge = to_edge_transform_and_lower(
        torch.export.export(module, (x,)), partitioner=NativePartitioner(instruction_sets=SETS[:1])
    )
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    operators = {str(one.name) for one in read_pte(memoryview(file)).program.execution_plan[0].operators}
    assert not operators  # The rows are looked up by machine code, whose constants are the integers.
    pte = read_pte(memoryview(file))
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    constants = read_native(pte.delegate_data(delegate.processed)).constants
    assert sum(one.nbytes for one in constants) < 3000 * 32 * 2
    np.testing.assert_allclose(run(file, (x,)), module(x).numpy(), rtol=0, atol=1e-5)
    with pytest.raises(ExecutorchError, match="InvalidArgument"):
        run(file, (torch.tensor([3, 3000, 0]),))
