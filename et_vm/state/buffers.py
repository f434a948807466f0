"""The state of a method: its mutable buffers by name, to look at, change, keep and bring back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from et_schema.errors import InputError
from et_vm.interchange import to_numpy
from et_vm.values import Array, Tensor

__all__ = ["State", "StateBuffer"]


class StateBuffer(NamedTuple):
    """A mutable buffer, and the bytes that it starts with; zeros if None."""

    tensor: Tensor
    initial: memoryview | None


class State(Mapping[str, Array]):
    """The mutable buffers of a method by name, as in `method.state["cache.keys"]`.

    What is read is a copy, what is assigned, a numpy array or torch tensor of exactly the buffer's shape and element
    type, is copied. Methods with the same memory have the same state where the file gives their buffers the same
    place. Everything here raises ExecutorchError(InvalidState) while the method is executing.
    """

    def __init__(
        self,
        where: str,
        buffers: Mapping[str, StateBuffer],
        exclusive: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`where` names the method in errors, `exclusive` keeps it from executing meanwhile."""
        self._where = where
        self._buffers = buffers
        self._exclusive = exclusive

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the buffers, in the order of the file."""
        return tuple(self._buffers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)

    def __contains__(self, name: object) -> bool:
        return name in self._buffers

    def __getitem__(self, name: str) -> Array:
        """A copy of a buffer; bfloat16 and float8 have the `ml_dtypes` type of the same name.

        Raises KeyError for an unknown name.
        """
        buffer = self._buffers[name]
        with self._exclusive():
            return buffer.tensor.array.copy()

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a buffer. Raises InputError for an unknown name, and for another shape or element type."""
        self._check_names((name,), complete=False)
        array = self._checked(name, value)
        with self._exclusive():
            np.copyto(self._buffers[name].tensor.array, array)

    def reset(self, *names: str) -> None:
        """Give the named buffers, all of them if none are named, their initial values. Raises InputError for an
        unknown name.
        """
        self._check_names(names, complete=False)
        with self._exclusive():
            for name in names or self._buffers:
                tensor, initial = self._buffers[name]
                if tensor.storage is None:
                    continue
                tensor.storage[:] = 0 if initial is None else np.frombuffer(initial, np.uint8)

    def arrays(self) -> dict[str, Array]:
        """Copies of all buffers, all of one moment, for `restore`."""
        with self._exclusive():
            return {name: buffer.tensor.array.copy() for name, buffer in self._buffers.items()}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Set all buffers. Raises InputError, with nothing changed, if a name is missing or unknown, or a shape or
        element type is another.
        """
        self._check_names(tuple(values), complete=True)
        arrays = {name: self._checked(name, value) for name, value in values.items()}
        with self._exclusive():
            for name, array in arrays.items():
                np.copyto(self._buffers[name].tensor.array, array)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all buffers to a data file if the path ends with `.ptd`, else to a `.safetensors` file, which is there
        completely or as it was, also after a loss of power.

        Raises ExecutorchError: AccessFailed for a path that cannot be written, NotSupported for an element type that
        the format lacks.
        """
        from et_vm.state.files import write_tensors

        write_tensors(path, self.arrays())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Set all buffers from a file that `save` has written, or from another of these kinds.

        Raises ExecutorchError(AccessFailed) for a file that cannot be read, InvalidFile for one that is malformed, and
        InputError for one that is of other state; nothing is changed then.
        """
        from et_vm.state.files import read_tensors

        self.restore(read_tensors(path))

    def _check_names(self, names: tuple[str, ...], *, complete: bool) -> None:
        unknown = [name for name in names if name not in self._buffers]
        missing = [name for name in self._buffers if complete and name not in names]
        if not unknown and not missing:
            return
        problems = [f"no buffer named {name!r}" for name in unknown]
        problems += [f"buffer {name!r} is missing" for name in missing]
        known = ", ".join(self._buffers) or "none"
        raise InputError("; ".join(problems), where=self._where, hint=f"the buffers are {known}")

    def _checked(self, name: str, value: Any) -> Array:
        tensor = self._buffers[name].tensor
        array = to_numpy(value)
        expected = f"{tensor.scalar_type.torch_name} {list(tensor.sizes)}"
        if array is None:
            raise InputError(f"buffer {name!r} is {expected}, got {type(value).__name__}", where=self._where)
        if array.dtype != tensor.dtype or array.shape != tensor.sizes:
            got = f"{array.dtype.name} {list(array.shape)}"
            raise InputError(f"buffer {name!r} is {expected}, got {got}", where=self._where)
        return array

    def __repr__(self) -> str:
        described = (f"{name}: {buffer.tensor!r}" for name, buffer in self._buffers.items())
        return f"State({', '.join(described)})"
