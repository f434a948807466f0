"""Concatenations of channels that convolutions copy into their border, against torch."""

from __future__ import annotations

import pytest
import torch
from native_modules import SETS, check, compiled
from torch import nn

from et_backends.native.format import read_native
from et_schema.pte import read_pte


class Joined(nn.Module):
    """A convolution of a concatenation, to which the first image is added if it has as many channels."""

    def __init__(self, channels: list[int], columns: int, size: int, stride: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(sum(channels), columns, size, stride, size // 2)

    def forward(self, *images: torch.Tensor) -> torch.Tensor:
        result = torch.relu(self.convolution(torch.cat(images, 1)))
        return result + images[0] if result.shape == images[0].shape else result


class Twice(nn.Module):
    """One image twice in a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(40, 16, 3, padding=1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.convolution(torch.cat([image, image], -3))


CASES = {
    "direct": ([3, 5], 9, 3, 2, (2, 7, 6)),
    "large-filters": ([16, 33, 1], 20, 5, 1, (1, 6, 9)),
    "winograd": ([16, 24], 32, 3, 1, (1, 14, 15)),
    "added": ([32, 17], 32, 3, 1, (2, 9, 8)),
}
"""Channels before and after, filter, step; images and their sizes."""


@pytest.mark.parametrize("name", CASES)
def test_result(name: str) -> None:
    channels, columns, size, stride, (images, *pixels) = CASES[name]
    torch.manual_seed(0)
    module = Joined(channels, columns, size, stride).eval()
    check(module, *(torch.randn(images, some, *pixels) for some in channels))


def test_one_image_twice() -> None:
    torch.manual_seed(0)
    check(Twice().eval(), torch.randn(1, 20, 6, 7))


def test_copies() -> None:
    """What is concatenated is copied once, into the border: the concatenation has no memory of its own."""
    images = [torch.randn(1, 16, 8, 8).to(memory_format=torch.channels_last) for _ in range(2)]
    pte = read_pte(memoryview(compiled(Joined([16, 16], 8, 3, 2).eval(), tuple(images), SETS[0])))
    (plan,) = pte.program.execution_plan
    (delegate,) = plan.delegates
    assert delegate.processed is not None
    native = read_native(pte.delegate_data(delegate.processed))
    symbols = [one.name for one in native.objects[0].kernels]
    assert symbols[:4] == ["border_0", "cat_0", "cat_0", "convolution_0"]
    border, result = 32 * 9 * 9, 8 * 4 * 4
    assert native.arena_size <= 4 * (border + result) + 64
