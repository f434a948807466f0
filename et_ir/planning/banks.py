"""Memory banks of a machine, as options give them: fast and small ones before slow and large ones.

    sram:id=1,size=256K,speed=8;dram:id=2

A bank has a name, the number of its arena in a file (`id`), and may have a `size` in bytes, with K, M or G for powers
of 1024, and a `speed`: how many bytes move in the time in which one does in a bank of speed 1. Without any speeds each
bank is twice as fast as the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from et_schema.whole_numbers import shortened

__all__ = ["Bank", "BankError", "parse_banks", "parse_size"]

UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class BankError(ValueError):
    """A text that describes no banks; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Bank:
    """A memory of `capacity` bytes, or as many as it takes, whose arena has the number `memory_id`."""

    name: str
    memory_id: int
    capacity: int | None = None
    speed: float = 1.0


def parse_banks(text: str) -> tuple[Bank, ...]:
    """The banks of a text, as they are written there. Raises `BankError`."""
    banks: list[Bank] = []
    parts = [part.strip() for part in text.split(";") if part.strip()]
    timed = 0
    for at, part in enumerate(parts):
        name, _, described = part.partition(":")
        name = name.strip()
        if re.fullmatch(r"\w+", name) is None:
            raise BankError(f"{part!r} has no name: expected for example sram:id=1,size=256K")
        if not described.strip():
            raise BankError(f"{name!r} has no id: expected for example sram:id=1,size=256K")
        options: dict[str, str] = {}
        for option in described.split(","):
            key, equals, value = (piece.strip() for piece in option.partition("="))
            if key not in ("id", "size", "speed") or not equals or key in options:
                raise BankError(f"{name}: {option!r} is not id=N, size=BYTES or speed=X, or is repeated")
            options[key] = value
        number = options.get("id")
        if number is None:
            raise BankError(
                f"{name} has no id, the number of its arena: expected for example {name}:id={at + 1},{described}"
            )
        if not re.fullmatch(r"[0-9]{1,4}", number) or int(number) < 1:
            raise BankError(f"{name}: id={shortened(number)} is not a memory id: expected 1 to 9999")
        size = options.get("size")
        banks.append(
            Bank(
                name,
                int(number),
                None if size is None else parse_size(size),
                _speed(name, options["speed"]) if "speed" in options else 2.0 ** (len(parts) - 1 - at),
            )
        )
        timed += "speed" in options
    if timed not in (0, len(banks)):
        raise BankError("either all banks have a speed or none")
    if not banks:
        raise BankError("no bank given: expected for example sram:id=1,size=256K;dram:id=2")
    for what, values in (("name", [b.name for b in banks]), ("id", [str(b.memory_id) for b in banks])):
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise BankError(f"two banks have the {what} {twice}")
    return tuple(banks)


def parse_size(text: str) -> int:
    """Bytes, as in `4096`, `256K` or `1M`. Raises `BankError`."""
    match = re.fullmatch(r"([0-9]{1,19})([KMG]?)(i?B)?", text)
    if match is None or int(match[1]) * UNITS[match[2]] >= 1 << 63:
        raise BankError(f"{shortened(text)!r} is not a size such as 4096, 256K or 1M")
    return int(match[1]) * UNITS[match[2]]


def _speed(name: str, text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e12:
        raise BankError(f"{name}: speed={text} is not a positive number")
    return speed
