"""Torch tensors on the memory of the VM's tensors."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import torch

from et_schema.scalar_type import ScalarType
from et_vm.values import Array, Tensor

# Types that numpy holds only through ml_dtypes travel as integers of the same size.
_CARRIERS = {1: np.uint8, 2: np.int16}


def torch_dtype(scalar_type: int) -> torch.dtype:
    """The dtype of a scalar type."""
    dtype: torch.dtype = getattr(torch, ScalarType(scalar_type).torch_name)
    return dtype


def alias(tensor: Tensor) -> torch.Tensor:
    """A torch tensor on the memory of `tensor`, with its shape and strides.

    The caller keeps `tensor` alive. Constants are aliased too: torch has no read-only tensors, and the
    out variants do not write to their inputs.
    """
    array = tensor.array
    dtype = torch_dtype(tensor.scalar_type)
    if not array.size:
        return torch.empty(tensor.sizes, dtype=dtype)
    if array.dtype.isbuiltin != 1:
        array = array.view(_CARRIERS[array.dtype.itemsize])
    if not array.flags.writeable:
        array = _writable(array)
    made: torch.Tensor = torch.from_numpy(array)  # pyright: ignore[reportUnknownMemberType] unannotated
    return made if made.dtype == dtype else made.view(dtype)


def _writable(array: Array) -> Array:
    """The same elements without numpy's read-only flag, which torch.from_numpy would warn of."""
    # Tensors are dense: the elements are exactly the `nbytes` from the first on.
    memory: Any = (ctypes.c_ubyte * array.nbytes).from_address(array.ctypes.data)
    return np.ndarray(array.shape, array.dtype, memory, 0, array.strides)


def meta_of(tensor: Tensor) -> torch.Tensor:
    """A tensor without data of the same shape, strides and type."""
    return torch.empty_strided(
        tensor.sizes, tensor.strides, dtype=torch_dtype(tensor.scalar_type), device="meta"
    )
