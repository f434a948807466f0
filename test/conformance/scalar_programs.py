"""Operators on a tensor and a Python number, or a tensor of rank 0: element types and numbers that these do not hold
exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["PROGRAMS"]

Number = int | float
Function = Callable[[Tensor, Any], Any]

NUMBERS: Final[Sequence[Number]] = (0.3, 1.1, -2.7, 257.5, 3, -1, 257)
"""Some are no 16-bit floats, some are those of no 8-bit integer."""

TYPES: Final = {
    "halves": (torch.bfloat16, torch.float16),
    "floats": (torch.float32, torch.float64),
    "integers": (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool),
}

OPERATORS: Final[dict[str, Function]] = {
    "add": lambda x, c: x + c,
    "add scaled": lambda x, c: torch.add(x, c, alpha=3),
    "add scaled by it": lambda x, c: torch.add(x, x, alpha=c),
    "sub": lambda x, c: x - c,
    "rsub": lambda x, c: c - x,
    "mul": lambda x, c: x * c,
    "div": lambda x, c: x / c,
    "rdiv": lambda x, c: c / x,
    "div trunc": lambda x, c: torch.div(x, c, rounding_mode="trunc"),
    "div floor": lambda x, c: torch.div(x, c, rounding_mode="floor"),
    "floor_divide": lambda x, c: x // c,
    "remainder": lambda x, c: x % c,
    "rremainder": lambda x, c: torch.remainder(c, x),
    "fmod": torch.fmod,
    "pow": lambda x, c: (
        x.abs() ** (2 if c == 3 else c)
    ),  # kernels multiply cubes of 16-bit floats in several ways
    "rpow": lambda x, c: abs(c) ** (x % 4),
    "eq": lambda x, c: x == c,
    "ne": lambda x, c: x != c,
    "lt": lambda x, c: x < c,
    "le": lambda x, c: x <= c,
    "gt": lambda x, c: x > c,
    "ge": lambda x, c: x >= c,
    "clamp_min": lambda x, c: x.clamp(min=c),
    "clamp_max": lambda x, c: x.clamp(max=c),
    "clamp": lambda x, c: x.clamp(-abs(c), abs(c)),
    "where": lambda x, c: torch.where(x > 0, x, c),
    "where not": lambda x, c: torch.where(x > 0, c, x),
    "masked_fill": lambda x, c: x.masked_fill(x > 0, c),
    "addcmul": lambda x, c: torch.addcmul(x, x, x, value=c),
    "addcdiv": lambda x, c: torch.addcdiv(x, x, x.abs() + 1, value=c),
    "lerp": lambda x, c: torch.lerp(x, x + 1, c),
    "hardtanh": lambda x, c: F.hardtanh(x, -abs(c), abs(c)),
    "leaky_relu": lambda x, c: F.leaky_relu(x, c),
    "threshold": lambda x, c: F.threshold(x, c, c),
    "hardshrink": lambda x, c: F.hardshrink(x, abs(c)),
    "softshrink": lambda x, c: F.softshrink(x, abs(c)),
    "copysign": torch.copysign,
    "bitwise_and": lambda x, c: x & c,
    "bitwise_or": lambda x, c: x | c,
    "bitwise_xor": lambda x, c: x ^ c,
    "number without dimensions": lambda x, c: (
        x + torch.tensor(c),
        x == torch.tensor(c),
        x % torch.tensor(c),
    ),
}
"""By name, of a tensor and a number."""

OF_NUMBERS_ONLY: Final = frozenset(
    {
        *("add scaled by it", "hardtanh", "leaky_relu", "threshold", "hardshrink", "softshrink"),
        *("addcmul", "addcdiv", "number without dimensions"),
    }
)
"""Operators whose number is an attribute, or made a tensor."""
OF_TENSORS: Final[dict[str, Function]] = {
    **{name: function for name, function in OPERATORS.items() if name not in OF_NUMBERS_ONLY},
    "pow": lambda x, c: (
        x.abs() ** (c % 3)
    ),  # stock computes powers in floats: integers beyond 64 bits do not wrap
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "logical_xor": torch.logical_xor,
    "addcmul of it": lambda x, c: (torch.addcmul(x, x, c), torch.addcmul(x, c, x), torch.addcmul(c, x, x)),
    "addcdiv of it": lambda x, c: (
        torch.addcdiv(x, x, c),
        torch.addcdiv(x, c, x.abs() + 1),
        torch.addcdiv(c, x, x.abs() + 1),
    ),
    "masked_fill by it": lambda x, c: torch.masked_fill(x, x > 1, c),
    "stack": lambda x, c: torch.stack([x, c.expand(x.shape)]),
    "where of it": lambda x, c: torch.where(x > c, c, x),
}
"""By name, of a tensor and one of rank 0."""
RANK_0: Final = (
    *(
        torch.tensor(0.3, dtype=dtype)
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64)
    ),
    *(torch.tensor(257, dtype=dtype) for dtype in (torch.int16, torch.int64)),
    torch.tensor(3, dtype=torch.uint8),
)


def _tensor(dtype: torch.dtype) -> Tensor:
    """The numbers in this type, multiples of them, and others."""
    if dtype == torch.bool:
        return torch.tensor([True, False, True])
    if not dtype.is_floating_point:
        return torch.tensor([1, 2, 3, 7, 100, 127], dtype=dtype)
    held = torch.tensor(NUMBERS, dtype=torch.float64).to(dtype)
    return torch.cat([held, -held, 3 * held, torch.tensor([0.1, 0.9, 5.5, 12.0]).to(dtype)])


class Calls(nn.Module):
    """An operator on each input with each number that it takes."""

    def __init__(self, function: Function, numbers: Sequence[Sequence[Number]]) -> None:
        super().__init__()
        self.function = function
        self.numbers = numbers

    def forward(self, *inputs: Tensor) -> list[Any]:
        return [
            self.function(x, number)
            for x, numbers in zip(inputs, self.numbers, strict=True)
            for number in numbers
        ]


def _is_taken(function: Function, x: Tensor, number: Number | Tensor) -> bool:
    try:
        function(x, number)
    except (RuntimeError, TypeError):
        return False
    return True


def _program(
    function: Function, dtypes: Sequence[torch.dtype]
) -> Callable[[], tuple[nn.Module, Sequence[Tensor]]]:
    def make() -> tuple[nn.Module, Sequence[Tensor]]:
        inputs = [_tensor(dtype) for dtype in dtypes]
        taken = [[one for one in NUMBERS if _is_taken(function, x, one)] for x in inputs]
        return Calls(function, taken), inputs

    return make


class CallsOfTensors(nn.Module):
    """An operator on each of the first inputs with each of the others that it takes."""

    def __init__(self, function: Function, count: int, pairs: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self.function = function
        self.count = count
        self.pairs = pairs

    def forward(self, *inputs: Tensor) -> list[Any]:
        return [self.function(inputs[one], inputs[self.count + other]) for one, other in self.pairs]


def _program_of_tensors(
    function: Function, dtypes: Sequence[torch.dtype]
) -> Callable[[], tuple[nn.Module, Sequence[Tensor]]]:
    def make() -> tuple[nn.Module, Sequence[Tensor]]:
        inputs = [_tensor(dtype) for dtype in dtypes]
        pairs = [
            (one, other)
            for one, x in enumerate(inputs)
            for other, y in enumerate(RANK_0)
            if x.dtype != y.dtype and _is_taken(function, x, y)
        ]
        return CallsOfTensors(function, len(inputs), pairs), [*inputs, *RANK_0]

    return make


_ROUNDED_TWICE: Final = frozenset({"add scaled", "add scaled by it", "lerp", "softshrink"})
"""Operators that torch's kernels compute for 16-bit floats otherwise in vectors than behind them, or that are
decomposed into several."""

PROGRAMS: Final = {
    f"number, {name}, {kind}": _program(function, dtypes)
    for name, function in OPERATORS.items()
    for kind, dtypes in TYPES.items()
    if not (kind == "halves" and name in _ROUNDED_TWICE)
    and any(_is_taken(function, _tensor(dtype), one) for dtype in dtypes for one in NUMBERS)
} | {
    f"rank 0, {name}, {kind}": _program_of_tensors(function, dtypes)
    for name, function in OF_TENSORS.items()
    for kind, dtypes in TYPES.items()
    if not (kind == "halves" and name in _ROUNDED_TWICE)
    and any(_is_taken(function, _tensor(dtype), one) for dtype in dtypes for one in RANK_0)
}
"""By name: what makes a module and its inputs."""
