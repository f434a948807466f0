"""Operators evaluated by torch, which is imported when the first one is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.literals import element_type_name
from et_ir.evaluation.arrays import Array, element_type_of, numpy_dtype
from et_ir.evaluation.call import ConstantCall
from et_ops.torch_operators import check_operands, overload_of

__all__ = ["constant_of", "evaluate", "is_available", "operator_of", "torch_dtypes"]


@cache
def is_available() -> bool:
    """Whether torch is installed."""
    return find_spec("torch") is not None


@cache
def torch_dtypes() -> dict[str, Any]:
    """The dtypes of torch by the names of element types."""
    import torch

    return {
        "ui8": torch.uint8,
        "i8": torch.int8,
        "i16": torch.int16,
        "i32": torch.int32,
        "i64": torch.int64,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "f32": torch.float32,
        "f64": torch.float64,
        "i1": torch.bool,
        "complex<f32>": torch.complex64,
        "complex<f64>": torch.complex128,
    }


_CONSTANTS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "strided")


def constant_of(name: str) -> Any:
    """The memory format or layout of torch that a program names. Raises `ValueError` for another."""
    import torch

    name = name.removeprefix("torch.")
    if name not in _CONSTANTS:
        raise ValueError(f"{name} is neither a memory format nor the layout of dense tensors")
    return getattr(torch, name)


def _tensor(array: Array) -> Any:
    import torch

    dtype = torch_dtypes()[element_type_name(element_type_of(array.dtype))]
    if array.size == 0:
        return torch.empty(array.shape, dtype=dtype)
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return torch.frombuffer(bytearray(flat), dtype=dtype).reshape(array.shape)


def _array(tensor: Any, type: TensorType[Attribute]) -> Array:
    import torch

    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return cast("Array", flat.view(numpy_dtype(type.element_type))).reshape(type.get_shape())


def operator_of(op: type[SchemaOp]) -> Any | None:
    """The overload of torch that computes the operator of an op class, `None` where torch must not be asked: see
    `et_ops.torch_operators`.
    """
    import torch

    return overload_of(torch, op.operator)


def evaluate(call: ConstantCall) -> Sequence[Array]:
    """The results of an operator on constants.

    Raises whatever its shape rule and torch raise for operands that the operator does not take: `RuntimeError`,
    `TypeError`, `ValueError`, `IndexError` or `NotImplementedError`, the last also for an operator that torch is not
    asked to compute.
    """
    import torch

    # Where torch takes a number for a tensor it treats it as one, which is not the same in half precision.
    takes_numbers: bool = torch._C._should_allow_numbers_as_tensors(call.op.schema().name)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    computed = None if call.computed is None else torch_dtypes()[element_type_name(call.computed)]

    def convert(value: Any, base: str) -> Any:
        if isinstance(value, np.ndarray):
            return _tensor(cast("Array", value))
        if isinstance(value, list | tuple):
            return [convert(item, base) for item in cast("Sequence[Any]", value)]
        if base == "ScalarType" and isinstance(value, Attribute):
            return torch_dtypes()[element_type_name(value)]
        if base in ("MemoryFormat", "Layout") and isinstance(value, str):
            return constant_of(value)
        if base == "Device" and value is not None:
            return "cpu"  # constants have no devices
        if base == "Tensor" and isinstance(value, int | float):
            return value if takes_numbers else torch.tensor(value, dtype=computed)
        return value

    positional: list[Any] = []
    named: dict[str, Any] = {}
    for arg in call.op.schema().args:
        value = convert(call.args.get(arg.name), arg.type.base)
        if arg.kwarg_only:
            if value is not None:
                named[arg.name] = value
        else:
            positional.append(value)
    overload = operator_of(call.op)
    if overload is None:
        raise NotImplementedError(f"torch is not asked to compute {call.op.name}")
    given = iter(positional)
    arguments = [named.get(arg.name) if arg.kwarg_only else next(given) for arg in call.op.schema().args]
    check_operands(torch, call.op.operator, arguments)
    with torch.no_grad():
        found = overload(*positional, **named)
    results = cast("Sequence[Any]", found) if isinstance(found, list | tuple) else (found,)
    return [_array(result, type) for result, type in zip(results, call.types, strict=True)]
