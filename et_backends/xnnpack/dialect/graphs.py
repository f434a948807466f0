"""Translation between XNNPACK blobs and graphs of ops."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from et_backends.xnnpack.dialect.attributes import ValueType, attributes_of
from et_backends.xnnpack.dialect.nodes import NODE_OPS, limits_of
from et_backends.xnnpack.dialect.ops import ConstantOp, GraphOp, InputOp, OutputOp
from et_backends.xnnpack.format.blob import read_xnnpack, serialize_xnnpack
from et_backends.xnnpack.format.graph import (
    ConstantDataOffset,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XValue,
)
from et_backends.xnnpack.format.nodes import (
    NO_VALUE,
    roles_of,
    tensor_of,
)
from et_ir.data import Blob
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.program import DataAttr
from et_ir.dialects.program.attributes import ELEMENT_TYPES

__all__ = ["closed", "opened"]

BACKEND = "XnnpackBackend"
_SHARED = ("sym_name", "specs", "alignment", "debug_handles", "debug_orders")
"""Attributes that the symbol has in both forms."""


def opened(op: LoweredOp) -> GraphOp | None:
    """The graph of a blob; None for one that has something in it which ops do not say, such as values in another order.

    Raises InvalidFile(DelegateInvalidCompatibility) for a blob that makes no sense.
    """
    blob = read_xnnpack(op.value.blob.view())
    graph = blob.graph
    if graph.constant_buffer:
        return None
    block = Block()
    values: dict[int, SSAValue] = {}
    by_id = {tensor.id_out: value for value in graph.xvalues if (tensor := tensor_of(value)) is not None}
    types = {number: _type(value) for number, value in by_id.items()}
    for number in graph.input_ids:
        argument = _tensor(by_id[number]).external_id
        block.add_op(made := InputOp(argument, number, types[number]))
        values[number] = made.value
    for number, value in by_id.items():
        index = _tensor(value).constant_buffer_idx
        if index:
            block.add_op(constant := ConstantOp(index, number, types[number]))
            values[number] = constant.value
    for item in graph.xnodes:
        node = item.xnode_union
        assert node is not None
        roles = roles_of(node)
        used = [getattr(node, name) for name in roles.operands]
        numbers = [getattr(node, name) for name in roles.results]
        found = attributes_of(node, [*roles.operands, *roles.results]) | limits_of(item)
        operands = [values[number] for number in used if number != NO_VALUE]
        block.add_op(op_ := NODE_OPS[type(node)](operands, [types[n] for n in numbers], numbers, found))
        values |= dict(zip(numbers, op_.results, strict=True))
    arguments = [_tensor(by_id[number]).external_id for number in graph.output_ids]
    block.add_op(
        OutputOp([values[number] for number in graph.output_ids], DenseArrayBase.from_list(i64, arguments))
    )
    properties: dict[str, Attribute] = {
        name: op.properties[name] for name in _SHARED if name in op.properties
    }
    properties["version"] = StringAttr(graph.version)
    properties["table"] = ArrayAttr(_place(data) for data in graph.constant_data)
    if blob.constants:
        data = Blob.of(op.key, blob.constants)
        properties["constants"] = DataAttr.of(ELEMENT_TYPES["ui8"], data)
    made_op = GraphOp(properties, Region(block))
    return made_op if made_op.tables() == graph else None


def closed(op: GraphOp) -> LoweredOp:
    """The blob of a graph. Raises ValueError for a graph that no tables say."""
    constants = [] if op.constants is None else [op.constants.blob.view()]
    data = serialize_xnnpack(op.tables(), constants)
    value = DataAttr.of(ELEMENT_TYPES["ui8"], Blob.of(op.sym_name.data, data))
    lowered = LoweredOp(op.sym_name.data, BACKEND, [], value)
    lowered.properties |= {name: op.properties[name] for name in _SHARED if name in op.properties}
    return lowered


def _tensor(value: XValue) -> XNNTensorValue:
    tensor = tensor_of(value)
    assert tensor is not None
    return tensor


def _type(value: XValue) -> ValueType:
    described, tensor = value.xvalue_union, _tensor(value)
    parameters = described.quant_params if isinstance(described, XNNQuantizedTensorValue) else None
    return ValueType.of(tensor.datatype, tensor.dims, parameters)


def _place(data: ConstantDataOffset) -> DictionaryAttr:
    size = IntegerAttr(data.size, i64)
    if data.named_key:
        return DictionaryAttr({"key": StringAttr(data.named_key), "size": size})
    return DictionaryAttr({"offset": IntegerAttr(data.offset, i64), "size": size})
