"""Verification of XNNPACK graphs: ids, shapes, constants and quantization parameters that agree."""

from __future__ import annotations

from et_backends.xnnpack.format.graph import (
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
    XNNDatatype,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNTensorValue,
)
from et_backends.xnnpack.format.nodes import (
    BITS,
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    MAX_RANK,
    NO_OFFSET,
    NO_VALUE,
    kind_name,
    roles_of,
)
from et_schema.errors import InvalidFile

MAX_BYTES = 2**48
"""More than a value may take: what a process can address."""

_D = XNNDatatype
_PARAMETERS = {
    _D.qint8: (PerTensorQuant,),
    _D.quint8: (PerTensorQuant,),
    _D.qint32: (PerTensorQuant,),
    _D.qcint8: (PerChannelQuant,),
    _D.qcint32: (PerChannelQuant,),
    _D.qcint4: (PerChannelQuant,),
    _D.qbint4: (PerChannelGroupQuant,),
    _D.qdint8: (PerTokenDynamicQuant,),
}
"""The quantization parameters that values of a datatype have."""


def check_graph(graph: XNNGraph, constant_data_size: int) -> None:
    """Raise InvalidFile, with the path of the table, unless ids, shapes and constants agree with each other.

    `constant_data_size` is the number of bytes behind the graph.
    """
    _check_constants(graph, constant_data_size)
    defined = _check_values(graph)
    _check_externals(graph, defined)
    _check_nodes(graph, defined)


def _check_constants(graph: XNNGraph, size: int) -> None:
    if graph.constant_data and graph.constant_buffer:
        raise InvalidFile("constants both inside and after the graph", where="constant_buffer")
    for index, data in enumerate(graph.constant_data[1:], 1):
        where = f"constant_data[{index}]"
        if data.named_key:
            if data.offset != NO_OFFSET:
                raise InvalidFile(f"named {data.named_key!r}, and at offset {data.offset} too", where=where)
        elif data.offset + data.size > size:
            end = data.offset + data.size
            raise InvalidFile(
                f"bytes {data.offset}..{end} of {size} bytes of constants",
                where=where,
                hint="the blob may be cut short",
            )


def _check_values(graph: XNNGraph) -> dict[int, XNNTensorValue]:
    """The values by id."""
    defined: dict[int, XNNTensorValue] = {}
    for index, item in enumerate(graph.xvalues):
        value = item.xvalue_union
        where = f"xvalues[{index}].xvalue_union"
        if isinstance(value, XNNQuantizedTensorValue):
            tensor = value.tensor_value
            where += ".tensor_value"
        else:
            tensor = value
        if tensor is None:
            raise InvalidFile("value is not a tensor", where=where)
        _check_tensor(tensor, graph, where)
        if isinstance(value, XNNQuantizedTensorValue):
            _check_parameters(value, tensor, graph, where.removesuffix(".tensor_value"))
        elif tensor.datatype in _PARAMETERS:
            raise InvalidFile(f"{tensor.datatype.name} elements without quantization parameters", where=where)
        if tensor.id_out == NO_VALUE or tensor.id_out in defined:
            raise InvalidFile(f"duplicate id {tensor.id_out}", where=f"{where}.id_out")
        defined[tensor.id_out] = tensor
    return defined


def _check_tensor(tensor: XNNTensorValue, graph: XNNGraph, where: str) -> None:
    if tensor.datatype not in BITS:
        raise InvalidFile(f"elements of type {tensor.datatype.name}", where=f"{where}.datatype")
    rank = len(tensor.dims)
    if tensor.num_dims != rank or rank > MAX_RANK:
        message = f"{tensor.num_dims} dimensions, {rank} of them given; the limit is {MAX_RANK}"
        raise InvalidFile(message, where=f"{where}.dims")
    count = 1
    for size in tensor.dims:
        count *= max(size, 1)
    if count * 8 > MAX_BYTES:
        raise InvalidFile(f"a tensor of {count} elements", where=f"{where}.dims")
    constants = len(graph.constant_data) or len(graph.constant_buffer)
    if tensor.constant_buffer_idx and tensor.constant_buffer_idx >= constants:
        message = f"constant {tensor.constant_buffer_idx} where there are {constants}"
        raise InvalidFile(message, where=f"{where}.constant_buffer_idx")


