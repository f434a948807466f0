"""Value representation of registers.

A register holds a Python `int`, `float`, `bool`, `str` or `None`, a `Tensor`, a plain
`list` of floats or bools, or a `ListRegister` (integer and tensor lists, whose items are registers
themselves and are read again at each use).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np

from et_schema.errors import Error, ExecutorchError
from et_schema.program import TensorShapeDynamism
from et_schema.scalar_type import ScalarType, numpy_dtype

Array: TypeAlias = "np.ndarray[Any, Any]"
DType: TypeAlias = "np.dtype[Any]"
Allocate: TypeAlias = Callable[[int], Array]

INT64_MAX = 2**63 - 1


class VersionCounter:
    """Numbers the arrays of all tensors of the process."""

    __slots__ = ("_numbers", "latest")

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.latest = 0
        """A number given last. While it stays what it is, no tensor gets another array: each thread writes the numbers
        that it takes, no number twice."""

    def next(self) -> int:
        """A number that no array had before."""
        self.latest = number = next(self._numbers)
        return number


VERSIONS: Final = VersionCounter()


def contiguous_strides(sizes: Sequence[int], dim_order: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements, by logical dimension, of a dense tensor of `sizes` laid out outer-to-inner as
    `dim_order` says.

    Dimensions of size zero count as one, so that the strides of an empty tensor are still those of its
    layout.
    """
    strides = [0] * len(sizes)
    step = 1
    for dim in reversed(dim_order):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)


def element_count(sizes: Sequence[int]) -> int:
    """Product of `sizes` as an exact Python integer."""
    return prod(sizes)


def addresses(sizes: Sequence[int], itemsize: int) -> bool:
    """Whether strides and bytes of a tensor of `sizes` fit 64 bits, as if no dimension were empty: numpy makes no
    array where they do not.
    """
    count = itemsize
    for size in sizes:
        count *= max(size, 1)
    return count <= INT64_MAX


class TensorLayout(NamedTuple):
    """Layout of a dense tensor: shape, dim order and element size."""

    strides: tuple[int, ...]
    """In elements, by logical dimension: `contiguous_strides`."""
    byte_strides: tuple[int, ...]
    nbytes: int


# Most tensors of a program have one of few shapes, and making this takes as long as the rest of making a tensor.
@lru_cache(1024)
def layout_of(sizes: tuple[int, ...], dim_order: tuple[int, ...], itemsize: int) -> TensorLayout:
    """The layout of a dense tensor whose elements have `itemsize` bytes."""
    strides = contiguous_strides(sizes, dim_order)
    return TensorLayout(
        strides, tuple([stride * itemsize for stride in strides]), element_count(sizes) * itemsize
    )


class Binding(NamedTuple):
    """What `Tensor.rebind` puts back: the bytes of a tensor, and its shape on them."""

    storage: Array
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    capacity_bytes: int
    array: Array
    version: int


