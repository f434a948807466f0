"""Constants of XNNPACK graphs as constants of a program: weights stay integers, in the order that ops read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from et_backends.xnnpack.compiler.constants import array_blob
from et_backends.xnnpack.dialect import GraphOp
from et_backends.xnnpack.dialect.graphs import BACKEND
from et_backends.xnnpack.format.graph import (
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    XNNDatatype,
    XNNGraph,
    XNNQuantParams,
    XNNTensorValue,
)
from et_backends.xnnpack.format.nodes import constant_bytes
from et_backends.xnnpack.raising.nodes import CannotRaiseNode
from et_ir.analysis.dim_orders import Order, straight
from et_ir.data import Blob
from et_ir.dialects.backend import LoweredOp, NamedDataOp
from et_ir.dialects.edge import OP_BY_NAME, EdgeOp
from et_ir.dialects.program import GetOp, Globals
from et_ir.dialects.schema.literals import ui8

__all__ = ["GraphConstants", "ProgramConstants", "quantized_constant"]

Array = np.ndarray[Any, np.dtype[Any]]
Identity = tuple[object, ...]

_D: Final = XNNDatatype
_STORED: Final = {
    _D.qint8: np.int8,
    _D.qcint8: np.int8,
    _D.quint8: np.uint8,
    _D.qint32: np.int32,
    _D.qcint32: np.int32,
}
_NIBBLES: Final = (_D.qcint4, _D.qbint4)
_SUMS: Final = (_D.qint32, _D.qcint32)
_ELEMENTS: Final[Mapping[XNNDatatype, Attribute]] = {_D.quint8: ui8}
_LIMITS: Final = {_D.quint8: (0, 255), _D.qcint4: (-8, 7), _D.qbint4: (-8, 7)}
_BYTES: Final = (-128, 127)


class ProgramConstants:
    """Symbols of a module for the constants of its graphs; equal ones are there once."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._symbols = Globals(module)
        self._named = {op.key: op for op in module.body.block.ops if isinstance(op, NamedDataOp)}
        self._made: dict[Identity, str] = {}

    def get(
        self, hint: str, identity: Identity, type: TensorType[Attribute], blob: Callable[[], Blob]
    ) -> GetOp:
        """The op that reads a constant; `blob` makes its bytes the first time."""
        key = (*identity, type)
        name = self._made.get(key)
        if name is None:
            name = self._made[key] = self._symbols.add_constant(hint, type, blob()).key
        return GetOp(name, type)

    def view(self, graph: GraphOp, key: str, offset: int, size: int) -> memoryview:
        """Bytes of a graph. Raises `CannotRaiseNode` where the program lacks them."""
        if key:
            named = self._named.get(key)
            view = None if named is None else named.value.blob.view()
            offset = 0
        else:
            view = None if graph.constants is None else graph.constants.blob.view()
        if view is None or len(view) < offset + size:
            raise CannotRaiseNode("a constant whose bytes the program does not have")
        return view[offset : offset + size]

    def drop_unused(self, graphs: Mapping[str, XNNGraph], kept: set[str]) -> None:
        """Erase named data that only raised graphs read, and constants of graphs that stay.

        Named data stays where there is a blob for XNNPACK that is not a graph, which may read any of it.
        """
        module = self._module
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


