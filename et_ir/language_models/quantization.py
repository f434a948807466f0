"""Quantization of the weights of a model in place, layer by layer, so that no second copy of them is in memory."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from math import inf, log10, nan
from typing import Any, Final, cast

import torch
from torch import nn

from et_ir.quantization import Layer, QuantizationError, QuantizationMode, QuantizedModule, Unquantized

__all__ = ["quantize_weights"]

_ROWS: Final = 1024
"""Rows of a weight that are compared at a time."""
_LARGE: Final = 2
"""Parameters of more dimensions are those of layers that no mode is about."""


def quantize_weights(
    model: nn.Module, mode: QuantizationMode, keep_float: Sequence[str] = ()
) -> QuantizedModule:
    """The same module, with rows of tables in 8 bits and linear layers as the mode says.

    `8da4w`: weights in groups of 4 bits, activations in 8 bits with a scale for each row, computed at run time;
    `int8-dynamic`: the same with a scale for each row of a weight, of 8 bits; `int8-weights`: weights alone. Raises
    `QuantizationError` for another mode, and for a pattern of `keep_float` that no module's path matches.
    """
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
    )
    from torchao.utils import unwrap_tensor_subclass  # pyright: ignore[reportUnknownVariableType]  (untyped)

    rows = IntxWeightOnlyConfig(torch.int8, PerAxis(0))
    if mode.name == "8da4w":
        linear: Any = Int8DynamicActivationIntxWeightConfig(
            weight_dtype=cast(Any, torch).int4, weight_granularity=PerGroup(mode.group)
        )
    elif mode.name == "int8-dynamic":
        linear = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8, weight_granularity=PerAxis(0))
    elif mode.name == "int8-weights":
        linear = rows
    else:
        raise QuantizationError(
            f"the mode {mode} takes scales of activations from data; use int8-dynamic, int8-weights or 8da4w"
        )
    modules = dict(cast(Any, model).named_modules())
    for pattern in keep_float:
        if not any(fnmatchcase(name, pattern) for name in modules):
            raise QuantizationError(f"no module's path matches '{pattern}'")
    layers: list[Layer] = []
    left: list[Unquantized] = []
    for name, module in modules.items():
        kind = type(module).__name__
        if not isinstance(module, nn.Linear | nn.Embedding):
            left += [
                Unquantized(kind, f"{name}.{one}", "", "the mode is about linear layers and tables")
                for one, parameter in module.named_parameters(recurse=False)
                if parameter.dim() > _LARGE
            ]
            continue
        if _is_kept(name, keep_float):
            left.append(Unquantized(kind, name, "", "left in floats by configuration"))
        elif isinstance(module, nn.Linear) and mode.name == "8da4w" and module.in_features % mode.group:
            reason = f"groups of {mode.group} do not divide its {module.in_features} inputs"
            left.append(Unquantized(kind, name, "", reason))
        else:
            config = linear if isinstance(module, nn.Linear) else rows
            bits = 4 if isinstance(module, nn.Linear) and mode.name == "8da4w" else 8
            layers.append(_quantized(name, module, config, bits))
    return QuantizedModule(cast(nn.Module, unwrap_tensor_subclass(model)), tuple(left), tuple(layers))


def _is_kept(name: str, patterns: Sequence[str]) -> bool:
    parts = name.split(".")
    paths = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(fnmatchcase(path, pattern) for path in paths for pattern in patterns)


def _quantized(name: str, module: nn.Linear | nn.Embedding, config: Any, bits: int) -> Layer:
    from torchao.quantization.quant_api import quantize_

    before = module.weight.detach()
    quantize_(module, config, lambda one, _: one is module)
    weight: Any = module.weight.detach()
    scales = weight.scale.numel() * weight.scale.element_size()
    return Layer(
        name,
        "linear" if isinstance(module, nn.Linear) else "embedding",
        before.numel() * before.element_size(),
        before.numel() * bits // 8 + scales,
        _sqnr(before, weight),
        nan,
    )


def _sqnr(before: torch.Tensor, weight: Any) -> float:
    """In dB, some rows at a time."""
    signal = error = 0.0
    restored: torch.Tensor = weight.dequantize()
    for first in range(0, len(before), _ROWS):
        wanted, found = before[first : first + _ROWS], restored[first : first + _ROWS]
        signal += float(wanted.square().sum(dtype=torch.float64))
        error += float((wanted - found).square().sum(dtype=torch.float64))
    if not error:
        return inf
    return 10 * log10(signal / error) if signal else -inf
