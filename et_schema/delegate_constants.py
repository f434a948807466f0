"""Constants of delegates, as a backend package tells them of its blobs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DelegateConstant"]


class DelegateConstant(NamedTuple):
    """A constant of a blob, in the blob itself or among the named data of the program."""

    dtype: str
    """torch's name of the element type, the blob's name for one that torch lacks, or `bytes` where it has none."""
    shape: list[int]
    """Sizes, or the number of bytes."""
    nbytes: int
    """Bytes of all elements."""
    key: str = ""
    """Of the named data that has the elements."""
    data: memoryview | None = None
    """The elements, which may have padding behind them; `None` where they are outside of the file."""
    name: str = ""
    """The name that the blob has for it."""
