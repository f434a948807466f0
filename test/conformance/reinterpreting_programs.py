"""Bitcasts of inputs, constants and computed values between element types of several widths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import torch
from support.programs import Calls
from torch import Tensor, nn
from torch.export import Dim

__all__ = ["OF_RUN_TIME_SIZES", "PROGRAMS", "Sized"]

CONSTANT: Final = torch.tensor([[1.5, -2.0, 0.0, float("inf")]])

SAME_WIDTH: Final[tuple[Callable[[Tensor], Any], ...]] = (
    lambda x: x.view(torch.int32),
    lambda x: x.neg().view(torch.int32),
    lambda x: x.neg().view(torch.int32) + 1,
    lambda x: ((x * 2).view(torch.int32) & 0x7FFFFFFF).view(torch.float32) * 2,
    lambda x: x.half().view(torch.int16) + 1,
    lambda x: x.half().view(torch.bfloat16).view(torch.int16),
    lambda x: x.double().view(torch.int64),
    lambda x: (x > 0).view(torch.uint8) + 1,
    lambda x: CONSTANT.view(torch.int32) + x.view(torch.int32),
    lambda x: x.neg()[1].view(torch.int32),
    lambda x: torch.cat([x.neg().view(torch.int32), x.view(torch.int32)], 1),
    lambda x: x.t().view(torch.int32) + 1,
)
OTHER_WIDTHS: Final[tuple[Callable[[Tensor], Any], ...]] = (
    lambda x: x.view(torch.uint8),
    lambda x: x.neg().view(torch.uint8) + 1,
    lambda x: x.neg().view(torch.int64) + 1,
    lambda x: x.view(torch.int16).view(torch.float32) * 2,
    lambda x: x.mul(2).view(torch.uint8).flip(-1).flip(-1).view(torch.float32) * 2,
    lambda x: x.view(torch.int64).reshape(-1)[1:3].view(torch.int32),
    lambda x: CONSTANT.view(torch.int64) + x.to(torch.int64)[:, :2],
)
RANK_0: Final[tuple[Callable[[Tensor], Any], ...]] = (
    lambda x: x.sum().view(torch.int32),
    lambda x: x[0, 0].view(torch.int32) * 2,
    lambda x: torch.tensor(1.5).view(torch.int32) + x[0, 0].view(torch.int32),
)


def written(x: Tensor) -> Any:
    """Writes to what is shown."""
    y = x.clone()
    bits = y.view(torch.int32)
    bits[0] = 5
    bits += 1
    return y * 2, bits


def both(x: Tensor) -> Any:
    """Values and their bits."""
    y = x.neg()
    return y, y.view(torch.int32), y.view(torch.uint8), y * 2


def sorted_by_bits(x: Tensor) -> Any:
    """The order of floats by their bits as integers of one sign."""
    bits = x.view(torch.int32)
    return torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).sort(-1).indices


def complex_numbers(x: Tensor) -> Any:
    """Pairs of neighbours as complex numbers."""
    numbers = torch.view_as_complex(x.neg().reshape(x.shape[0], -1, 2))
    return numbers.abs(), torch.view_as_real(numbers * numbers)


def laid_out(x: Tensor) -> Any:
    """An image whose channels are last in memory."""
    image = x.reshape(1, 3, 2, 2).contiguous(memory_format=torch.channels_last)
    return image.neg().view(torch.int32) + 1


GROUPS: Final[dict[str, tuple[Callable[[Tensor], Any], ...]]] = {
    "of the same width": SAME_WIDTH,
    "of other widths": OTHER_WIDTHS,
    "of rank 0": RANK_0,
    "written": (written,),
    "beside the values": (both,),
    "sorted": (sorted_by_bits,),
    "with channels last": (laid_out,),
}


def _program(
    functions: Sequence[Callable[[Tensor], Any]],
) -> Callable[[], tuple[nn.Module, Sequence[Tensor]]]:
    return lambda: (Calls(lambda x: tuple(function(x) for function in functions)), [torch.randn(3, 4)])


PROGRAMS: Final = {f"bits {name}": _program(functions) for name, functions in GROUPS.items()}
"""By name: what makes a module and its inputs."""

ROWS: Final = Dim("n", min=1, max=8)
COLUMNS: Final = Dim("m", min=1, max=6)


class Sized(NamedTuple):
    """A function of a tensor of sizes that are known at run time only, and shapes that it takes."""

    function: Callable[[Tensor], Any]
    dims: dict[int, Any]
    shapes: Sequence[tuple[int, ...]]

    def module(self) -> nn.Module:
        return Calls(self.function)

    def inputs(self) -> list[tuple[Tensor]]:
        return [(torch.randn(shape),) for shape in self.shapes]

    @property
    def dynamic_shapes(self) -> Any:
        return ((self.dims,),)


OF_RUN_TIME_SIZES: Final = {
    "bits of rows": Sized(
        lambda x: (x.neg().view(torch.int32) + 1, x.view(torch.uint8), x.neg().view(torch.int64)),
        {0: ROWS},
        [(3, 4), (1, 4), (8, 4)],
    ),
    "bits of columns": Sized(
        lambda x: (
            x.view(torch.int32),
            x.neg().view(torch.uint8) + 1,
            x.view(torch.int16).view(torch.float32),
        ),
        {1: COLUMNS},
        [(2, 3), (2, 1), (2, 6)],
    ),
    "bits of complex numbers": Sized(complex_numbers, {0: ROWS}, [(3, 4), (1, 4), (8, 4)]),
    "bits of rows and columns": Sized(
        lambda x: (x.neg().view(torch.int32), x.view(torch.int64) + 1),
        {0: ROWS, 1: 2 * COLUMNS},
        [(3, 4), (1, 4), (8, 12)],
    ),
}
