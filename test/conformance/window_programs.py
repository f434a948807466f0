"""Pools with every rule that says which elements of a window count and what their sum is divided by, and transposed
convolutions with every output padding.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["CASES", "WINDOWS", "Window", "averages"]

Case = Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]
Window = tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]
"""Kernel, stride, padding, and height and width of the image."""

WINDOWS: Final[dict[str, Window]] = {
    "overlapping": ((3, 3), (1, 1), (1, 1), (6, 6)),
    "strided": ((3, 3), (2, 2), (1, 1), (8, 9)),
    "side_by_side": ((2, 2), (2, 2), (0, 0), (7, 8)),
    "padded_in_height": ((3, 2), (2, 1), (1, 0), (6, 5)),
    "wide": ((5, 4), (2, 3), (2, 2), (9, 9)),
    "rows": ((1, 3), (1, 2), (0, 1), (1, 9)),
    "whole_image": ((5, 5), (5, 5), (0, 0), (5, 5)),
    "stride_beyond_window": ((2, 2), (3, 3), (1, 1), (8, 7)),
}


class Several(nn.Module):
    """Several functions, or layers, of one image."""

    def __init__(self, functions: Sequence[Callable[[Tensor], Tensor]]) -> None:
        super().__init__()
        self.functions = functions
        self.layers = nn.ModuleList([one for one in functions if isinstance(one, nn.Module)])

    def forward(self, x: Tensor) -> list[Tensor]:
        return [function(x) for function in self.functions]


def averages(window: Window) -> list[Callable[[Tensor], Tensor]]:
    """Average pools by all rules: whether padding counts, whether the last windows may lie beyond the image, and what
    the sum is divided by: the number of elements, the size of the window, or another number.
    """
    kernel, stride, padding, _ = window
    divisors = (None, kernel[0] * kernel[1], 3)
    return [
        lambda x, ceil=ceil, counts=counts, divisor=divisor: F.avg_pool2d(
            x, kernel, stride, padding, ceil, counts, divisor
        )
        for ceil, counts, divisor in itertools.product((False, True), (False, True), divisors)
    ]


def maxima(window: Window) -> list[Callable[[Tensor], Tensor]]:
    """Maximum pools whose last windows may lie beyond the image."""
    kernel, stride, padding, _ = window
    return [lambda x, ceil=ceil: F.max_pool2d(x, kernel, stride, padding, 1, ceil) for ceil in (False, True)]


def _case(window: Window, build: Callable[[Window], list[Callable[[Tensor], Tensor]]]) -> Case:
    x = torch.randn(2, 4, *window[3], generator=torch.Generator().manual_seed(3))
    # Far from zero, so that one element more or less in a divisor shows.
    return lambda: (Several(build(window)), (x + 5,))


def _larger() -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Pools to one element whose windows are larger than the image, as in networks for images of any size."""
    layers = [
        nn.AvgPool2d(640, ceil_mode=True),
        nn.AvgPool2d((9, 640), ceil_mode=True, padding=(2, 3)),
        nn.AvgPool2d((9, 640), ceil_mode=True, padding=(2, 3), count_include_pad=False),
        nn.MaxPool2d((64, 9), ceil_mode=True, padding=(3, 2)),
    ]
    return Several(layers), (torch.randn(1, 4, 7, 6, generator=torch.Generator().manual_seed(3)) + 5,)


def _transposed(kernel: int, strides: tuple[int, int], dilations: tuple[int, int], groups: int = 1) -> Case:
    """With all output paddings that torch takes: each less than the stride or the dilation."""
    most = [max(pair) for pair in zip(strides, dilations, strict=True)]

    def case() -> tuple[nn.Module, tuple[Tensor, ...]]:
        layers = [
            nn.ConvTranspose2d(4, 2 * groups, kernel, strides, 1, added, groups, dilation=dilations)
            for added in itertools.product(*map(range, most))
        ]
        return Several(layers), (torch.randn(1, 4, 5, 4, generator=torch.Generator().manual_seed(3)),)

    return case


CASES: Final[dict[str, Case]] = {
    f"{kind}, {name}": _case(window, build)
    for kind, build in (("average", averages), ("maximum", maxima))
    for name, window in WINDOWS.items()
} | {
    "larger than the image": _larger,
    "transposed, strided": _transposed(3, (2, 3), (1, 1)),
    "transposed, dilated": _transposed(2, (1, 2), (3, 2)),
    "transposed, groups": _transposed(3, (2, 1), (1, 2), 2),
}
