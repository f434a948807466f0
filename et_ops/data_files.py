"""Data files of packages: tables, styles and scripts."""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["text_of"]

_GZIP = 16 + zlib.MAX_WBITS
"""The argument of `zlib.decompress` for the format of gzip, whose own module takes long to import."""


def text_of(path: Path) -> str:
    """The text of a data file, in UTF-8, which the distribution `et-vm` has compressed, as `NAME.gz`.

    Raises:
        FileNotFoundError: There is neither of the two.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return zlib.decompress(path.with_name(f"{path.name}.gz").read_bytes(), _GZIP).decode()
