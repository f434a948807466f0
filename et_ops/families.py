"""Families of operators, the groups in which kernel libraries hold them: `families.txt`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from et_ops.data_files import text_of

__all__ = ["families", "family_of"]


@cache
def families() -> dict[str, tuple[str, ...]]:
    """The packets of each family, in sorted order: `pointwise.binary` has `add`, `sub`, ….

    The packet of another namespace than `aten` is qualified: `quantized_decomposed.add`.
    """
    found: dict[str, tuple[str, ...]] = {}
    family = ""
    for line in text_of(Path(__file__).with_name("families.txt")).splitlines():
        if line.startswith("["):
            family = line[1:-1]
        elif not line.startswith("#"):
            found[family] = (*found.get(family, ()), *line.split())
    return found


@cache
def _by_packet() -> dict[str, str]:
    return {packet: family for family, packets in families().items() for packet in packets}


def family_of(packet: str) -> str | None:
    """The family of an operator by its name without the overload; `None` for one that no kernel library groups."""
    return _by_packet().get(packet)
