"""Digests of external data, which tie a program and its data files.

A program whose constants are in data files (`.ptd`) has the SHA-256 digest of each, and so has the data file: a program
and a data file of two compilations are noticed when they are loaded, without reading the data. Both are named data that
other runtimes leave alone: JSON, by name of the data.

    {"fc.weight": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}

A data file's entry has the name of the file in its key (`key_in`): runtimes put the named data of several files into
one map, in which no key may occur twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from et_schema.errors import Error, InvalidFile
from et_schema.wording import worded

if TYPE_CHECKING:
    from et_schema.pte import PteFile

__all__ = ["KEY", "Digests", "check", "decode", "digests_of", "encode", "is_key", "key_in"]

KEY: Final = "et_ir.digests"
"""The named data of a program that holds the digests of its external data."""

Digests: TypeAlias = Mapping[str, str]
"""By name of the data, the SHA-256 digest in hexadecimal digits."""

_DIGEST: Final = re.compile("[0-9a-f]{64}")


def key_in(file: str) -> str:
    """The named data of the data file `file` that holds the digests of what is in it."""
    return f"{KEY}:{file}"


def is_key(key: str) -> bool:
    """Whether named data of a data file holds digests."""
    return key.startswith(f"{KEY}:")


def encode(digests: Digests) -> bytes:
    """The named data for digests."""
    return json.dumps(dict(sorted(digests.items())), ensure_ascii=False, separators=(",", ":")).encode()


def decode(data: bytes | memoryview) -> dict[str, str]:
    """The digests by name. Raises `ValueError` for what `encode` cannot have written."""
    try:
        table: Any = json.loads(bytes(data).decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(table, dict):
        raise ValueError("expected an object with a digest for each name")
    for name, digest in cast("dict[str, Any]", table).items():
        name.encode()  # JSON can spell halves of surrogate pairs, which nothing can print
        if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
            raise ValueError(f"{name!r}: expected 64 hexadecimal digits")
    return cast("dict[str, str]", table)


def digests_of(pte: PteFile) -> dict[str, str]:
    """The digests of a program's external data, none if the file does not have them. Raises `InvalidFile`."""
    for index, entry in enumerate(pte.program.named_data):
        if entry.key == KEY and id(entry) not in pte.malformed:
            try:
                return decode(pte.segments[entry.segment_index])
            except ValueError as error:
                raise InvalidFile(f"digests: {error}", where=f"named_data[{index}]") from None
    return {}


def check(program: Digests, files: Digests, sources: Mapping[str, str]) -> None:
    """Raise `InvalidFile(InvalidExternalData)` for data whose digest differs between a program and its data files;
    `sources` are the files by name of the data. Data that only one of them has a digest of passes.
    """
    for name, digest in program.items():
        if files.get(name, digest) != digest:
            raise InvalidFile(
                f"the data of {name!r} is not what the program was compiled with",
                code=Error.InvalidExternalData,
                where=sources[name],
                hint="use the data file that was written with the program; to use other data on purpose, give "
                + worded(python="any_data=True", command="--any-data"),
            )
