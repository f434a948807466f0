"""An XNNPACK graph as it is put together: values, nodes, and constants under names that say their content."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import copysign, inf
from typing import Final

from et_backends.xnnpack.format.graph import (
    ConstantDataOffset,
    OutputMinMax,
    PerChannelGroupQuant,
    PerChannelQuant,
    XNNDatatype,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNQuantParams,
    XNNStaticReshape,
    XNNTensorValue,
    XNode,
    XNodeUnion,
    XValue,
)
from et_backends.xnnpack.format.nodes import (
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    NO_OFFSET,
    NO_VALUE,
    roles_of,
    tensor_of,
)
from et_ir.data import Blob
from et_ir.delegation.named_data import NamedDataStore

__all__ = ["CONSTANT_ALIGNMENT", "GraphBuilder", "ValueType"]

_LARGEST: Final = float.fromhex("0x1.fffffep127")
"""The largest finite f32."""
CONSTANT_ALIGNMENT = 16
"""Of constants in the file, in bytes: what XNNPACK's vector loads want."""


@dataclass(frozen=True)
class ValueType:
    """The type of the elements of a value, and how they are quantized."""

    datatype: XNNDatatype
    quantization: XNNQuantParams | None = None


class GraphBuilder:
    """Makes the tables of one graph. Values are named by ids, in the order in which they are made."""

    def __init__(self) -> None:
        # What decoders of the format know a graph by; there has been no other.
        self._graph = XNNGraph(version="0", constant_data=[ConstantDataOffset()])
        self._names: dict[str, int] = {}
        self._constants: dict[tuple[object, ...], int] = {}
        self._reshaped: dict[int, int] = {}
        """The source of each reshape's result."""
        self.data = NamedDataStore()

    @property
    def nodes(self) -> Sequence[XNode]:
        """The nodes so far, in their order."""
        return self._graph.xnodes

    def value(self, type: ValueType, dims: Sequence[int]) -> int:
        """A value inside of the graph; `dims` in the order of memory, as large as they get."""
        return self._value(type, dims)

    def input(self, type: ValueType, dims: Sequence[int]) -> int:
        """The next input of the graph. All inputs come before all outputs."""
        number = len(self._graph.input_ids)
        made = self._value(type, dims, external_id=number, flags=EXTERNAL_INPUT)
        self._graph.input_ids.append(made)
        return made

    def output(self, type: ValueType, dims: Sequence[int], argument: int) -> int:
        """The output that is a given argument of the graph, which are numbered from the inputs on."""
        return self._value(type, dims, external_id=argument, flags=EXTERNAL_OUTPUT)

    def constant(self, type: ValueType, dims: Sequence[int], blob: Blob) -> int:
        """A constant, which is in the program's named data under the hash of its bytes: equal ones are there once."""
        key = (blob.sha256, tuple(dims), type.datatype, repr(type.quantization))
        known = self._constants.get(key)
        if known is not None:
            return known
        index = self._stored(blob.sha256, blob)
        made = self._constants[key] = self._value(type, dims, constant=index)
        return made

    def channel_scales(self, scales: Blob, axis: int) -> PerChannelQuant:
        """The quantization of a value with a scale (f32) for each index of a dimension of memory."""
        index = self._stored(f"scale_{scales.sha256}", scales)
        return PerChannelQuant(channel_dim=axis, scale_buffer_idx=index, num_scales=scales.nbytes // 4)

    def group_scales(self, scales: Blob, group: int) -> PerChannelGroupQuant:
        """The quantization of a matrix with a scale (bf16) for each `group` neighbours in a row."""
        index = self._stored(f"scale_{scales.sha256}", scales)
        return PerChannelGroupQuant(group_size=group, scale_buffer_idx=index, num_scales=scales.nbytes // 2)

    def _stored(self, name: str, blob: Blob) -> int:
        """The place of data in the graph's list, where it is once."""
        index = self._names.get(name)
        if index is None:
            self.data.add_named_data(name, blob, CONSTANT_ALIGNMENT)
            index = self._names[name] = len(self._graph.constant_data)
            self._graph.constant_data.append(ConstantDataOffset(NO_OFFSET, blob.nbytes, name))
        return index

    def node(self, node: XNodeUnion, clamp: OutputMinMax | None = None, handle: int = 0) -> None:
        """Add a node behind the others. A reshape of a reshape reads what that has read; limits beyond f32 are
        infinite.
        """
        if isinstance(node, XNNStaticReshape):
            node.input_id = self._reshaped.get(node.input_id, node.input_id)
            self._reshaped[node.output_id] = node.input_id
        if clamp is not None:
            clamp = OutputMinMax(_in_single(clamp.output_min), _in_single(clamp.output_max))
        self._graph.xnodes.append(XNode(node, handle, clamp))

    def finish(self) -> XNNGraph:
        """The graph, with its outputs in the order of their arguments, and without nodes that nothing reads.

        Its values are numbered anew, as readers of the format take an id for a position among the values.
        """
        self._drop_unread()
        self._separate_packed()
        self._renumber()
        outputs: list[tuple[int, int]] = []
        for one in self._graph.xvalues:
            tensor = tensor_of(one)
            if tensor is not None and tensor.flags & EXTERNAL_OUTPUT:
                outputs.append((tensor.external_id, tensor.id_out))
        self._graph.output_ids = [made for _, made in sorted(outputs)]
        self._graph.num_externs = len(self._graph.input_ids) + len(outputs)
        return self._graph

    def _drop_unread(self) -> None:
        tensors = {tensor.id_out: tensor for one in self._graph.xvalues if (tensor := tensor_of(one))}
        read = {number for number, tensor in tensors.items() if tensor.external_id != NO_VALUE}
        kept: list[XNode] = []
        for one in reversed(self._graph.xnodes):
            node = one.xnode_union
            assert node is not None
            roles = roles_of(node)
            if any(getattr(node, name) in read for name in roles.results):
                read.update(getattr(node, name) for name in (*roles.operands, *roles.results))
                kept.append(one)
        self._graph.xnodes = kept[::-1]
        self._graph.xvalues = [
            value for value, number in zip(self._graph.xvalues, tensors, strict=True) if number in read
        ]

    def _separate_packed(self) -> None:
        """Give nodes that pack a constant a value of their own where others read it: see `NodeRoles.packed`."""
        packed: dict[int, list[tuple[XNodeUnion, str]]] = {}
        read: set[int] = set()
        for one in self._graph.xnodes:
            node = one.xnode_union
            assert node is not None
            roles = roles_of(node)
            for name in roles.operands:
                if name in roles.packed:
                    packed.setdefault(getattr(node, name), []).append((node, name))
                else:
                    read.add(getattr(node, name))
        tensors = [tensor for one in self._graph.xvalues if (tensor := tensor_of(one))]
        free = itertools.count(1 + max((tensor.id_out for tensor in tensors), default=0))
        for value in list(self._graph.xvalues):
            tensor = tensor_of(value)
            assert tensor is not None
            if not tensor.constant_buffer_idx or tensor.id_out not in read or tensor.id_out not in packed:
                continue
            copied = deepcopy(value)
            made = tensor_of(copied)
            assert made is not None
            made.id_out = next(free)
            self._graph.xvalues.append(copied)
            for node, name in packed[tensor.id_out]:
                setattr(node, name, made.id_out)

    def _renumber(self) -> None:
        """Make the id of each value its position."""
        numbers = {NO_VALUE: NO_VALUE}
        for number, value in enumerate(self._graph.xvalues):
            tensor = tensor_of(value)
            assert tensor is not None
            numbers[tensor.id_out] = number
            tensor.id_out = number
        for one in self._graph.xnodes:
            node = one.xnode_union
            assert node is not None
            roles = roles_of(node)
            for name in (*roles.operands, *roles.results):
                setattr(node, name, numbers[getattr(node, name)])
        self._graph.input_ids = [numbers[number] for number in self._graph.input_ids]

    def _value(
        self,
        type: ValueType,
        dims: Sequence[int],
        *,
        constant: int = 0,
        external_id: int = NO_VALUE,
        flags: int = 0,
    ) -> int:
        number = len(self._graph.xvalues)
        tensor = XNNTensorValue(
            datatype=type.datatype,
            num_dims=len(dims),
            dims=list(dims),
            constant_buffer_idx=constant,
            external_id=external_id,
            flags=flags,
            id_out=number,
        )
        if type.quantization is None:
            self._graph.xvalues.append(XValue(tensor))
        else:
            self._graph.xvalues.append(XValue(XNNQuantizedTensorValue(tensor, type.quantization)))
        return number


def _in_single(number: float) -> float:
    return copysign(inf, number) if abs(number) > _LARGEST else number
