"""A partition as it becomes an XNNPACK graph: which values of the graph hold a value of the program, in which order.

A value of the program may be there in several orders of its dimensions: images inside of a graph have their channels
last, since XNNPACK convolves no others, while the program's own are contiguous. Ops read an operand in the order they
want, and where it is not there in this order a transposition makes it, once. A permutation of the program moves
nothing: it gives memory that is there another order.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from et_backends.xnnpack.compiler.constants import (
    DATATYPES,
    PLACES,
    Array,
    array_blob,
    constant_array,
    is_constant,
)
from et_backends.xnnpack.compiler.dynamic import dynamic_layers, is_4_bits
from et_backends.xnnpack.compiler.graph import GraphBuilder, ValueType
from et_backends.xnnpack.format.graph import (
    OutputMinMax,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
    XNNConvert,
    XNNCopy,
    XNNDatatype,
    XNNStaticTranspose,
    XNodeUnion,
)
from et_backends.xnnpack.format.nodes import roles_of
from et_ir.analysis.activation_bounds import activation_bounds
from et_ir.analysis.bounds import SizeBounds
from et_ir.analysis.dim_orders import Order, in_order, step, straight
from et_ir.analysis.integer_operations import (
    integer_bias,
    integer_operations,
    is_quantized_constant,
    restored_constant,
    results_of,
)
from et_ir.analysis.quantization import (
    DEQUANTIZE,
    QUANTIZE,
    Granularity,
    Quantization,
    dequantized,
    quantization_of,
)
from et_ir.dialects.edge.attributes import dim_order_of
from et_ir.dialects.program import Globals
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Translation"]

_NIBBLES = (XNNDatatype.qbint4, XNNDatatype.qcint4)


def _packed(integers: Array) -> Array:
    """Rows of integers from -8 to 7, an even number: a byte has two, that of the lower index in its low half."""
    stored = (integers.astype(np.int16) + 8).astype(np.uint8)
    return stored[:, ::2] | stored[:, 1::2] << 4


def _reads_pixels(layer: SchemaOp) -> tuple[object, ...]:
    """The arguments of a layer that tell whether it reads each pixel by itself: equal for layers that read alike."""
    if layer.name.removeprefix("edge.") != "convolution":
        return ("rows",)
    moves = tuple(tuple(layer.arg(name)) for name in ("stride", "padding", "dilation"))
    kernel = tensor_type(layer.arg("weight")).get_shape()[2:]
    is_pointwise = (
        set(kernel) == {1} and set(moves[0]) == {1} and not any(moves[1]) and layer.arg("groups") == 1
    )
    return ("pixels", moves[2]) if is_pointwise else ("images",)


class Translation:
    """The graph of the method of a module, which is built op by op."""

    def __init__(self, module: ModuleOp, method: FuncOp):
        self.symbols = Globals(module)
        self.graph = GraphBuilder()
        self.fused: set[Operation] = set()
        self._activations: dict[Operation, Operation] = {}
        """Activations that are part of the node before them."""
        self.handles: list[list[Operation]] = []
        """The ops that nodes of each debug handle compute."""
        self._outputs: list[list[int]] = []
        """The values of the graph that nodes of each debug handle write."""
        self.computes_integers = False
        """Whether the op whose nodes are made is one of integers."""
        self._bounds = SizeBounds(method.body.block)
        self.integers = integer_operations(method.body.block.ops, self._quantization, self.symbols)
        """The ops that are computed in integers, with the quantization of their results."""
        self._dynamic = dynamic_layers(method.body.block.ops, self._quantization, lambda _: True)
        self.fused.update(self._dynamic.chains)
        self._rows: dict[tuple[SSAValue, Order, tuple[object, ...]], int] = {}
        """The bytes that activations become while the graph runs, for each kind of layer."""
        self._quantized: dict[SSAValue, Quantization] = {}
        """The values of floats that are integers in the graph."""
        self._quantizes: dict[SSAValue, SSAValue] = {}
        """The integers that a value of floats is quantized to."""
        self._restores: dict[Operation, list[Operation]] = {}
        """The ops that quantize and restore what each op computes."""
        self._note_quantized(method)
        self._restored: dict[SSAValue, dict[Order, int]] = {}
        """Floats that are made of integers in the graph."""
        self._held: dict[SSAValue, dict[Order, int]] = {}
        end = method.body.block.last_op
        assert isinstance(end, ReturnOp)
        self._returned = tuple(end.arguments)
        for argument in method.body.block.args:
            order = dim_order_of(tensor_type(argument))
            dims = in_order(self.sizes(argument), order)
            self.hold(argument, self.graph.input(self.type_of(argument), dims), order)
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

    def type_of(self, value: SSAValue) -> ValueType:
        """The type of the elements of a value in the graph."""
        element = tensor_type(value).element_type
        how = self._quantized.get(value)
        if how is None or (element != i8 and not self.computes_integers):
            return ValueType((DATATYPES | PLACES)[element])
        return ValueType(XNNDatatype.qint8, PerTensorQuant(how.scale, how.zero_point))

    def _quantization(self, op: SchemaOp) -> Quantization:
        return quantization_of(op, self.symbols)

    def _note_quantized(self, method: FuncOp) -> None:
        """Find the values that are integers in the graph: also those that ops of the program restore or quantize."""
        for op in method.body.block.ops:
            if op in self._dynamic.chains:
                continue
            if isinstance(op, DEQUANTIZE) and not is_quantized_constant(op.results[0]):
                how = self._quantization(op)
                self._quantized[op.results[0]] = how
                self._quantized.setdefault(op.operands[0], how)
            elif isinstance(op, QUANTIZE):
                self._quantized[op.results[0]] = self._quantization(op)
        for op, how in self.integers.items():
            assert isinstance(op, SchemaOp)
            for result in results_of(op):
                self._quantized[result] = how
                self._quantizes[result] = next(iter(result.uses)).operation.results[0]

    def order(self, value: SSAValue) -> Order:
        """An order in which a value is there; contiguous for a constant, which is there in all."""
        if is_constant(value):
            return straight(len(self.shape(value)))
        return next(iter(self._held[self._floats(value)]))

    def orders(self, value: SSAValue) -> Sequence[Order]:
        """All orders in which a value is there."""
        if value not in self._held and is_constant(value):
            self.hold(value, self.read(value), straight(len(self.shape(value))))
        return tuple(self._held[self._floats(value)])

    def array(self, value: SSAValue) -> Array:
        """The elements of a constant: integers where the op is computed in these, and restored elsewhere."""
        op = dequantized(value)
        if op is None:
            return constant_array(value, self.symbols)
        integers = constant_array(op.operands[0], self.symbols)
        return (
            integers if self._reads_integers(value) else restored_constant(integers, self._quantization(op))
        )

    # -- values of the graph

    def read(self, value: SSAValue, order: Order | None = None, *, layer: SchemaOp | None = None) -> int:
        """The value of the graph that holds a value of the program in an order; contiguous if it says none. An
        activation that is quantized while the graph runs is so for a `layer`.
        """
        order = straight(len(self.shape(value))) if order is None else order
        if is_constant(value):
            return self.constant(self.array(value).transpose(order), value)
        if value in self._dynamic.floats:
            assert layer is not None
            return self._read_rows(value, order, layer)
        if self._is_restored(value):
            return self._read_restored(value, order)
        held = self._held[value]
        if order not in held:
            have, source = next(iter(held.items()))
            dims = in_order(self.sizes(value), order)
            made = held[order] = self.graph.value(self.type_of(value), dims)
            self._transpose(source, made, step(have, order))
        return held[order]

    def _is_restored(self, value: SSAValue) -> bool:
        """Whether a value is read as floats that is integers in the graph."""
        return not self.computes_integers and value in self._quantized and self.element_type(value) != i8

    def _read_restored(self, value: SSAValue, order: Order) -> int:
        made = self._restored.setdefault(value, {})
        if order not in made:
            source = self._read_integers(value, order)
            made[order] = self.graph.value(self.type_of(value), in_order(self.sizes(value), order))
            self.node(XNNConvert(input_id=source, output_id=made[order]))
        return made[order]

    def _floats(self, value: SSAValue) -> SSAValue:
        """The value that the graph holds: the floats of an activation that is quantized while it runs."""
        return self._dynamic.floats.get(value, value)

    def _reads_integers(self, constant: SSAValue) -> bool:
        """Whether a constant that is restored from integers is read as these."""
        return self.computes_integers or constant in self._dynamic.weights

    def _read_rows(self, value: SSAValue, order: Order, layer: SchemaOp) -> int:
        """Each row of an activation in 8 bits, or each image, with a scale of its own.

        XNNPACK makes fully connected layers of pointwise convolutions, and quantizes what these read pixel by pixel:
        other layers cannot read it.
        """
        key = (value, order, _reads_pixels(layer))
        made = self._rows.get(key)
        if made is None:
            source = self.read(self._floats(value), order)
            is_image = layer.name.removeprefix("edge.") == "convolution"
            how = PerTokenDynamicQuant(num_nonbatch_dims=3 if is_image else 1)
            dims = in_order(self.sizes(value), order)
            made = self._rows[key] = self.graph.value(ValueType(XNNDatatype.qdint8, how), dims)
            self.node(XNNConvert(input_id=source, output_id=made))
        return made

    def _read_integers(self, value: SSAValue, order: Order) -> int:
        self.computes_integers = True
        source = self.read(value, order)
        self.computes_integers = False
        return source

    def quantize(self, op: SchemaOp) -> None:
        """Make the integers of a value of floats, unless its node has made them."""
        x, result = op.operands[0], op.results[0]
        if x in self._quantizes:
            self._held[result] = self._held[x]
            return
        order = self.order(x)
        source = self.read(x, order)
        self.node(XNNConvert(input_id=source, output_id=self.write(result, order)), op)

    def dequantize(self, op: SchemaOp) -> None:
        """Note that floats are integers in the graph."""
        self._held[op.results[0]] = self._held[op.operands[0]]

    def constant(self, array: Array, like: SSAValue, datatype: XNNDatatype | None = None) -> int:
        """A constant of given elements; of rank one where they have none. `like` names it."""
        if array.ndim == 0:
            array = array.reshape(1)
        owner = like.name_hint or "constant"
        op = dequantized(like)
        if op is not None and self._reads_integers(like):
            how = self._quantization(op)
            type = self._constant_type(how, array, by_channel=like in self._dynamic.weights)
            stored = _packed(array) if type.datatype in _NIBBLES else array
            return self.graph.constant(type, array.shape, array_blob(owner, stored))
        kind = self.type_of(like).datatype if datatype is None else datatype
        wanted = np.float16 if kind == XNNDatatype.fp16 else np.float32
        blob = array_blob(owner, array.astype(wanted, copy=False))
        return self.graph.constant(ValueType(kind), array.shape, blob)

    def ones(self, shape: Sequence[int], like: SSAValue) -> int:
        """A constant that leaves what it is multiplied with as it is: floats as `like` is, or integers."""
        if not self.computes_integers:
            return self.constant(np.ones(shape, np.float32), like)
        type = ValueType(XNNDatatype.qint8, PerTensorQuant(1.0, 0))
        return self.graph.constant(type, shape, array_blob("ones", np.ones(shape, np.int8)))

    def _constant_type(self, how: Quantization, array: Array, *, by_channel: bool) -> ValueType:
        """The type of constant integers whose dimensions may have changed places. With `by_channel`, each channel has
        a scale: of a row that is quantized while the graph runs, XNNPACK multiplies no others.
        """
        assert how.scales is not None
        if how.granularity is Granularity.GROUP:
            scales = how.scales.astype(np.float32).astype(ml_dtypes.bfloat16)
            return ValueType(
                XNNDatatype.qbint4, self.graph.group_scales(array_blob("scale", scales), how.group)
            )
        if by_channel:
            # With 4-bit rows of odd length the stock runtime computes wrong results, whether these are padded to bytes
            # or share them.
            packs = is_4_bits(how) and array.ndim == 2 and not array.shape[1] % 2
            datatype = XNNDatatype.qcint4 if packs else XNNDatatype.qcint8
            scales = np.broadcast_to(how.scales, array.shape[:1])
            return ValueType(datatype, self._channel_scales(scales, 0))
        if not how.scales.ndim:
            return ValueType(XNNDatatype.qint8, PerTensorQuant(how.scale, how.zero_point))
        axis = 0 if array.shape[0] == how.scales.size else array.ndim - 1
        return ValueType(XNNDatatype.qcint8, self._channel_scales(how.scales, axis))

    def _channel_scales(self, scales: Array, axis: int) -> PerChannelQuant:
        return self.graph.channel_scales(array_blob("scale", scales.astype(np.float32)), axis)

    def bias(
        self, op: SchemaOp, bias: SSAValue, weight: SSAValue, datatype: XNNDatatype | None = None
    ) -> int:
        """The bias of a layer: of a type of floats, or integers with the scale of the products that it is added to."""
        array = self.array(bias).reshape(-1)
        if not self.computes_integers:
            return self.constant(array, bias, datatype)
        restored = dequantized(weight)
        assert restored is not None
        how = self._quantization(restored)
        assert how.scales is not None
        scales = np.float32(self._quantized[op.arg("input")].scale) * how.scales.astype(np.float32)
        # In f32, with the inverse, as `quantize_per_channel` computes.
        with np.errstate(over="ignore"):
            steps = (array * (np.float32(1) / scales)).astype(np.float64)
        integers = integer_bias(steps, scales, self.array(weight).size // array.size, self.integers[op])
        if integers is None:
            raise ValueError(f"the sums of {op.name} exceed 32 bits")
        if scales.ndim:
            type = ValueType(XNNDatatype.qcint32, self._channel_scales(scales, 0))
        else:
            type = ValueType(XNNDatatype.qint32, PerTensorQuant(float(scales), 0))
        return self.graph.constant(type, integers.shape, array_blob(bias.name_hint or "bias", integers))

    def equal_weights(self, count: int, weight: float, like: SSAValue) -> int:
        """A row of equal numbers, to multiply rows of a value with: where these are integers, ones of this scale."""
        if not self.computes_integers:
            return self.constant(np.full((1, count), weight, dtype=np.float32), like)
        type = ValueType(XNNDatatype.qint8, PerTensorQuant(weight, 0))
        return self.graph.constant(type, (1, count), array_blob("ones", np.ones((1, count), np.int8)))

    def scalar(self, number: float, like: SSAValue) -> int:
        """A constant of one element, of the type of another value."""
        return self.constant(np.asarray(number, dtype=np.float32), like)

    def temporary(self, like: SSAValue, dims: Sequence[int]) -> int:
        """A value of the graph that is none of the program's, of the element type of another."""
        return self.graph.value(self.type_of(like), dims)

    def write(self, value: SSAValue, order: Order | None = None) -> int:
        """A new value of the graph, for a node to write a value of the program to in an order.

        It is the graph's output at once where the program returns the value in this order.
        """
        type = tensor_type(value)
        order = straight(type.get_num_dims()) if order is None else order
        dims = in_order(self.sizes(value), order)
        argument = self._arguments.get(self._quantizes.get(value, value))
        if argument is not None and argument not in self._given and dim_order_of(type) == order:
            made = self.graph.output(self.type_of(value), dims, argument)
            self._given.add(argument)
        else:
            made = self.graph.value(self.type_of(value), dims)
        self.hold(value, made, order)
        return made

    def hold(self, value: SSAValue, held: int, order: Order) -> None:
        """Note that a value of the graph holds a value of the program."""
        self._held.setdefault(value, {})[order] = held

    def alias(self, result: SSAValue, source: SSAValue, orders: dict[Order, Order]) -> None:
        """Note that a result is the memory of another value: of each order of that, in which order."""
        for have, gives in orders.items():
            restored = self._is_restored(source)
            held = self._read_restored(source, have) if restored else self._held[source][have]
            self.hold(result, held, gives)

    # -- nodes

    def node(self, node: XNodeUnion, *ops: Operation, clamp: OutputMinMax | None = None) -> None:
        """Add a node, which computes ops of the program, and with a clamp the activations behind them."""
        if clamp is not None:
            ops = (*ops, *(self._activations[op] for op in ops if op in self._activations))
        if ops:
            ops = (*ops, *self._restoring(ops[-1]))
        self.handles.append(list(ops))
        self._outputs.append([getattr(node, name) for name in roles_of(node).results])
        # Handle 0 is for what no op stands for.
        self.graph.node(node, clamp, len(self.handles) if ops else 0)

    def _restoring(self, op: Operation) -> list[Operation]:
        """The ops that quantize and restore what an op of integers computes: a runtime reports restored numbers."""
        # An op with many results has a node for each.
        found = self._restores.get(op)
        if found is None:
            found = self._restores[op] = self._find_restoring(op)
        return found

    def _find_restoring(self, op: Operation) -> list[Operation]:
        for result in op.results:
            integers = result if isinstance(op, QUANTIZE) else self._quantizes.get(result)
            for use in () if integers is None else integers.uses:
                if isinstance(use.operation, DEQUANTIZE):
                    owner = use.operation.operands[0].owner
                    return [
                        one for one in (owner, use.operation) if isinstance(one, Operation) and one is not op
                    ]
        return []

    def value_orders(self) -> dict[int, Order]:
        """Of each debug handle whose nodes write a value in another order of dimensions than the program has it, that
        order; () where they write a value that no op of the program has.
        """
        found: dict[int, Order] = {}
        orders: dict[Operation, dict[int, tuple[int, Order]]] = {}
        for handle, (ops, numbers) in enumerate(zip(self.handles, self._outputs, strict=True), 1):
            if not ops:
                continue
            op = ops[-1]
            known = orders.get(op)
            if known is None:
                known = orders[op] = self._orders_by_number(op)
            written = [known[number] for number in numbers if number in known]
            if not written or isinstance(op, QUANTIZE):  # integers are reported restored
                found[handle] = ()
                continue
            _, order = min(written)
            if order != straight(len(order)):
                found[handle] = order
        return found

    def _orders_by_number(self, op: Operation) -> dict[int, tuple[int, Order]]:
        """The order that each value of the graph has a result of an op in, behind its place among all of them."""
        found: dict[int, tuple[int, Order]] = {}
        for result in op.results:
            for order, number in self._held.get(result, {}).items():
                found.setdefault(number, (len(found), order))
        return found

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
                self._activations[op] = user
                return user.results[0], OutputMinMax(*bounds)
        return value, None

    def finish(self) -> None:
        """Write the outputs that no node has written: what is returned twice, as it came, or in another order."""
        self.computes_integers = False
        for number, value in enumerate(self._returned, self._inputs):
            if number in self._given:
                continue
            self._given.add(number)
            order = dim_order_of(tensor_type(value))
            held = self._held.get(value)
            if self._is_restored(value):
                source = self._read_integers(value, order)
                made = self.graph.output(self.type_of(value), in_order(self.sizes(value), order), number)
                self.node(XNNConvert(input_id=source, output_id=made))
                continue
            # A transposition that was made for a reader is a copy away, as is what is there in the order.
            if is_constant(value) or held is None or order in held:
                source, permutation = self.read(value, order), None
            else:
                have, source = next(iter(held.items()))
                permutation = step(have, order)
            made = self.graph.output(self.type_of(value), in_order(self.sizes(value), order), number)
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
