"""Products of groups of rows, whose ends are told at run time, are those of each group."""

from __future__ import annotations

import numpy as np
import pytest

from et_schema.errors import Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import PrepareContext, Scratch
from et_vm.values import Array, Tensor

_TYPES = {"float32": ScalarType.FLOAT, "int32": ScalarType.INT, "int64": ScalarType.LONG}


def register(array: Array) -> Tensor:
    storage = np.frombuffer(bytearray(array.tobytes()), np.uint8)
    return Tensor(_TYPES[array.dtype.name], array.shape, tuple(range(array.ndim)), storage=storage)


def run(input: Array, weight: Array, ends: Array) -> Array:
    """The result of the kernel of the library, which was not zeros before."""
    out = register(np.full((len(input), len(weight) // len(ends)), 85, np.float32))
    prepare = load_library("portable").lookup("grouped::linear.out", ())
    assert prepare is not None
    context = PrepareContext("grouped::linear.out", scratch=Scratch())
    function, parts = prepare(context, *map(register, (input, weight, ends)), out)
    function(*parts)
    return np.array(out.array)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("ends", [[0, 0, 5], [5, 5, 5], [0, 0, 0], [1, 3, 4], [2, 2, 5]], ids=str)
def test_groups(ends: list[int], dtype: type[np.generic]) -> None:
    rng = np.random.default_rng(0)
    input, weight = rng.random((5, 4), np.float32), rng.random((6, 4), np.float32)
    expected = np.zeros((5, 2), np.float32)
    for group, first in enumerate([0, *ends[:-1]]):
        rows = slice(first, ends[group])
        expected[rows] = input[rows] @ weight[2 * group : 2 * group + 2].T
    found = run(input, weight, np.array(ends, dtype))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("ends", [[0, 0, 6], [3, 2, 5], [-1, 0, 5], [(1 << 63) - 1, -1 << 63, -1]], ids=str)
def test_ends_that_are_refused(ends: list[int]) -> None:
    input, weight = np.zeros((5, 4), np.float32), np.zeros((6, 4), np.float32)
    with pytest.raises(Trap, match="argument 'ends': expected places in"):
        run(input, weight, np.array(ends, np.int64))


def test_rows_without_elements() -> None:
    found = run(np.zeros((5, 0), np.float32), np.zeros((6, 0), np.float32), np.array([1, 3, 4]))
    np.testing.assert_array_equal(found, np.zeros((5, 2), np.float32))


def test_matrices_of_all_groups() -> None:
    with pytest.raises(Trap, match="argument 'weight': expected a multiple of 4 rows"):
        run(np.zeros((5, 4), np.float32), np.zeros((6, 4), np.float32), np.zeros(4, np.int64))
