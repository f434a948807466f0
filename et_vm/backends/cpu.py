"""Features of this machine's processor."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

from et_vm.backends.elf import MACHINES

__all__ = ["cpu_features", "machine"]


def machine() -> int | None:
    """ELF's number of this machine's architecture, None for one that no code can be loaded for."""
    if platform.system() != "Linux":
        return None
    return MACHINES.get(platform.machine())


@cache
def cpu_features() -> frozenset[str]:
    """The features that all processors of the machine have, by the names that Linux gives them."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return frozenset()
    found: list[frozenset[str]] = []
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            found.append(frozenset(value.split()))
    return found[0].intersection(*found[1:]) if found else frozenset()
