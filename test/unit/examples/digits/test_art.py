"""Digits as text."""

from __future__ import annotations

import numpy as np

from examples.digits.art import ASCII, beside, draw


def test_shades() -> None:
    image = np.array([[0.0, 0.25], [0.5, 1.0]], np.float32)
    assert draw(image) == ["  ░░", "▒▒██"]
    assert draw(image, ASCII) == ["  ..", "++@@"]


def test_out_of_range_is_clipped() -> None:
    assert draw(np.array([[-1.0, 2.0]], np.float32)) == ["  ██"]


def test_captions_stand_under_their_pictures() -> None:
    assert beside([["████"], ["░░░░"]], ["7", "3"]) == ["████  ░░░░", " 7     3"]
