"""Operators of a loaded file, as kernels are prepared for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np

from et_backends.tosa.format.operators import TosaType, numpy_name
from et_vm.backends.accounting import Accountant, Needs
from et_vm.values import Array

__all__ = ["Kernel", "Maker", "Site", "binary", "dtype_of", "first", "unary"]


@dataclass(frozen=True)
class Site:
    """One operator of a file, whose types have been checked.

    Makers of kernels say in `needs` what the kernels take beside operands, result and an array like the widest of
    these, and visiting each of their elements once.
    """

    attribute: Any
    """The table with its attributes."""
    inputs: Sequence[TosaType]
    """Types of the operands."""
    output: TosaType
    """Type of the result."""
    constants: Sequence[Array | None]
    """Elements of those operands that are constants."""
    accountant: Accountant = field(default_factory=Accountant)
    """Counts what is derived from constants."""
    needs: Needs = field(default_factory=Needs)
    """Temporaries and work of the kernel."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the result."""
        return dtype_of(self.output)

    @property
    def elements(self) -> int:
        """The number of elements of the result."""
        return prod(self.output.shape)

    def elements_of(self, operand: int) -> int:
        """The number of elements of an operand."""
        return prod(self.inputs[operand].shape)

    def takes(self, arrays: int, itemsize: int = 8, passes: int = 0) -> Site:
        """Count temporaries like the result, with items of so many bytes, and further visits of their elements."""
        self.needs.memory(self.elements, itemsize, arrays)
        self.needs.visits(self.elements * max(arrays, passes))
        return self

    def number(self, operand: int) -> int | float | None:
        """The one element of a constant operand, `None` where it is computed."""
        found = self.constants[operand]
        return None if found is None else found.reshape(-1)[0].item()

    def sizes(self, operand: int) -> tuple[int, ...]:
        """The numbers of an operand that is a shape."""
        found = self.inputs[operand].sizes
        assert found is not None
        return found


Kernel: TypeAlias = Callable[..., Array]
"""Takes the arrays of the operands, and returns that of the result: a new one, or a view of an operand."""
Maker: TypeAlias = Callable[[Site], Kernel]
"""Prepares the kernel of an operator."""


def dtype_of(type: TosaType) -> np.dtype[Any]:
    """The numpy dtype of elements; 48-bit integers have 64."""
    return np.dtype(numpy_name(type.dtype))


def unary(function: Callable[[Array], Array]) -> Kernel:
    """The kernel of one operand that a function is."""
    return function


def binary(function: Callable[[Array, Array], Array]) -> Kernel:
    """The kernel of two operands that a function is."""
    return function


def first(function: Callable[[Array], Array]) -> Kernel:
    """The kernel that computes with its first operand; what the others say is known when it is prepared."""

    def kernel(x: Array, *_: Array) -> Array:
        return function(x)

    return kernel
