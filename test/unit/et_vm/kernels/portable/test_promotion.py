"""Type promotion against torch's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.promotion import (
    arithmetic,
    can_cast,
    floating,
    kind,
    promote,
    real_of,
    result_type,
)
from et_vm.values import Tensor

TYPES = {
    scalar_type: getattr(torch, scalar_type.torch_name)
    for scalar_type in (
        ScalarType.BYTE,
        ScalarType.CHAR,
        ScalarType.SHORT,
        ScalarType.INT,
        ScalarType.LONG,
        ScalarType.HALF,
        ScalarType.FLOAT,
        ScalarType.DOUBLE,
        ScalarType.COMPLEXFLOAT,
        ScalarType.COMPLEXDOUBLE,
        ScalarType.BOOL,
        ScalarType.BFLOAT16,
    )
}
SCALARS = (True, 3, 2.5)

BCOMPLEX32 = getattr(torch, "bcomplex32", None)
"""Complex numbers of two bfloat16, from torch 2.14 on: files have no such type, and use complex64 as earlier torch."""


def _tensor(scalar_type: ScalarType, sizes: tuple[int, ...]) -> Tensor:
    return Tensor(scalar_type, sizes, storage=np.zeros(64, np.uint8))


@pytest.mark.parametrize("a", TYPES)
def test_promote_and_can_cast(a: ScalarType) -> None:
    for b, theirs in TYPES.items():
        assert TYPES[promote(a, b)] == torch.promote_types(TYPES[a], theirs)
        assert can_cast(a, b) == torch.can_cast(TYPES[a], theirs)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(((), (2,)), repeat=2)))
def test_result_type_of_tensors(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for first, second in itertools.product(TYPES, repeat=2):
        ours = result_type(_tensor(first, a), _tensor(second, b))
        theirs = torch.result_type(torch.zeros(a, dtype=TYPES[first]), torch.zeros(b, dtype=TYPES[second]))
        if theirs == BCOMPLEX32:
            theirs = torch.complex64
        assert getattr(torch, ours.torch_name) == theirs, (first, second)


@pytest.mark.parametrize("sizes", [(), (2,)])
def test_result_type_with_a_number(sizes: tuple[int, ...]) -> None:
    for scalar_type, number in itertools.product(TYPES, SCALARS):
        theirs = torch.result_type(torch.zeros(sizes, dtype=TYPES[scalar_type]), number)
        assert TYPES[result_type(_tensor(scalar_type, sizes), number)] == theirs
        assert TYPES[result_type(number, _tensor(scalar_type, sizes))] == theirs


def test_result_type_of_many() -> None:
    tensors = [_tensor(ScalarType.CHAR, (2,)), _tensor(ScalarType.DOUBLE, ()), _tensor(ScalarType.HALF, (2,))]
    assert result_type(*tensors) == ScalarType.HALF


def test_no_operand() -> None:
    with pytest.raises(ValueError, match="no operand"):
        result_type()


def test_families() -> None:
    assert [kind(t) for t in (ScalarType.BOOL, ScalarType.BYTE, ScalarType.BFLOAT16)] == [0, 1, 2]
    assert kind(ScalarType.COMPLEXFLOAT) == 3
    assert floating(ScalarType.INT) == ScalarType.FLOAT
    assert floating(ScalarType.DOUBLE) == ScalarType.DOUBLE
    assert real_of(ScalarType.COMPLEXDOUBLE) == ScalarType.DOUBLE
    assert arithmetic(ScalarType.BFLOAT16) == arithmetic(ScalarType.HALF) == ScalarType.FLOAT
    assert arithmetic(ScalarType.SHORT) == ScalarType.SHORT


def test_nothing_is_converted_to_types_that_kernels_do_not_compute_in() -> None:
    assert not can_cast(ScalarType.FLOAT, ScalarType.FLOAT8E5M2)
    assert can_cast(ScalarType.FLOAT8E5M2, ScalarType.FLOAT8E5M2)
