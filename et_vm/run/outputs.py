"""Outputs that the caller has memory for: what a method returns is copied there instead of into new arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from et_schema.errors import Error, InputError
from et_schema.program import TensorShapeDynamism
from et_vm.interchange import to_numpy
from et_vm.values import Array, Tensor

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan


class _Target(NamedTuple):
    given: object
    array: Array


class GivenOutputs:
    """The targets of a method's outputs by position."""

    def __init__(self, plan: ExecutionPlan, registers: list[object]) -> None:
        self._outputs = plan.outputs
        self._registers = registers
        self.targets: dict[int, _Target] = {}

    def set(self, index: int, value: object) -> None:
        """Give output `index` a numpy array or torch tensor to go to; None: new arrays again.

        Raises InputError for an output that is no tensor or not there, and for a target of another element type, of
        another shape than a static output has, or that cannot be written.
        """
        where = f"output {index}"
        if not 0 <= index < len(self._outputs):
            raise InputError(f"no output {index}: the method has {len(self._outputs)}", where=where)
        if value is None:
            self.targets.pop(index, None)
            return
        held = self._registers[self._outputs[index]]
        if not isinstance(held, Tensor):
            raise InputError(f"the output is a {type(held).__name__}, not a tensor", where=where)
        array = to_numpy(value)
        if array is None:
            raise InputError(f"expected an array or a tensor, got {type(value).__name__}", where=where)
        if array.dtype != held.dtype:
            raise InputError(
                f"the output is {held.scalar_type.torch_name}, got memory for {array.dtype.name}", where=where
            )
        if not array.flags.writeable:
            raise InputError("the array cannot be written", where=where)
        if held.dynamism == TensorShapeDynamism.STATIC and array.shape != held.sizes:
            raise self._other_shape(index, held.sizes, array.shape)
        self.targets[index] = _Target(value, array)

    def fill(self) -> dict[int, object]:
        """Copy the outputs that have a target; returns what was given, by position.

        Raises InputError for a target whose shape is not that of the output, before anything is copied.
        """
        copies: list[tuple[Array, Array]] = []
        for index, target in self.targets.items():
            held = self._registers[self._outputs[index]]
            assert isinstance(held, Tensor), "a tensor register was freed"
            if held.array.shape != target.array.shape:
                raise self._other_shape(index, held.array.shape, target.array.shape)
            copies.append((target.array, held.array))
        for target_array, result in copies:
            np.copyto(target_array, result)
        return {index: target.given for index, target in self.targets.items()}

    @staticmethod
    def _other_shape(index: int, shape: tuple[int, ...], got: tuple[int, ...]) -> InputError:
        return InputError(
            f"the output has shape {list(shape)}, got memory of shape {list(got)}",
            code=Error.InvalidArgument,
            where=f"output {index}",
        )
