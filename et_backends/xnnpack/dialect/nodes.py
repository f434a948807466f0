"""One op for each kind of node of the format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    base,
    irdl_op_definition,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from et_backends.xnnpack.dialect.attributes import ValueType, field_values, integers
from et_backends.xnnpack.format.graph import OutputMinMax, XNode, XNodeUnion
from et_backends.xnnpack.format.nodes import NO_VALUE, roles_of

__all__ = ["NODE_OPS", "NodeOp"]

_NAMES = {"XNNPReLU": "prelu", "XNNLeakyReLU": "leaky_relu"}
_EVERY = ("debug_handle", "output_min", "output_max")


class NodeOp(IRDLOperation):
    """A node of the graph.

    An optional last operand may be missing. Attributes are the fields of the kind in the format, unless they are 0;
    `output_min` and `output_max` are the limits of the output.

    Rules: `node_c1` it has as many operands and results as its kind; `node_c2` its attributes are fields of its kind;
    `node_c3` it has both limits or none; `node_c4` each result has an id of 32 bits.
    """

    ids = prop_def(AnyAttr())
    """The id of each result."""
    inputs = var_operand_def(base(ValueType))
    """Operands, in the order of the format."""
    outputs = var_result_def(base(ValueType))
    """Results."""
    assembly_format = "`(` $inputs `)` `ids` $ids attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        types: Sequence[Attribute],
        ids: Sequence[int],
        attributes: Mapping[str, Attribute],
    ):
        super().__init__(
            operands=[inputs],
            result_types=[types],
            properties={"ids": DenseArrayBase.from_list(i64, list(ids))},
            attributes=dict(attributes),
        )

    @property
    def kind(self) -> type[Any]:
        """The class of such nodes in the format."""
        return _KINDS[self.name]

    def table(self, operands: Sequence[int]) -> XNode:
        """The node as the format has it, with the ids of its operands. Raises ValueError."""
        found = {name: attribute for name, attribute in self.attributes.items() if name not in _EVERY}
        node: XNodeUnion = self.kind(**field_values(self.kind, found))
        roles = roles_of(node)
        for at, name in enumerate(roles.operands):
            setattr(node, name, operands[at] if at < len(operands) else NO_VALUE)
        for name, number in zip(roles.results, integers(self.ids), strict=True):
            setattr(node, name, number)
        every = {name: self.attributes.get(name) for name in _EVERY}
        handle, low, high = every["debug_handle"], every["output_min"], every["output_max"]
        limits = None
        if isinstance(low, FloatAttr) and isinstance(high, FloatAttr):
            limits = OutputMinMax(low.value.data, high.value.data)
        return XNode(node, handle.value.data if isinstance(handle, IntegerAttr) else 0, limits)

    def verify_(self) -> None:
        roles = roles_of(self.kind())
        least = len(roles.operands) - len(roles.optional)
        counts = least <= len(self.inputs) <= len(roles.operands) and len(self.outputs) == len(roles.results)
        if not counts:
            raise VerifyException(
                f"[node_c1] {least} to {len(roles.operands)} operands and {len(roles.results)} results, "
                f"not {len(self.inputs)} and {len(self.outputs)}"
            )
        ids = integers(self.ids)
        if len(ids) != len(self.outputs) or not all(0 <= number < NO_VALUE for number in ids):
            raise VerifyException(f"[node_c4] each result has an id, from 0 to {NO_VALUE - 1}")
        if ("output_min" in self.attributes) != ("output_max" in self.attributes):
            raise VerifyException("[node_c3] only one of the two limits is given")
        try:
            self.table([0] * len(self.inputs))
        except ValueError as error:
            raise VerifyException(f"[node_c2] {error}") from None


def limits_of(item: XNode) -> dict[str, Attribute]:
    """The further fields of a node of any kind, as attributes."""
    found: dict[str, Attribute] = {}
    if item.debug_handle:
        found["debug_handle"] = IntegerAttr(item.debug_handle, i64)
    if item.output_min_max is not None:
        found["output_min"] = FloatAttr(item.output_min_max.output_min, f32)
        found["output_max"] = FloatAttr(item.output_min_max.output_max, f32)
    return found


def _op_class(kind: type) -> type[NodeOp]:
    name = _NAMES.get(kind.__name__) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__[3:]).lower()
    doc = f"A node of the kind {kind.__name__}; see `NodeOp`."
    body = {"name": f"xnnpack.{name}", "__doc__": doc, "__module__": __name__}
    return irdl_op_definition(type(f"{kind.__name__[3:]}Op", (NodeOp,), body))


NODE_OPS: dict[type, type[NodeOp]] = {kind: _op_class(kind) for kind in XNodeUnion.__args__}
"""The op of each kind of node."""

_KINDS = {cls.name: kind for kind, cls in NODE_OPS.items()}
