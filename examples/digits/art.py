"""Digits as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BLOCKS = " ░▒▓█"
ASCII = " .+%@"


def draw(image: NDArray[np.float32], shades: str = BLOCKS) -> list[str]:
    """Lines of text for an image `[H, W]` in [0, 1]; pixels are two characters wide, so about square."""
    levels = np.rint(image * (len(shades) - 1)).astype(int).clip(0, len(shades) - 1)
    return ["".join(shades[level] * 2 for level in row) for row in levels]


def beside(pictures: Sequence[Sequence[str]], captions: Sequence[str], gap: str = "  ") -> list[str]:
    """The pictures in one row, each over its caption."""
    width = len(pictures[0][0])
    rows = [gap.join(parts).rstrip() for parts in zip(*pictures, strict=True)]
    return [*rows, gap.join(caption.center(width) for caption in captions).rstrip()]
