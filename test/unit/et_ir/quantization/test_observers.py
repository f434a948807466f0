"""Ranges of activations: those of torchao's observer, in fewer steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torchao.quantization.pt2e import HistogramObserver as TorchaoHistogramObserver
from torchao.quantization.pt2e import PerChannelMinMaxObserver as TorchaoPerChannelMinMaxObserver

from et_ir.quantization.observers import HistogramObserver, PerChannelMinMaxObserver

VALUES: dict[str, Callable[[torch.Generator], Tensor]] = {
    "normal": lambda generator: torch.randn(500, generator=generator),
    "with outliers": lambda generator: torch.randn(500, generator=generator) ** 5,
    "positive": lambda generator: torch.relu(torch.randn(500, generator=generator)),
    "one-sided": lambda generator: -torch.rand(500, generator=generator).exp(),
    "of two sizes": lambda generator: torch.where(
        torch.rand(500, generator=generator) < 0.01, 100.0, torch.rand(500, generator=generator)
    ),
    "few": lambda generator: torch.randn(3, generator=generator),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("seed", range(3))
def test_ranges_as_torchaos(name: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    batches = [VALUES[name](generator) * (1 + number) for number in range(3)]
    found: list[tuple[Tensor, Tensor]] = []
    for kind in (TorchaoHistogramObserver, HistogramObserver):
        observer = kind(dtype=torch.int8, quant_min=-128, quant_max=127, eps=2**-12)
        for batch in batches:
            observer(batch)
        found.append(observer.calculate_qparams())
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("number", [0.0, 2.5, -1.0])
def test_range_of_equal_numbers(number: float) -> None:
    observer = HistogramObserver(dtype=torch.int8, quant_min=-128, quant_max=127, eps=2**-12)
    observer(torch.full((4,), number))
    scale, zero = observer.calculate_qparams()
    assert float(scale * (torch.tensor(number) / scale).round()) == pytest.approx(number, abs=float(scale))
    assert -128 <= int(zero) <= 127


def test_errors_are_computed_for_ranges_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each step of a quantile."""
    calls: list[tuple[int, int]] = []
    compute = HistogramObserver._compute_quantization_error

    def counted(self: HistogramObserver, first: int, last: int) -> float:
        calls.append((first, last))
        return compute(self, first, last)

    monkeypatch.setattr(HistogramObserver, "_compute_quantization_error", counted)
    observer = HistogramObserver(dtype=torch.int8, quant_min=-128, quant_max=127, eps=2**-12)
    observer(torch.randn(1000, generator=torch.Generator().manual_seed(0)))
    observer.calculate_qparams()
    assert 0 < len(calls) == len(set(calls)) < 100


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_ranges_of_channels(axis: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(axis)
    batches = [torch.randn(3, 4, 5, 6, generator=generator).to(dtype) for _ in range(3)]
    batches.insert(1, torch.empty(0, 0, 0, 0, dtype=dtype))
    for broken in (0.0, float("inf"), float("nan")):
        batches[2][1, 1, 1, 1] = broken
        pair = [
            kind(ch_axis=axis, dtype=torch.int8, quant_min=-127, quant_max=127, eps=2**-12)
            for kind in (TorchaoPerChannelMinMaxObserver, PerChannelMinMaxObserver)
        ]
        for batch in batches:
            assert all(observer(batch) is batch for observer in pair)
        bounds = [(one.min_val, one.max_val) for one in pair]
        assert bounds[0][0].shape == (batches[0].shape[axis],)
        for wanted, found in zip(*bounds, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
