"""Torch tensors on the memory of registers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.aten.binding import alias, meta_of, torch_dtype
from et_vm.values import Tensor

TYPES = [
    ScalarType.BYTE,
    ScalarType.LONG,
    ScalarType.HALF,
    ScalarType.FLOAT,
    ScalarType.BOOL,
    ScalarType.BFLOAT16,
    ScalarType.COMPLEXFLOAT,
    ScalarType.UINT16,
    ScalarType.FLOAT8E4M3FN,
]


def _tensor(scalar_type: ScalarType, *, constant: bool = False, order: tuple[int, ...] = (0, 1, 2)) -> Tensor:
    values = np.arange(24).reshape(2, 3, 4).astype(numpy_dtype(scalar_type))
    return Tensor.from_numpy(values, scalar_type, order, constant=constant)


@pytest.mark.parametrize("scalar_type", TYPES)
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)])
def test_alias(scalar_type: ScalarType, constant: bool, order: tuple[int, ...]) -> None:
    """Without the warning torch has for read-only arrays."""
    tensor = _tensor(scalar_type, constant=constant, order=order)
    made = alias(tensor)
    assert made.dtype == torch_dtype(scalar_type)
    assert tuple(made.shape) == tensor.sizes
    assert made.stride() == tensor.strides
    assert made.data_ptr() == tensor.array.ctypes.data
    expected = tensor.array.astype(np.complex64)
    np.testing.assert_array_equal(made.to(torch.complex64).numpy(), expected)


def test_writes_reach_the_register() -> None:
    tensor = _tensor(ScalarType.BFLOAT16)
    alias(tensor).fill_(3)
    assert (tensor.array == 3).all()


def test_empty() -> None:
    made = alias(Tensor.from_numpy(np.empty((0, 3), np.float32), ScalarType.FLOAT))
    assert tuple(made.shape) == (0, 3)


def test_stand_ins() -> None:
    tensor = _tensor(ScalarType.HALF, order=(2, 0, 1))
    made = meta_of(tensor)
    assert (made.device.type, made.dtype, made.stride()) == ("meta", torch.float16, tensor.strides)
