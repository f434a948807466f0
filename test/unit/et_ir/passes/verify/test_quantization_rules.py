"""Memory of the verification of quantized programs."""

from __future__ import annotations

import tracemalloc

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)
from xdsl.context import Context

from et_ir.frontend import import_program
from et_ir.passes.verify.verify_aten import VerifyAtenPass

LAYERS, ROWS, GROUPS = 6, 512, 256


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for number in range(LAYERS):
            self.register_buffer(f"weight_{number}", torch.ones(ROWS, GROUPS * 2, dtype=torch.int8))
            self.register_buffer(f"scales_{number}", torch.full((ROWS, GROUPS), 0.5 + number))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number in range(LAYERS):
            weight, scales = getattr(self, f"weight_{number}"), getattr(self, f"scales_{number}")
            restored = torch.ops.quantized_decomposed.dequantize_per_channel_group(
                weight, scales, None, -8, 7, torch.int8, 2, torch.float32
            )
            x = x @ restored
        return x


def test_the_numbers_of_one_operator_at_a_time_are_in_memory() -> None:
    module = import_program(torch.export.export(Layers(), (torch.ones(1, ROWS),)))
    tracemalloc.start()
    VerifyAtenPass().apply(Context(), module)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    of_one = ROWS * GROUPS * 8  # scales in float64
    assert most < 2 * of_one
