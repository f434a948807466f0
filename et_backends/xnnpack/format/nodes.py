"""Operands and results of XNNPACK nodes, and element sizes of their values."""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

from et_backends.xnnpack.format.graph import (
    XNNConcatenate2,
    XNNConcatenate3,
    XNNConcatenate4,
    XNNDatatype,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XNodeUnion,
    XValue,
)

NO_VALUE = 0xFFFFFFFF
"""The id of a value that a node does without, and the external id of a value inside of the graph."""
NO_OFFSET = 0xFFFFFFFFFFFFFFFF
"""The offset of a constant that is named data."""
EXTERNAL_INPUT = 1
EXTERNAL_OUTPUT = 2
MAX_RANK = 6

_OPTIONAL = frozenset({"bias_id", "mask_id"})
_PACKED = frozenset({"bias_id", "filter_id"})
_CAT_INPUTS: dict[type, int] = {XNNConcatenate2: 2, XNNConcatenate3: 3, XNNConcatenate4: 4}


class NodeRoles(NamedTuple):
    """Names of the fields of a node that hold ids of values, in the order of the schema."""

    operands: tuple[str, ...]
    optional: frozenset[str]
    """Those of `operands` that may be NO_VALUE."""
    packed: frozenset[str]
    """Those of `operands` that XNNPACK copies to a layout of its own when it builds a graph. Their elements are not
    there any more when the graph runs: another node that reads them ends the process.
    """
    results: tuple[str, ...]


_roles: dict[type, NodeRoles] = {}


def roles_of(node: XNodeUnion) -> NodeRoles:
    """The roles of the fields of a node of this kind."""
    kind = type(node)
    roles = _roles.get(kind)
    if roles is None:
        ids = [field.name for field in fields(kind) if field.name.endswith("_id")]
        results = tuple(name for name in ids if name.startswith("output"))
        operands = tuple(name for name in ids if name not in results)[: _CAT_INPUTS.get(kind)]
        roles = _roles[kind] = NodeRoles(
            operands, _OPTIONAL.intersection(operands), _PACKED.intersection(operands), results
        )
    return roles


def kind_name(node: XNodeUnion) -> str:
    """The kind of a node as messages say it: `Conv2d`."""
    return type(node).__name__.removeprefix("XNN")


def tensor_of(value: XValue) -> XNNTensorValue | None:
    """The description of the elements of a value, quantized or not."""
    described = value.xvalue_union
    if isinstance(described, XNNQuantizedTensorValue):
        return described.tensor_value
    return described


BITS = {
    XNNDatatype.fp32: 32,
    XNNDatatype.fp16: 16,
    XNNDatatype.bf16: 16,
    XNNDatatype.int32: 32,
    XNNDatatype.qint8: 8,
    XNNDatatype.quint8: 8,
    XNNDatatype.qint32: 32,
    XNNDatatype.qcint8: 8,
    XNNDatatype.qcint32: 32,
    XNNDatatype.qcint4: 4,
    XNNDatatype.qbint4: 4,
    XNNDatatype.qdint8: 8,
}
"""Bits of an element. Two datatypes have none: only a processor knows how their elements are packed."""


def constant_bytes(datatype: XNNDatatype, dims: list[int]) -> int:
    """Bytes that a constant of this shape takes. Of a matrix of 4-bit elements each row starts at a byte."""
    bits = BITS[datatype]
    count = 1
    for size in dims[:-1]:
        count *= size
    row = dims[-1] if dims else 1
    return count * (-(-row * bits // 8))
