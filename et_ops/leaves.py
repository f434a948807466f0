"""Operators beyond Core ATen that stay whole, with the reason: `leaves.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from et_ops.data_files import text_of

__all__ = ["LEAVES", "RUNTIME_NAMESPACES"]

RUNTIME_NAMESPACES: Final = ("quantized_decomposed", "torchvision")
"""Namespaces of operators that say what a runtime has kernels for: they stay whole. Of quantized ones,
`decompose-quantized` takes apart what a target has none for.
"""


def _read() -> dict[str, str]:
    found: dict[str, str] = {}
    reason = ""
    for line in text_of(Path(__file__).with_name("leaves.txt")).splitlines():
        if line.startswith("["):
            reason = line[1:-1]
        elif not line.startswith("#"):
            for name in line.split():
                if name in found:
                    raise ValueError(f"leaves.txt names {name} twice")
                found[name] = reason
    return found


LEAVES: Final = _read()
"""Why nothing decomposes it, by the name of an overload (`sort.stable`)."""
