"""The shared checks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from et_schema.errors import Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.arguments import (
    broadcast_shapes,
    checked_constant,
    constant,
    describe,
    dimension,
    dimensions,
)
from et_vm.kernels.registry import PrepareContext
from et_vm.values import Tensor

CTX = PrepareContext("aten::test.out", instruction=3)


def test_dimension() -> None:
    assert [dimension(CTX, dim, 3) for dim in (0, 2, -1, -3)] == [0, 2, 2, 0]
    assert [dimension(CTX, dim, 0) for dim in (0, -1)] == [0, 0]
    for dim, rank in ((3, 3), (-4, 3), (1, 0)):
        with pytest.raises(Trap, match=r"aten::test\.out"):
            dimension(CTX, dim, rank)


def test_dimensions() -> None:
    assert dimensions(CTX, None, 3) == dimensions(CTX, [], 3) == (0, 1, 2)
    assert dimensions(CTX, [], 3, empty_is_all=False) == ()
    assert dimensions(CTX, [-1, 0], 3) == (2, 0)
    assert dimensions(CTX, [0], 0) == ()
    with pytest.raises(Trap, match="distinct"):
        dimensions(CTX, [0, -3], 3)


def test_broadcast_shapes() -> None:
    assert broadcast_shapes(CTX, (2, 3), (2, 3)) == (2, 3)
    assert broadcast_shapes(CTX, (2, 1), (3,), ()) == (2, 3)
    assert broadcast_shapes(CTX, (0, 1), (1, 5)) == (0, 5)
    with pytest.raises(Trap, match=r"shapes \[2, 3\] and \[2\] do not broadcast"):
        broadcast_shapes(CTX, (2, 3), (2,))


@pytest.mark.parametrize(
    "value", [0, 1, -1, 127, 255, 300, -300, 2.7, -2.7, 70000, 1e300, math.inf, math.nan, True]
)
@pytest.mark.parametrize(
    "scalar_type",
    [
        ScalarType.BYTE,
        ScalarType.CHAR,
        ScalarType.INT,
        ScalarType.HALF,
        ScalarType.BFLOAT16,
        ScalarType.FLOAT,
        ScalarType.BOOL,
    ],
)
def test_checked_constants_are_torchs(value: float, scalar_type: ScalarType) -> None:
    """As where torch fills several elements: a single one takes an infinity for a large number."""
    try:
        expected = torch.full((2,), value, dtype=getattr(torch, scalar_type.torch_name))[0]
    except RuntimeError:
        with pytest.raises(Trap, match="a number that fits"):
            checked_constant(CTX, value, scalar_type, arg="value")
        return
    got = checked_constant(CTX, value, scalar_type, arg="value")
    np.testing.assert_array_equal(got.astype(np.float64), expected.double().numpy())


def test_constants_wrap() -> None:
    assert int(constant(300, ScalarType.BYTE)) == 44
    assert int(constant(-1.5, ScalarType.INT)) == -1
    assert bool(constant(0.5, ScalarType.BOOL))


def test_describe() -> None:
    assert describe(Tensor(ScalarType.HALF, (2, 3))) == "float16[2, 3]"
