"""Constants of delegates, as a backend package tells them of its blobs."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["TORCH", "DelegateConstant"]

TORCH: Final = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""Names of torch for element types that blobs call otherwise."""


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
