"""Matrices as tensors of torchao, quantized some rows at a time."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

import torch
from torch import nn

from et_ir.quantization.layers import Noise
from et_ir.quantization.rows import new_stored, release_memory, slices_of_rows

__all__ = ["INTEGERS", "QuantizedRows", "quantized_groups", "quantized_rows"]

INTEGERS: Final = "qdata"
"""The attribute of torchao's tensors that holds the integers."""

_Kind = type[nn.Module]


class QuantizedRows(NamedTuple):
    """A matrix as torchao quantizes its rows."""

    tensors: dict[str, torch.Tensor]
    """The integers, their scales and what else there is, by the names that `kind` has for them."""
    kind: Any
    """The class of torchao's tensor."""
    layout: Any
    before: torch.Tensor
    """The matrix in floats."""
    ratio: float
    """Of the signal to its error, in dB."""

    def weight(self) -> torch.Tensor:
        """The matrix as torchao's tensor."""
        return self.kind.__tensor_unflatten__(
            self.tensors, self.layout, self.before.size(), self.before.stride()
        )


def quantized_rows(before: torch.Tensor, config: Any, kind: _Kind) -> QuantizedRows:
    """Quantize a matrix `[rows, columns]` as that of a layer: rows have scales of their own."""
    noise = Noise()
    integers: torch.Tensor | None = None
    others: dict[str, list[torch.Tensor]] = {}
    weight: Any = None
    for rows in slices_of_rows(before.shape):
        weight = _quantized(before[rows], config, kind)
        noise.add(before[rows], weight.dequantize())
        for key in weight.__tensor_flatten__()[0]:
            tensor = getattr(weight, key)
            if key == INTEGERS:
                if integers is None:
                    integers = new_stored(tensor.dtype, before.shape)
                integers[rows] = tensor
            else:
                others.setdefault(key, []).append(tensor)
    assert integers is not None
    release_memory(integers)
    tensors = {INTEGERS: integers} | {key: torch.cat(parts) for key, parts in others.items()}
    return QuantizedRows(
        tensors, cast(Any, type(weight)), weight.__tensor_flatten__()[1], before, noise.ratio
    )


def quantized_groups(
    before: torch.Tensor, config: Any, kind: _Kind, integers: torch.Tensor, scales: torch.Tensor
) -> torch.Tensor:
    """The tensor that torchao would make of a matrix, with other integers i8 `[rows, columns]` and scales `[rows,
    groups]`.
    """
    first: Any = _quantized(before[:1], config, kind)
    zeros = first.zero_point[:, :1].expand(scales.shape).contiguous()
    tensors = {INTEGERS: integers, "scale": scales.to(first.scale.dtype), "zero_point": zeros}
    made = cast(Any, type(first))
    return made.__tensor_unflatten__(tensors, first.__tensor_flatten__()[1], before.size(), before.stride())


def _quantized(weight: torch.Tensor, config: Any, kind: _Kind) -> Any:
    """The tensor that torchao makes of some rows of the weight of a layer."""
    from torchao.quantization.quant_api import quantize_

    height, width = weight.shape
    holder: Any = (
        nn.Linear(width, height, bias=False, device="meta")
        if kind is nn.Linear
        else nn.Embedding(height, width, device="meta")
    )
    holder.weight = nn.Parameter(weight, requires_grad=False)
    quantize_(holder, config, lambda one, _: one is holder)
    return holder.weight.detach()
