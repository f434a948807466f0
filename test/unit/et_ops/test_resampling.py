"""Which positions the nearest neighbors have, against torch."""

from __future__ import annotations

import pytest
import torch

from et_ops.resampling import goes_by_sizes, nearest_factor


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("height", [4, 119, 120])
def test_small_images_and_those_with_channels_last_go_by_sizes(
    channels: int, last: bool, height: int
) -> None:
    order = torch.channels_last if last else torch.contiguous_format
    image = torch.arange(9.0).expand(1, channels, height, 9).contiguous(memory_format=order)
    resized = torch.ops.aten.upsample_nearest2d(image, [height, 9], None, 1.1)
    assert goes_by_sizes(channels, [height, 9], is_channels_last=last) == torch.equal(resized, image)


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("last", [False, True])
def test_volumes_with_channels_last_go_by_sizes(channels: int, last: bool) -> None:
    order = torch.channels_last_3d if last else torch.contiguous_format
    volume = torch.arange(9.0).expand(1, channels, 2, 2, 9).contiguous(memory_format=order)
    resized = torch.ops.aten.upsample_nearest3d(volume, [2, 2, 9], None, None, 1.1)
    assert goes_by_sizes(channels, [2, 2, 9], is_channels_last=last) == torch.equal(resized, volume)


def test_signals_go_by_factors() -> None:
    signal = torch.arange(9.0).expand(1, 4, 9)
    assert not torch.equal(torch.ops.aten.upsample_nearest1d(signal, [9], 1.1), signal)
    assert not goes_by_sizes(4, [9])


def test_factors_of_sizes_that_are_kept_or_doubled() -> None:
    assert nearest_factor(5, 5, 1.1, by_sizes=True) is None
    assert nearest_factor(5, 10, 2.1, by_sizes=True) is None
    assert nearest_factor(5, 11, 2.2, by_sizes=True) == 2.2
    assert nearest_factor(5, 5, 1.1, by_sizes=False) == 1.1
