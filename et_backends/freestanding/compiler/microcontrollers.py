"""Processors of microcontrollers and boards, by product name.

Users name these in the place of a target, which is one whose code runs on the processor: Cortex-M0, M1, M3 and M23
have all instructions of Cortex-M0+.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

__all__ = ["processor_hint"]


class _Family(NamedTuple):
    """Chips or boards of one name, and their series by target; those under "" have a processor without a target."""

    name: str
    """As it stands before the series."""
    series: Mapping[str, str]
    """Separated by spaces; `-` for the name alone."""
    other: str = ""
    """The processor of those under ""."""


_FAMILIES: Final = (
    _Family(
        "STM32",
        {
            "cortex-m0plus": "C0 F0 F1 F2 G0 L0 L1 U0",
            "cortex-m4": "F3 F4 G4 L4 WB WL",
            "cortex-m7": "F7 H7",
            "cortex-m33": "H5 L5 U5 WBA",
            "cortex-m55": "N6",
        },
    ),
    _Family("nRF", {"cortex-m0plus": "51", "cortex-m4": "52", "cortex-m33": "53 54 91"}),
    _Family("RP", {"cortex-m0plus": "2040", "cortex-m33": "2350"}),
    _Family("Raspberry Pi Pico ", {"cortex-m0plus": "- W", "cortex-m33": "2"}),
    _Family("Pico ", {"cortex-m0plus": "- W", "cortex-m33": "2"}),
    _Family("ESP32-", {"riscv32imac": "C2 C3 C5 C6 H2 P4", "": "- S2 S3"}, "an Xtensa processor"),
    _Family("ESP8266", {"": "-"}, "an Xtensa processor"),
    _Family("SAM", {"cortex-m0plus": "C D1 D2 L1 L2 3X", "cortex-m4": "D5 E5 G5", "cortex-m7": "E7 S7 V7"}),
    _Family("i.MX RT ", {"cortex-m7": "10 11", "cortex-m33": "5 6"}),
    _Family("LPC", {"cortex-m0plus": "8 11", "cortex-m33": "55"}),
    _Family("Kinetis", {"cortex-m0plus": "L", "cortex-m4": "K"}),
    _Family("RA", {"cortex-m4": "4M1 6M1 6M2 6M3", "cortex-m33": "4M2 4M3 6M4 6M5", "cortex-m55": "8"}),
    _Family("Apollo", {"cortex-m4": "3 4", "cortex-m55": "5"}),
    _Family(
        "Arduino ",
        {
            "cortex-m0plus": "Due MKR Zero Nano33IoT",
            "cortex-m4": "Nano33BLE UnoR4",
            "cortex-m7": "Giga Portenta",
            "": "Mega Nano Uno",
        },
        "an AVR processor",
    ),
    _Family("Teensy ", {"cortex-m0plus": "LC", "cortex-m4": "3", "cortex-m7": "4"}),
    _Family("micro:bit ", {"cortex-m0plus": "v1", "cortex-m4": "v2"}),
    _Family("AVR", {"": "-"}, "an 8-bit processor"),
    _Family("ATmega", {"": "-"}, "an AVR processor"),
    _Family(
        "Cortex-M",
        {
            "cortex-m0plus": "0 1 3 23",
            "cortex-m4": "4",
            "cortex-m7": "7",
            "cortex-m33": "33 35P",
            "cortex-m55": "52 55 85",
        },
    ),
    _Family("Cortex-A", {"aarch64": "34 35 53 55 57 65 72 73 75 76 77 78 510 520 710 715 720"}),
)


def processor_hint(name: str) -> str:
    """The targets for a chip, a board or a series of them, to append to a message; nothing for other names."""
    letters = _letters(name)
    for family in _FAMILIES:
        if not letters.startswith(_letters(family.name)):
            continue
        rest = letters.removeprefix(_letters(family.name))
        fitting = [
            (len(_letters(series)), target, series)
            for target, listed in family.series.items()
            for series in listed.split()
            if (rest.startswith(_letters(series)) if series != "-" else not rest)
        ]
        if not fitting:
            # A short name may be the beginning of any word.
            return _all_series(family) if not rest or len(_letters(family.name)) > 3 else ""
        _, target, series = max(fitting)
        shown = f"{family.name}{series}".strip(" -")
        if target:
            return f"; for {shown} give {target}"
        others = _all_series(family)
        return f"; {shown} has {family.other}, for which there is no target{others}"
    return ""


def _all_series(family: _Family) -> str:
    """The targets of a family."""
    parts = [f"{target} ({', '.join(listed.split())})" for target, listed in family.series.items() if target]
    return f"; for {family.name.strip(' -')}, by series: {', '.join(parts)}" if parts else ""


def _letters(name: str) -> str:
    """What distinguishes names that are written in several ways: `STM32-F4`, `stm32f4`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
