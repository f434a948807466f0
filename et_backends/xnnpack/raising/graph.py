"""A graph for XNNPACK as edge ops: those of its nodes, between the arguments of a call and its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final, cast

from xdsl.dialects.builtin import ArrayAttr, LocationAttr, TensorType, f16, f32, i8
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.xnnpack.dialect import GraphOp, InputOp
from et_backends.xnnpack.format.graph import (
    PerTensorQuant,
    PerTokenDynamicQuant,
    XNNDatatype,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNQuantParams,
    XNNTensorValue,
)
from et_backends.xnnpack.format.nodes import EXTERNAL_INPUT, EXTERNAL_OUTPUT, tensor_of
from et_backends.xnnpack.raising.constants import GraphConstants, ProgramConstants, quantized_constant
from et_backends.xnnpack.raising.nodes import CannotRaiseNode, Grid, NodeRaiser, Tensors
from et_ir.analysis.dim_orders import Order
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.edge.attributes import contiguous, dim_order_of
from et_ir.dialects.program import GetOp
from et_ir.dialects.schema.literals import ui8

__all__ = ["GraphRaiser", "discard"]

_FLOATS: Final[Mapping[XNNDatatype, Attribute]] = {XNNDatatype.fp32: f32, XNNDatatype.fp16: f16}
_INTEGERS: Final[Mapping[XNNDatatype, tuple[Attribute, int, int]]] = {
    XNNDatatype.qint8: (i8, -128, 127),
    XNNDatatype.quint8: (ui8, 0, 255),
}


def discard(ops: Sequence[Operation]) -> None:
    """Give up ops that are in no block, so that what they read has no uses by them."""
    for op in ops:
        op.drop_all_references()


class GraphRaiser:
    """Raises a graph; `ops` are the ops that it becomes. Without the constants of a program they are fit to infer types
    only.
    """

    def __init__(self, graph: GraphOp, location: LocationAttr, program: ProgramConstants | None):
        self.ops: list[Operation] = []
        self._graph = graph
        self._called_at = self._location = location
        self._tables = graph.tables()
        self._constants = GraphConstants(graph, self._tables, program)
        self._tensors: dict[int, XNNTensorValue] = {}
        self._parameters: dict[int, XNNQuantParams] = {}
        # An input may be an argument for its sizes alone, of any type.
        unread = {
            op.id_out.value.data
            for op in graph.body.block.ops
            if isinstance(op, InputOp) and not op.value.uses
        }
        for value in self._tables.xvalues:
            tensor = tensor_of(value)
            assert tensor is not None
            if tensor.id_out in unread:
                continue
            self._tensors[tensor.id_out] = tensor
            described = value.xvalue_union
            if isinstance(described, XNNQuantizedTensorValue) and described.quant_params is not None:
                self._parameters[tensor.id_out] = described.quant_params

    @property
    def tables(self) -> XNNGraph:
        """The graph as the format has it."""
        return self._tables

    def run(self, inputs: Sequence[SSAValue], types: Sequence[Attribute], *, exact: bool) -> list[SSAValue]:
        """The results for the arguments of a call, in the layouts of `types`; if they are `exact`, in their shapes.

        Raises `CannotRaiseNode`.
        """
        try:
            return self._run(inputs, types, exact=exact)
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            # Files have shapes and dimensions that no check knows of.
            raise CannotRaiseNode(f"values or nodes that do not fit each other: {error}") from error

    def _run(self, inputs: Sequence[SSAValue], types: Sequence[Attribute], *, exact: bool) -> list[SSAValue]:
        if not all(isinstance(value.type, TensorType) for value in inputs):
            raise CannotRaiseNode("an argument that is not a tensor")
        if not all(isinstance(type, TensorType) for type in types):
            raise CannotRaiseNode("a result that is not a tensor")
        if len(inputs) + len(types) != self._tables.num_externs:
            raise CannotRaiseNode("another number of arguments than the call")
        nodes = NodeRaiser(self._insert, self._described())
        for number, tensor in self._tensors.items():
            if tensor.flags & EXTERNAL_INPUT:
                self._hold_input(nodes, number, tensor, inputs[tensor.external_id], exact=exact)
        for item in self._tables.xnodes:
            node = item.xnode_union
            assert node is not None
            self._location = self._location_of(item.debug_handle)
            nodes.run(node, item.output_min_max)
        self._location = self._called_at
        results: dict[int, SSAValue] = {}
        for number, tensor in self._tensors.items():
            if tensor.flags & EXTERNAL_OUTPUT:
                at = tensor.external_id - len(inputs)
                results[at] = self._output(
                    nodes, number, cast("TensorType[Attribute]", types[at]), exact=exact
                )
        if sorted(results) != list(range(len(types))):
            raise CannotRaiseNode("the graph does not have the outputs of the call")
        return [results[at] for at in range(len(types))]

    def _described(self) -> Tensors:
        grids: dict[int, Grid] = {}
        rows: dict[int, int] = {}
        elements: dict[int, Attribute] = {}
        constants: dict[int, Callable[[Order], SSAValue]] = {}
        for number, tensor in self._tensors.items():
            how = self._parameters.get(number)
            elements[number] = f32 if how is not None else self._float(tensor)
            if tensor.constant_buffer_idx:
                constants[number] = self._constant(tensor, how)
            elif isinstance(how, PerTensorQuant) and tensor.datatype in _INTEGERS:
                element, low, high = _INTEGERS[tensor.datatype]
                grids[number] = Grid(how.scale, how.zero_point, low, high, element)
            elif isinstance(how, PerTokenDynamicQuant):
                rows[number] = how.num_nonbatch_dims
            elif how is not None:
                raise CannotRaiseNode(f"a value of {tensor.datatype.name} that is not a constant")
        sizes = {number: tuple(tensor.dims) for number, tensor in self._tensors.items()}
        weights = {number for number in constants if number in self._parameters}
        return Tensors(sizes, elements, grids, weights, rows, constants)

    @staticmethod
    def _float(tensor: XNNTensorValue) -> Attribute:
        if tensor.datatype not in _FLOATS:
            raise CannotRaiseNode(f"values of {tensor.datatype.name}")
        return _FLOATS[tensor.datatype]

    def _constant(self, tensor: XNNTensorValue, how: XNNQuantParams | None) -> Callable[[Order], SSAValue]:
        """A constant in an order of its dimensions."""
        if how is not None:
            return lambda order: quantized_constant(self._constants, tensor, how, order, self._insert)
        type = TensorType(_FLOATS[tensor.datatype], tensor.dims)

        def read(order: Order) -> SSAValue:
            get = self._constants.floats(tensor, type)
            self._insert(get)
            if order == contiguous(len(order)):
                return get.result
            return self._op("permute_copy", get.result, list(order))

        return read

    def _insert(self, op: GetOp | EdgeOp) -> None:
        op.location = self._location
        self.ops.append(op)

    def _op(self, name: str, *args: object) -> SSAValue:
        op = OP_BY_NAME[name].make(*args)
        self._insert(op)
        return op.results[0]

    def _hold_input(
        self, nodes: NodeRaiser, number: int, tensor: XNNTensorValue, value: SSAValue, *, exact: bool
    ) -> None:
        type = cast("TensorType[Attribute]", value.type)
        order = dim_order_of(type)
        wanted = _INTEGERS[tensor.datatype][0] if tensor.datatype in _INTEGERS else self._float(tensor)
        if type.element_type != wanted:
            raise CannotRaiseNode("an input of another element type")
        hold = nodes.hold_integers if tensor.datatype in _INTEGERS else nodes.hold
        if order != contiguous(len(order)):
            value = self._op("dim_order_ops._clone_dim_order", value, False, list(contiguous(len(order))))
        if not order and prod(tensor.dims) == 1:
            # The format has numbers as tensors of one dimension.
            hold(number, self._op("view_copy", value, list(tensor.dims)), contiguous(len(tensor.dims)))
            return
        bounds = zip(order, tensor.dims, strict=False)
        if len(order) != len(tensor.dims) or (
            exact and any(type.get_shape()[dim] > size for dim, size in bounds)
        ):
            raise CannotRaiseNode("an input of another shape")
        # Dimension i of the tensor is where memory has it.
        hold(number, value, tuple(order.index(dim) for dim in range(len(order))))

    def _output(
        self, nodes: NodeRaiser, number: int, type: TensorType[Attribute], *, exact: bool
    ) -> SSAValue:
        order = dim_order_of(type)
        read = nodes.read_integers if self._tensors[number].datatype in _INTEGERS else nodes.read
        value = read(number, tuple(order.index(dim) for dim in range(len(order))))
        made = cast("TensorType[Attribute]", value.type)
        fits = made.get_shape() == type.get_shape() if exact else made.get_num_dims() == type.get_num_dims()
        if made.element_type != type.element_type or not fits:
            raise CannotRaiseNode("an output of another type")
        if order != contiguous(len(order)):
            value = self._op("dim_order_ops._clone_dim_order", value, False, list(order))
        return value

    def _location_of(self, handle: int) -> LocationAttr:
        known = self._graph.debug_handles
        found = None if known is None else known.data.get(str(handle))
        places = cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()
        first = next(iter(places), None)
        return first if isinstance(first, LocationAttr) else self._called_at
