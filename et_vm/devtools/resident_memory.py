"""The most memory that this process has had resident."""

from __future__ import annotations

from pathlib import Path

__all__ = ["peak_resident_bytes"]


def peak_resident_bytes() -> int | None:
    """Bytes, as Linux counts them since the program started (`VmHWM`); None where the system does not say.

    `getrusage` would count what the process was forked from.
    """
    try:
        text = Path("/proc/self/status").read_text("ascii", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return 1024 * int(value.split()[0])
    return None
