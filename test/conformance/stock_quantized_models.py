"""What kernels of stock's quantized library compute where that is not what torch computes, in numpy.

Each model is the whole kernel, equal to the bit to the stock runtime's on all calls of `quantized_sweep`; the sweep
proves it, and that torch's operator, and the VM's kernel, give something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Model: TypeAlias = Callable[..., Sequence[Array]]

_LEAST_SCALE = np.float32(6.1e-5)
_FROM_FLOAT = np.float32(2.0**63)


@dataclass(frozen=True)
class Difference:
    """A kernel of the stock runtime that does not compute what torch computes."""

    does: str
    torch_does: str
    model: Model
    """Its results for the arguments of the operator: tensors as arrays, the types of elements as torch's."""


def numpy_type(dtype: torch.dtype) -> np.dtype[Any]:
    return torch.empty(0, dtype=dtype).numpy().dtype


def _levels(x: Array, scale: Array, zero: Array, low: int, high: int, dtype: torch.dtype) -> Array:
    """A number that int64 does not hold becomes the least one, as x86 converts it."""
    inverse = np.float32(1) / scale.astype(np.float32)
    level = np.rint(x.astype(np.float32) * inverse) + zero.astype(np.int32).astype(np.float32)
    held = np.abs(level) < _FROM_FLOAT
    whole = np.where(held, np.where(held, level, 0).astype(np.int64), np.iinfo(np.int64).min)
    return np.clip(whole, low, high).astype(numpy_type(dtype))


def _per_tensor(x: Array, scale: Any, zero: Any, low: int, high: int, dtype: torch.dtype) -> Sequence[Array]:
    return (_levels(x, np.float64(np.asarray(scale).item()), np.asarray(zero), low, high, dtype),)


def _along(values: Array, axis: int, rank: int) -> Array:
    shape = [1] * rank
    shape[axis] = -1
    return values.reshape(shape)


def _per_channel(
    x: Array, scales: Array, zeros: Array, axis: int, low: int, high: int, dtype: torch.dtype
) -> Sequence[Array]:
    spread = (_along(values, axis, x.ndim) for values in (scales, zeros))
    return (_levels(x, *spread, low, high, dtype),)


def _per_token(
    x: Array, scales: Array, zeros: Array, low: int, high: int, dtype: torch.dtype
) -> Sequence[Array]:
    return (_levels(x, scales, zeros, low, high, dtype),)


def _restored_per_tensor(
    q: Array, scale: Any, zero: Any, low: int, high: int, dtype: torch.dtype
) -> Sequence[Array]:
    shifted = q.astype(np.int32) - np.asarray(zero).astype(np.int32)
    return (shifted.astype(np.float32) * np.float32(np.asarray(scale).item()),)


def _restored_per_channel(
    q: Array, scales: Array, zeros: Array | None, axis: int, low: int, high: int, dtype: torch.dtype
) -> Sequence[Array]:
    shifted = q.astype(np.int64) - (0 if zeros is None else _along(zeros, axis, q.ndim))
    return (shifted.astype(np.float32) * _along(scales, axis, q.ndim).astype(np.float32),)


def _restored_per_token(
    q: Array, scales: Array, zeros: Array, low: int, high: int, dtype: torch.dtype, out: torch.dtype
) -> Sequence[Array]:
    return ((q.astype(np.int64) - zeros).astype(np.float32) * scales.astype(np.float32),)


def _choose(x: Array, low: int, high: int) -> tuple[float, int]:
    least, most = np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))
    scale = (float(most) - float(least)) / (high - low)
    with np.errstate(over="ignore", divide="ignore"):
        if np.float32(scale) == 0 or np.isinf(np.float32(1) / np.float32(scale)):
            scale = 0.1
    if scale < _LEAST_SCALE:
        given, scale = np.float32(scale), float(_LEAST_SCALE)
        if least == 0:
            most = _LEAST_SCALE * np.float32(high - low)
        elif most == 0:
            least = -_LEAST_SCALE * np.float32(high - low)
        else:
            factor = _LEAST_SCALE / given
            least, most = least * factor, most * factor
    below, above = float(least) / scale, float(most) / scale
    from_least = abs(low) - abs(below) < abs(high) - abs(above)
    zero = low - below if from_least else high - above
    return scale, round(min(max(zero, low), high))


