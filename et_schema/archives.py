"""Zip archives that others have written."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Final

__all__ = ["DAMAGE", "check_members"]

DAMAGE: Final = (
    *(ValueError, TypeError, AttributeError, LookupError, ArithmeticError, EOFError, RuntimeError, OSError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""Exceptions of opening and reading a damaged archive, OSError for places before its first byte, or JSON of another
shape in it. RuntimeError has NotImplementedError.
"""

_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_EXPANSION: Final = 100
"""Bytes of members for each byte of the file, at most: deflate reaches 1,000, on data of use a tenth of this."""
_SMALL: Final = 1 << 24
"""Bytes of members that any file may have."""


def check_members(members: Sequence[zipfile.ZipInfo], nbytes: int) -> None:
    """Raises ValueError for an archive that takes much more memory or time to read than its size suggests."""
    if any(one.compress_type not in _COMPRESSIONS for one in members):
        raise ValueError("a member is compressed by another method than deflate")
    if len({one.filename for one in members}) < len(members):
        raise ValueError("two members have one name")
    # A member is read up to the size that it declares.
    expanded, most = sum(one.file_size for one in members), max(_SMALL, _EXPANSION * nbytes)
    if expanded > most:
        raise ValueError(f"members of {expanded:,} bytes in a file of {nbytes:,}; at most {most:,} are read")
