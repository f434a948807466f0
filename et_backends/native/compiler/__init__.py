"""The native backend: partitions become machine code, through loops, vectors and xDSL's `llvm` dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from et_backends.native.compiler.partitioner import NativePartitioner

__all__ = ["NativePartitioner"]


def __getattr__(name: str) -> object:
    """Load the partitioner when it is asked for: passes of the backend need none of it."""
    if name != "NativePartitioner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from et_backends.native.compiler.partitioner import NativePartitioner

    return NativePartitioner
