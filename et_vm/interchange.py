"""Arrays in and out: numpy as it is, torch tensors without importing torch unless the caller has."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from et_schema.errors import InputError
from et_vm.values import Array

# What `dtype.isbuiltin` says of types that another package added to numpy: those of ml_dtypes.
_REGISTERED = 2
_NUMPY: tuple[type, ...] = (np.ndarray, np.generic)


def is_torch(value: object) -> bool:
    """Whether `value` is a `torch.Tensor` (or a subclass from torch)."""
    return type(value).__module__.partition(".")[0] == "torch"


def any_torch(values: Iterable[object]) -> bool:
    """Whether some value is a torch tensor."""
    return any(type(value) is not np.ndarray and is_torch(value) for value in values)


def to_numpy(value: Any) -> Array | None:
    """A numpy array on the same memory where possible, or None for what is no array.

    bfloat16 and float8 tensors become the ml_dtypes type of the same name. Raises InputError for a torch
    tensor that numpy cannot hold (sparse, quantized, or on another device).
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, _NUMPY):
        array: Array = np.asarray(value)
        return array
    if not is_torch(value):
        return None
    try:
        # Most tensors are ones that torch says nothing against.
        shared: Array = value.numpy()
    except (TypeError, RuntimeError):
        return _unusual(value)
    return shared


def _unusual(value: Any) -> Array:
    """The array of a tensor that torch gives none for as it is. Raises InputError."""
    torch = sys.modules["torch"]
    tensor = value.detach()
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        raise InputError(
            f"a {tensor.layout} tensor of type {tensor.dtype} on {tensor.device} is not supported"
        )
    tensor = tensor.resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes

        carrier = torch.int16 if name == "bfloat16" else torch.int8
        return tensor.view(carrier).numpy().view(getattr(ml_dtypes, name))
    return tensor.numpy()


def to_torch(array: Array) -> Any:
    """A torch tensor on the memory of `array`, which must be writable. The caller has imported torch."""
    torch = sys.modules["torch"]
    if array.dtype.isbuiltin == _REGISTERED:
        name = array.dtype.name
        carrier = np.int16 if array.dtype.itemsize == 2 else np.int8
        return torch.from_numpy(array.view(carrier)).view(getattr(torch, name))
    return torch.from_numpy(array)
