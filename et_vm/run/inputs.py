"""Setting inputs: what a caller gives is checked against the plan and copied into the method's memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from et_schema.errors import Error, ExecutorchError, InputError
from et_schema.program import TensorShapeDynamism
from et_vm.interchange import is_torch, to_numpy
from et_vm.values import Tensor

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan
    from et_vm.verify.guard_checks import InputGuards

# How close a float input must be to the one that was traced: upstream's tolerances.
_ATOL, _RTOL = 1e-4, 1e-5


def check_inputs(values: object) -> None:
    """Raise InputError for what is not a list of inputs, such as a tensor, whose rows would be taken for inputs."""
    if isinstance(values, np.ndarray) or is_torch(values):
        raise InputError("expected a list of inputs, got a tensor: pass [x]")
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise InputError(f"expected a list of inputs, got {_describe(values)}")


def set_input(
    plan: ExecutionPlan, registers: list[object], index: int, value: object, guards: InputGuards | None = None
) -> None:
    """Set input `index` of a plan: copy a numpy array or torch tensor into the register's tensor, which
    takes its shape if the guards let it, or check that a scalar is the one the method was exported with.

    Raises InputError for another kind or element type, a shape that the tensor cannot have, another scalar.
    """
    held = registers[plan.inputs[index]]
    if not isinstance(held, Tensor):
        _check_scalar(index, held, value)
        return
    array = to_numpy(value)
    if array is None:
        raise InputError(
            f"expected a {held.scalar_type.torch_name} tensor, got {_describe(value)}",
            where=f"input {index}",
        )
    if array.dtype is not held.dtype and array.dtype != held.dtype:
        raise InputError(
            f"expected element type {held.scalar_type.torch_name}, got {array.dtype.name}",
            where=f"input {index}",
        )
    if guards is not None and (array.shape != held.sizes or index in guards.unchecked):
        _check_bounds(plan, index, held, array.shape)
        if array.ndim == len(held.sizes):
            guards.check(index, array.shape)
        _resize(plan, index, held, array.shape)
        guards.accept(index)
    elif array.shape != held.sizes or held.storage is None:
        _resize(plan, index, held, array.shape)
    held.array[...] = array


def _check_bounds(plan: ExecutionPlan, index: int, tensor: Tensor, shape: tuple[int, ...]) -> None:
    bounds = _bounds(plan, index)
    if tensor.dynamism == TensorShapeDynamism.DYNAMIC_BOUND and len(shape) == len(bounds):
        for dim, (size, bound) in enumerate(zip(shape, bounds, strict=True)):
            if size > bound:
                raise InputError(
                    f"dimension {dim} is {size}, its upper bound is {bound}",
                    code=Error.NotSupported,
                    where=f"input {index}",
                )


def _bounds(plan: ExecutionPlan, index: int) -> list[int]:
    """The sizes of an input as the file states them."""
    table: Any = plan.values[plan.inputs[index]].val
    return table.sizes


def _resize(plan: ExecutionPlan, index: int, tensor: Tensor, shape: tuple[int, ...]) -> None:
    _check_bounds(plan, index, tensor, shape)
    try:
        tensor.resize(shape)
    except ExecutorchError as error:
        if error.code != Error.NotSupported:
            raise
        raise InputError(
            f"expected shape {_bounds(plan, index)}, got {list(shape)}",
            code=error.code,
            where=f"input {index}",
        ) from error


def _check_scalar(index: int, held: object, value: object) -> None:
    """Raise InputError unless `value` is what the method was exported with: it is part of the compiled
    program.
    """
    array = to_numpy(value)
    if array is not None and array.ndim == 0:
        value = array.item()
    where = f"input {index}"
    same_type = type(value) is type(held) or (type(held) is float and type(value) is int)
    if not same_type:
        raise InputError(f"expected {_describe(held)}, got {_describe(value)}", where=where)
    if isinstance(held, float) and isinstance(value, (int, float)):
        equal = value == held or math.isclose(value, held, rel_tol=_RTOL, abs_tol=_ATOL)
    else:
        equal = value == held
    if not equal:
        raise InputError(
            f"expected {held!r}, the value the method was exported with, got {value!r}", where=where
        )


def _describe(value: object) -> str:
    return (
        f"{type(value).__name__} {value!r}" if isinstance(value, (int, float, str)) else type(value).__name__
    )
