"""From the tables of a graph to ops, and back."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from et_ir.data import Blob
from et_ir.dialects.backend import LoweredOp
from et_ir.dialects.program import DataAttr
from et_ir.dialects.program.attributes import ELEMENT_TYPES
from et_ir.dialects.xnnpack.attributes import ValueType, attributes_of, integers
from et_ir.dialects.xnnpack.nodes import NODE_OPS, NodeOp, limits_of
from et_ir.dialects.xnnpack.ops import ConstantOp, GraphOp, InputOp, OutputOp
from et_schema.xnnpack import read_xnnpack, serialize_xnnpack
from et_schema.xnnpack_graph import (
    ConstantDataOffset,
    XNNDatatype,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XValue,
)
from et_schema.xnnpack_nodes import (
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    NO_OFFSET,
    NO_VALUE,
    roles_of,
    tensor_of,
)

__all__ = ["closed", "opened", "tables_of"]

BACKEND = "XnnpackBackend"
_SHARED = ("sym_name", "specs", "alignment", "debug_handles")
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
    return made_op if tables_of(made_op) == graph else None


def closed(op: GraphOp) -> LoweredOp:
    """The blob of a graph. Raises ValueError for a graph that no tables say."""
    constants = [] if op.constants is None else [op.constants.blob.view()]
    data = serialize_xnnpack(tables_of(op), constants)
    value = DataAttr.of(ELEMENT_TYPES["ui8"], Blob.of(op.sym_name.data, data))
    lowered = LoweredOp(op.sym_name.data, BACKEND, [], value)
    lowered.properties |= {name: op.properties[name] for name in _SHARED if name in op.properties}
    return lowered


def tables_of(op: GraphOp) -> XNNGraph:
    """The graph as the format has it, values in the order of their ids. Raises ValueError."""
    graph = XNNGraph(op.version.data, constant_data=[_data(entry) for entry in op.table])
    tensors: dict[int, XValue] = {}
    ids: dict[SSAValue, int] = {}

    def define(value: SSAValue, number: int) -> XNNTensorValue:
        if number in tensors:
            raise ValueError(f"two values have the id {number}")
        ids[value] = number
        made = _value(value.type, number)
        tensors[number] = made
        return _tensor(made)

    for inner in op.body.block.ops:
        if isinstance(inner, InputOp):
            tensor = define(inner.value, inner.id_out.value.data)
            tensor.external_id, tensor.flags = inner.argument.value.data, EXTERNAL_INPUT
            graph.input_ids.append(tensor.id_out)
        elif isinstance(inner, ConstantOp):
            tensor = define(inner.value, inner.id_out.value.data)
            tensor.constant_buffer_idx = inner.index.value.data
        elif isinstance(inner, NodeOp):
            graph.xnodes.append(inner.table([ids[operand] for operand in inner.inputs]))
            for result, number in zip(inner.outputs, integers(inner.ids), strict=True):
                define(result, number)
        elif isinstance(inner, OutputOp):
            for value, argument in zip(inner.values, integers(inner.arguments), strict=True):
                tensor = _tensor(tensors[ids[value]])
                tensor.external_id, tensor.flags = argument, EXTERNAL_OUTPUT
                graph.output_ids.append(tensor.id_out)
        else:
            raise ValueError(f"{inner.name} is not allowed in a graph")
    graph.xvalues = [tensors[number] for number in sorted(tensors)]
    graph.num_externs = len(graph.input_ids) + len(graph.output_ids)
    return graph


def _tensor(value: XValue) -> XNNTensorValue:
    tensor = tensor_of(value)
    assert tensor is not None
    return tensor


def _type(value: XValue) -> ValueType:
    described, tensor = value.xvalue_union, _tensor(value)
    parameters = described.quant_params if isinstance(described, XNNQuantizedTensorValue) else None
    return ValueType.of(tensor.datatype, tensor.dims, parameters)


def _value(type: Attribute, number: int) -> XValue:
    assert isinstance(type, ValueType)
    dims = [size.data for size in type.dims]
    tensor = XNNTensorValue(XNNDatatype[type.datatype.data], len(dims), dims, 0, NO_VALUE, 0, number)
    parameters = type.quantized_by
    return XValue(tensor if parameters is None else XNNQuantizedTensorValue(tensor, parameters))


def _place(data: ConstantDataOffset) -> DictionaryAttr:
    size = IntegerAttr(data.size, i64)
    if data.named_key:
        return DictionaryAttr({"key": StringAttr(data.named_key), "size": size})
    return DictionaryAttr({"offset": IntegerAttr(data.offset, i64), "size": size})


def _data(entry: DictionaryAttr) -> ConstantDataOffset:
    size, offset, key = (entry.data.get(name) for name in ("size", "offset", "key"))
    if not isinstance(size, IntegerAttr):
        raise ValueError(f"a constant without a size: {entry}")
    if isinstance(key, StringAttr):
        return ConstantDataOffset(NO_OFFSET, size.value.data, key.data)
    if not isinstance(offset, IntegerAttr):
        raise ValueError(f"a constant with neither a key nor an offset: {entry}")
    return ConstantDataOffset(offset.value.data, size.value.data)
