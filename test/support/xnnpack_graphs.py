"""Graphs written by hand, and running them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

from et_backends.xnnpack.format.blob import serialize_xnnpack
from et_backends.xnnpack.format.graph import (
    ConstantDataOffset,
    OutputMinMax,
    XNNDatatype,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XNode,
    XValue,
)
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime import XnnpackBackend
from et_schema.program import TensorShapeDynamism
from et_schema.scalar_type import ScalarType
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.kernels.registry import KernelRegistry
from et_vm.platform import Platform
from et_vm.values import Tensor

D = XNNDatatype
TYPES = {
    np.dtype(np.float32): (D.fp32, ScalarType.FLOAT),
    np.dtype(np.float16): (D.fp16, ScalarType.HALF),
    np.dtype(np.int32): (D.int32, ScalarType.INT),
    np.dtype(np.int8): (D.qint8, ScalarType.CHAR),
    np.dtype(np.uint8): (D.quint8, ScalarType.BYTE),
}
SCALARS = {
    np.dtype(np.int64): ScalarType.LONG,
    **{dtype: scalar_type for dtype, (_, scalar_type) in TYPES.items()},
}
KERNELS: KernelRegistry | None = None
"""Those of the method that a graph is loaded for."""
UNBOUND = TensorShapeDynamism.DYNAMIC_UNBOUND


class Build:
    """A graph, a value and a node at a time; ids count from 0."""

    def __init__(self):
        self.graph = XNNGraph("0", constant_data=[ConstantDataOffset()])
        self.constants = b""

    def _value(self, dims, datatype, parameters, **fields):
        tensor = XNNTensorValue(
            datatype, len(dims), list(dims), fields.get("constant", 0), NO_VALUE, 0, len(self.graph.xvalues)
        )
        self.graph.xvalues.append(
            XValue(tensor if parameters is None else XNNQuantizedTensorValue(tensor, parameters))
        )
        return tensor

    def value(self, *dims, datatype=D.fp32, parameters=None):
        return self._value(dims, datatype, parameters).id_out

    def input(self, *dims, datatype=D.fp32, parameters=None):
        tensor = self._value(dims, datatype, parameters)
        tensor.external_id, tensor.flags = self.graph.num_externs, 1
        self.graph.num_externs += 1
        self.graph.input_ids.append(tensor.id_out)
        return tensor.id_out

    def output(self, *dims, datatype=D.fp32, parameters=None):
        tensor = self._value(dims, datatype, parameters)
        tensor.external_id, tensor.flags = self.graph.num_externs, 2
        self.graph.num_externs += 1
        self.graph.output_ids.append(tensor.id_out)
        return tensor.id_out

    def data(self, raw):
        self.graph.constant_data.append(ConstantDataOffset(len(self.constants), len(raw)))
        self.constants += raw + bytes(-len(raw) % 16)
        return len(self.graph.constant_data) - 1

    def constant(self, array, datatype=None, parameters=None, dims=None):
        index = self.data(array.tobytes())
        datatype = TYPES[array.dtype][0] if datatype is None else datatype
        return self._value(dims or array.shape, datatype, parameters, constant=index).id_out

    def node(self, node, limits=None):
        low_high = None if limits is None else OutputMinMax(*limits)
        self.graph.xnodes.append(XNode(node, 100 + len(self.graph.xnodes), low_high))

    def blob(self):
        return serialize_xnnpack(self.graph, [self.constants])

    def load(self, named_data=None, platform=None, arguments=()):
        context = BackendInitContext(
            platform or Platform(), None, "forward", named_data or {}, KERNELS, arguments=arguments
        )
        return XnnpackBackend().init(context, memoryview(self.blob()), [])

    def run(self, *inputs, outputs=None, handle=None):
        """The outputs, as arrays of the types `outputs`, or float32."""
        handle = self.load() if handle is None else handle
        types = outputs or [np.float32] * len(self.graph.output_ids)
        ranks = [self._tensor(number).num_dims for number in self.graph.output_ids]
        args = [tensor(array) for array in inputs] + [
            Tensor(SCALARS[np.dtype(dtype)], (0,) * rank, dynamism=UNBOUND, allocate=allocate)
            for dtype, rank in zip(types, ranks, strict=True)
        ]
        call(handle, args)
        results = [arg.array for arg in args[len(inputs) :]]
        return results[0] if len(results) == 1 else results

    def _tensor(self, number):
        value = self.graph.xvalues[number].xvalue_union
        return value.tensor_value if isinstance(value, XNNQuantizedTensorValue) else value


def allocate(nbytes):
    return np.zeros(nbytes, np.uint8)


def tensor(array, dim_order: Sequence[int] | None = None):
    return Tensor.from_numpy(array, SCALARS[array.dtype], dim_order)


def call(handle, args, tracer=None):
    with np.errstate(all="ignore"), nullcontext() if KERNELS is None else KERNELS.guard():
        XnnpackBackend().execute(BackendExecuteContext(Platform(), tracer, "forward", 0), handle, args)


def one(node_type, x, *, limits=None, sizes=None, outputs=None, **fields):
    """The result of a unary node for `x`."""
    build = Build()
    source = build.input(*x.shape, datatype=TYPES[x.dtype][0])
    target = build.output(*(sizes or x.shape), datatype=TYPES[x.dtype][0])
    build.node(node_type(input_id=source, output_id=target, **fields), limits)
    return build.run(x, outputs=outputs or [x.dtype])
