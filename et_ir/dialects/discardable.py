"""Discardable attributes: what passes and users say of ops beyond their definitions.

As in MLIR, such an attribute has the prefix of a dialect, the dialect declares it, and the verifier refuses any other
with that prefix. A declaration is the constant that passes use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from xdsl.ir import Attribute, Operation

__all__ = ["DISCARDABLE", "discardable", "discardable_faults"]

DISCARDABLE: Final[dict[str, tuple[type[Attribute], ...]]] = {}
"""The classes of each attribute's value. Dialects fill it as they are imported, which is before there are their ops."""


def discardable(name: str, *kinds: type[Attribute]) -> str:
    """Declare an attribute, `dialect.name`, of some classes of values; returns the name."""
    DISCARDABLE[name] = kinds
    return name


def discardable_faults(op: Operation) -> Iterator[str]:
    """Problems of the discardable attributes of an op."""
    for name, value in op.attributes.items():
        dialect, dot, _ = name.partition(".")
        kinds = DISCARDABLE.get(name)
        if kinds is None:
            if dot and any(known.startswith(f"{dialect}.") for known in DISCARDABLE):
                yield f"[discardable_c1] the dialect '{dialect}' declares no attribute '{name}'"
        elif not isinstance(value, kinds):
            expected = " or ".join(kind.name for kind in kinds)
            yield f"[discardable_c2] the attribute '{name}' is of class {expected}, not {value}"
