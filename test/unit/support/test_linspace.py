"""Exact integers between two ends."""

import torch
from support.linspace import integers_between


def test_whole_numbers_met_from_below() -> None:
    """With one rounding 28560 - 88 * 31347 / 99, which is 696, is met from below."""
    found = integers_between(28560, -2787, 100, torch.int32)
    assert found[87:90].tolist() == [1012, 695, 379]
    true = torch.linspace(28560, -2787, 100, dtype=torch.float64)
    assert (found - true).abs().max() <= 1


def test_ends() -> None:
    assert integers_between(4.3, -3, 2, torch.uint8).tolist() == [4, 253]
    assert integers_between(7.9, 9, 1, torch.int64).tolist() == [7]
    assert integers_between(7.9, 9, 0, torch.int64).tolist() == []
