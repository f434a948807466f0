"""Whole numbers in text that users write: options, seeds, sizes."""

from __future__ import annotations

from typing import Final

__all__ = ["MAX_WHOLE_NUMBER", "shortened", "whole_number"]

MAX_WHOLE_NUMBER: Final = (1 << 63) - 1
"""The largest number that the files and the runtime have a type for."""
_SHOWN: Final = 40


def whole_number(text: str) -> int | None:
    """The number that decimal digits denote, from 0 to `MAX_WHOLE_NUMBER`; None for any other text."""
    if not (text.isascii() and text.isdecimal()) or len(text.lstrip("0")) > len(str(MAX_WHOLE_NUMBER)):
        return None
    number = int(text.lstrip("0") or "0")
    return number if number <= MAX_WHOLE_NUMBER else None


def shortened(text: str) -> str:
    """Text for a message: of a long one, the beginning."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
