"""Why torchao's quantization of rows does not become that of `quantized_decomposed`: the bits are others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines the operators
from torch import nn

from et_ir.frontend.mutation import functionalise_by_tracing
from et_ir.quantization.rows import rowwise

Q: Any = torch.ops.quantized_decomposed


@pytest.fixture(scope="module")
def affine() -> Any:
    pytest.importorskip("torchao.quantization.quant_primitives")
    return torch.ops.torchao


def rows(scale: float = 1.0) -> torch.Tensor:
    """Rows of halves, which ties are made of, and a zero in none of them."""
    x = torch.randint(-90, 90, (200, 16), generator=torch.Generator().manual_seed(3)).float()
    return (x + 0.5) * scale


def test_levels_are_rounded_before_the_zero_point_is_added(affine: Any) -> None:
    """`quantize_per_token` rounds the sum: half of all ties go to the other side where zero points are odd."""
    x, scales = rows(), torch.ones(200, 1)
    for zero, equal in ((2, True), (3, False)):
        zeros = torch.full((200, 1), zero, dtype=torch.int32)
        ours = affine.quantize_affine(x, [1, 16], scales, zeros, torch.int8, -128, 127)
        assert torch.equal(ours, Q.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)) == equal
        # By channel it is the same, of rows: this operator rounds first, too.
        by_channel = Q.quantize_per_channel(
            x, scales.reshape(-1), zeros.reshape(-1), 0, -128, 127, torch.int8
        )
        assert torch.equal(ours, by_channel)


def test_zero_points_are_chosen_otherwise(affine: Any) -> None:
    """torchao takes the lower end of the range, `choose_qparams_per_token_asymmetric` the end with the smaller error;
    scales are the same.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(20000, 8, generator=generator) * torch.rand(20000, 1, generator=generator)
    x[::2] = (x[::2] * 8).round()
    scales, zeros = affine.choose_qparams_affine(
        x, "ASYMMETRIC", [1, 8], torch.int8, -128, 127, torch.finfo(torch.float32).eps,
        torch.float32, torch.int32,
    )  # fmt: skip
    others, other_zeros = Q.choose_qparams_per_token_asymmetric(x, torch.int8)
    assert torch.equal(scales.reshape(-1), others.reshape(-1).float())
    assert (zeros.reshape(-1) != other_zeros.reshape(-1)).any()


@pytest.mark.parametrize("block", [[1, 16], [1, 4], [2, 16], [200, 16], [200, 1]])
@pytest.mark.parametrize("flat", [False, True], ids=["a scale for each block", "scales in a row"])
def test_rows_that_are_restored_a_few_at_a_time(
    affine: Any, block: list[int], flat: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each has scales of its own; the others at once."""
    monkeypatch.setattr("et_ir.quantization.rows.ELEMENTS", 48)
    levels = torch.randint(-8, 8, (200, 16), dtype=torch.int8)
    shape = [200 // block[0], 16 // block[1]]
    scales = torch.rand(shape) + 0.5
    if flat and shape[1] == 1:
        scales = scales.flatten()
    arguments = (levels, block, scales, None, torch.int8, -8, 7)
    restored = affine.dequantize_affine.default
    assert torch.equal(rowwise(restored, arguments, {}), restored(*arguments))


class Written(nn.Module):
    """A matrix of integers, beside a write that torch itself has to trace: of a part of what is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.register_buffer("integers", torch.randint(-8, 8, (6, 8), generator=generator, dtype=torch.int8))
        self.register_buffer("scales", torch.rand(6, 2, generator=generator) + 0.5)
        self.integers: torch.Tensor
        self.scales: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torchao.quantization.quant_primitives import dequantize_affine

        zeros = torch.zeros_like(self.scales, dtype=torch.int8)
        weight = dequantize_affine(self.integers, (1, 4), self.scales, zeros, torch.int8, -8, 7)
        y = nn.functional.linear(x, weight)
        chosen = torch.zeros_like(y).view(-1)
        chosen.view(y.shape).scatter_(1, y.argmax(1, keepdim=True), 1)
        return y * chosen.view(y.shape)


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # torch's own use
def test_composite_operators_of_programs_that_torch_traces(affine: Any) -> None:
    """Torch would decompose them, and no backend would find the matrix in integers."""
    program = torch.export.export(Written(), (torch.randn(3, 8),))
    functional = functionalise_by_tracing(program)
    targets = {str(node.target) for node in functional.graph.nodes if node.op == "call_function"}
    assert "quantized_decomposed.dequantize_per_channel_group.default" in targets
    assert not any(name.startswith("torchao") for name in targets)
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(functional.module()(x), Written()(x))
