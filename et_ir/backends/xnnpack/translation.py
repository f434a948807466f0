"""A partition as it becomes an XNNPACK graph: which values of the graph hold a value of the program, in which order.

A value of the program may be there in several orders of its dimensions: images inside of a graph have their channels
last, since XNNPACK convolves no others, while the program's own are contiguous. Ops read an operand in the order they
want, and where it is not there in this order a transposition makes it, once. A permutation of the program moves
nothing: it gives memory that is there another order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from et_ir.analysis.bounds import SizeBounds
from et_ir.backends.orders import Order, in_order, step, straight
from et_ir.backends.xnnpack.activations import activation_bounds
from et_ir.backends.xnnpack.constants import DATATYPES, PLACES, Array, array_blob, constant_array, is_constant
from et_ir.backends.xnnpack.graph import GraphBuilder
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type
from et_schema.xnnpack_graph import (
    OutputMinMax,
    XNNCopy,
    XNNDatatype,
    XNNStaticTranspose,
    XNodeUnion,
)

__all__ = ["Translation"]


class Translation:
    """The graph of the method of a module, which is built op by op."""

    def __init__(self, module: ModuleOp, method: FuncOp):
        self.symbols = Globals(module)
        self.graph = GraphBuilder()
        self.fused: set[Operation] = set()
        """Activations that are part of the node before them."""
        self.handles: list[list[Operation]] = []
        """The ops that nodes of each debug handle compute."""
        self._bounds = SizeBounds(method.body.block)
        self._held: dict[SSAValue, dict[Order, int]] = {}
        end = method.body.block.last_op
        assert isinstance(end, ReturnOp)
        self._returned = tuple(end.arguments)
        for argument in method.body.block.args:
            order = dim_order_of(tensor_type(argument))
            dims = in_order(self.sizes(argument), order)
            self.hold(argument, self.graph.input(self.datatype(argument), dims), order)
        self._inputs = len(method.body.block.args)
        self._arguments: dict[SSAValue, int] = {}
        """The argument of the graph that each value of the program becomes; of several the first."""
        for number, value in enumerate(self._returned):
            self._arguments.setdefault(value, self._inputs + number)
        self._given: set[int] = set()

    # -- what is known of values

    def sizes(self, value: SSAValue) -> tuple[int, ...]:
        """The sizes of a tensor, as large as they get. Raises `ValueError` where one has no bound."""
        shape = tensor_type(value).get_shape()
        if all(size >= 0 for size in shape):
            return tuple(shape)
        found: list[int] = []
        for dim, size in enumerate(self._bounds.sizes(value)):
            if size is None:
                raise ValueError(f"dimension {dim} of {value.type} has no upper bound")
            found.append(size)
        return tuple(found)

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The sizes of a tensor, -1 where one is known at run time only."""
        return tuple(tensor_type(value).get_shape())

    def datatype(self, value: SSAValue) -> XNNDatatype:
        """XNNPACK's name for the element type of a value."""
        return (DATATYPES | PLACES)[tensor_type(value).element_type]

    def order(self, value: SSAValue) -> Order:
        """An order in which a value is there; contiguous for a constant, which is there in all."""
        if is_constant(value):
            return straight(len(self.shape(value)))
        return next(iter(self._held[value]))

    def orders(self, value: SSAValue) -> Sequence[Order]:
        """All orders in which a value is there."""
        if value not in self._held and is_constant(value):
            self.hold(value, self.read(value), straight(len(self.shape(value))))
        return tuple(self._held[value])

    def array(self, value: SSAValue) -> Array:
        """The elements of a constant."""
        return constant_array(value, self.symbols)

    # -- values of the graph

    def read(self, value: SSAValue, order: Order | None = None) -> int:
        """The value of the graph that holds a value of the program in an order; contiguous if it says none."""
        order = straight(len(self.shape(value))) if order is None else order
        if is_constant(value):
            return self.constant(self.array(value).transpose(order), value)
        held = self._held[value]
        if order not in held:
            have, source = next(iter(held.items()))
            dims = in_order(self.sizes(value), order)
            made = held[order] = self.graph.value(self.datatype(value), dims)
            self._transpose(source, made, step(have, order))
        return held[order]

    def constant(self, array: Array, like: SSAValue, datatype: XNNDatatype | None = None) -> int:
        """A constant of given elements; of rank one where they have none. `like` names it."""
        if array.ndim == 0:
            array = array.reshape(1)
        owner = like.name_hint or "constant"
        kind = self.datatype(like) if datatype is None else datatype
        wanted = np.float16 if kind == XNNDatatype.fp16 else np.float32
        return self.graph.constant(kind, array.shape, array_blob(owner, array.astype(wanted, copy=False)))

    def scalar(self, number: float, like: SSAValue) -> int:
        """A constant of one element, of the type of another value."""
        return self.constant(np.asarray(number, dtype=np.float32), like)

    def temporary(self, like: SSAValue, dims: Sequence[int]) -> int:
        """A value of the graph that is none of the program's, of the element type of another."""
        return self.graph.value(self.datatype(like), dims)

    def write(self, value: SSAValue, order: Order | None = None) -> int:
        """A new value of the graph, for a node to write a value of the program to in an order.

        It is the graph's output at once where the program returns the value in this order.
        """
        type = tensor_type(value)
        order = straight(type.get_num_dims()) if order is None else order
        dims = in_order(self.sizes(value), order)
        argument = self._arguments.get(value)
        if argument is not None and argument not in self._given and dim_order_of(type) == order:
            made = self.graph.output(self.datatype(value), dims, argument)
            self._given.add(argument)
        else:
            made = self.graph.value(self.datatype(value), dims)
        self.hold(value, made, order)
        return made

    def hold(self, value: SSAValue, held: int, order: Order) -> None:
        """Note that a value of the graph holds a value of the program."""
        self._held.setdefault(value, {})[order] = held

    def alias(self, result: SSAValue, source: SSAValue, orders: dict[Order, Order]) -> None:
        """Note that a result is the memory of another value: of each order of that, in which order."""
        for have, gives in orders.items():
            self.hold(result, self._held[source][have], gives)

    # -- nodes

    def node(self, node: XNodeUnion, *ops: Operation, clamp: OutputMinMax | None = None) -> None:
        """Add a node, which computes ops of the program."""
        self.handles.append(list(ops))
        # Handle 0 is for what no op stands for.
        self.graph.node(node, clamp, len(self.handles) if ops else 0)

    def activated(self, op: SchemaOp) -> tuple[SSAValue, OutputMinMax | None]:
        """The output of the node of an op, and its bounds.

        An activation that is all that uses the op's result is part of the node.
        """
        value = op.results[0]
        uses = list(value.uses)
        user = uses[0].operation if len(uses) == 1 else None
        if isinstance(user, SchemaOp):
            bounds = activation_bounds(user)
            if bounds is not None:
                self.fused.add(user)
                return user.results[0], OutputMinMax(*bounds)
        return value, None

    def finish(self) -> None:
        """Write the outputs that no node has written: what is returned twice, as it came, or in another order."""
        for number, value in enumerate(self._returned, self._inputs):
            if number in self._given:
                continue
            self._given.add(number)
            order = dim_order_of(tensor_type(value))
            held = self._held.get(value)
            # A transposition that was made for a reader is a copy away, as is what is there in the order.
            if is_constant(value) or held is None or order in held:
                source, permutation = self.read(value, order), None
            else:
                have, source = next(iter(held.items()))
                permutation = step(have, order)
            made = self.graph.output(self.datatype(value), in_order(self.sizes(value), order), number)
            if permutation is None:
                self.node(XNNCopy(input_id=source, output_id=made))
            else:
                self._transpose(source, made, permutation)

    def _transpose(self, source: int, made: int, permutation: Order) -> None:
        self.node(
            XNNStaticTranspose(
                num_dims=len(permutation), perm=list(permutation), input_id=source, output_id=made
            )
        )

    def element_type(self, value: SSAValue) -> Attribute:
        """The element type of a tensor of the program."""
        return tensor_type(value).element_type
