"""Quantization parameters of torchao's programs, of each granularity."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)

from et_ir import to_edge
from et_ir.analysis.quantization import (
    DEQUANTIZE,
    QUANTIZE,
    Granularity,
    Quantization,
    dequantized,
    quantization_of,
    quantized,
)
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema import SchemaOp
from et_ops.dtypes import I8

ops = torch.ops.quantized_decomposed
LIMITS = -128, 127, torch.int8


class PerTensor(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.5, 3, *LIMITS), 0.5, 3, *LIMITS)


class PerChannel(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scales", torch.tensor([0.5, 0.25]))
        self.register_buffer("zero_points", torch.tensor([0, 1]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parameters = self.scales, self.zero_points, -1, *LIMITS
        return ops.dequantize_per_channel(ops.quantize_per_channel(x, *parameters), *parameters)


class PerGroup(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.ones(2, 8, dtype=torch.int8))
        self.register_buffer("scales", torch.tensor([[0.5, 0.25], [1.0, 2.0]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        restored = ops.dequantize_per_channel_group(
            self.weight, self.scales, None, -8, 7, torch.int8, 4, torch.float32
        )
        return x @ restored.t()


class PerToken(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parameters = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
        levels = ops.quantize_per_token(x, *parameters, *LIMITS)
        return ops.dequantize_per_token(levels, *parameters, *LIMITS, torch.float32)


def quantizations(module: torch.nn.Module, x: torch.Tensor) -> list[tuple[SchemaOp, Quantization]]:
    program = to_edge(torch.export.export(module, (x,))).module
    symbols = Globals(program)
    return [
        (op, quantization_of(op, symbols))
        for op in program.walk()
        if isinstance(op, SchemaOp) and type(op) in (*QUANTIZE, *DEQUANTIZE)
    ]


def test_per_tensor() -> None:
    (to, there), (back, restored) = quantizations(PerTensor(), torch.ones(2, 3))
    assert (there.dtype, there.quant_min, there.quant_max) == (I8, -128, 127)
    assert (there.scale, there.zero_point, there.granularity) == (0.5, 3, Granularity.TENSOR)
    assert not there.is_symmetric
    assert there.equals(restored)
    assert quantized(to.results[0]) is to
    assert dequantized(back.results[0]) is back
    assert dequantized(to.results[0]) is None
    assert quantized(to.operands[0]) is None


def test_per_channel() -> None:
    found = quantizations(PerChannel(), torch.ones(3, 2))
    (_, there), (_, restored) = found
    assert (there.granularity, there.axis) == (Granularity.CHANNEL, 1)
    np.testing.assert_array_equal(there.scales, [0.5, 0.25])
    np.testing.assert_array_equal(there.zero_points, [0, 1])
    assert there.equals(restored)
    with pytest.raises(ValueError, match="no single scale"):
        _ = there.scale


def test_per_group() -> None:
    ((_, found),) = quantizations(PerGroup(), torch.ones(3, 8))
    assert (found.granularity, found.group, found.quant_min) == (Granularity.GROUP, 4, -8)
    np.testing.assert_array_equal(found.scales, [[0.5, 0.25], [1.0, 2.0]])
    assert found.is_symmetric


def test_per_token() -> None:
    (_, there), (_, restored) = quantizations(PerToken(), torch.ones(3, 2))
    assert (there.granularity, there.is_dynamic) == (Granularity.TOKEN, True)
    assert not there.equals(restored)


class ConvertedPoints(torch.nn.Module):
    """Zero points of 8 bits, as torchao stores them: 64-bit ones would make the file larger, and are not folded."""

    def __init__(self, point: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(16384, 8, dtype=torch.int8))
        self.register_buffer("scales", torch.ones(16384))
        self.register_buffer("points", torch.full((16384, 1), point, dtype=torch.int8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        points = self.points.to(torch.int64).reshape(-1)
        return x + ops.dequantize_per_channel(self.weight, self.scales, points, 0, *LIMITS)


@pytest.mark.parametrize("point", [0, -5])
def test_converted_zero_points(point: int) -> None:
    """Conversions that are too large to be folded; those of zeros are dropped."""
    ((op, found),) = quantizations(ConvertedPoints(point), torch.ones(16384, 8))
    owners = [one.owner for one in op.operands[2:]]
    assert [isinstance(one, GetOp) for one in owners] == ([] if point == 0 else [False])
    np.testing.assert_array_equal(found.zero_points, np.full(16384, point))
    assert found.is_symmetric == (point == 0)
