"""Quantised operators are imported as they are."""

from __future__ import annotations

import torch
import torch.ao.quantization.fx._decomposed  # defines the operators
from torch import nn

from et_ir.dialects.aten import AtenOp
from et_ir.frontend import import_program

Q = torch.ops.quantized_decomposed


class Restored(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = Q.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
        return Q.dequantize_per_tensor(q, 0.1, 3, -128, 127, torch.int8).relu()


class Rows(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return Q.choose_qparams_per_token(x, torch.int8)


def names_of(module: nn.Module) -> list[str]:
    imported = import_program(torch.export.export(module, (torch.ones(2, 3),)))
    imported.verify()
    return [op.name for op in imported.walk() if isinstance(op, AtenOp)]


def test_names() -> None:
    assert names_of(Restored()) == [
        "aten.quantized_decomposed.quantize_per_tensor",
        "aten.quantized_decomposed.dequantize_per_tensor",
        "aten.relu",
    ]


def test_types_are_those_that_eager_mode_gives() -> None:
    """Torch's shape function of this operator says f64 and i64."""
    imported = import_program(torch.export.export(Rows(), (torch.ones(2, 3),)))
    imported.verify()
    (op,) = (op for op in imported.walk() if isinstance(op, AtenOp))
    assert [str(type) for type in op.result_types] == ["tensor<2x1xf32>", "tensor<2x1xf32>"]
    assert [r.dtype for r in Rows()(torch.ones(2, 3))] == [torch.float32, torch.float32]
