"""Edge ops of XNNPACK nodes, by the kind of the node.

A graph has its tensors in the order of memory, images with the channels last. A value is raised in the order in which
it came: a transposition only says in which order a tensor is read, so that images between two of them are those of
the program again, with the channels first.

Nodes compute with real numbers. A tensor of integers is raised as what restores them, and a result of integers is
quantized and restored: that is the form in which partitioners find operations that they compute in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any, Final, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.graph import OutputMinMax, XNodeUnion
from et_backends.xnnpack.format.nodes import NO_VALUE, kind_name, roles_of
from et_backends.xnnpack.raising.rows import quantized_image, quantized_rows
from et_ir.analysis.dim_orders import Order, straight
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp

__all__ = ["CannotRaiseNode", "Grid", "NodeRaiser", "Tensors"]

SAME_PADDING: Final = 4
TRANSPOSED: Final = 1
FLATTENED: Final = 4
KEEP_DIMENSIONS: Final = 0x40
ALIGN_CORNERS: Final = 8
TENSORFLOW: Final = 4

IMAGE: Final[Order] = (0, 3, 1, 2)
"""The order in which an image with the channels last has them first."""


Size = int | tuple[SSAValue, int]
"""The size of a dimension, or the tensor and the dimension that have it at run time."""


class CannotRaiseNode(Exception):
    """A node has no counterpart at the edge level."""


@dataclass(frozen=True)
class Grid:
    """The numbers `(q - zero_point) * scale` for the integers q of an element type from `low` to `high`."""

    scale: float
    zero_point: int
    low: int
    high: int
    element: Attribute


@dataclass(frozen=True)
class Tensors:
    """The values of a graph, by id."""

    sizes: Mapping[int, tuple[int, ...]]
    """Shapes, as large as they get."""
    elements: Mapping[int, Attribute]
    """Types of their elements, as ops compute with them: of integers, f32."""
    grids: Mapping[int, Grid]
    """The values of integers that are no constants."""
    weights: Collection[int]
    """The constants of integers."""
    rows: Mapping[int, int]
    """The values of which each row is quantized while the graph runs: how many dimensions at the end are a row."""
    constants: Mapping[int, Callable[[Order], SSAValue]]
    """Constants in an order of their dimensions, where they are there in all."""


class NodeRaiser:
    """Raises the nodes of one graph. `insert` adds an op."""

    def __init__(self, insert: Callable[[EdgeOp], None], tensors: Tensors):
        self._insert = insert
        self._tensors = tensors
        self._sizes = tensors.sizes
        self._held: dict[int, dict[Order, SSAValue]] = {}
        self._integers: dict[SSAValue, tuple[Grid, SSAValue]] = {}
        """The integers that real numbers were restored from."""
        self._rows: dict[int, SSAValue] = {}
        """Rows that have been quantized and restored."""

    def hold(self, number: int, value: SSAValue, order: Order | None = None) -> None:
        """Note a tensor that has the dimensions of a value in an order: dimension i of the value is the tensor's
        `order[i]`.
        """
        key = straight(len(self._sizes[number])) if order is None else order
        self._held.setdefault(number, {})[key] = value

    def hold_integers(self, number: int, value: SSAValue, order: Order) -> None:
        """Note a tensor of integers as `hold` does one of real numbers."""
        self.hold(number, self._restored(value, self._tensors.grids[number]), order)

    def read(self, number: int, order: Order | None = None) -> SSAValue:
        """The tensor that has the dimensions of a value in an order; in the value's own if none is given."""
        wanted = straight(len(self._sizes[number])) if order is None else order
        held = self._held.setdefault(number, {})
        if wanted not in held:
            constant = self._tensors.constants.get(number)
            if constant is not None:
                held[wanted] = constant(wanted)
            else:
                have, source = next(iter(held.items()))
                permuted = self._op("permute_copy", source, [have.index(dim) for dim in wanted])
                held[wanted] = self._on_grid(number, permuted)
        return held[wanted]

    def read_integers(self, number: int, order: Order) -> SSAValue:
        """The integers of a tensor, as `read` gives the real numbers that they stand for."""
        return self._integers[self.read(number, order)][1]

    def _on_grid(self, number: int, value: SSAValue) -> SSAValue:
        """Real numbers as a tensor of the graph has them: quantized and restored if it is one of integers."""
        grid = self._tensors.grids.get(number)
        if grid is None or (value in self._integers and self._integers[value][0] == grid):
            return value
        limits = grid.scale, grid.zero_point, grid.low, grid.high, grid.element
        return self._restored(self._op("quantized_decomposed.quantize_per_tensor", value, *limits), grid)

    def _restored(self, integers: SSAValue, grid: Grid) -> SSAValue:
        limits = grid.scale, grid.zero_point, grid.low, grid.high, grid.element
        value = self._op("quantized_decomposed.dequantize_per_tensor", integers, *limits)
        self._integers[value] = grid, integers
        return value

    def run(self, node: XNodeUnion, limits: OutputMinMax | None) -> None:
        """Raise a node and the limits of its output. Raises `CannotRaiseNode`."""
        rule = RULES.get(type(node))
        if rule is None:
            raise CannotRaiseNode(f"{kind_name(node)} has no counterpart at the edge level")
        roles = roles_of(node)
        if type(node) not in _TAKE_ROWS and any(
            getattr(node, name) in self._tensors.rows for name in roles.operands
        ):
            raise CannotRaiseNode(f"{kind_name(node)} of rows that are quantized while the graph runs")
        rule(self, node)
        for result in roles.results:
            number = cast(int, getattr(node, result))
            held = self._held[number]
            if limits is not None:
                order, value = next(iter(held.items()))
                held = {order: self.clamped(value, limits.output_min, limits.output_max)}
            self._held[number] = {order: self._on_grid(number, value) for order, value in held.items()}

    # -- ops

    def _op(self, name: str, *args: Any, **kwargs: Any) -> SSAValue:
        return self._results(name, *args, **kwargs)[0]

    def _results(self, name: str, *args: Any, **kwargs: Any) -> Sequence[SSAValue]:
        try:
            op = OP_BY_NAME[name].make(*args, **kwargs)
        except TypeError as error:
            raise CannotRaiseNode(str(error)) from error
        self._insert(op)
        return op.results

    def clamped(self, value: SSAValue, low: float, high: float) -> SSAValue:
        """A tensor within limits."""
        if (low, high) == (-inf, inf):
            return value
        if (low, high) == (0.0, inf):
            return self._op("relu", value)
        if -inf < low and high < inf:
            return self._op("hardtanh", value, low, high)
        return self._op("clamp", value, None if low == -inf else low, None if high == inf else high)

    def _shape(self, value: SSAValue) -> tuple[int, ...]:
        """The sizes of a tensor, -1 where one is known at run time only."""
        return tuple(max(size, -1) for size in cast("TensorType[Attribute]", value.type).get_shape())

    def _known(self, value: SSAValue) -> list[Size]:
        """The sizes of a tensor, and where to read those known at run time only."""
        return [size if size >= 0 else (value, dim) for dim, size in enumerate(self._shape(value))]

    def _view(self, value: SSAValue, sizes: Sequence[Size]) -> SSAValue:
        """A tensor in another shape. One size may be -1: as large as the others leave."""
        shape = [size if isinstance(size, int) else -1 for size in sizes]
        if shape.count(-1) < 2:
            return self._reshaped(value, shape)
        if list(self._shape(value)) == shape and len(sizes) == len(shape):
            return value
        given = [size if isinstance(size, int) else self._op("sym_size.int", *size) for size in sizes]
        return self._op("view_copy", value, given)

    def _reshaped(self, value: SSAValue, sizes: Sequence[int]) -> SSAValue:
        return value if self._shape(value) == tuple(sizes) else self._op("view_copy", value, list(sizes))

    def _first(self, number: int) -> tuple[Order, SSAValue]:
        if not self._held.get(number):
            self.read(number)
        return next(iter(self._held[number].items()))

    # -- pointwise

    def unary(self, node: Any, name: str, *args: Any) -> None:
        order, x = self._first(node.input_id)
        self.hold(node.output_id, self._op(name, x, *args), order)

    def hardswish(self, node: Any) -> None:
        order, x = self._first(node.input_id)
        inner = self._op("hardtanh", self._op("add.Scalar", x, 3.0), 0.0, 6.0)
        result = self._op("mul.Scalar", self._op("mul.Tensor", x, inner), 1 / 6)
        self.hold(node.output_id, result, order)

    def square(self, node: Any) -> None:
        order, x = self._first(node.input_id)
        self.hold(node.output_id, self._op("mul.Tensor", x, x), order)

    def copy(self, node: Any) -> None:
        order, x = self._first(node.input_id)
        self.hold(node.output_id, x, order)

    def convert(self, node: schema.XNNConvert) -> None:
        order, x = self._first(node.input_id)
        element = self._tensors.elements[node.output_id]
        if element != self._tensors.elements[node.input_id]:
            x = self._op("dim_order_ops._to_dim_order_copy", x, dtype=element)
        self.hold(node.output_id, x, order)

    def binary(self, node: Any, name: str) -> None:
        order, a, b = self._pair(node)
        self.hold(node.output_id, self._op(name, a, b), order)

    def _pair(self, node: Any) -> tuple[Order | None, SSAValue, SSAValue]:
        """Two operands in one order, that of the larger one."""
        one, other = node.input1_id, node.input2_id
        ranks = [len(self._sizes[number]) for number in (one, other)]
        if ranks[0] != ranks[1]:
            return None, self.read(one), self.read(other)
        larger = one if prod(self._sizes[one]) >= prod(self._sizes[other]) else other
        order, _ = self._first(larger)
        return order, self.read(one, order), self.read(other, order)

    def prelu(self, node: Any) -> None:
        x, slope = self.read(node.input1_id), self.read(node.input2_id)
        negative = self._op("mul.Tensor", self._op("clamp", x, None, 0.0), slope)
        self.hold(node.output_id, self._op("add.Tensor", self._op("relu", x), negative))

    def softmax(self, node: Any) -> None:
        order, x = self._first(node.input_id)
        axis = order.index(len(order) - 1)
        self.hold(node.output_id, self._op("_softmax", x, axis, False), order)

    # -- movement

    def transpose(self, node: schema.XNNStaticTranspose) -> None:
        """No op: dimension i of the output is dimension perm[i] of the input."""
        self._first(node.input_id)
        for order, value in list(self._held[node.input_id].items()):
            self.hold(node.output_id, value, tuple(node.perm.index(dim) for dim in order))

    def reshape(self, node: schema.XNNStaticReshape) -> None:
        x = self.read(node.input_id)
        sizes, count = list(node.new_shape), prod(self._shape(x))
        if sizes.count(0) == 1 and count:
            static = min(self._shape(x), default=0) >= 0
            sizes[sizes.index(0)] = count // prod(size for size in sizes if size) if static else -1
        self.hold(node.output_id, self._reshaped(x, sizes))

    def cut(self, node: schema.XNNStaticSlice) -> None:
        order, x = self._first(node.input_id)
        for axis, dim in enumerate(order):
            size, first = self._shape(x)[axis], node.offsets[dim]
            if size < 0 and not first and node.sizes[dim] in (0, self._sizes[node.input_id][dim]):
                continue
            if size < 0 and not node.sizes[dim]:
                x = self._op("slice_copy.Tensor", x, axis, first)
                continue
            count = node.sizes[dim] or size - first
            if (first, count) != (0, size):
                x = self._op("slice_copy.Tensor", x, axis, first, first + count)
        self.hold(node.output_id, x, order)

    def pad(self, node: schema.XNNStaticConstantPad) -> None:
        order, x = self._first(node.input_id)
        pads: list[int] = []
        for dim in reversed(order):
            pads += [node.pre_paddings[dim], node.post_paddings[dim]]
        self.hold(node.output_id, self._op("constant_pad_nd", x, pads, node.padding_value), order)

    def concatenate(self, node: Any) -> None:
        operands = [getattr(node, name) for name in roles_of(node).operands]
        order, first = self._first(operands[0])
        axis = node.axis - 2**32 + len(order) if node.axis >= 2**31 else node.axis
        parts = [first, *(self.read(number, order) for number in operands[1:])]
        self.hold(node.output_id, self._op("cat", parts, order.index(axis)), order)

    # -- products

    def fully_connected(self, node: schema.XNNFullyConnected) -> None:
        x = self.read(node.input1_id)
        if node.filter_id in self._tensors.weights or min(self._shape(x)) < 0:
            self._linear(node, x)
            return
        weight = self.read(node.filter_id, (0, 1) if node.flags & TRANSPOSED else (1, 0))
        inputs, outputs = self._shape(weight)
        rows = prod(self._shape(x)) // inputs
        matrix = self._reshaped(x, (rows, inputs))
        if node.bias_id == NO_VALUE:
            product = self._op("mm", matrix, weight)
        else:
            bias = self._reshaped(self.read(node.bias_id), (outputs,))
            product = self._op("addmm", bias, matrix, weight)
        sizes = (rows, outputs) if node.flags & FLATTENED else (*self._shape(x)[:-1], outputs)
        self.hold(node.output_id, self._reshaped(product, sizes))

    def _linear(self, node: schema.XNNFullyConnected, x: SSAValue) -> None:
        """A layer in the form in which partitioners look for weights of integers, and for rows of any number."""
        weight = self.read(node.filter_id, (1, 0) if node.flags & TRANSPOSED else (0, 1))
        outputs, inputs = self._shape(weight)
        bias = None if node.bias_id == NO_VALUE else self._reshaped(self.read(node.bias_id), (outputs,))
        by_rows = node.input1_id in self._tensors.rows
        sizes: list[Size] = [*self._known(x)[:-1], outputs]
        if by_rows:
            x = self._quantized_rows(node.input1_id, x, inputs)
        elif node.flags & FLATTENED:
            x = self._on_grid(node.input1_id, self._view(x, [_rows(self._shape(x), inputs), inputs]))
        result = self._op("linear", x, weight, bias)
        if by_rows and not node.flags & FLATTENED:
            result = self._view(result, sizes)
        self.hold(node.output_id, result)

    def _quantized_rows(self, number: int, x: SSAValue, columns: int) -> SSAValue:
        """A matrix of the rows of a tensor, quantized and restored."""
        if self._tensors.rows[number] != 1:
            raise CannotRaiseNode("a layer of rows of several dimensions")
        if number not in self._rows:
            matrix = self._view(x, [_rows(self._shape(x), columns), columns])
            self._rows[number] = quantized_rows(self._op, matrix)
        return self._rows[number]

    def _image(self, number: int) -> SSAValue:
        """An image with its channels first; if the graph quantizes it while it runs, quantized and restored."""
        x = self.read(number, IMAGE)
        if number not in self._tensors.rows:
            return x
        if self._tensors.rows[number] != 3:
            raise CannotRaiseNode("a convolution of an image that is quantized by parts")
        if number not in self._rows:
            if self._shape(x)[0] == 1:
                choose = cast("Callable[..., tuple[SSAValue, SSAValue]]", self._results)
                self._rows[number] = quantized_image(choose, self._op, x)
            else:
                if min(self._shape(x)[1:]) < 0:
                    raise CannotRaiseNode("several images of a size known at run time only, each quantized")
                matrix = self._view(x, [self._known(x)[0], prod(self._shape(x)[1:])])
                self._rows[number] = self._view(quantized_rows(self._op, matrix), [*self._known(x)])
        return self._rows[number]

    def batch_matrix_multiply(self, node: Any) -> None:
        a = self.read(node.input1_id)
        rank = len(self._sizes[node.input2_id])
        turned = (*range(rank - 2), rank - 1, rank - 2)
        b = self.read(node.input2_id, turned if node.flags & TRANSPOSED else None)
        self.hold(node.output_id, self._product(a, b))

    def _product(self, a: SSAValue, b: SSAValue) -> SSAValue:
        left, right = self._shape(a), self._shape(b)
        if len(left) == len(right) == 2:
            return self._op("mm", a, b)
        rank = max(len(left), len(right))
        batch: list[Size] = []
        for at in range(rank - 2):
            sizes = [
                (size, self._known(value)[place])
                for value, shape in ((a, left), (b, right))
                if (place := at - rank + len(shape)) >= 0 and (size := shape[place]) != 1
            ]
            if len({size for size, _ in sizes}) > 1:
                raise CannotRaiseNode("a product of batches of which one has a size known at run time only")
            batch.append(sizes[0][1] if sizes else 1)
        count = prod(size if isinstance(size, int) else -1 for size in batch)
        known = all(isinstance(size, int) for size in batch)
        matrices: list[SSAValue] = []
        for value, shape in ((a, left), (b, right)):
            whole = [size if isinstance(size, int) else -1 for size in (*batch, *shape[-2:])]
            full = value if list(shape) == whole else self._op("expand_copy", value, whole)
            matrices.append(self._view(full, [count if known else -1, *self._known(value)[-2:]]))
        return self._view(self._op("bmm", *matrices), [*batch, self._known(a)[-2], self._known(b)[-1]])

    def attention(self, node: schema.XNNScaledDotProductAttention) -> None:
        query, value = self.read(node.query_id), self.read(node.value_id)
        key = self.read(node.key_id, (0, 1, 3, 2))
        scores = self._product(self._op("mul.Tensor", query, self.read(node.scale_id)), key)
        if node.mask_id != NO_VALUE:
            scores = self._op("add.Tensor", scores, self.read(node.mask_id))
        weights = self._op("_softmax", scores, -1, False)
        self.hold(node.output_id, self._product(weights, value))

    # -- images

    def _sides(
        self,
        node: Any,
        taps: tuple[int, int],
        strides: tuple[int, int],
        dilations: tuple[int, int],
        x: SSAValue,
    ) -> list[tuple[int, int]]:
        """The padding before and after of each axis."""
        if not node.flags & SAME_PADDING:
            return [(node.padding_top, node.padding_bottom), (node.padding_left, node.padding_right)]
        found: list[tuple[int, int]] = []
        image = self._shape(x)[2:]
        if min(image) < 0:
            raise CannotRaiseNode("padding that depends on a size known at run time only")
        for size, tap, stride, dilation in zip(image, taps, strides, dilations, strict=True):
            reach = (tap - 1) * dilation + 1
            total = max((-(-size // stride) - 1) * stride + reach - size, 0)
            found.append((total // 2, total - total // 2))
        return found

    def _padded(self, x: SSAValue, sides: list[tuple[int, int]], number: float) -> tuple[SSAValue, list[int]]:
        """An image and what is left to pad on both sides alike."""
        if all(before == after for before, after in sides):
            return x, [before for before, _ in sides]
        pads = [sides[1][0], sides[1][1], sides[0][0], sides[0][1]]
        return self._op("constant_pad_nd", x, pads, number), [0, 0]

    def convolution(self, node: schema.NodeConv) -> None:
        depthwise = isinstance(node, schema.XNNDepthwiseConv2d)
        weight = self.read(node.filter_id, (3, 0, 1, 2) if depthwise else IMAGE)
        strides = node.subsampling_height, node.subsampling_width
        dilations = node.dilation_height, node.dilation_width
        taps = node.kernel_height, node.kernel_width
        x = self._image(node.input1_id)
        x, padding = self._padded(x, self._sides(node, taps, strides, dilations, x), 0.0)
        self._convolve(node, x, weight, strides, padding, dilations)

    def transposed_convolution(self, node: schema.NodeConv) -> None:
        if (node.padding_top, node.padding_left) != (node.padding_bottom, node.padding_right):
            raise CannotRaiseNode("a transposed convolution with another padding on each side")
        weight = self._transposed_filter(node)
        strides = node.subsampling_height, node.subsampling_width
        dilations = node.dilation_height, node.dilation_width
        x, padding = self._image(node.input1_id), [node.padding_top, node.padding_left]
        more = [node.adjustment_height, node.adjustment_width]
        self._convolve(node, x, weight, strides, padding, dilations, more)

    def _transposed_filter(self, node: schema.NodeConv) -> SSAValue:
        """The filter with the inputs of all groups outermost, where the graph has the outputs of all groups."""
        groups = node.groups
        if groups == 1:
            return self.read(node.filter_id, (3, 0, 1, 2))
        filters, height, width, inputs = self._sizes[node.filter_id]
        outputs = filters // groups
        parts = self._reshaped(self.read(node.filter_id), (groups, outputs, height, width, inputs))
        turned = self._op("permute_copy", parts, [0, 4, 1, 2, 3])
        return self._reshaped(turned, (groups * inputs, outputs, height, width))

    def _convolve(
        self,
        node: schema.NodeConv,
        x: SSAValue,
        weight: SSAValue,
        strides: Sequence[int],
        padding: Sequence[int],
        dilations: Sequence[int],
        more: Sequence[int] | None = None,
    ) -> None:
        bias = None if node.bias_id == NO_VALUE else self.read(node.bias_id)
        result = self._op(
            "convolution",
            x,
            weight,
            bias,
            list(strides),
            list(padding),
            list(dilations),
            more is not None,
            list(more or (0, 0)),
            node.groups,
        )
        self.hold(node.output_id, result, IMAGE)

    def max_pool(self, node: schema.XNNMaxPooling2d) -> None:
        taps, strides = (node.pooling_height, node.pooling_width), (node.stride_height, node.stride_width)
        dilations = node.dilation_height, node.dilation_width
        x = self.read(node.input_id, IMAGE)
        x, padding = self._padded(x, self._sides(node, taps, strides, dilations, x), -inf)
        args = list(taps), list(strides), padding, list(dilations)
        self.hold(node.output_id, self._op("max_pool2d_with_indices", x, *args), IMAGE)

    def average_pool(self, node: schema.XNNAvgPooling2d) -> None:
        taps, strides = (node.pooling_height, node.pooling_width), (node.stride_height, node.stride_width)
        x = self.read(node.input_id, IMAGE)
        sides = self._sides(node, taps, strides, (1, 1), x)
        if any(before != after for before, after in sides):
            raise CannotRaiseNode("an average pool with another padding on each side")
        padding = [before for before, _ in sides]
        result = self._op("avg_pool2d", x, list(taps), list(strides), padding, False, False)
        self.hold(node.output_id, result, IMAGE)

    def global_average_pool(self, node: Any) -> None:
        if len(self._sizes[node.input_id]) != 4:
            raise CannotRaiseNode("a global average pool of an image without a batch")
        kept = len(self._sizes[node.output_id]) == 4
        result = self._op("mean.dim", self.read(node.input_id, IMAGE), [2, 3], kept)
        self.hold(node.output_id, result, IMAGE if kept else None)

    def resize(self, node: schema.XNNStaticResizeBilinear2D) -> None:
        if node.flags & TENSORFLOW:
            raise CannotRaiseNode("a resize between pixels without a middle")
        size = [node.new_height, node.new_width]
        corners = bool(node.flags & ALIGN_CORNERS)
        x = self.read(node.input_id, IMAGE)
        self.hold(node.output_id, self._op("upsample_bilinear2d.vec", x, size, corners, None), IMAGE)


def _rows(shape: Sequence[int], columns: int) -> int:
    """The rows of a tensor viewed as a matrix; -1 where run time tells."""
    return -1 if min(shape) < 0 else prod(shape) // columns


def _unary(name: str, *args: Any) -> Callable[[NodeRaiser, Any], None]:
    return lambda raiser, node: raiser.unary(node, name, *args)


def _binary(name: str) -> Callable[[NodeRaiser, Any], None]:
    return lambda raiser, node: raiser.binary(node, name)


_TAKE_ROWS: Final = (
    schema.XNNConv2d,
    schema.XNNConvTranspose2d,
    schema.XNNDepthwiseConv2d,
    schema.XNNFullyConnected,
)
"""Nodes whose operand may be quantized by rows while the graph runs."""

RULES: Final[dict[type, Callable[[NodeRaiser, Any], None]]] = {
    schema.XNNAbs: _unary("abs"),
    schema.XNNAdd: _binary("add.Tensor"),
    schema.XNNAvgPooling2d: NodeRaiser.average_pool,
    schema.XNNBatchMatrixMultiply: NodeRaiser.batch_matrix_multiply,
    schema.XNNCeiling: _unary("ceil"),
    schema.XNNClamp: NodeRaiser.copy,
    schema.XNNConcatenate2: NodeRaiser.concatenate,
    schema.XNNConcatenate3: NodeRaiser.concatenate,
    schema.XNNConcatenate4: NodeRaiser.concatenate,
    schema.XNNConcatenate5: NodeRaiser.concatenate,
    schema.XNNConv2d: NodeRaiser.convolution,
    schema.XNNConvert: NodeRaiser.convert,
    schema.XNNConvTranspose2d: NodeRaiser.transposed_convolution,
    schema.XNNCopy: NodeRaiser.copy,
    schema.XNNCos: _unary("cos"),
    schema.XNNDepthwiseConv2d: NodeRaiser.convolution,
    schema.XNNDiv: _binary("div.Tensor"),
    schema.XNNELU: lambda raiser, node: raiser.unary(node, "elu", node.alpha),
    schema.XNNExp: _unary("exp"),
    schema.XNNFloor: _unary("floor"),
    schema.XNNFullyConnected: NodeRaiser.fully_connected,
    schema.XNNGelu: _unary("gelu"),
    schema.XNNGlobalAvgPooling2d: NodeRaiser.global_average_pool,
    schema.XNNHardswish: NodeRaiser.hardswish,
    schema.XNNLeakyReLU: lambda raiser, node: raiser.unary(node, "leaky_relu", node.negative_slope),
    schema.XNNLog: _unary("log"),
    schema.XNNMaximum: _binary("maximum"),
    schema.XNNMaxPooling2d: NodeRaiser.max_pool,
    schema.XNNMinimum: _binary("minimum"),
    schema.XNNMultiply: _binary("mul.Tensor"),
    schema.XNNNegate: _unary("neg"),
    schema.XNNPReLU: NodeRaiser.prelu,
    schema.XNNReciprocalSquareRoot: _unary("rsqrt"),
    schema.XNNScaledDotProductAttention: NodeRaiser.attention,
    schema.XNNSigmoid: _unary("sigmoid"),
    schema.XNNSin: _unary("sin"),
    schema.XNNSoftmax: NodeRaiser.softmax,
    schema.XNNSquare: NodeRaiser.square,
    schema.XNNSquareRoot: _unary("sqrt"),
    schema.XNNStaticConstantPad: NodeRaiser.pad,
    schema.XNNStaticReshape: NodeRaiser.reshape,
    schema.XNNStaticResizeBilinear2D: NodeRaiser.resize,
    schema.XNNStaticSlice: NodeRaiser.cut,
    schema.XNNStaticTranspose: NodeRaiser.transpose,
    schema.XNNSubtract: _binary("sub.Tensor"),
    schema.XNNTanh: _unary("tanh"),
}
"""Rules by kind of node; a graph with a node of another kind stays a delegate."""
