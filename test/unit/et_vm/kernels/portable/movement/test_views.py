"""Views with invalid shapes."""

import numpy as np
import pytest

from et_schema.errors import Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.movement.views import expand_copy_out
from et_vm.kernels.registry import PrepareContext
from et_vm.values import Tensor


@pytest.mark.parametrize("size", [[3, 2**63 - 1], [2**62, 2**62], [1] * 65, [2**62, 0, 2**62, 2**62, 1] * 20])
def test_expanding_to_more_than_can_be_counted(size):
    x = Tensor.from_numpy(np.ones((1, 1), np.float32), ScalarType.FLOAT)
    out = Tensor.from_numpy(np.zeros((3, 4), np.float32), ScalarType.FLOAT)
    with pytest.raises(Trap, match="argument 'size'"):
        expand_copy_out(PrepareContext("aten::expand_copy.out"), x, size, False, out)
