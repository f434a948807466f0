"""Torch's type promotion, for tensors of the runtime: the rules are `et_ops.dtypes`'."""

from __future__ import annotations

from functools import cache
from typing import Final

from et_ops import dtypes
from et_ops.dtypes import Category, DType
from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.kernels.portable.declare import Scalar
from et_vm.values import Tensor

DEFAULT_FLOAT = ScalarType.FLOAT
REDUCED = frozenset({ScalarType.HALF, ScalarType.BFLOAT16})
"""The 16-bit floats."""


def _described() -> dict[ScalarType, DType]:
    found: dict[ScalarType, DType] = {}
    for scalar_type in ScalarType:
        try:
            found[scalar_type] = dtypes.BY_NAME[scalar_type.mlir]
        except ExecutorchError:
            continue  # quantized and bit types
    return found


DTYPES: Final = _described()
"""The element types of the operator library by scalar type; quantized types have none."""
SCALAR_TYPES: Final = {dtype: scalar_type for scalar_type, dtype in DTYPES.items()}
_KINDS: Final = {
    scalar_type: int(DTYPES[scalar_type].category) if scalar_type in DTYPES else int(Category.INTEGER)
    for scalar_type in ScalarType
}


def dtype_of(scalar_type: ScalarType) -> DType:
    """The element type of the operator library. Raises ExecutorchError(InvalidType) for quantized types."""
    try:
        return DTYPES[scalar_type]
    except KeyError:
        raise ExecutorchError(
            Error.InvalidType, f"{scalar_type.name} is not promoted to other types"
        ) from None


def kind(scalar_type: ScalarType) -> int:
    """0 bool, 1 integer, 2 float, 3 complex."""
    return _KINDS[scalar_type]


@cache
def promote(a: ScalarType, b: ScalarType) -> ScalarType:
    """The type that holds values of both `a` and `b` (torch.promote_types).

    Raises `ExecutorchError(InvalidType)` for a quantized type and another one.
    """
    return a if a == b else SCALAR_TYPES[dtypes.promote(dtype_of(a), dtype_of(b))]


def _of_scalar(value: Scalar) -> DType:
    if isinstance(value, bool):
        return dtypes.BOOL
    return dtypes.I64 if isinstance(value, int) else dtypes.F64


def result_type(*operands: Tensor | Scalar) -> ScalarType:
    """The type in which torch computes an operation on `operands`, at least one of them
    (torch.result_type). Raises `ExecutorchError(InvalidType)` for a quantized type and another one.
    """
    first = operands[0] if operands else None
    if isinstance(first, Tensor) and all(
        isinstance(operand, Tensor) and operand.scalar_type == first.scalar_type for operand in operands
    ):
        return first.scalar_type
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    result = dtypes.promote_categories(
        (dtype_of(tensor.scalar_type) for tensor in tensors if tensor.sizes),
        (dtype_of(tensor.scalar_type) for tensor in tensors if not tensor.sizes),
        (_of_scalar(operand) for operand in operands if not isinstance(operand, Tensor)),
    )
    if result is None:
        raise ValueError("result_type of no operand")
    return SCALAR_TYPES[result]


def floating(scalar_type: ScalarType) -> ScalarType:
    """`scalar_type`, or the default float type when it is an integer or bool."""
    return scalar_type if kind(scalar_type) >= Category.FLOAT else DEFAULT_FLOAT


def real_of(scalar_type: ScalarType) -> ScalarType:
    """The type of the parts of a complex number, any other type itself."""
    return SCALAR_TYPES[dtypes.real_of(DTYPES[scalar_type])] if scalar_type.is_complex else scalar_type


def arithmetic(scalar_type: ScalarType) -> ScalarType:
    """The type torch does the arithmetic of `scalar_type` in: float32 for the 16-bit floats, rounded once
    at the end.
    """
    return ScalarType.FLOAT if scalar_type in REDUCED else scalar_type


def can_cast(source: ScalarType, target: ScalarType) -> bool:
    """Whether torch stores a result of type `source` into an out tensor of type `target`
    (torch.can_cast), which is one of those that kernels compute in: no float8, nothing quantised.
    """
    if source == target:
        return True
    return source in DTYPES and target in DTYPES and dtypes.can_cast(DTYPES[source], DTYPES[target])