def _check_parameters(
    value: XNNQuantizedTensorValue, tensor: XNNTensorValue, graph: XNNGraph, where: str
) -> None:
    parameters = value.quant_params
    where += ".quant_params"
    if parameters is None or type(parameters) not in _PARAMETERS.get(tensor.datatype, ()):
        found = "no parameters" if parameters is None else type(parameters).__name__
        raise InvalidFile(f"{found} for elements of type {tensor.datatype.name}", where=where)
    rank = len(tensor.dims)
    if isinstance(parameters, PerTokenDynamicQuant):
        if not 0 < parameters.num_nonbatch_dims <= rank:
            message = f"rows of {parameters.num_nonbatch_dims} dimensions of {rank}"
            raise InvalidFile(message, where=f"{where}.num_nonbatch_dims")
    elif isinstance(parameters, (PerChannelQuant, PerChannelGroupQuant)):
        if not 0 <= parameters.channel_dim < rank:
            message = f"channels along dimension {parameters.channel_dim} of {rank}"
            raise InvalidFile(message, where=f"{where}.channel_dim")
        scales = tensor.dims[parameters.channel_dim]
        if isinstance(parameters, PerChannelGroupQuant):
            columns = tensor.dims[-1]
            if parameters.group_size <= 0 or columns % parameters.group_size:
                message = f"groups of {parameters.group_size} of {columns} elements"
                raise InvalidFile(message, where=f"{where}.group_size")
            scales *= columns // parameters.group_size
        index = parameters.scale_buffer_idx
        found = parameters.num_scales if index else len(parameters.scale)
        if found != scales:
            raise InvalidFile(f"{found} scales where there are {scales} channels or groups", where=where)
        if index and index >= len(graph.constant_data):
            message = f"constant {index} where there are {len(graph.constant_data)}"
            raise InvalidFile(message, where=f"{where}.scale_buffer_idx")


def _check_externals(graph: XNNGraph, values: dict[int, XNNTensorValue]) -> None:
    """The arguments of the graph: input_ids and output_ids name values, and these the number of the argument."""
    found: set[int] = set()
    for name, flag in (("input_ids", EXTERNAL_INPUT), ("output_ids", EXTERNAL_OUTPUT)):
        for index, id_out in enumerate(getattr(graph, name)):
            where = f"{name}[{index}]"
            tensor = values.get(id_out)
            if tensor is None:
                raise InvalidFile(f"unknown value {id_out}", where=where)
            if tensor.external_id == NO_VALUE or tensor.flags & flag == 0 or tensor.constant_buffer_idx:
                message = (
                    f"value {id_out}, argument {tensor.external_id} with flags {tensor.flags}, is "
                    "neither input nor output"
                )
                raise InvalidFile(message, where=where)
            if tensor.external_id in found:
                raise InvalidFile(f"duplicate argument {tensor.external_id}", where=where)
            found.add(tensor.external_id)
    # As many numbers as there are, none of them twice: from 0 on if the greatest is the last.
    if len(found) != graph.num_externs or max(found, default=-1) >= graph.num_externs:
        message = f"{graph.num_externs} arguments, but inputs and outputs are {sorted(found)}"
        raise InvalidFile(message, where="num_externs")


def _check_nodes(graph: XNNGraph, values: dict[int, XNNTensorValue]) -> None:
    """Nodes run in their order: each reads what is there by then, and writes what nobody has written."""
    ready = {id_out for id_out, tensor in values.items() if tensor.constant_buffer_idx}
    ready.update(graph.input_ids)
    for index, item in enumerate(graph.xnodes):
        node = item.xnode_union
        where = f"xnodes[{index}].xnode_union"
        if node is None:
            raise InvalidFile("node without a kind", where=where)
        roles = roles_of(node)
        for name in roles.operands:
            used = getattr(node, name)
            if used == NO_VALUE and name in roles.optional:
                continue
            if used not in values:
                raise InvalidFile(f"{kind_name(node)} of an unknown value {used}", where=f"{where}.{name}")
            if used not in ready:
                message = f"{kind_name(node)} reads value {used} before it is written"
                raise InvalidFile(message, where=f"{where}.{name}")
        for name in roles.results:
            written = getattr(node, name)
            if written not in values:
                message = f"{kind_name(node)} writes an unknown value {written}"
                raise InvalidFile(message, where=f"{where}.{name}")
            if written in ready:
                message = f"{kind_name(node)} writes value {written}, which is already written"
                raise InvalidFile(message, where=f"{where}.{name}")
            ready.add(written)
    _check_packed(graph, values)
    for index, id_out in enumerate(graph.output_ids):
        if id_out not in ready:
            raise InvalidFile(f"value {id_out} is never written", where=f"output_ids[{index}]")


def _check_packed(graph: XNNGraph, values: dict[int, XNNTensorValue]) -> None:
    """Constants that nodes pack are read by no others: XNNPACK drops their elements once they are packed."""
    packed: dict[int, str] = {}
    for item in graph.xnodes:
        node = item.xnode_union
        assert node is not None
        for name in roles_of(node).packed:
            packed[getattr(node, name)] = f"{name.removesuffix('_id')} of {kind_name(node)}"
    for index, item in enumerate(graph.xnodes):
        node = item.xnode_union
        assert node is not None
        roles = roles_of(node)
        for name in roles.operands:
            used = getattr(node, name)
            if name in roles.packed or used not in packed or not values[used].constant_buffer_idx:
                continue
            raise InvalidFile(
                f"{kind_name(node)} reads constant {used}, which is the {packed[used]} and gone once that is packed",
                where=f"xnodes[{index}].xnode_union.{name}",
                hint="give the nodes a value each; both may have the same data",
            )
