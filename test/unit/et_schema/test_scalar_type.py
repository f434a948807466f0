from __future__ import annotations

import numpy as np
import pytest

from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType, numpy_dtype, scalar_type_of


@pytest.mark.parametrize("scalar_type", [item for item in ScalarType if item != ScalarType.COMPLEXHALF])
def test_numpy_dtype_has_the_item_size(scalar_type: ScalarType) -> None:
    assert numpy_dtype(scalar_type).itemsize == scalar_type.itemsize


def test_complex_half_has_no_numpy_dtype() -> None:
    with pytest.raises(ExecutorchError, match="COMPLEXHALF") as caught:
        numpy_dtype(ScalarType.COMPLEXHALF)
    assert caught.value.code == Error.NotSupported


@pytest.mark.parametrize("scalar_type", ScalarType)
def test_names_lead_back(scalar_type: ScalarType) -> None:
    assert ScalarType.from_torch_name(scalar_type.torch_name) == scalar_type
    assert ScalarType.from_torch_name(f"torch.{scalar_type.torch_name}") == scalar_type
    if scalar_type.is_floating or scalar_type.is_integral or scalar_type.is_complex:
        assert ScalarType.from_mlir(scalar_type.mlir) == scalar_type
    elif scalar_type != ScalarType.BOOL:
        with pytest.raises(ExecutorchError, match="no builtin MLIR type"):
            _ = scalar_type.mlir


def test_numpy_dtypes_lead_back() -> None:
    for scalar_type in (ScalarType.FLOAT, ScalarType.BOOL, ScalarType.BFLOAT16, ScalarType.FLOAT8E4M3FN):
        assert scalar_type_of(numpy_dtype(scalar_type)) == scalar_type
    with pytest.raises(ExecutorchError, match="unknown torch dtype 'datetime64"):
        scalar_type_of(np.dtype("datetime64[s]"))


def test_unknown_mlir_type() -> None:
    with pytest.raises(ExecutorchError, match="'index' is not a tensor element type"):
        ScalarType.from_mlir("index")


def test_families() -> None:
    assert ScalarType.FLOAT8E5M2.is_floating
    assert ScalarType.BFLOAT16.is_floating
    assert not ScalarType.QINT8.is_integral
    assert ScalarType.UINT64.is_integral
    assert not ScalarType.BOOL.is_integral
    assert ScalarType.COMPLEXDOUBLE.is_complex
