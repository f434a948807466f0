"""Element types whose numbers are stored as those of another type."""

from __future__ import annotations

from abc import abstractmethod

from xdsl.ir import Attribute, TypeAttribute

__all__ = ["StoredType", "storage_of"]


class StoredType(TypeAttribute):
    """An element type that says what stored numbers stand for. To operators it is the type that they are stored in."""

    @property
    @abstractmethod
    def storage(self) -> Attribute:
        """The element type of the stored numbers, as `i8`."""


def storage_of(element: Attribute) -> Attribute:
    """The element type that the numbers of a tensor are stored in."""
    return element.storage if isinstance(element, StoredType) else element
