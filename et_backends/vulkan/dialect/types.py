"""Types of the `spirv` dialect: pointers and aggregates."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from et_backends.vulkan.format.spirv import StorageClass

__all__ = ["ArrayType", "PointerType", "RuntimeArrayType", "StructType", "pointer_type"]


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """A pointer with a storage class, such as `!spirv.ptr<"StorageBuffer", f32>`."""

    name = "spirv.ptr"
    storage: StringAttr
    """A name of `StorageClass`."""
    pointee: Attribute
    """The type of the pointee."""

    @staticmethod
    def of(storage: StorageClass, pointee: Attribute) -> PointerType:
        """The type of pointers to a type."""
        return PointerType(StringAttr(storage.name), pointee)

    @property
    def storage_class(self) -> StorageClass:
        """The storage class."""
        return StorageClass[self.storage.data]

    def verify(self) -> None:
        if self.storage.data not in StorageClass.__members__:
            known = ", ".join(StorageClass.__members__)
            raise VerifyException(f"[ptr_c1] '{self.storage.data}' is not one of {known}")


@irdl_attr_definition
class StructType(ParametrizedAttribute, TypeAttribute):
    """A block shared with the host: 32-bit numbers, or a single runtime array."""

    name = "spirv.struct"
    members: ArrayAttr[Attribute]
    """Types of the members."""

    @staticmethod
    def of(members: Sequence[Attribute]) -> StructType:
        """A block with these members."""
        return StructType(ArrayAttr(members))


@irdl_attr_definition
class RuntimeArrayType(ParametrizedAttribute, TypeAttribute):
    """A densely packed array with as many elements as the buffer holds."""

    name = "spirv.rtarray"
    element: Attribute
    """The type of an element."""


@irdl_attr_definition
class ArrayType(ParametrizedAttribute, TypeAttribute):
    """An array of fixed size, private to an invocation."""

    name = "spirv.array"
    count: IntAttr
    """The number of elements."""
    element: Attribute
    """The type of an element."""


def pointer_type(value: SSAValue) -> PointerType:
    """The type of a value that is a pointer."""
    assert isinstance(value.type, PointerType)
    return value.type
