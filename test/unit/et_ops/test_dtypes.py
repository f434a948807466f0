"""Element types: integers that wrap and saturate."""

from __future__ import annotations

import numpy as np
import pytest

from et_ops.dtypes import I8, I16, I64, U8, DType


@pytest.mark.parametrize(("dtype", "numpy"), [(I8, "i1"), (U8, "u1"), (I16, "i2"), (I64, "i8")])
def test_wrapped_integers(dtype: DType, numpy: str) -> None:
    numbers = [0, 1, -1, 127, 128, -128, -129, 255, 256, 257, -300, 70_000, 2**63 - 1, -(2**63)]
    found = [dtype.wrapped(number) for number in numbers]
    assert found == np.array(numbers).astype(numpy).tolist()


@pytest.mark.parametrize(("dtype", "numpy"), [(I8, "i1"), (U8, "u1"), (I16, "i2"), (I64, "i8")])
def test_saturated_integers(dtype: DType, numpy: str) -> None:
    numbers = [0, 1, -1, 127, 128, -129, 256, 70_000, 2**63 - 1, 2**63, -(2**63), -(2**80)]
    limits = np.iinfo(numpy)
    assert [dtype.saturated(number) for number in numbers] == [
        min(max(number, int(limits.min)), int(limits.max)) for number in numbers
    ]
