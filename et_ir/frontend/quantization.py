"""Operators of torchao as those of `quantized_decomposed`.

That is done where the bits are the same. What torchao calls affine has one scale for each block of a tensor. Blocks of
one shape are a granularity that `quantized_decomposed` has an operator for: the tensor, an index of one dimension, or
neighbours in a row of a matrix. Other blocks, and the choice of scales at run time, stay the arithmetic that torchao's
own kernels are: `quantize_per_token` adds zero points before it rounds, where `quantize_affine` rounds first, and
`choose_qparams_per_token_asymmetric` computes zero points from the end of the range with the smaller error, where
`choose_qparams_affine` takes the lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from et_ir.frontend.torch_registry import Operator, overload

__all__ = ["FORMULAS", "KEPT"]

_BY_CHANNEL: Final = "quantized_decomposed.dequantize_per_channel"
_BY_GROUP: Final = "quantized_decomposed.dequantize_per_channel_group"
KEPT: Final = frozenset({_BY_CHANNEL, _BY_GROUP})
"""The operators that formulas call, which torch has kernels of other operators for."""

_LIMITS: Final = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-(1 << 15), (1 << 15) - 1)}
"""The types of integers that are restored by operators, and the limits where a call names none."""


def _axis(shape: Sequence[int], block: Sequence[int]) -> int | None:
    """The one dimension whose indices have scales of their own; `None` if there are several, or parts of one.

    Where there is a single row, it is that of rows: programs for any number of them are alike.
    """
    if len(shape) > 1 and tuple(shape) == tuple(block) and all(size == 1 for size in shape[:-1]):
        return len(shape) - 2
    split = [dim for dim, (size, part) in enumerate(zip(shape, block, strict=True)) if size != part]
    return split[0] if len(split) == 1 and block[split[0]] == 1 else None


def _dequantize(
    target: Operator,
    input: Tensor,
    block_size: Sequence[int],
    scale: Tensor,
    zero_point: Tensor | None,
    input_dtype: torch.dtype,
    quant_min: int | None = None,
    quant_max: int | None = None,
    output_dtype: torch.dtype = torch.float32,
) -> Tensor:
    limits = _LIMITS.get(input.dtype)
    if (
        limits is None
        or input_dtype != input.dtype
        or output_dtype != torch.float32
        or scale.dtype != torch.float32
    ):
        return target(input, block_size, scale, zero_point, input_dtype, quant_min, quant_max, output_dtype)
    least, most = (
        default if given is None else given
        for default, given in zip(limits, (quant_min, quant_max), strict=True)
    )
    # Differences of narrow integers would overflow.
    offsets = None if zero_point is None else zero_point.to(torch.int64)
    shape = tuple(input.shape)
    axis = _axis(shape, block_size)
    if axis is not None:
        flat = None if offsets is None else offsets.reshape(-1)
        return overload(_BY_CHANNEL)(
            input, scale.reshape(-1), flat, axis, least, most, input.dtype, out_dtype=output_dtype
        )
    if (
        len(shape) == 2
        and block_size[0] == 1
        and 1 < block_size[1] < shape[1]
        and not shape[1] % block_size[1]
    ):
        groups = (shape[0], shape[1] // block_size[1])
        grid = None if offsets is None else offsets.reshape(groups)
        return overload(_BY_GROUP)(
            input, scale.reshape(groups), grid, least, most, input.dtype, block_size[1], output_dtype
        )
    return target(input, block_size, scale, zero_point, input_dtype, quant_min, quant_max, output_dtype)


FORMULAS: Final[dict[str, Callable[..., Any]]] = {"torchao::dequantize_affine": _dequantize}
"""By name: the operators are there once torchao is imported, which programs without them do not need."""
