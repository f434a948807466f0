"""Scales and integers of weights of 4 bits: their error against scales of the largest magnitude."""

from __future__ import annotations

import pytest
import torch

from et_ir.quantization.rounding import compensate, search_scales
from et_ir.quantization.weights import InputMoments

GROUP = 16


def restored(integers: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    assert integers.dtype == torch.int8
    assert -8 <= int(integers.min()) <= int(integers.max()) <= 7
    return integers * scales.repeat_interleave(GROUP, 1)


def by_magnitude(weight: torch.Tensor) -> torch.Tensor:
    """As torchao chooses scales of symmetric groups."""
    groups = weight.reshape(len(weight), -1, GROUP)
    scales = groups.abs().amax(-1, keepdim=True) / 7.5
    return (torch.round(groups / scales).clamp(-8, 7) * scales).reshape(weight.shape)


@pytest.mark.parametrize("magnitude", [1e-4, 1.0, 1e4])
def test_searched_scales(magnitude: float) -> None:
    weight = torch.randn(24, 64, generator=torch.Generator().manual_seed(0)) * magnitude
    found = restored(*search_scales(weight, GROUP))
    errors = [((one - weight) ** 2).reshape(24, -1, GROUP).sum(-1) for one in (found, by_magnitude(weight))]
    assert (errors[0] <= errors[1] * 1.0001).all()
    assert errors[0].sum() < 0.9 * errors[1].sum()


def test_groups_without_a_range() -> None:
    weight = torch.zeros(2, 32)
    weight[1, :16] = 0.25
    weight[1, 16:] = 1e-30
    integers, scales = search_scales(weight, GROUP)
    assert (scales >= torch.finfo(torch.float32).eps).all()
    torch.testing.assert_close(restored(integers, scales)[:, :16], weight[:, :16])
    assert not integers[:, 16:].any()


def test_compensation_for_inputs() -> None:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(24, 64, generator=generator)
    mixing = torch.randn(8, 64, generator=generator)
    inputs, others = (
        torch.randn(200, 8, generator=generator) @ mixing + 0.1 * torch.randn(200, 64, generator=generator)
        for _ in range(2)
    )
    double = inputs.double()
    found = restored(*compensate(weight, GROUP, double.T @ double))
    plain = restored(*search_scales(weight, GROUP))
    errors = [float((others @ (one - weight).T).square().mean()) for one in (found, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_inputs_that_are_always_zero() -> None:
    weight = torch.randn(4, 32, generator=torch.Generator().manual_seed(0))
    integers, scales = compensate(weight, GROUP, torch.zeros(32, 32, dtype=torch.float64))
    assert (restored(integers, scales) - weight).abs().max() <= scales.max()


@pytest.mark.parametrize("tokens", [3, 40, 200])
def test_moments_of_inputs(tokens: int) -> None:
    """Those of inputs that are kept, of products, and of inputs that become products."""
    generator = torch.Generator().manual_seed(0)
    batches = [torch.randn(2, tokens, 24, generator=generator) for _ in range(3)]
    found = InputMoments()
    expected = torch.zeros(24, 24, dtype=torch.float64)
    for batch in batches:
        found.add(batch)
        double = batch.reshape(-1, 24).double()
        expected += double.T @ double
        batch.zero_()
        torch.testing.assert_close(found.total(), expected, rtol=0, atol=0)


@pytest.mark.parametrize("elements", [64, 1 << 16])
def test_rows_are_searched_alone(elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.randn(40, 64, generator=torch.Generator().manual_seed(0))
    expected = [search_scales(row[None], GROUP) for row in weight]
    monkeypatch.setattr("et_ir.quantization.rounding._ELEMENTS", elements)
    found = search_scales(weight, GROUP)
    for number, one in enumerate(found):
        assert torch.equal(one, torch.cat([row[number] for row in expected]))
