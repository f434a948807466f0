"""Products of groups of rows as machine code: of floats and of quantized weights, whatever groups there are."""

from __future__ import annotations

from typing import Any, Final

import pytest
import torch
from support.native_modules import SETS, lowered
from torch import nn

from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.frontend.experts import grouped_linear
from et_schema.errors import Trap
from et_vm.runtime import Method, Runtime

GROUPS: Final = 4
MOST: Final = 40
"""Rows that there may be, where their number is known at run time only."""
SHARES: Final = {
    "empty groups": [0, 0, 5, 5],
    "one group": [0, 5, 5, 5],
    "all rows in the last": [0, 0, 0, 5],
    "no rows": [0, 0, 0, 0],
    "each": [1, 2, 4, 5],
    "rows of no group": [1, 1, 3, 3],
}
"""Fifths of the rows before the end of each group."""


class Floats(nn.Module):
    """Rows `[S, inner]` with matrices `[columns, inner]`, followed by arithmetic on the result."""

    def __init__(self, columns: int, inner: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(GROUPS * columns, inner, generator=generator))

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        return torch.relu(grouped_linear(x, self.weight, ends) + 1)


class Integers(nn.Module):
    """The same with weights of integers, and with rows that are rounded to 8 bits where `rounds` says so."""

    def __init__(self, columns: int, inner: int, bits: int, group: int, *, rounds: bool) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.limits = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        self.block = (1, group)
        self.rounds = rounds
        shape = (GROUPS * columns, inner)
        stored = torch.randint(self.limits[0], self.limits[1] + 1, shape, generator=generator)
        scales = torch.rand(shape[0], inner // group, generator=generator) * 0.1 + 0.01
        self.register_buffer("stored", stored.to(torch.int8))
        self.register_buffer("scales", scales.bfloat16().float())
        self.stored: torch.Tensor
        self.scales: torch.Tensor

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        from torchao.quantization.quant_primitives import dequantize_affine
        from torchao.quantization.quantize_.workflows.intx import intx_unpacked_to_int8_tensor

        if self.rounds:
            torchao: Any = intx_unpacked_to_int8_tensor
            x = torchao._apply_int8_act_asym_per_token_quant_dequant(x)
        zeros = torch.zeros_like(self.scales, dtype=torch.int8)
        weight = dequantize_affine(
            self.stored, self.block, self.scales, zeros, torch.int8, *self.limits, output_dtype=torch.float32
        )
        return torch.relu(grouped_linear(x, weight, ends) + 1)


def method_of(module: nn.Module, inner: int, rows: int, name: str, *, is_dynamic: bool) -> Method:
    """A method that is one delegate."""
    x, ends = torch.zeros(rows, inner), torch.zeros(GROUPS, dtype=torch.int32)
    size = {0: torch.export.Dim("rows", min=1, max=MOST)} if is_dynamic else None
    program = torch.export.export(module, (x, ends), dynamic_shapes=(size, None))
    file = lowered(program, name)
    return Runtime(threads=2).load_program(file, poison=True, allow_native=True).load_method("forward")


def check_shares(module: nn.Module, method: Method, inner: int, rows: int, tolerance: float) -> None:
    x = torch.randn(rows, inner, generator=torch.Generator().manual_seed(1))
    for share in SHARES.values():
        ends = torch.tensor([end * rows // 5 for end in share], dtype=torch.int32)
        with torch.no_grad():
            expected = module(x, ends)
        found = torch.as_tensor(method.execute([x, ends])[0])
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("columns", "inner", "rows", "is_dynamic"),
    [
        pytest.param(20, 12, 9, False, id="columns-left"),
        pytest.param(48, 33, 30, True, id="any-number"),
        pytest.param(5, 8, 3, False, id="single-rows"),
    ],
)
def test_floats(columns: int, inner: int, rows: int, is_dynamic: bool, name: str) -> None:
    module = Floats(columns, inner)
    method = method_of(module, inner, rows, name, is_dynamic=is_dynamic)
    for some in {rows, MOST, 1} if is_dynamic else {rows}:
        check_shares(module, method, inner, some, 1e-5)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    ("columns", "bits", "group", "rounds", "rows"),
    [
        pytest.param(20, 4, 16, True, 12, id="8da4w"),
        pytest.param(528, 4, 16, True, 12, id="8da4w-wide"),
        pytest.param(528, 4, 16, True, 2, id="8da4w-wide-single-rows"),
        pytest.param(32, 8, 32, True, 3, id="int8-dynamic"),
        pytest.param(528, 8, 32, True, 12, id="int8-dynamic-wide"),
        pytest.param(528, 8, 32, True, 2, id="int8-dynamic-wide-single-rows"),
        pytest.param(48, 8, 32, False, 30, id="int8-weights"),
        pytest.param(16, 4, 16, False, 7, id="4-bit-weights"),
    ],
)
def test_integers(columns: int, bits: int, group: int, rounds: bool, rows: int, name: str) -> None:
    module = Integers(columns, 32, bits, group, rounds=rounds)
    method = method_of(module, 32, rows, name, is_dynamic=rows == 30)
    check_shares(module, method, 32, rows, 1e-3)


@pytest.mark.parametrize(
    "ends", [[0, 0, 0, 10], [4, 3, 5, 9], [-1, 0, 0, 9], [0, 1 << 30, 1 << 30, 9]], ids=str
)
def test_ends_that_are_refused(ends: list[int]) -> None:
    """Beyond the rows, below the one before, or below 0: the call is refused, and the next is not."""
    module = Floats(20, 12)
    method = method_of(module, 12, 9, SETS[0], is_dynamic=False)
    with pytest.raises(Trap, match="an end of a group is below that before it, or beyond the rows"):
        method.execute([torch.zeros(9, 12), torch.tensor(ends, dtype=torch.int32)])
    check_shares(module, method, 12, 9, 1e-5)


@pytest.mark.parametrize("quantized", [False, True])
def test_groups_whose_number_is_not_known(quantized: bool) -> None:
    """A kernel of the program computes them: no operators take their place, and no machine code has them."""
    module = Integers(16, 32, 8, 32, rounds=False) if quantized else Floats(16, 32)
    x, ends = torch.randn(9, 32), torch.tensor([0, 3, 3, 8], dtype=torch.int32)
    size = {0: torch.export.Dim("groups", min=2, max=GROUPS)}
    program = torch.export.export(module, (x, ends), dynamic_shapes=(None, size))
    edge = to_edge_transform_and_lower(program, partitioner=NativePartitioner(instruction_sets=[SETS[0]]))
    assert "edge.grouped.linear" in {op.name for op in edge.module.walk()}
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, poison=True, allow_native=True).load_method("forward")
    for some in (ends, ends[2:]):
        with torch.no_grad():
            expected = module(x, some)
        torch.testing.assert_close(
            torch.as_tensor(method.execute([x, some])[0]), expected, rtol=1e-4, atol=1e-4
        )
