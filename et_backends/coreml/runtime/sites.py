"""Call sites: operations of a loaded program for which kernels are prepared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from et_backends.coreml.format.mil import MilOperation, MilType, MilTypeName, MilValue
from et_vm.backends.accounting import Needs
from et_vm.values import Array

__all__ = ["DTYPES", "Kernel", "Maker", "Prepared", "Site", "array_of", "broadcast", "reduced"]

DTYPES = {
    MilTypeName.BOOL: np.dtype(np.bool_),
    MilTypeName.FLOAT16: np.dtype(np.float16),
    MilTypeName.FLOAT32: np.dtype(np.float32),
    MilTypeName.INT8: np.dtype(np.int8),
    MilTypeName.INT32: np.dtype(np.int32),
    MilTypeName.UINT8: np.dtype(np.uint8),
}
"""Numpy dtypes of element types."""

_MOST_INTEGERS = 64
"""Largest vector of numbers for dimensions."""

Kernel: TypeAlias = Callable[..., Any]
"""Takes the arrays of the operands, and returns that of the output, or a list of those of several."""


class Prepared(NamedTuple):
    """A kernel and the names of its operands."""

    kernel: Kernel
    operands: tuple[str, ...]


Maker: TypeAlias = "Callable[[Site], Prepared]"
"""Prepares the kernel of an operation. Raises ValueError for one that it does not support."""


class Site:
    """One operation of a program: its parameters and the types of its operands.

    Kernels have to query each parameter, and makers to derive the sizes of results: `check` rejects what was not. They
    say in `needs` what the kernels take beside operands, results and an array like these, and visiting each of their
    elements once.
    """

    def __init__(
        self, op: MilOperation, types: Mapping[str, MilType], constants: Mapping[str, MilValue]
    ) -> None:
        self.op = op
        self._types = types
        self._constants = constants
        self._left = set(op.inputs)
        self._is_sized = False
        self.needs = Needs()
        """Temporaries and work of the kernel."""

    @property
    def output(self) -> MilType:
        """The type of the first output."""
        return self.op.outputs[0][1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of the first output."""
        return DTYPES[self.output.name]

    def has(self, parameter: str) -> bool:
        """Whether the operation has the parameter."""
        return parameter in self.op.inputs

    def shape(self, parameter: str) -> tuple[int, ...]:
        """The sizes of an operand."""
        return self._types[self._name(parameter)].shape

    def shapes(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """The sizes of values, of which there is one at least."""
        if not names:
            raise ValueError("an empty list")
        return [self._types[name].shape for name in names]

    def prepare(self, kernel: Kernel, *parameters: str) -> Prepared:
        """The kernel with operands, of which those that the operation does not have are left out."""
        return Prepared(kernel, tuple(self._name(one) for one in parameters if self.has(one)))

    def unary(self, kernel: Callable[[Array], Any], parameter: str = "x") -> Prepared:
        """The kernel of one operand."""
        return self.prepare(kernel, parameter)

    def binary(self, kernel: Callable[[Array, Array], Any], first: str = "x", second: str = "y") -> Prepared:
        """The kernel of two operands."""
        return self.prepare(kernel, first, second)

    def list(self, parameter: str) -> tuple[str, ...]:
        """The names of an operand that is a list."""
        self._left.discard(parameter)
        if parameter not in self.op.inputs:
            raise ValueError(f"the parameter {parameter!r} is missing")
        return self.op.inputs[parameter]

    def array(self, parameter: str) -> Array:
        """The elements of a constant."""
        found = self._constants.get(self._name(parameter))
        if found is None or found.type.name is MilTypeName.STRING:
            raise ValueError(f"the parameter {parameter!r} is not a numeric constant")
        return array_of(found)

    def number(self, parameter: str, default: float | None = None) -> Any:
        """A constant number; the default where the operation does not have the parameter."""
        if not self.has(parameter) and default is not None:
            return default
        found = self.array(parameter)
        if found.size != 1:
            raise ValueError(f"the parameter {parameter!r} is not a number")
        return found.reshape(-1)[0].item()

    def integers(self, parameter: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """A constant vector of integers, some for each dimension, or for each output."""
        if not self.has(parameter) and default is not None:
            return default
        found = self.array(parameter)
        if found.size > max(_MOST_INTEGERS, len(self.op.outputs)):
            raise ValueError(f"the parameter {parameter!r} has {found.size} integers")
        return tuple(int(one) for one in found.reshape(-1))

    def text(self, parameter: str, default: str | None = None) -> str:
        """A constant text."""
        if not self.has(parameter) and default is not None:
            return default
        found = self._constants.get(self._name(parameter))
        if found is None or len(found.strings) != 1:
            raise ValueError(f"the parameter {parameter!r} is not constant text")
        return found.strings[0]

    def axis(self, parameter: str = "axis", of: str = "x", default: int | None = None) -> int:
        """A constant dimension of an operand, counted from the front."""
        return self._axis(int(self.number(parameter, default)), len(self.shape(of)))

    def axes(self, parameter: str = "axes", of: str = "x") -> tuple[int, ...]:
        """Constant dimensions of an operand, all where the operation does not have the parameter."""
        rank = len(self.shape(of))
        return tuple(self._axis(dim, rank) for dim in self.integers(parameter, tuple(range(rank))))

    def expect(self, *shapes: tuple[int, ...]) -> None:
        """Raises ValueError if the outputs have other sizes: before a kernel makes more than that."""
        self._is_sized = True
        if len(shapes) != len(self.op.outputs):
            raise ValueError(f"{len(shapes)} results, not {len(self.op.outputs)}")
        for shape, (_, type) in zip(shapes, self.op.outputs, strict=True):
            if shape != type.shape:
                raise ValueError(f"the output is {type}, and its sizes would be {list(shape)}")

    @property
    def elements(self) -> int:
        """The number of elements of all outputs."""
        return sum(prod(type.shape) for _, type in self.op.outputs)

    def elements_of(self, parameter: str) -> int:
        """The number of elements of an operand."""
        return prod(self.shape(parameter))

    @property
    def wide(self) -> int:
        """Bytes of the widest element that numpy computes with: half precision is computed in float32."""
        return itemsize([self._types[name] for names in self.op.inputs.values() for name in names])

    def takes(self, arrays: int, passes: int = 0) -> None:
        """Count temporaries like the outputs, and further visits of their elements."""
        self.needs.memory(self.elements, self.wide, arrays)
        self.needs.visits(self.elements * max(arrays, passes))

    def copies(self, *parameters: str, arrays: int = 1) -> None:
        """Count operands in the widest type, or in another order, where the operation has them."""
        for one in filter(self.has, parameters):
            self.needs.memory(self.elements_of(one), self.wide, arrays)
            self.needs.visits(self.elements_of(one) * arrays)

    def check(self) -> None:
        """Raises ValueError for parameters that were not asked for, and for results whose sizes are not known."""
        if self._left:
            raise ValueError(f"the parameter {sorted(self._left)[0]!r} is not supported")
        if not self._is_sized:
            raise ValueError("the sizes of the results are not known")

    def _name(self, parameter: str) -> str:
        names = self.list(parameter)
        if len(names) != 1:
            raise ValueError(f"the parameter {parameter!r} is a list")
        return names[0]

    def _axis(self, dim: int, rank: int) -> int:
        if not -rank <= dim < rank:
            raise ValueError(f"there is no dimension {dim} of {rank}")
        return dim % rank


def itemsize(operands: Sequence[MilType]) -> int:
    """Bytes of the elements of what numpy makes of operands: among floats 4, else up to 8."""
    kinds = {one.name for one in operands} - {MilTypeName.STRING, MilTypeName.BOOL}
    return 4 if kinds and kinds <= {MilTypeName.FLOAT16, MilTypeName.FLOAT32} else 8


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of operands together. Raises ValueError for those that do not fit."""
    rank = max(map(len, shapes))
    made: list[int] = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        others = set(sizes) - {1}
        if len(others) > 1:
            raise ValueError(f"operands of sizes {', '.join(str(list(shape)) for shape in shapes)}")
        made.append(others.pop() if others else 1)
    return tuple(made)


def reduced(shape: tuple[int, ...], axes: Collection[int], *, keeps: bool) -> tuple[int, ...]:
    """The sizes of a reduction over some dimensions, which it keeps with one element or drops."""
    return tuple(1 if dim in axes else size for dim, size in enumerate(shape) if keeps or dim not in axes)


def array_of(value: MilValue) -> Array:
    """The elements of a constant, without a copy."""
    return np.frombuffer(value.data, DTYPES[value.type.name]).reshape(value.type.shape)
