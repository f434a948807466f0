"""The `quantized_decomposed` operators by torch's own functions, which have no out variants: the results are
copied. Sums, embeddings and mixed products, which torch does not define, are put together from what it does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from et_ops.families import families
from et_vm.kernels.aten.binding import alias, torch_dtype
from et_vm.kernels.aten.out_variant import copy_results
from et_vm.kernels.portable import load_family
from et_vm.kernels.registry import Prepare, PrepareContext, parameters_of
from et_vm.step import NOTHING, Step
from et_vm.values import Tensor

_PREFIX = "quantized_decomposed::"
_FAMILIES = tuple(family for family in families() if family.startswith("quantized."))
PACKETS = tuple(packet.replace(".", "::") for family in _FAMILIES for packet in families()[family])
"""The operators without overloads, as ExecuTorch names them."""

_TYPES = frozenset({"dtype", "out_dtype", "output_dtype"})
_OUTPUTS = frozenset({"out", "scale_out", "zero_point_out"})
_OVERLOADS = {"out": "default", "Tensor_out": "tensor", "Tensor2_out": "tensor2", "no_fuse_out": "no_fuse"}


def _add(
    a: torch.Tensor, a_scale: float, a_zero: int, a_min: int, a_max: int,
    b: torch.Tensor, b_scale: float, b_zero: int, b_min: int, b_max: int,
    scale: float, zero: int, least: int, most: int,
) -> torch.Tensor:  # fmt: skip
    total = (a.float() - a_zero) * a_scale + (b.float() - b_zero) * b_scale
    inverse = torch.tensor(1.0) / torch.tensor(scale)
    return (torch.round(total * inverse) + zero).clamp(least, most).to(a.dtype)


def _unpacked(weight: torch.Tensor, bits: int) -> torch.Tensor:
    if bits == 8:
        return weight
    shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
    parts = [(weight >> shift) & ((1 << bits) - 1) for shift in shifts]
    return torch.stack(parts, -1).flatten(1).to(torch.int8) - (1 << (bits - 1))


def _embedding(
    bits: int,
    weight: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    least: int,
    most: int,
    indices: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    rows = _unpacked(weight, bits)
    groups = scales.size(1) if scales.dim() == 2 else 1
    table = torch.ops.quantized_decomposed.dequantize_per_channel_group.default(
        rows, scales, zero_points, least, most, rows.dtype, rows.size(1) // groups, dtype or scales.dtype
    )
    return torch.embedding(table, indices)


def _mixed_mm(
    x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor | None
) -> torch.Tensor:
    return (x.float() @ (weight * scales.float()[:, None])).to(x.dtype)


def _mixed_linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    *,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    return (x.float() @ (weight * scales.float()[:, None]).t()).to(dtype or x.dtype)


def _fake_quant(
    x: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor, axis: int, least: int, most: int
) -> torch.Tensor:
    """Torch's own has a kernel for autograd only."""
    shape = [1] * x.dim()
    shape[axis] = -1
    scale, zero = scales.float().view(shape), zero_points.int().view(shape)
    return ((torch.round(x * (1.0 / scale)) + zero).clamp(least, most) - zero) * scale


_COMPOSED: dict[str, Callable[..., Any]] = {
    "add": _add,
    "embedding_byte": functools.partial(_embedding, 8),
    "embedding_4bit": functools.partial(_embedding, 4),
    "embedding_2bit": functools.partial(_embedding, 2),
    "fake_quant_per_channel": _fake_quant,
    "mixed_mm": _mixed_mm,
    "mixed_linear": _mixed_linear,
}


def _function(name: str) -> Callable[..., Any]:
    packet, _, overload = name.removeprefix(_PREFIX).partition(".")
    if packet in _COMPOSED:
        return _COMPOSED[packet]
    import torch.ao.quantization.fx._decomposed  # pyright: ignore[reportUnusedImport] defines the operators

    return getattr(getattr(torch.ops.quantized_decomposed, packet), _OVERLOADS[overload])


@functools.cache
def quantized_kernels() -> dict[str, Prepare]:
    """The kernels by the names of their operators."""
    portable = {name: check for family in _FAMILIES for name, check in load_family(family).items()}
    return {name: _kernel(name, check) for name, check in portable.items() if name.startswith(_PREFIX)}


def _kernel(name: str, check: Prepare) -> Prepare:
    """The kernel of the operator `name`; the portable one, `check`, checks the call and shapes the outputs."""
    parameters = parameters_of(check) or ()
    compute = _function(name)

    def prepare(ctx: PrepareContext, *values: Any) -> Step:
        with torch.inference_mode():
            check(PrepareContext(ctx.op, instruction=ctx.instruction, frames=ctx.frames), *values)
            positional: list[Any] = []
            keywords: dict[str, Any] = {}
            outs: list[Tensor] = []
            for parameter, value in zip(parameters, values, strict=True):
                if parameter.name in _OUTPUTS:
                    outs.append(value)
                elif parameter.name in _TYPES:
                    keywords[parameter.name] = None if value is None else torch_dtype(value)
                elif keywords:
                    keywords[parameter.name] = value
                else:
                    positional.append(alias(value) if isinstance(value, Tensor) else value)
            if not all(out.array.size for out in outs):
                return NOTHING
            targets = tuple(alias(out).copy_ for out in outs)
            return copy_results, (functools.partial(compute, *positional, **keywords), targets)

    prepare.parameters = parameters  # pyright: ignore[reportFunctionMemberAccess] what the verifier reads
    return prepare
