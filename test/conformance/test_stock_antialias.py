"""Bytes resampled with antialiasing: how far torch and the stock runtime are from the sums in rational numbers, and
that the model of the stock kernel has each byte.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stock import StockRuntime
from sweep.faults import explanation, modelled

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.targets.lookup import DEFAULT

SCALES = [(None, None, False), (1.7, 0.9, False), (0.8, 1.0, True), (2.0, 0.5, False)]


class Resampled(torch.nn.Module):
    def __init__(self, size: list[int], align: bool, scales: tuple[float | None, float | None]) -> None:
        super().__init__()
        self.arguments = size, align, *scales

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._upsample_bilinear2d_aa(image, *self.arguments)


def weights(extent: int, size: int, align: bool, scale: float | None) -> list[list[Fraction]]:
    """For each of `size` results the weights of all `extent` elements, a triangle as wide as what it stands for."""
    step = Fraction(extent, size) if scale is None else 1 / Fraction(scale)
    if align:
        step = Fraction(extent - 1, size - 1)
    support, half, rows = max(step, Fraction(1)), Fraction(1, 2), []
    for at in range(size):
        centre = step * (at + half)
        first, last = max(int(centre - support + half), 0), min(int(centre + support + half), extent)
        row = [
            max(1 - abs((x - centre + half) / support), Fraction(0)) if first <= x < last else Fraction(0)
            for x in range(extent)
        ]
        rows.append([weight / sum(row) for weight in row])
    return rows


def exact(
    image: torch.Tensor, rows: list[list[Fraction]], columns: list[list[Fraction]]
) -> np.ndarray[Any, Any]:
    """The sums, in rational numbers."""
    elements = np.vectorize(Fraction, otypes=[object])(image[0, 0].numpy())
    return np.array(rows, dtype=object) @ elements @ np.array(columns, dtype=object).T


@pytest.mark.parametrize(("tall", "wide", "align"), SCALES)
def test_bytes(
    tall: float | None, wide: float | None, align: bool, stock: StockRuntime, tmp_path: Path
) -> None:
    """Torch rounds to the nearest after each of two passes, and is off by 1 at most; the stock runtime drops what is
    behind the point at every term, and is off by 2 or more.
    """
    image = torch.randint(
        0, 10, (1, 1, 10, 20), generator=torch.Generator().manual_seed(0), dtype=torch.uint8
    )
    size = [int(10 * (tall or 0.5)), int(20 * (wide or 0.25))]
    module = Resampled(size, align, (tall, wide))
    true = exact(image, weights(10, size[0], align, tall), weights(20, size[1], align, wide))

    def off(result: torch.Tensor) -> float:
        return float(np.abs(result[0, 0].numpy() - true).max())

    path = tmp_path / "model.pte"
    program = torch.export.export(module, (image,), strict=False)
    path.write_bytes(file := to_edge(program).to_executorch(ExecutorchBackendConfig(target=DEFAULT)).buffer)
    (stock_s,), ((model_s,), _) = stock.run(path, [image]), modelled(file, [image])
    assert off(module(image)) < 1.01
    assert off(stock_s) >= 2
    assert torch.equal(stock_s, model_s)
    assert explanation(file, [image], [stock_s]) is not None
