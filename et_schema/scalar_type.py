"""Element types: torch's numbering, with the names and sizes that the rest of the stack knows them by."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from et_schema.errors import Error, ExecutorchError

if TYPE_CHECKING:
    import numpy as np


class UnknownScalarType(ExecutorchError, ValueError):
    """A number that is not an element type. A ValueError too, as for every enumeration."""


class ScalarType(IntEnum):
    """`c10::ScalarType`. Files hold those that are neither complex nor bit fields narrower than 16."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEXHALF = 8
    COMPLEXFLOAT = 9
    COMPLEXDOUBLE = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4X2 = 16
    QUINT2X4 = 17
    BITS1X8 = 18
    BITS2X4 = 19
    BITS4X2 = 20
    BITS8 = 21
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29

    @classmethod
    def _missing_(cls, value: object) -> ScalarType:
        # Programs hand numbers to kernels as element types.
        raise UnknownScalarType(Error.InvalidArgument, f"{value!r} is not an element type")

    @property
    def itemsize(self) -> int:
        """Bytes per element; for the packed types (QUINT4X2, BITS1X8 …) per byte-sized storage unit."""
        return _TABLE[self][0]

    @property
    def torch_name(self) -> str:
        """The dtype's name in torch without the module: `float32`."""
        return _TABLE[self][1]

    @property
    def mlir(self) -> str:
        """The builtin MLIR type: `f32`, `i64`, `ui8`, `i1`. Signed integers are signless.

        Raises `ExecutorchError(InvalidType)` for quantized and bit types: MLIR's builtin dialect has none.
        """
        name = _TABLE[self][2]
        if name is None:
            raise ExecutorchError(Error.InvalidType, f"{self.name} has no builtin MLIR type")
        return name

    @property
    def is_floating(self) -> bool:
        return self in _FLOATING

    @property
    def is_complex(self) -> bool:
        return ScalarType.COMPLEXHALF <= self <= ScalarType.COMPLEXDOUBLE

    @property
    def is_integral(self) -> bool:
        """Plain integers: neither BOOL nor the quantized types."""
        return self in _INTEGRAL

    @classmethod
    def from_torch_name(cls, name: str) -> ScalarType:
        """`float32` or `torch.float32` to FLOAT. Raises `ExecutorchError(InvalidType)`."""
        found = _BY_TORCH_NAME.get(name.removeprefix("torch."))
        if found is None:
            raise ExecutorchError(Error.InvalidType, f"unknown torch dtype {name!r}")
        return found

    @classmethod
    def from_mlir(cls, name: str) -> ScalarType:
        """`f32` to FLOAT. Raises `ExecutorchError(InvalidType)`."""
        found = _BY_MLIR.get(name)
        if found is None:
            raise ExecutorchError(Error.InvalidType, f"MLIR type {name!r} is not a tensor element type")
        return found


# itemsize, torch name, MLIR name, numpy name (looked up in numpy, then in ml_dtypes)
_TABLE: dict[ScalarType, tuple[int, str, str | None, str | None]] = {
    ScalarType.BYTE: (1, "uint8", "ui8", "uint8"),
    ScalarType.CHAR: (1, "int8", "i8", "int8"),
    ScalarType.SHORT: (2, "int16", "i16", "int16"),
    ScalarType.INT: (4, "int32", "i32", "int32"),
    ScalarType.LONG: (8, "int64", "i64", "int64"),
    ScalarType.HALF: (2, "float16", "f16", "float16"),
    ScalarType.FLOAT: (4, "float32", "f32", "float32"),
    ScalarType.DOUBLE: (8, "float64", "f64", "float64"),
    ScalarType.COMPLEXHALF: (4, "complex32", "complex<f16>", None),
    ScalarType.COMPLEXFLOAT: (8, "complex64", "complex<f32>", "complex64"),
    ScalarType.COMPLEXDOUBLE: (16, "complex128", "complex<f64>", "complex128"),
    ScalarType.BOOL: (1, "bool", "i1", "bool"),
    ScalarType.QINT8: (1, "qint8", None, "int8"),
    ScalarType.QUINT8: (1, "quint8", None, "uint8"),
    ScalarType.QINT32: (4, "qint32", None, "int32"),
    ScalarType.BFLOAT16: (2, "bfloat16", "bf16", "bfloat16"),
    ScalarType.QUINT4X2: (1, "quint4x2", None, "uint8"),
    ScalarType.QUINT2X4: (1, "quint2x4", None, "uint8"),
    ScalarType.BITS1X8: (1, "bits1x8", None, "uint8"),
    ScalarType.BITS2X4: (1, "bits2x4", None, "uint8"),
    ScalarType.BITS4X2: (1, "bits4x2", None, "uint8"),
    ScalarType.BITS8: (1, "bits8", None, "uint8"),
    ScalarType.BITS16: (2, "bits16", None, "uint16"),
    ScalarType.FLOAT8E5M2: (1, "float8_e5m2", "f8E5M2", "float8_e5m2"),
    ScalarType.FLOAT8E4M3FN: (1, "float8_e4m3fn", "f8E4M3FN", "float8_e4m3fn"),
    ScalarType.FLOAT8E5M2FNUZ: (1, "float8_e5m2fnuz", "f8E5M2FNUZ", "float8_e5m2fnuz"),
    ScalarType.FLOAT8E4M3FNUZ: (1, "float8_e4m3fnuz", "f8E4M3FNUZ", "float8_e4m3fnuz"),
    ScalarType.UINT16: (2, "uint16", "ui16", "uint16"),
    ScalarType.UINT32: (4, "uint32", "ui32", "uint32"),
    ScalarType.UINT64: (8, "uint64", "ui64", "uint64"),
}
_BY_TORCH_NAME = {row[1]: scalar_type for scalar_type, row in _TABLE.items()}
_BY_MLIR = {row[2]: scalar_type for scalar_type, row in _TABLE.items() if row[2] is not None}
_FLOATING = frozenset(
    {ScalarType.HALF, ScalarType.FLOAT, ScalarType.DOUBLE, ScalarType.BFLOAT16}
    | {ScalarType.FLOAT8E5M2, ScalarType.FLOAT8E4M3FN, ScalarType.FLOAT8E5M2FNUZ, ScalarType.FLOAT8E4M3FNUZ}
)
_INTEGRAL = frozenset(
    {ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG}
    | {ScalarType.UINT16, ScalarType.UINT32, ScalarType.UINT64}
)


@cache
def numpy_dtype(scalar_type: ScalarType) -> np.dtype[Any]:
    """The numpy dtype that holds `scalar_type`; `ml_dtypes` supplies bfloat16 and the float8 types.

    Quantized types map to the integers that store them, packed types to `uint8`. Imports numpy on first
    use. Raises `ExecutorchError(NotSupported)` for COMPLEXHALF.
    """
    import numpy as np

    name = _TABLE[scalar_type][3]
    if name is None:
        raise ExecutorchError(Error.NotSupported, f"numpy has no type for {scalar_type.name}")
    if scalar_type.is_floating and (scalar_type.itemsize == 1 or scalar_type == ScalarType.BFLOAT16):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def scalar_type_of(dtype: np.dtype[Any]) -> ScalarType:
    """The plain scalar type of a numpy (or ml_dtypes) dtype. Raises `ExecutorchError(InvalidType)`."""
    return ScalarType.from_torch_name(dtype.name)
