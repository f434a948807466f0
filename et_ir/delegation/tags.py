"""Delegation tags of ops: their partition, between the decision and the region that is made of it."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from et_ir.dialects.backend.attributes import DELEGATION_TAG

__all__ = ["DELEGATION_TAG", "clear_tags", "tag", "tag_of"]


def tag(ops: Iterable[Operation], name: str) -> None:
    """Give ops a tag; those with one tag, in one block, are one partition."""
    attribute = StringAttr(name)
    for op in ops:
        op.attributes[DELEGATION_TAG] = attribute


def tag_of(op: Operation) -> str | None:
    """The tag of an op."""
    attribute = op.attributes.get(DELEGATION_TAG)
    return attribute.data if isinstance(attribute, StringAttr) else None


def clear_tags(op: Operation) -> None:
    """Take the tags from an op and all that is in it."""
    for inner in op.walk():
        inner.attributes.pop(DELEGATION_TAG, None)
