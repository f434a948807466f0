"""Element types of the operator library as types of the IR."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Attribute

from et_ir.dialects.schema.literals import ELEMENT_TYPES
from et_ir.dialects.schema.storage import storage_of
from et_ops.dtypes import BY_NAME, DType

__all__ = ["attr_of", "dtype_of"]

_BY_ATTR: Final = {attr: BY_NAME[name] for name, attr in ELEMENT_TYPES.items()}


def dtype_of(attr: Attribute) -> DType:
    """The element type of an attribute. Raises `ValueError` for one that tensors cannot have."""
    found = _BY_ATTR.get(attr) or _BY_ATTR.get(storage_of(attr))
    if found is None:
        raise ValueError(f"{attr} is not a tensor element type")
    return found


def attr_of(dtype: DType) -> Attribute:
    """The attribute of an element type. Raises `KeyError` for one that tensors of the IR cannot have."""
    return ELEMENT_TYPES[dtype.name]
