"""Types of the IR for what torch's tracing knows of a value."""

from __future__ import annotations

from typing import Any, Final, cast

import torch
from xdsl.dialects.builtin import NoneType, TensorType, f64, i1, i64
from xdsl.ir import Attribute

from et_ir.dialects.program import StringType
from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.tensors import Size, sized_tensor
from et_ir.frontend.expressions import Translation

__all__ = ["ELEMENT_OF", "UnsupportedType", "dim_order_of", "result_type", "tensor_type"]

ELEMENT_OF: Final[dict[torch.dtype, Attribute]] = {
    torch.uint8: ELEMENT_TYPES["ui8"],
    torch.int8: ELEMENT_TYPES["i8"],
    torch.int16: ELEMENT_TYPES["i16"],
    torch.int32: ELEMENT_TYPES["i32"],
    torch.int64: ELEMENT_TYPES["i64"],
    torch.float16: ELEMENT_TYPES["f16"],
    torch.bfloat16: ELEMENT_TYPES["bf16"],
    torch.float32: ELEMENT_TYPES["f32"],
    torch.float64: ELEMENT_TYPES["f64"],
    torch.bool: ELEMENT_TYPES["i1"],
    torch.complex64: ELEMENT_TYPES["complex<f32>"],
    torch.complex128: ELEMENT_TYPES["complex<f64>"],
}
"""Element types by dtype. Others (quantised, complex of half precision, 8-bit floats, wide unsigned integers) cannot be
imported.
"""

QUANTISED_FIX: Final = (
    "quantise with PT2E (torchao), which keeps plain integer tensors, not with torch's eager mode"
)

_FIXES: Final = {
    "complex32": "compute complex numbers in float32: no runtime has kernels for half precision",
    "quint": QUANTISED_FIX,
    "qint": QUANTISED_FIX,
    "float8": "convert to float16 or bfloat16 before export",
    "uint": "convert to a signed integer type of the same or the next size before export",
}


class UnsupportedType(Exception):
    """A value has a type that the IR does not have; `fix` says what the user can do."""

    def __init__(self, message: str, fix: str):
        super().__init__(message)
        self.fix = fix


def element_type(dtype: torch.dtype) -> Attribute:
    """The element type of a dtype. Raises `UnsupportedType`."""
    found = ELEMENT_OF.get(dtype)
    if found is None:
        name = str(dtype).removeprefix("torch.")
        fix = next(
            (fix for start, fix in _FIXES.items() if name.startswith(start)), "convert to another dtype"
        )
        raise UnsupportedType(f"tensors of dtype {name} are not supported", fix)
    return found


# A program has a few dozen distinct types and thousands of values.
_interned: Final[dict[tuple[torch.dtype, tuple[Size, ...]], TensorType[Attribute]]] = {}


def tensor_type(tensor: torch.Tensor, translate: Translation | None = None) -> TensorType[Attribute]:
    """The type of a (fake) tensor; sizes known at run time only are `?`, with their expressions as
    `translate` gives them.

    Raises `UnsupportedType`.
    """
    dtype, shape = tensor.dtype, cast("tuple[Size, ...]", tuple(tensor.shape))
    for size in shape:
        if type(size) is not int:
            shape = tuple(_size(size, translate) for size in shape)
            break
    key = (dtype, shape)
    found = _interned.get(key)
    if found is None:
        if tensor.layout is not torch.strided:
            name = str(tensor.layout).removeprefix("torch.")
            raise UnsupportedType(
                f"tensors of layout {name} are not supported", "use dense tensors: to_dense()"
            )
        found = _interned[key] = sized_tensor(element_type(dtype), shape)
    elif tensor.layout is not torch.strided:
        name = str(tensor.layout).removeprefix("torch.")
        raise UnsupportedType(f"tensors of layout {name} are not supported", "use dense tensors: to_dense()")
    return found


def _size(size: Any, translate: Translation | None) -> Size:
    if type(size) is int:
        return size
    expression = size.node.expr
    # Torch may find that a size is a number after it has made what depends on it, which then has none.
    if translate is None or expression.is_Integer:
        return None
    found = translate(expression)
    return found if found is None or found.constant is None else found.constant


def result_type(value: object, translate: Translation | None = None) -> Attribute:
    """The type of anything that a node can hold, tensors and Python or symbolic scalars. Raises
    `UnsupportedType`.
    """
    match value:
        case torch.Tensor():
            return tensor_type(value, translate)
        case bool() | torch.SymBool():
            return i1
        case int() | torch.SymInt():
            return i64
        case float() | torch.SymFloat():
            return f64
        case str():
            return StringType()
        case None:
            return NoneType()
        case _:
            raise UnsupportedType(
                f"values of type {type(cast(Any, value)).__name__} are not supported",
                "pass tensors, numbers, booleans, strings or None",
            )


def dim_order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """The order of a dense tensor's dimensions in memory, outermost first; `None` if it is contiguous.

    Dimensions of size 1 say nothing in their strides, so the usual layouts are asked for before strides are
    sorted.
    """
    if tensor.is_contiguous():
        return None
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return (0, 2, 3, 1)
    if tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d):
        return (0, 2, 3, 4, 1)
    strides = tensor.stride()
    return tuple(sorted(range(tensor.dim()), key=lambda dim: -strides[dim]))