class GraphConstants:
    """The constants of one graph. Without the constants of a program, ops read symbols that there are not, which is
    enough to infer types.
    """

    def __init__(self, graph: GraphOp, tables: XNNGraph, program: ProgramConstants | None):
        self._graph, self._tables, self._program = graph, tables, program

    def floats(self, tensor: XNNTensorValue, type: TensorType[Attribute]) -> GetOp:
        """The op that reads a constant as it is stored. Raises `CannotRaiseNode` where the program lacks it."""
        return self._get(tensor, type, ("stored",), lambda view: Blob.of(self._hint, view))

    def integers(self, tensor: XNNTensorValue, order: Order) -> GetOp:
        """The op that reads a quantized constant, with dimension i of the result that of `order[i]`."""
        sizes = [tensor.dims[dim] for dim in order]
        type = TensorType(_ELEMENTS.get(tensor.datatype, i8), sizes)
        return self._get(
            tensor,
            type,
            ("integers", order),
            lambda view: array_blob(self._hint, _unpacked(view, tensor), order),
        )

    def sums(self, tensor: XNNTensorValue, how: XNNQuantParams) -> GetOp:
        """The op that reads integers of 32 bits as the f32 numbers that they stand for."""

        def blob(view: memoryview) -> Blob:
            scales = self._channel_scales(tensor, how).astype(np.float64)
            return array_blob(self._hint, (_unpacked(view, tensor) * scales).astype(np.float32))

        # The number of a buffer means something in its graph only.
        index = how.scale_buffer_idx if isinstance(how, PerChannelQuant) else 0
        stored = self._place(index) if index else None
        return self._get(tensor, TensorType(f32, tensor.dims), ("sums", repr(how), stored), blob)

    def scales(self, how: PerChannelQuant | PerChannelGroupQuant, sizes: Sequence[int]) -> GetOp:
        """The op that reads scales, f32 of the given sizes."""
        type = TensorType(f32, sizes)
        identity = self._place(how.scale_buffer_idx) if how.scale_buffer_idx else tuple(how.scale)
        if self._program is None:
            return GetOp(self._hint, type)
        return self._program.get(
            self._hint, ("scales", identity), type, lambda: array_blob(self._hint, self._scales(how))
        )

    @property
    def _hint(self) -> str:
        return f"{self._graph.sym_name.data}_constant"

    def _place(self, index: int) -> object:
        place = self._tables.constant_data[index]
        return place.named_key or (self._graph.sym_name.data, place.offset)

    def _view(self, index: int, size: int) -> memoryview:
        assert self._program is not None
        place = self._tables.constant_data[index]
        return self._program.view(self._graph, place.named_key, place.offset, size)

    def _get(
        self,
        tensor: XNNTensorValue,
        type: TensorType[Attribute],
        kind: Identity,
        blob: Callable[[memoryview], Blob],
    ) -> GetOp:
        if self._program is None:
            return GetOp(self._hint, type)
        index, size = tensor.constant_buffer_idx, constant_bytes(tensor.datatype, tensor.dims)
        identity = (self._place(index), tensor.datatype, *kind)
        return self._program.get(self._hint, identity, type, lambda: blob(self._view(index, size)))

    def _scales(self, how: PerChannelQuant | PerChannelGroupQuant) -> Array:
        if not how.scale_buffer_idx:
            return np.array(how.scale, np.float32)
        by_group = isinstance(how, PerChannelGroupQuant)
        stored = np.dtype(ml_dtypes.bfloat16 if by_group else np.float32)
        view = self._view(how.scale_buffer_idx, how.num_scales * stored.itemsize)
        return np.frombuffer(view, stored).astype(np.float32)

    def _channel_scales(self, tensor: XNNTensorValue, how: XNNQuantParams) -> Array:
        """Scales in a shape that goes with the elements of a constant."""
        if isinstance(how, PerTensorQuant):
            return np.array(how.scale, np.float32)
        if not isinstance(how, PerChannelQuant):
            raise CannotRaiseNode("a bias that is not quantized by tensor or channel")
        shape = [1] * len(tensor.dims)
        shape[how.channel_dim] = -1
        return self._scales(how).reshape(shape)


def _unpacked(view: memoryview, tensor: XNNTensorValue) -> Array:
    """The integers of a constant. A byte of a row of 4-bit integers has that of the lower index in its low half."""
    if tensor.datatype not in _NIBBLES:
        return np.frombuffer(view, _STORED[tensor.datatype]).reshape(tensor.dims)
    *outer, columns = tensor.dims
    pairs = np.frombuffer(view, np.uint8).reshape(-1, -(-columns // 2))
    integers = np.empty((pairs.shape[0], 2 * pairs.shape[1]), np.int8)
    integers[:, ::2] = pairs & 15
    integers[:, 1::2] = pairs >> 4
    integers -= 8
    return integers[:, :columns].reshape(*outer, columns)


def quantized_constant(
    constants: GraphConstants,
    tensor: XNNTensorValue,
    how: XNNQuantParams,
    order: Order,
    insert: Callable[[GetOp | EdgeOp], None],
) -> SSAValue:
    """A quantized constant as f32 numbers that an op restores from integers, with the dimensions in an order.

    Raises `CannotRaiseNode`.
    """

    def get(op: GetOp) -> SSAValue:
        insert(op)
        return op.result

    if tensor.datatype in _SUMS:
        if order != straight(len(tensor.dims)):
            raise CannotRaiseNode("a bias with its dimensions in another order")
        return get(constants.sums(tensor, how))
    integers = get(constants.integers(tensor, order))
    low, high = _LIMITS.get(tensor.datatype, _BYTES)
    element = _ELEMENTS.get(tensor.datatype, i8)
    name = "quantized_decomposed.dequantize_per_"
    if isinstance(how, PerTensorQuant):
        made = OP_BY_NAME[f"{name}tensor"].make(integers, how.scale, how.zero_point, low, high, element)
    elif isinstance(how, PerChannelQuant):
        axis = order.index(how.channel_dim)
        scales = get(constants.scales(how, [tensor.dims[how.channel_dim]]))
        made = OP_BY_NAME[f"{name}channel"].make(integers, scales, None, axis, low, high, element)
    elif isinstance(how, PerChannelGroupQuant):
        if order != (0, 1) or how.channel_dim:
            raise CannotRaiseNode("groups of a weight that is read the other way round")
        rows, columns = tensor.dims
        scales = get(constants.scales(how, [rows, columns // how.group_size]))
        made = OP_BY_NAME[f"{name}channel_group"].make(
            integers, scales, None, low, high, element, how.group_size, f32
        )
    else:
        raise CannotRaiseNode(f"a constant quantized by {type(how).__name__}")
    insert(made)
    return made.results[0]
