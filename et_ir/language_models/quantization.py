"""Quantization of weights in place, layer by layer.

No second copy of them is in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import nan
from typing import Any, Final, cast

import torch
from torch import nn

from et_ir.language_models.experts import ExpertsLayout, QuantizedMatrices, experts_layout
from et_ir.quantization import Layer, QuantizationError, QuantizationMode, QuantizedModule, Unquantized
from et_ir.quantization.modes import check_patterns
from et_ir.quantization.operators import is_kept
from et_ir.quantization.torchao_weights import INTEGERS, QuantizedRows, quantized_rows

__all__ = ["quantize_weights"]

_LARGE: Final = 2
"""Parameters of more dimensions are those of layers that no mode is about."""


def quantize_weights(
    model: nn.Module, mode: QuantizationMode, keep_float: Sequence[str] = ()
) -> QuantizedModule:
    """The same module, with embedding tables quantized to 8 bits per row, and linear layers as the mode specifies.

    `8da4w`: group-wise 4-bit weights (with `embedding=4`, also of embedding tables) with scales that bf16 can hold, and
    8-bit activations with a scale per row computed at run time; `int8-dynamic`: the same with 8-bit weights and a scale
    per row; `int8-weights`: 8-bit weights only. Scales are derived from the largest magnitudes, as in torchao. Raises
    `QuantizationError` for other modes, and for a pattern of `keep_float` that matches no module's path.
    """
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
    )
    from torchao.utils import unwrap_tensor_subclass  # pyright: ignore[reportUnknownVariableType]  (untyped)

    rows = IntxWeightOnlyConfig(torch.int8, PerAxis(0))
    if mode.name == "8da4w":
        bits_4: Any = cast(Any, torch).int4
        linear: Any = Int8DynamicActivationIntxWeightConfig(
            weight_dtype=bits_4, weight_granularity=PerGroup(mode.group), weight_scale_dtype=torch.bfloat16
        )
        if mode.embedding == 4:
            rows = IntxWeightOnlyConfig(bits_4, PerGroup(mode.group), scale_dtype=torch.bfloat16)
    elif mode.name == "int8-dynamic":
        linear = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8, weight_granularity=PerAxis(0))
    elif mode.name == "int8-weights":
        linear = rows
    else:
        raise QuantizationError(
            f"the mode {mode} takes scales of activations from data; use int8-dynamic, int8-weights or 8da4w"
        )
    modules = dict(cast(Any, model).named_modules())
    check_patterns(keep_float, modules)
    with _one_thread():
        layers, left = _quantized_layers(modules, mode, keep_float, linear, rows)
    return QuantizedModule(cast(nn.Module, unwrap_tensor_subclass(model)), tuple(left), tuple(layers))


def _quantized_layers(
    modules: dict[str, nn.Module], mode: QuantizationMode, keep_float: Sequence[str], linear: Any, rows: Any
) -> tuple[list[Layer], list[Unquantized]]:
    """Quantize what the mode is about, linear layers and tables as two configurations of torchao say."""
    trim = _trim()
    layers: list[Layer] = []
    left: list[Unquantized] = []
    for name, module in modules.items():
        kind = type(module).__name__
        kept = is_kept(name, keep_float)
        layout = experts_layout(module)
        if layout is not None and not kept:
            quantized, floats = _quantized_experts(name, module, layout, mode, linear)
            layers += quantized
            left += floats
            trim()
            continue
        if not isinstance(module, nn.Linear | nn.Embedding):
            reason = (
                "left in floats by configuration" if kept else "the mode is about linear layers and tables"
            )
            left += [
                Unquantized(kind, f"{name}.{one}", "", reason)
                for one, parameter in module.named_parameters(recurse=False)
                if parameter.dim() > _LARGE
            ]
            continue
        if kept:
            left.append(Unquantized(kind, name, "", "left in floats by configuration"))
        elif reason := mode.why_not(module):
            left.append(Unquantized(kind, name, "", reason))
        else:
            is_linear = isinstance(module, nn.Linear)
            config = linear if is_linear else rows
            bits = 4 if mode.name == "8da4w" and (is_linear or mode.embedding == 4) else 8
            layers.append(_quantized(name, module, config, bits))
            trim()
    return layers, left


@contextmanager
def _one_thread() -> Generator[None]:
    """Have torch compute in one thread: of parts this small, several wait for one another longer than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _quantized(name: str, module: nn.Linear | nn.Embedding, config: Any, bits: int) -> Layer:
    """Quantize the weight of a layer."""
    before = module.weight.detach()
    kind = nn.Linear if isinstance(module, nn.Linear) else nn.Embedding
    found = _rows(before, config, kind)
    module.weight = nn.Parameter(found.weight(), requires_grad=False)
    return _layer(name, kind.__name__.lower(), before, found, bits)


def _rows(before: torch.Tensor, config: Any, kind: type[nn.Linear] | type[nn.Embedding]) -> QuantizedRows:
    found = quantized_rows(before, config, kind)
    found.tensors["scale"] = found.tensors["scale"].to(torch.float32)
    return found


def _quantized_experts(
    name: str, module: nn.Module, layout: ExpertsLayout, mode: QuantizationMode, config: Any
) -> tuple[list[Layer], list[Unquantized]]:
    """Quantize the matrices of experts: as many linear layers, of which a program may select some."""
    layers: list[Layer] = []
    left: list[Unquantized] = []
    bits = 4 if mode.name == "8da4w" else 8
    for key, parameter in list(module.named_parameters(recurse=False)):
        if parameter.dim() != 3:
            continue
        before = parameter.detach()
        if layout.is_transposed:
            before = before.transpose(1, 2)
        experts, height, width = before.shape
        if bits == 4 and width % mode.group:
            reason = f"groups of {mode.group} do not divide its {width} inputs"
            left.append(Unquantized(type(module).__name__, f"{name}.{key}", "", reason))
            continue
        before = before.reshape(-1, width)
        found = _rows(before, config, nn.Linear)
        integers = found.tensors[INTEGERS].view(experts, height, width)
        scales = found.tensors["scale"].view(experts, height, -1)
        delattr(module, key)
        matrices = QuantizedMatrices(
            integers, scales, bits, before.dtype, quantizes_input=mode.name != "int8-weights"
        )
        module.add_module(key, matrices)
        layers.append(_layer(f"{name}.{key}", "linear", before, found, bits))
    return layers, left


def _layer(name: str, operator: str, before: torch.Tensor, found: QuantizedRows, bits: int) -> Layer:
    size = before.numel() * bits // 8 + found.tensors["scale"].nbytes
    return Layer(name, operator, before.numel() * before.element_size(), size, found.ratio, nan)


def _trim() -> Callable[[], object]:
    """A function that returns freed memory to the system where the C library would keep it: a gigabyte."""
    trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return (lambda: None) if trim is None else lambda: trim(0)
