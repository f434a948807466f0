"""Graphs of ExecuTorch's Vulkan backend, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from et_backends.vulkan_graph.format import tables as v
from et_backends.vulkan_graph.format.blob import SCALAR_TYPES, serialize_vkgraph
from et_schema.scalar_type import ScalarType
from et_vm.values import Tensor

D = v.VkDataType


class Build:
    """Collects values and calls; `blob()` is the result."""

    def __init__(self) -> None:
        self.graph = v.VkGraph(version="0")
        self.data = bytearray()

    def value(self, table: v.GraphTypes) -> int:
        self.graph.values.append(v.VkValue(table))
        return len(self.graph.values) - 1

    def tensor(self, *dims: int, datatype: D = D.FLOAT32, **options: Any) -> int:
        fields = {"constant_id": -1, "mem_obj_id": -1, **options}
        return self.value(v.VkTensor(datatype, list(dims), **fields))

    def input(self, *dims: int, **options: Any) -> int:
        self.graph.input_ids.append(self.tensor(*dims, **options))
        return self.graph.input_ids[-1]

    def output(self, *dims: int, **options: Any) -> int:
        self.graph.output_ids.append(self.tensor(*dims, **options))
        return self.graph.output_ids[-1]

    def constant(self, array: Any) -> int:
        array = np.asarray(array)
        datatype = {
            np.float32: D.FLOAT32,
            np.int32: D.INT32,
            np.int8: D.INT8,
            np.uint8: D.UINT8,
            np.bool_: D.BOOL,
        }
        self.graph.constants.append(v.VkBytes(len(self.data), array.nbytes))
        self.data += array.tobytes() + bytes(-array.nbytes % 16)
        return self.tensor(
            *array.shape, datatype=datatype[array.dtype.type], constant_id=len(self.graph.constants) - 1
        )

    def literal(self, value: Any) -> int:
        match value:
            case None:
                return self.value(v.Null())
            case bool():
                return self.value(v.Bool(value))
            case int():
                return self.value(v.Int(value))
            case float():
                return self.value(v.Double(value))
            case str():
                return self.value(v.String(value))
            case [float(), *_]:
                return self.value(v.DoubleList(value))
            case [bool(), *_]:
                return self.value(v.BoolList(value))
            case _:
                return self.value(v.IntList(value))

    def symint(self) -> int:
        return self.value(v.SymInt())

    def values(self, *items: int) -> int:
        return self.value(v.ValueList(list(items)))

    def call(self, name: str, *args: int) -> int:
        """A call; the last argument is the result."""
        self.graph.chain.append(v.OperatorCall(len(self.graph.chain), name, list(args)))
        return args[-1]

    def blob(self) -> bytes:
        return serialize_vkgraph(self.graph, bytes(self.data))


def argument(array: Any, scalar_type: ScalarType | None = None) -> Tensor:
    """A tensor of the program around."""
    array = np.array(array, order="C")
    types = {
        "float32": ScalarType.FLOAT,
        "int32": ScalarType.INT,
        "int64": ScalarType.LONG,
        "bool": ScalarType.BOOL,
        "int8": ScalarType.CHAR,
    }
    made = Tensor(scalar_type or types[array.dtype.name], array.shape)
    made.bind(array.reshape(-1).view(np.uint8).copy())
    return made


def empty(build: Build) -> list[Tensor]:
    """Arguments for the outputs."""
    tensors = [build.graph.values[one].value for one in build.graph.output_ids]
    made: list[Tensor] = []
    for one in tensors:
        assert isinstance(one, v.VkTensor)
        scalar_type = SCALAR_TYPES[one.datatype]
        made.append(Tensor(scalar_type, tuple(one.dims)))
        made[-1].bind(np.zeros(int(np.prod(one.dims)) * scalar_type.itemsize, np.uint8))
    return made


def linear() -> Build:
    """A constant product with a bias, then an activation."""
    build = Build()
    x = build.input(2, 3)
    weight, bias = (
        build.call("et_vk.prepack.default", build.constant(array), build.tensor(*array.shape))
        for array in (np.arange(12, dtype=np.float32).reshape(4, 3), np.ones(4, np.float32))
    )
    y = build.call("aten.linear.default", x, weight, bias, build.tensor(2, 4, mem_obj_id=0))
    build.call("aten.relu.default", y, build.output(2, 4, mem_obj_id=1))
    return build
