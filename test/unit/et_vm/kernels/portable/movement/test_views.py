"""Views with invalid shapes."""

import numpy as np
import pytest

from et_schema.errors import Trap
from et_schema.scalar_type import ScalarType, numpy_dtype
from et_vm.kernels.libraries import load_library
from et_vm.kernels.portable.movement.views import expand_copy_out
from et_vm.kernels.portable.steps import run
from et_vm.kernels.registry import PrepareContext
from et_vm.values import Tensor


@pytest.mark.parametrize("size", [[3, 2**63 - 1], [2**62, 2**62], [1] * 65, [2**62, 0, 2**62, 2**62, 1] * 20])
def test_expanding_to_more_than_can_be_counted(size):
    x = Tensor.from_numpy(np.ones((1, 1), np.float32), ScalarType.FLOAT)
    out = Tensor.from_numpy(np.zeros((3, 4), np.float32), ScalarType.FLOAT)
    with pytest.raises(Trap, match="argument 'size'"):
        expand_copy_out(PrepareContext("aten::expand_copy.out"), x, size, False, out)


@pytest.mark.parametrize("scalar_type", [ScalarType.FLOAT8E5M2, ScalarType.FLOAT8E4M3FN, ScalarType.BFLOAT16])
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("aten::as_strided_copy.out", ([2, 2], [1, 2], 1), [[1, 3], [2, 4]]),
        ("aten::unfold_copy.out", (1, 2, 1), [[[0, 1], [1, 2]], [[3, 4], [4, 5]]]),
        ("aten::diagonal_copy.out", (0, 0, 1), [0, 4]),
        ("aten::diag_embed.out", (0, -2, -1), [np.diag([0, 1, 2]), np.diag([3, 4, 5])]),
        ("aten::eye.out", (3,), np.eye(3)),
    ],
)
def test_views_of_small_floats(scalar_type, name, arguments, expected):
    """numpy does not find the types of ml_dtypes again by the names that arrays have for them."""
    dtype = numpy_dtype(scalar_type)
    x = Tensor.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3).astype(dtype), scalar_type)
    out = Tensor.from_numpy(np.full(np.shape(expected), 9, np.float32).astype(dtype), scalar_type)
    prepare = load_library("portable").registered(name)
    given = arguments if name.startswith("aten::eye") else (x, *arguments)
    run([prepare(PrepareContext(name), *given, out)])
    np.testing.assert_array_equal(out.array.astype(np.float32), expected)
