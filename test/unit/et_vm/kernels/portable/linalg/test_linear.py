"""Linear layers of the kernel registry at the edge of what there is to multiply."""

from __future__ import annotations

import numpy as np
import pytest
from support.vm_programs import Build

from et_vm.runtime import Runtime


@pytest.mark.parametrize(("rows", "inner", "columns"), [(4, 0, 4), (0, 3, 2), (2, 3, 0)])
def test_of_nothing(rows: int, inner: int, columns: int) -> None:
    """A sum over nothing is zero, and no rows or columns give nothing."""
    build = Build()
    x, weight, out = build.tensor(rows, inner), build.tensor(columns, inner), build.tensor(rows, columns)
    build.call("aten::linear.out", x, weight, build.scalar(None), out, out)
    build.inputs(x, weight)
    build.outputs(out)
    method = Runtime().load_program(build.file()).load_method("forward")
    given = [np.ones((rows, inner), np.float32), np.ones((columns, inner), np.float32)]
    (found,) = method.execute(given)
    np.testing.assert_array_equal(found, np.zeros((rows, columns), np.float32))
