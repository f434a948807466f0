"""The XNNPACK backend, ahead of time: partitions become graphs that XNNPACK runs.

`rules` says which ops there are nodes for, `translation` follows values through a graph, `partitioner` decides what
goes into one, and `blob` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner

__all__ = ["XnnpackPartitioner"]


def __getattr__(name: str) -> object:
    """Load the partitioner when it is asked for: passes of the backend need none of it."""
    if name != "XnnpackPartitioner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner

    return XnnpackPartitioner
