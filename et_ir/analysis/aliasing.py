"""Alias sets of registers: the storage that a register shows, and the bytes of it.

A view belongs to the alias set of its base; the register at the end of the chain, its root, stands for the storage.
Views are told by their class: `isinstance` takes several times as long where classes are abstract, as all ops are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue, Use

from et_ir.dialects.executorch import RegisterOp, ViewOp
from et_ir.dialects.executorch.layout import Tensor, nbytes

__all__ = ["Extent", "extent_of", "has_exact_size", "root_of", "size_of", "uses_of"]


class Extent(NamedTuple):
    """Bytes of a storage from `first` to before `end`; those of a tensor of dynamic shape are its bounds."""

    root: SSAValue
    first: int
    end: int


def root_of(register: SSAValue) -> SSAValue:
    """The register whose storage a register shows: itself, or for a view that of its base."""
    owner = register.owner
    while type(owner) is ViewOp:
        register = owner.base
        owner = register.owner
    return register


def size_of(register: SSAValue) -> int:
    """The bytes of a register, at most; 0 for what is no tensor."""
    return nbytes(cast(Tensor, register.type)) if isinstance(register.type, TensorType) else 0


def extent_of(register: SSAValue) -> Extent:
    """The bytes of its storage that a register shows."""
    size = size_of(register)
    first = 0
    owner = register.owner
    while type(owner) is ViewOp:
        first += owner.first_byte
        register = owner.base
        owner = register.owner
    return Extent(register, first, first + size)


def has_exact_size(*registers: SSAValue) -> bool:
    """Whether registers have the sizes that their types say, rather than bounds."""
    return all(
        isinstance(op := register.owner, RegisterOp) and "dynamism" not in op.properties
        for register in registers
    )


def uses_of(register: SSAValue) -> Iterator[Use]:
    """The uses of a register and of views of it."""
    for use in register.uses:
        if type(use.operation) is ViewOp:
            yield from uses_of(use.operation.result)
        else:
            yield use
