"""Raise graphs for XNNPACK to edge ops: the ops of a graph take the place of the calls of it.

```mlir
xnnpack.graph @lowered_0 version "0" table [{offset = 0 : i64, size = 0 : i64}] {
  %0 = xnnpack.input 0 id 0 : !xnnpack.value<fp32, [4]>
  %1 = xnnpack.abs(%0) ids array<i64: 1> : (!xnnpack.value<fp32, [4]>) -> !xnnpack.value<fp32, [4]>
  xnnpack.output %1 arguments array<i64: 1> : !xnnpack.value<fp32, [4]>
}
%r = backend.call @lowered_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
// becomes
%r = edge.abs %x : tensor<4xf32>
```

Constants become `program.constant`. A graph in which anything is quantized, or that has a node without a rule
(`xnnpack_nodes.py`), stays a delegate: it becomes the blob again that it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, LocationAttr, ModuleOp, TensorType, f16, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from et_ir.data import Blob
from et_ir.dialects.backend import CallOp, LoweredOp, NamedDataOp
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema.tensors import is_static
from et_ir.dialects.xnnpack import GraphOp
from et_ir.dialects.xnnpack.graphs import BACKEND, closed
from et_ir.passes.raising.xnnpack_nodes import CannotRaiseNode, NodeRaiser
from et_schema.xnnpack_graph import XNNDatatype, XNNGraph, XNNTensorValue
from et_schema.xnnpack_nodes import EXTERNAL_INPUT, EXTERNAL_OUTPUT, constant_bytes

__all__ = ["RaiseXnnpackPass"]

_ELEMENTS: Final[Mapping[XNNDatatype, Attribute]] = {XNNDatatype.fp32: f32, XNNDatatype.fp16: f16}


@dataclass(frozen=True)
class RaiseXnnpackPass(ModulePass):
    """Turn graphs for XNNPACK into edge ops."""

    name = "raise-xnnpack"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graphs = {one.sym_name.data: one for one in op.body.block.ops if isinstance(one, GraphOp)}
        if not graphs:
            return
        calls = [one for one in op.walk() if isinstance(one, CallOp) and one.callee.string_value() in graphs]
        constants = _Constants(op)
        kept: set[str] = set()
        raised: list[tuple[CallOp, list[Operation], list[SSAValue]]] = []
        for call in calls:
            name = call.callee.string_value()
            graph = _Graph(graphs[name], call, constants)
            try:
                raised.append((call, graph.ops, graph.run()))
            except CannotRaiseNode:
                kept.add(name)
        tables = {name: graph.tables() for name, graph in graphs.items()}
        for call, ops, results in raised:
            if call.callee.string_value() not in kept:
                _replace(call, ops, results)
        for name, graph in graphs.items():
            if name in kept:
                lowered = closed(graph)
                lowered.location = graph.location
                Rewriter.replace_op(graph, lowered, [])
            else:
                Rewriter.erase_op(graph)
        constants.drop_unused(op, tables, kept)


def _replace(call: CallOp, ops: list[Operation], results: list[SSAValue]) -> None:
    """Put ops in the place of a call. The results get its names, other values none."""
    block = call.parent_block()
    assert block is not None
    block.insert_ops_before(ops, call)
    for old, new in zip(call.outputs, results, strict=True):
        hint = old.name_hint
        old.replace_all_uses_with(new)
        new.name_hint = new.name_hint or hint
    Rewriter.erase_op(call)


class _Constants:
    """Symbols for the constants of graphs; equal ones are there once."""

    def __init__(self, module: ModuleOp):
        self._symbols = Globals(module)
        self._named = {op.key: op for op in module.body.block.ops if isinstance(op, NamedDataOp)}
        self._made: dict[tuple[object, ...], str] = {}

    def get(
        self, graph: GraphOp, tables: XNNGraph, tensor: XNNTensorValue, type: TensorType[Attribute]
    ) -> GetOp:
        """The op that reads a constant of a graph. Raises `CannotRaiseNode` where the program lacks it."""
        place = tables.constant_data[tensor.constant_buffer_idx]
        size = constant_bytes(tensor.datatype, tensor.dims)
        identity = (place.named_key or (graph.sym_name.data, place.offset), type)
        name = self._made.get(identity)
        if name is None:
            if place.named_key:
                data = self._named.get(place.named_key)
                view = None if data is None else data.value.blob.view()
                start = 0
            else:
                view = None if graph.constants is None else graph.constants.blob.view()
                start = place.offset
            if view is None or len(view) < start + size:
                raise CannotRaiseNode("a constant whose bytes the program does not have")
            hint = f"{graph.sym_name.data}_constant"
            blob = Blob.of(hint, view[start : start + size])
            name = self._made[identity] = self._symbols.add_constant(hint, type, blob).key
        return GetOp(name, type)

    def drop_unused(self, module: ModuleOp, graphs: Mapping[str, XNNGraph], kept: set[str]) -> None:
        """Erase named data that only raised graphs read, and constants of graphs that stay.

        Named data stays where there is a blob for XNNPACK that is not a graph, which may read any of it.
        """
        read: dict[bool, set[str]] = {True: set(), False: set()}
        for name, graph in graphs.items():
            read[name in kept].update(place.named_key for place in graph.constant_data if place.named_key)
        closed_ones = {
            op.key for op in module.body.block.ops if isinstance(op, LoweredOp) and op.backend.data == BACKEND
        }
        if closed_ones <= kept:
            for key in read[False] - read[True]:
                if key in self._named:
                    Rewriter.erase_op(self._named[key])
        used = {op.symbol.string_value() for op in module.walk() if isinstance(op, GetOp)}
        for name in self._made.values():
            if name not in used:
                Rewriter.erase_op(self._symbols.by_name.pop(name))


class _Graph:
    """A graph as it takes the place of a call; `ops` are the ops that it becomes."""

    def __init__(self, graph: GraphOp, call: CallOp, constants: _Constants):
        self.ops: list[Operation] = []
        self._graph = graph
        self._call = call
        self._constants = constants
        self._location: LocationAttr = call.location

    def run(self) -> list[SSAValue]:
        """The values of the call's results. Raises `CannotRaiseNode`."""
        tables = self._graph.tables()
        tensors: dict[int, XNNTensorValue] = {}
        for value in tables.xvalues:
            tensor = value.xvalue_union
            if not isinstance(tensor, XNNTensorValue) or tensor.datatype not in _ELEMENTS:
                raise CannotRaiseNode("values are quantized, or integers")
            tensors[tensor.id_out] = tensor
        for value in (*self._call.inputs, *self._call.outputs):
            if not isinstance(value.type, TensorType) or not is_static(
                cast("TensorType[Attribute]", value.type)
            ):
                raise CannotRaiseNode("sizes are known at run time only")
        nodes = NodeRaiser(self._insert, {number: tuple(tensor.dims) for number, tensor in tensors.items()})
        inputs, outputs = list(self._call.inputs), list(self._call.outputs)
        for number, tensor in tensors.items():
            type = TensorType(_ELEMENTS[tensor.datatype], tensor.dims)
            if tensor.flags & EXTERNAL_INPUT:
                self._hold_input(nodes, number, tensor, inputs[tensor.external_id])
            elif tensor.constant_buffer_idx:
                get = self._constants.get(self._graph, tables, tensor, type)
                get.location = self._location
                self.ops.append(get)
                nodes.hold(number, get.result)
        for item in tables.xnodes:
            node = item.xnode_union
            assert node is not None
            self._location = self._location_of(item.debug_handle)
            nodes.run(node, item.output_min_max)
        self._location = self._call.location
        results: dict[int, SSAValue] = {}
        for number, tensor in tensors.items():
            if tensor.flags & EXTERNAL_OUTPUT:
                at = tensor.external_id - len(inputs)
                results[at] = self._output(nodes, number, cast("TensorType[Attribute]", outputs[at].type))
        if sorted(results) != list(range(len(outputs))):
            raise CannotRaiseNode("the graph does not have the outputs of the call")
        return [results[at] for at in range(len(outputs))]

    def _insert(self, op: EdgeOp) -> None:
        op.location = self._location
        self.ops.append(op)

    def _op(self, name: str, *args: object) -> SSAValue:
        op = OP_BY_NAME[name].make(*args)
        self._insert(op)
        return op.results[0]

    def _hold_input(self, nodes: NodeRaiser, number: int, tensor: XNNTensorValue, value: SSAValue) -> None:
        type = cast("TensorType[Attribute]", value.type)
        order = dim_order_of(type)
        if type.element_type != _ELEMENTS[tensor.datatype]:
            raise CannotRaiseNode("an input of another element type")
        if order != contiguous(len(order)):
            value = self._op("dim_order_ops._clone_dim_order", value, False, list(contiguous(len(order))))
        if not order and prod(tensor.dims) == 1:
            # The format has numbers as tensors of one dimension.
            nodes.hold(number, self._op("view_copy", value, list(tensor.dims)))
            return
        if tuple(type.get_shape()[dim] for dim in order) != tuple(tensor.dims):
            raise CannotRaiseNode("an input of another shape")
        # Dimension i of the tensor is where memory has it.
        nodes.hold(number, value, tuple(order.index(dim) for dim in range(len(order))))

    def _output(self, nodes: NodeRaiser, number: int, type: TensorType[Attribute]) -> SSAValue:
        order = dim_order_of(type)
        value = nodes.read(number, tuple(order.index(dim) for dim in range(len(order))))
        made = cast("TensorType[Attribute]", value.type)
        if (made.element_type, made.get_shape()) != (type.element_type, type.get_shape()):
            raise CannotRaiseNode("an output of another type")
        if order != contiguous(len(order)):
            value = self._op("dim_order_ops._clone_dim_order", value, False, list(order))
        return value

    def _location_of(self, handle: int) -> LocationAttr:
        known = self._graph.debug_handles
        found = None if known is None else known.data.get(str(handle))
        places = cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()
        first = next(iter(places), None)
        return first if isinstance(first, LocationAttr) else self._call.location
