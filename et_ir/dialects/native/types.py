"""Types of values in loops, for the type checker: what a value of a kernel is known to be."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Attribute, SSAValue

__all__ = ["memref_type", "vector_type"]


def vector_type(value: SSAValue) -> VectorType[Attribute]:
    """The type of a value that is a vector."""
    assert isinstance(value.type, VectorType)
    return cast("VectorType[Attribute]", value.type)


def memref_type(value: SSAValue) -> MemRefType[Attribute]:
    """The type of a value that is a buffer."""
    assert isinstance(value.type, MemRefType)
    return cast("MemRefType[Attribute]", value.type)
