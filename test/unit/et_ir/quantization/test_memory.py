"""Memory of quantization: weights are those of the module, and are computed one layer at a time."""

from __future__ import annotations

import pytest
import torch
from support.tensor_memory import NewTensors
from torch import Tensor, nn

from et_ir.quantization import QuantizedModule, quantize

WIDTH = 128
LAYERS = 6
LAYER_BYTES = WIDTH * WIDTH * 4


class Layers(nn.Module):
    def __init__(self, rows: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, WIDTH) if rows else None
        self.layers = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x if self.table is None else self.table(x))


def stored(module: nn.Module) -> int:
    return sum(one.nbytes for one in (*module.parameters(), *module.buffers()))


@pytest.mark.parametrize("rows", [0, WIDTH], ids=["linear", "with a table"])
@pytest.mark.parametrize("mode", ["int8-dynamic", "int8-weights", "8da4w"])
def test_integers_and_one_layer(mode: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("et_ir.quantization.rows.ELEMENTS", 16 * WIDTH)
    monkeypatch.setattr("et_ir.quantization.rounding._ELEMENTS", 16 * WIDTH)
    module = Layers(rows)
    x = torch.zeros(1, dtype=torch.int64) if rows else torch.ones(1, WIDTH)
    with NewTensors(module.parameters()) as memory:
        found = quantize(module, (x,), mode)
    # A layer in floats, and what some rows of one take, several times as many bytes.
    assert memory.peak < stored(found.module) + 2.5 * LAYER_BYTES
    assert stored(found.module) < 0.3 * stored(module)


def test_the_weights_of_the_module_are_not_copied() -> None:
    """Layers that stay in floats have the same parameters as before."""
    module = Layers(0)
    found: QuantizedModule = quantize(
        module, (torch.ones(1, WIDTH),), "int8-weights", keep_float=["layers.3"]
    )
    kept = {one.data_ptr() for one in found.module.parameters()}
    layer = module.layers[3]
    assert {one.data_ptr() for one in layer.parameters()} <= kept
    assert module.layers[2].weight.data_ptr() not in kept