class Tensor:
    """A tensor register: type, current shape, layout, and a numpy view of the bytes it lives in.

    `array` has the logical axes (NCHW for an image) with the strides of `dim_order`, so a channels-last
    tensor is an ordinary strided array to numpy. `storage` is the flat `uint8` view of the tensor's
    whole capacity; both are missing until the tensor has data, and reading `array` before that raises
    InvalidState. `version` changes, to a number no other tensor has had, whenever `array` is replaced:
    a step prepared for a set of versions is valid as long as they are current, and again once they are.
    """

    __slots__ = (
        "_allocate",
        "array",
        "capacity_bytes",
        "constant_asked",
        "dim_order",
        "dtype",
        "dynamism",
        "is_constant",
        "name",
        "scalar_type",
        "sizes",
        "storage",
        "strides",
        "version",
    )

    scalar_type: ScalarType
    dtype: DType
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    strides: tuple[int, ...]
    capacity_bytes: int
    dynamism: TensorShapeDynamism
    array: Array
    storage: Array | None
    is_constant: bool
    """Whether `constant` is true, for those who do not mean to look at the data."""
    constant_asked: bool
    """Whether somebody has asked `constant`, and so may have looked at the data."""
    name: str
    version: int

    def __init__(
        self,
        scalar_type: ScalarType,
        sizes: Sequence[int],
        dim_order: Sequence[int] | None = None,
        *,
        storage: Array | None = None,
        dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC,
        constant: bool = False,
        name: str = "",
        allocate: Allocate | None = None,
    ) -> None:
        """`storage` is a flat uint8 array of at least the tensor's bytes; `allocate(nbytes)` returns
        one, and makes a DYNAMIC_UNBOUND tensor grow on demand.
        """
        self.scalar_type = scalar_type
        self.dtype = numpy_dtype(scalar_type)
        self.sizes = tuple(sizes)
        self.dim_order = tuple(range(len(self.sizes))) if dim_order is None else tuple(dim_order)
        self.dynamism = dynamism
        self.is_constant = constant
        self.constant_asked = False
        self.name = name
        self._allocate = allocate
        self.storage = storage
        layout = layout_of(self.sizes, self.dim_order, self.dtype.itemsize)
        self.strides = layout.strides
        self.capacity_bytes = layout.nbytes
        if storage is None:
            self.version = 0
        else:
            self.array = np.ndarray(self.sizes, self.dtype, storage, 0, layout.byte_strides)
            self.version = VERSIONS.next()

    @classmethod
    def from_numpy(
        cls,
        array: Array,
        scalar_type: ScalarType,
        dim_order: Sequence[int] | None = None,
        *,
        dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC,
        constant: bool = False,
        name: str = "",
    ) -> Tensor:
        """A tensor with its own storage holding a copy of `array` (logical axes), laid out as
        `dim_order`.
        """
        tensor = cls(scalar_type, array.shape, dim_order, dynamism=dynamism, constant=constant, name=name)
        storage = np.empty(tensor.capacity_bytes, np.uint8)
        tensor.bind(storage)
        np.copyto(tensor.array, array, casting="unsafe")
        if constant:
            storage.flags.writeable = False
            tensor.bind(storage)
        return tensor

    @property
    def constant(self) -> bool:
        """Whether the data never changes, so that a kernel may look at it before the step runs."""
        self.constant_asked = True
        return self.is_constant

    @property
    def numel(self) -> int:
        """Number of elements of the current shape."""
        return element_count(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of the current shape (`capacity_bytes` is that of the largest one)."""
        return element_count(self.sizes) * self.dtype.itemsize

    @property
    def has_data(self) -> bool:
        """Whether the tensor is bound to storage, so that `array` may be read."""
        return self.storage is not None

    def bind(self, storage: Array, sizes: Sequence[int] | None = None) -> None:
        """Point the tensor at `storage` (flat uint8, at least the bytes of the shape), optionally with
        other `sizes`.
        """
        if sizes is not None:
            self.sizes = tuple(sizes)
            self.strides = contiguous_strides(self.sizes, self.dim_order)
        self.storage = storage
        self._make_array(storage)

    def unbind(self) -> None:
        """Drop the storage: reading `array` raises InvalidState until the next `bind` or growing
        `resize`.
        """
        if self.storage is not None:
            self.storage = None
            del self.array
            self.version = VERSIONS.next()

    @property
    def binding(self) -> Binding | None:
        """The bytes and the shape now; None without data."""
        if self.storage is None:
            return None
        return Binding(self.storage, self.sizes, self.strides, self.capacity_bytes, self.array, self.version)

    def rebind(self, binding: Binding | None) -> None:
        """Put back what `binding` of this tensor was, with the version that it had: the same view of the same bytes."""
        if binding is None:
            self.unbind()
        elif self.version != binding.version:
            self.storage, self.sizes, self.strides, self.capacity_bytes, self.array, self.version = binding

    @property
    def grows(self) -> bool:
        """Whether `resize` may give the tensor other bytes."""
        return self._allocate is not None

    def resize(self, sizes: Sequence[int]) -> None:
        """Give the tensor the shape `sizes`; a no-op when it already has it.

        Raises ExecutorchError(NotSupported) when the rank differs, when a STATIC tensor would change, or
        when the elements do not fit the planned capacity. A DYNAMIC_UNBOUND tensor that nobody planned gets
        (more) memory instead.
        """
        wanted = tuple(sizes)
        storage = self.storage
        if wanted == self.sizes and (storage is not None or self._allocate is None):
            return
        self.check_shape(wanted)
        if wanted and (min(wanted) < 0 or not addresses(wanted, self.dtype.itemsize)):
            raise self._resize_error(wanted, "no such tensor")
        nbytes = element_count(wanted) * self.dtype.itemsize
        capacity = self.capacity_bytes if storage is None else min(self.capacity_bytes, storage.nbytes)
        if self._allocate is not None and (storage is None or nbytes > capacity):
            self.storage = storage = self._allocate(nbytes)
            self.capacity_bytes = nbytes
        elif nbytes > capacity:
            raise self._resize_error(wanted, f"{nbytes} bytes do not fit the planned {capacity}")
        self.sizes = tuple([int(size) for size in wanted])
        self.strides = contiguous_strides(self.sizes, self.dim_order)
        if storage is not None:
            self._make_array(storage)

    def check_shape(self, sizes: tuple[int, ...]) -> None:
        """Raise ExecutorchError(NotSupported) when the tensor's rank or dynamism forbid the shape
        `sizes`.
        """
        if len(sizes) != len(self.sizes):
            raise self._resize_error(sizes, f"its rank is fixed at {len(self.sizes)}")
        if self.dynamism == TensorShapeDynamism.STATIC and sizes != self.sizes:
            raise self._resize_error(sizes, "it is static")

    def _make_array(self, storage: Array) -> None:
        layout = layout_of(self.sizes, self.dim_order, self.dtype.itemsize)
        self.array = np.ndarray(self.sizes, self.dtype, storage, 0, layout.byte_strides)
        self.version = VERSIONS.next()

    def _resize_error(self, sizes: tuple[int, ...], why: str) -> ExecutorchError:
        return ExecutorchError(
            Error.NotSupported,
            f"cannot resize a tensor of shape {list(self.sizes)} to {list(sizes)}: {why}",
            where=self.name or None,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            # Reached only for a slot without a value, which by construction is `array` of a tensor without
            # data.
            if name == "array":
                raise ExecutorchError(Error.InvalidState, "tensor has no data", where=self.name or None)
            raise AttributeError(name)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.sizes))
        return f"Tensor({self.name or '?'}: {self.scalar_type.name.lower()}[{shape}])"


class TensorPattern:
    """What tensors have in common that differ in their bytes and names. They do not grow."""

    __slots__ = (
        "byte_strides",
        "capacity_bytes",
        "constant",
        "dim_order",
        "dtype",
        "dynamism",
        "scalar_type",
        "sizes",
        "strides",
    )

    def __init__(
        self,
        scalar_type: ScalarType,
        sizes: Sequence[int],
        dim_order: Sequence[int],
        dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC,
        *,
        constant: bool = False,
    ) -> None:
        self.scalar_type = scalar_type
        self.dtype = numpy_dtype(scalar_type)
        self.sizes = tuple(sizes)
        self.dim_order = tuple(dim_order)
        layout = layout_of(self.sizes, self.dim_order, self.dtype.itemsize)
        self.strides, self.byte_strides, self.capacity_bytes = layout
        self.dynamism = dynamism
        self.constant = constant

    def on(self, storage: Array, name: str) -> Tensor:
        """A tensor on bytes, a flat uint8 array of `capacity_bytes`: in half of the time that its constructor takes."""
        made = _new(Tensor)
        made.scalar_type = self.scalar_type
        made.dtype = dtype = self.dtype
        made.sizes = sizes = self.sizes
        made.dim_order = self.dim_order
        made.strides = self.strides
        made.capacity_bytes = self.capacity_bytes
        made.dynamism = self.dynamism
        made.is_constant = self.constant
        made.constant_asked = False
        made.name = name
        made._allocate = None  # pyright: ignore[reportPrivateUsage] of the class above
        made.storage = storage
        made.array = _array(sizes, dtype, storage, 0, self.byte_strides)
        made.version = VERSIONS.next()
        return made


_new = object.__new__
_array = np.ndarray


def strided_view(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """A view of the memory at the first element of `array`, of its type, with the given shape and byte strides, which
    are for the caller to check.
    """
    # numpy has no name for float8_e5m2 by which it could find the type again.
    plain = array.view(np.dtype(f"V{array.itemsize}"))
    return np.lib.stride_tricks.as_strided(plain, shape, strides).view(array.dtype)


def array_bytes(value: object) -> int:
    """The bytes of an array or a tensor, or of those in a tuple or list, to any depth."""
    if isinstance(value, (np.ndarray, Tensor)):
        return value.nbytes
    if isinstance(value, (tuple, list)):
        return sum(map(array_bytes, value))  # pyright: ignore[reportUnknownArgumentType]
    return 0


def can_change(value: object) -> bool:
    """Whether an instruction may leave something else in a register that holds `value`, but for elements."""
    return not isinstance(value, Tensor) or value.dynamism != TensorShapeDynamism.STATIC


class ListRegister:
    """An IntList, TensorList or OptionalTensorList register: the items are registers, read again at each use.

    `items` are register numbers, -1 for the None of an optional tensor list.
    """

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: tuple[int, ...]) -> None:
        self.kind = kind
        self.items = items

    def read(self, registers: Sequence[object]) -> list[object]:
        """The current values of the items."""
        return [registers[item] if item >= 0 else None for item in self.items]

    def __repr__(self) -> str:
        return f"{self.kind}{list(self.items)}"
