"""Programs of numbers at the ends of their types, and beyond.

Eager converts floats that an integer type does not hold as processors of x86 do, to the least integer of 32 or 64 bits,
whose low bits narrower types keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from xnnpack_programs import Program

__all__ = ["PROGRAMS"]

FLOATS: Final = (nan, inf, -inf, 0.0, -0.0, 0.9, -0.9, 2.5, -300.0, 300.0, 7e4, 3e9, -3e9, 1e19, -1e19)
INTEGERS: Final = {
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
}
BOUNDS: Final = (nan, inf, -inf, 0.5, None)
NUMBERS: Final = (300, -1, 256, -300, 70000, 2.5, -0.5, 300.5, nan, inf)
SHIFTS: Final = (0, 1, 7, 8, 31, 32, 63, 64, 256, 300, -1)
ELU: Final = (
    (inf, 1.0, 1.0),
    (1.0, inf, 1.0),
    (1.0, 1.0, inf),
    (nan, 1.0, 1.0),
    (0.0, 1.0, -1.0),
    (2.0, 0.0, inf),
)
"""Factors: of what is below 0, of all, and within the exponential."""
COMPARISONS: Final = (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)

_Made = tuple[nn.Module, tuple[Tensor, ...]]


def _floats() -> Tensor:
    """More than a vector, and a rest."""
    return torch.tensor(FLOATS).repeat(3)


def _integers(dtype: torch.dtype) -> Tensor:
    limits = torch.iinfo(dtype)
    return torch.tensor([limits.min, limits.max, 0, 1, 5, 44, 100]).repeat(3)[:-1].to(dtype)


def _converted(dtype: torch.dtype) -> _Made:
    return Program(lambda x: x.to(dtype)), (_floats(),)


def _converted_behind(dtype: torch.dtype) -> _Made:
    return Program(lambda x: (x * 2).to(dtype) + 1), (_floats(),)


def _clamped(low: float | None, high: float | None) -> _Made:
    return Program(lambda x: x.clamp(low, high) + 0), (_floats(),)


def _clamped_by_tensors() -> _Made:
    low, high = torch.tensor([nan, 0.5, -inf]), torch.tensor([1.0, nan, 0.25])
    return Program(lambda x, low, high: x[:, None].clamp(low, high)), (_floats(), low, high)


def _bounded() -> _Made:
    return Program(lambda x: (F.hardtanh(x, -1.5, inf), F.relu6(x), F.relu(x))), (_floats(),)


def _compared(dtype: torch.dtype) -> _Made:
    def run(x: Tensor) -> tuple[Tensor, ...]:
        return tuple(compare(x, number) for compare in COMPARISONS for number in NUMBERS)

    return Program(run), (_integers(dtype),)


def _clamped_integers(dtype: torch.dtype) -> _Made:
    def run(x: Tensor) -> tuple[Tensor, ...]:
        return tuple(x.clamp(low, high) for low, high in ((3, 50), (0, None), (None, 100), (50, 3)))

    return Program(run), (_integers(dtype),)


def _shifted(dtype: torch.dtype) -> _Made:
    def run(x: Tensor) -> tuple[Tensor, ...]:
        return tuple(found for count in SHIFTS for found in (x << count, x >> count))

    return Program(run), (_integers(dtype),)


def _shifted_by_tensors(dtype: torch.dtype) -> _Made:
    counts = torch.tensor(
        [count for count in SHIFTS if torch.iinfo(dtype).min <= count <= torch.iinfo(dtype).max]
    )
    return Program(lambda x, by: (x[:, None] << by, x[:, None] >> by)), (_integers(dtype), counts.to(dtype))


def _elu(alpha: float, scale: float, input_scale: float) -> _Made:
    return Program(lambda x: torch.ops.aten.elu(x, alpha, scale, input_scale)), (_floats(),)


def _leaky(slope: float) -> _Made:
    return Program(lambda x: F.leaky_relu(x, slope)), (_floats(),)


def _sampled(mode: str, padding: str, corners: bool) -> _Made:
    def run(x: Tensor, grid: Tensor) -> Tensor:
        return F.grid_sample(x, grid, mode, padding, corners)

    far = torch.tensor([1e10, -1e10, 1e5, -3e7, 2.5, -1.0, 0.3, 1e20, -1e30, inf, -inf, nan])
    grid = torch.stack([far, far.flip(0)], -1).reshape(1, 3, 4, 2)
    return Program(run), (torch.arange(35.0).reshape(1, 1, 5, 7), grid)


def _of_two_numbers() -> _Made:
    """The larger and the smaller, and their signs: the first of two zeros."""
    first, second = torch.cartesian_prod(*2 * [torch.tensor(FLOATS)]).unbind(1)

    def signed(x: Tensor, y: Tensor) -> list[Tensor]:
        found = [torch.fmax(x, y), torch.fmin(x, y)]
        # Nothing says which sign a NaN has.
        return [*found, *(torch.signbit(one) & ~one.isnan() for one in found)]

    return Program(signed), (first.contiguous(), second.contiguous())


def _programs() -> Iterator[tuple[str, Callable[[], _Made]]]:
    for name, dtype in INTEGERS.items():
        yield f"floats as {name}", partial(_converted, dtype)
        yield f"computed floats as {name}", partial(_converted_behind, dtype)
        yield f"{name} compared", partial(_compared, dtype)
        yield f"{name} clamped", partial(_clamped_integers, dtype)
        yield f"{name} shifted", partial(_shifted, dtype)
        yield f"{name} shifted by tensors", partial(_shifted_by_tensors, dtype)
    for low in BOUNDS:
        for high in BOUNDS:
            if (low, high) != (None, None):
                yield f"clamp from {low} to {high}", partial(_clamped, low, high)
    yield "clamp by tensors", _clamped_by_tensors
    yield "clamp of activations", _bounded
    yield "numbers of two", _of_two_numbers
    for alpha, scale, input_scale in ELU:
        yield f"elu of {alpha}, {scale}, {input_scale}", partial(_elu, alpha, scale, input_scale)
    for slope in (inf, -inf, nan, 0.0):
        yield f"leaky_relu of {slope}", partial(_leaky, slope)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                kind = ", corners" if corners else ""
                yield f"grid_sample {mode}, {padding}{kind}", partial(_sampled, mode, padding, corners)


PROGRAMS: Final = dict(_programs())
"""By name: a module and its inputs."""
