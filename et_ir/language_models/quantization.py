"""Quantization of weights in place, layer by layer.

No second copy of them is in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from math import inf, log10, nan, prod
from typing import Any, Final, cast

import torch
from torch import nn

from et_ir.data.mapped import release, temporary_memory
from et_ir.quantization import Layer, QuantizationError, QuantizationMode, QuantizedModule, Unquantized

__all__ = ["quantize_weights"]

_ELEMENTS: Final = 1 << 18
"""About how many elements of a weight are quantized at a time: torchao makes several copies of them, in the caches."""
_INTEGERS: Final = "qdata"
"""The attribute of torchao's tensors that holds the integers."""
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
    for pattern in keep_float:
        if not any(fnmatchcase(name, pattern) for name in modules):
            raise QuantizationError(f"no module's path matches '{pattern}'")
    trim = _trim()
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
        elif reason := mode.why_not(module):
            left.append(Unquantized(kind, name, "", reason))
        else:
            is_linear = isinstance(module, nn.Linear)
            config = linear if is_linear else rows
            bits = 4 if mode.name == "8da4w" and (is_linear or mode.embedding == 4) else 8
            layers.append(_quantized(name, module, config, bits))
            trim()
    return QuantizedModule(cast(nn.Module, unwrap_tensor_subclass(model)), tuple(left), tuple(layers))


def _is_kept(name: str, patterns: Sequence[str]) -> bool:
    parts = name.split(".")
    paths = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(fnmatchcase(path, pattern) for path in paths for pattern in patterns)


def _quantized(name: str, module: nn.Linear | nn.Embedding, config: Any, bits: int) -> Layer:
    """Quantize the weight of a layer, some rows at a time: rows have scales of their own."""
    from torchao.quantization.quant_api import quantize_

    before = module.weight.detach()
    height, width = before.shape
    rows = max(1, _ELEMENTS // width)
    noise = _Noise()
    integers: torch.Tensor | None = None
    others: dict[str, list[torch.Tensor]] = {}
    kind: Any = None
    layout: Any = None
    for first in range(0, height, rows):
        part = before[first : first + rows]
        holder = _holder(module, part)
        quantize_(holder, config, lambda one, _, holder=holder: one is holder)
        weight: Any = holder.weight.detach()
        noise.add(part, weight.dequantize())
        names, layout = weight.__tensor_flatten__()
        for key in names:
            tensor = getattr(weight, key)
            if key == _INTEGERS:
                if integers is None:
                    integers = _on_disk(tensor.dtype, (height, width))
                integers[first : first + rows] = tensor
            else:
                others.setdefault(key, []).append(tensor)
        kind = cast(Any, type(weight))
    assert integers is not None
    release(integers.data_ptr())
    tensors = {_INTEGERS: integers} | {key: torch.cat(parts) for key, parts in others.items()}
    tensors["scale"] = tensors["scale"].to(torch.float32)
    made = kind.__tensor_unflatten__(tensors, layout, before.size(), before.stride())
    module.weight = nn.Parameter(made, requires_grad=False)
    scales = tensors["scale"].nbytes
    return Layer(
        name,
        "linear" if isinstance(module, nn.Linear) else "embedding",
        before.numel() * before.element_size(),
        before.numel() * bits // 8 + scales,
        noise.ratio,
        nan,
    )


def _holder(module: nn.Linear | nn.Embedding, weight: torch.Tensor) -> nn.Linear | nn.Embedding:
    """A layer of the same kind of some rows of the weight."""
    height, width = weight.shape
    if isinstance(module, nn.Linear):
        holder: nn.Linear | nn.Embedding = nn.Linear(width, height, bias=False, device="meta")
    else:
        holder = nn.Embedding(height, width, device="meta")
    holder.weight = nn.Parameter(weight, requires_grad=False)
    return holder


def _on_disk(dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor in the memory of a temporary file."""
    return torch.frombuffer(temporary_memory(prod(shape) * dtype.itemsize), dtype=dtype).view(shape)


def _trim() -> Callable[[], object]:
    """What gives memory that was freed back to the system, where the C library keeps it: a gigabyte, otherwise."""
    trim: Any = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return (lambda: None) if trim is None else lambda: trim(0)


class _Noise:
    """Energy of a signal and of its error."""

    def __init__(self) -> None:
        self._signal = 0.0
        self._error = 0.0

    def add(self, wanted: torch.Tensor, found: torch.Tensor) -> None:
        self._signal += float(wanted.square().sum(dtype=torch.float64))
        self._error += float((wanted - found).square().sum(dtype=torch.float64))

    @property
    def ratio(self) -> float:
        """In dB."""
        if not self._error:
            return inf
        return 10 * log10(self._signal / self._error) if self._signal else -inf