def _choice(x: Array, low: int, high: int, eps: float, dtype: torch.dtype) -> Sequence[Array]:
    scale, zero = _choose(x, low, high)
    return np.array([scale]), np.array([zero])


def _choices(x: Array, dtype: torch.dtype) -> Sequence[Array]:
    found = [_choose(row, -128, 127) for row in x.reshape(-1, x.shape[-1])]
    shape = (*x.shape[:-1], 1)
    return tuple(np.array(values).reshape(shape) for values in zip(*found, strict=True))


def _embedded(bits: int) -> Model:
    def model(
        weight: Array,
        scales: Array,
        zeros: Array | None,
        low: int,
        high: int,
        indices: Array,
        dtype: torch.dtype | None = None,
    ) -> Sequence[Array]:
        parts = [(weight.view(np.uint8) >> (bits * part)) & ((1 << bits) - 1) for part in range(8 // bits)]
        if bits == 4:
            parts.reverse()
        numbers = weight
        if bits < 8:
            numbers = np.stack(parts, -1).reshape(weight.shape[0], -1).astype(np.int32) - (1 << (bits - 1))
        count = 1 if scales.ndim == 1 else scales.shape[1]
        groups = numbers.astype(np.float32).reshape(len(weight), count, -1)
        spread = (*groups.shape[:2], 1)
        if zeros is not None:
            groups = groups - zeros.astype(np.float32).reshape(spread)
        rows = (groups * scales.astype(np.float32).reshape(spread)).reshape(len(weight), -1)
        return (rows[indices].astype(scales.dtype if dtype is None else numpy_type(dtype)),)

    return model


_EXTREMES = (
    "a level that int64 does not hold, of NaN, infinities and large numbers, is the lower limit",
    "0 for NaN, the nearer limit for others",
)
_ONE_STEP = (
    "rounds the zero point's difference to float32 before it multiplies",
    "multiplies in the type that its promotion gives integers and scales",
)
_IN_SINGLE = (
    "rounds scales to float32",
    "multiplies in the type of the scales",
)
_SMALL = (
    "scales below 6.1e-5 become 6.1e-5, and 0 becomes 0.1, whatever `eps` is; zero points are computed in float64 "
    "from the end of the range with the smaller error",
    "the scale is at least `eps`, and the zero point computed from the lower end in float32",
)
_PRECISE = (
    "computes in float32 and rounds to the result's type once",
    "executorch's own definition of the operator in Python rounds to the type of the scales after each step",
)

DIFFERENCES: dict[str, Difference] = {
    "quantize_per_tensor": Difference(*_EXTREMES, _per_tensor),
    "quantize_per_tensor.tensor": Difference(*_EXTREMES, _per_tensor),
    "quantize_per_channel": Difference(*_EXTREMES, _per_channel),
    "quantize_per_token": Difference(
        f"rounds before it adds the zero point; {_EXTREMES[0]}",
        f"rounds the sum; {_EXTREMES[1]}",
        _per_token,
    ),
    "dequantize_per_tensor": Difference(
        "subtracts the zero point in int32, which wraps", "subtracts in float32", _restored_per_tensor
    ),
    "dequantize_per_tensor.tensor": Difference(
        "subtracts the zero point in int32, which wraps", "subtracts in float32", _restored_per_tensor
    ),
    "dequantize_per_channel": Difference(*_ONE_STEP, _restored_per_channel),
    "dequantize_per_token": Difference(*_IN_SINGLE, _restored_per_token),
    "choose_qparams.tensor": Difference(*_SMALL, _choice),
    "choose_qparams_per_token_asymmetric": Difference(*_SMALL, _choices),
} | {
    f"{name}{suffix}": Difference(*_PRECISE, _embedded(bits))
    for name, bits in (("embedding_byte", 8), ("embedding_4bit", 4), ("embedding_2bit", 2))
    for suffix in ("", ".dtype")
}
"""By operator. What is not here is equal to the bit."""
