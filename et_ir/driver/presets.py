"""Optimization levels: the passes and budgets of `-O0`, `-O1`, `-O2` and `-Os`.

| level | |
|---|---|
| `0` | plain lowering: each operator is a call of its kernel, no optional pass runs |
| `1` | as fast and as small as is free: folding, CSE, fusion, memory sharing, faster forms of operators |
| `2` | the fastest forms of operators, whatever memory they take |
| `s` | the least memory: faster forms only within the peak, and state that nothing reads is removed |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from et_ir.analysis.memory_allowance import MemoryAllowance

__all__ = ["DEFAULT", "PRESETS", "Preset", "preset"]


@dataclass(frozen=True)
class Preset:
    """Passes and budgets of a level."""

    level: str
    summary: str
    simplify: bool = True
    """Whether passes run that programs do without: they fold, share and remove."""
    memory: MemoryAllowance | None = None
    """Memory allowance of faster forms of operators; None to keep each form."""
    workspace: int = 1 << 20
    """Bytes that the copies of one tile of an operator may take."""
    effort: int = 100
    """Effort of the search for orders, in percent of the default."""
    reordered: int | None = None
    """Ops of a block above which their order is not searched again behind the choice of kernels; None for any."""
    slack: int = 0
    """By how many thousandths an arena may be larger than what is proven to be needed, without a search."""
    forget: bool = False
    """Whether state goes that no result depends on, which callers can look at otherwise."""


DEFAULT: Final = "1"

PRESETS: Final = {
    one.level: one
    for one in (
        Preset("0", "no optimization", simplify=False),
        Preset(
            "1",
            "as fast and as small as is free: folding, CSE, fusion",
            memory="fast",
            effort=20,
            reordered=500,
            slack=4,
        ),
        Preset("2", "optimize for speed, at any cost in memory", memory="any"),
        Preset("s", "optimize for memory", memory="peak", workspace=1 << 18, forget=True),
    )
}
"""The levels, by what follows `-O`."""


def preset(level: str) -> Preset:
    """Preset of a level. Raises `ValueError` for one that there is not."""
    if level not in PRESETS:
        raise ValueError(
            f"unknown optimization level {level!r}, expected one of {', '.join(map(repr, PRESETS))}"
        )
    return PRESETS[level]
