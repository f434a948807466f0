"""Damaged blobs of the backends that interpret them: good graphs at random, of which tables or bytes are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from support import vulkan_graphs
from support.random_delegates import random_coreml, random_tosa
from support.random_xnnpack import random_xnnpack

from et_backends.coreml.compiler.serialization import serialize_coreml
from et_backends.coreml.format.blob import read_coreml
from et_backends.coreml.format.mil import MilOperation, MilProgram, MilType, MilTypeName, MilValue
from et_backends.coreml.runtime.backend import CoremlRuntime
from et_backends.tosa.format.blob import read_tosa, serialize_tosa
from et_backends.tosa.format.graph import DType
from et_backends.tosa.runtime.backend import TosaRuntime
from et_backends.vulkan_graph.format.blob import read_vkgraph, serialize_vkgraph
from et_backends.vulkan_graph.format.tables import VkTensor
from et_backends.vulkan_graph.runtime.backend import VulkanGraphBackend
from et_backends.xnnpack.format.blob import read_xnnpack, serialize_xnnpack
from et_backends.xnnpack.format.nodes import tensor_of
from et_backends.xnnpack.runtime import XnnpackBackend
from et_schema.errors import Error, ExecutorchError
from et_schema.scalar_type import ScalarType
from et_vm.backend import Backend, BackendExecuteContext, BackendInitContext
from et_vm.platform import Platform
from et_vm.values import Tensor
from et_vm.work import WorkMeter
from fuzz.mutations import FLOATS, INTS, UNWRITABLE, change_tables, mutated_bytes

__all__ = ["FORMATS", "REFUSALS", "damaged_blob", "good_blobs", "run_blob"]

REFUSALS: Final = frozenset(
    code.name
    for code in (
        Error.DelegateInvalidCompatibility,
        Error.InvalidArgument,
        Error.MemoryAllocationFailed,
        Error.NotSupported,
        Error.OperatorMissing,
        Error.OutOfResources,
    )
)
"""Codes of errors that a damaged blob is refused with."""

_OPERATORS: Final = 6
_ELEMENTS: Final = 5_000
MOST_BYTES: Final = 1 << 20
"""Largest argument that a blob is run with, in bytes."""


class Argument(NamedTuple):
    """A tensor that a graph takes or gives."""

    dtype: ScalarType
    shape: tuple[int, ...]


class Format(NamedTuple):
    """A kind of blobs."""

    backend: Callable[[], Backend]
    make: Callable[[Random], bytes]
    """A good one."""
    damage: Callable[[bytes, Random], bytes]
    """Another, of changed tables."""
    arguments: Callable[[bytes], tuple[Sequence[Argument], Sequence[Argument]]]
    """What a blob that can be read takes and gives."""


_TOSA_TYPES: Final = {
    DType.BOOL: ScalarType.BOOL,
    DType.INT8: ScalarType.CHAR,
    DType.INT16: ScalarType.SHORT,
    DType.INT32: ScalarType.INT,
    DType.INT64: ScalarType.LONG,
    DType.FP16: ScalarType.HALF,
}


def _tosa(random: Random) -> bytes:
    return random_tosa(random, operators=_OPERATORS, elements=_ELEMENTS)


def _damaged_tosa(blob: bytes, random: Random) -> bytes:
    graph = read_tosa(blob)
    change_tables(graph, random)
    return serialize_tosa(graph)


def _tosa_arguments(blob: bytes) -> tuple[Sequence[Argument], Sequence[Argument]]:
    block = read_tosa(blob).regions[0].blocks[0]
    types = {one.name: one for one in block.tensors}

    def found(names: Sequence[str]) -> list[Argument]:
        return [
            Argument(_TOSA_TYPES.get(types[name].type, ScalarType.FLOAT), tuple(types[name].shape))
            for name in names
        ]

    return found(block.inputs), found(block.outputs)


def _coreml(random: Random) -> bytes:
    return random_coreml(random, operators=_OPERATORS, elements=_ELEMENTS)


def _damaged_coreml(blob: bytes, random: Random) -> bytes:
    """Its records do not change, so that another program is made of them."""
    program = read_coreml(blob).program
    operations = list(program.operations)
    inputs, outputs = list(program.inputs), list(program.outputs)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(operations))
        operations[at] = _changed(operations[at], operations, random)
        if random.random() < 0.1:
            other = random.randrange(len(operations))
            operations[at], operations[other] = operations[other], operations[at]
        if random.random() < 0.1:
            outputs = [random.choice(operations).outputs[0][0]]
        if random.random() < 0.1 and inputs:
            inputs[0] = (inputs[0][0], _other_type(inputs[0][1], random))
    return serialize_coreml(MilProgram(tuple(inputs), tuple(outputs), tuple(operations)))


def _changed(operation: MilOperation, others: Sequence[MilOperation], random: Random) -> MilOperation:
    names = [name for one in others for name, _ in one.outputs]
    if operation.value is not None:
        value = _other_value(operation.value, random)
        return replace(operation, outputs=((operation.outputs[0][0], value.type),), value=value)
    bound = dict(operation.inputs)
    key = random.choice(list(bound) or ["x"])
    match random.randrange(6):
        case 0:
            return replace(operation, type=random.choice(others).type)
        case 1:
            bound.pop(key, None)
        case 2:
            bound[key] = (random.choice(names),)
        case 3:
            bound[key] = tuple(random.sample(names, random.randrange(len(names) + 1)))
        case 4:
            bound[random.choice(("x", "y", "axis", "shape", "bias", "gamma", "dilations"))] = (
                random.choice(names),
            )
        case _:
            at = random.randrange(len(operation.outputs))
            outputs = list(operation.outputs)
            outputs[at] = (outputs[at][0], _other_type(outputs[at][1], random))
            return replace(operation, outputs=tuple(outputs))
    return replace(operation, inputs=bound)


def _other_type(type: MilType, random: Random) -> MilType:
    shape = list(type.shape)
    match random.randrange(4):
        case 0:
            return MilType(random.choice(list(MilTypeName)), type.shape)
        case 1:
            shape.append(random.choice((0, 1, 2, 1 << 20)))
        case 2 if shape:
            shape.pop()
        case _ if shape:
            at = random.randrange(len(shape))
            shape[at] = random.choice((0, 1, shape[at] + 1, 17, 1 << 20, (1 << 39)))
        case _:
            pass
    return MilType(type.name, tuple(shape))


def _other_value(value: MilValue, random: Random) -> MilValue:
    if value.type.name is MilTypeName.STRING:
        return replace(value, strings=(random.choice(("", "valid", "custom", "EXACT", "fp16", "é")),))
    kinds = {MilTypeName.FLOAT32: np.float32, MilTypeName.INT32: np.int32}
    dtype = kinds.get(value.type.name)
    if dtype is None:
        return value
    array = np.frombuffer(value.data, dtype).copy()
    if array.size:
        number = random.choice(FLOATS if dtype is np.float32 else INTS[:10])
        with np.errstate(over="ignore"):
            array[random.randrange(array.size)] = np.float64(number).astype(dtype)
    if random.random() < 0.2:
        array = array[: random.randrange(array.size + 1)]
        return MilValue(MilType(value.type.name, array.shape), array.tobytes())
    return replace(value, data=array.tobytes())


_COREML_TYPES: Final = {
    MilTypeName.BOOL: ScalarType.BOOL,
    MilTypeName.FLOAT16: ScalarType.HALF,
    MilTypeName.INT32: ScalarType.INT,
}


def _coreml_arguments(blob: bytes) -> tuple[Sequence[Argument], Sequence[Argument]]:
    model = read_coreml(blob)
    types = model.program.types()

    def found(names: Sequence[str]) -> list[Argument]:
        return [
            Argument(_COREML_TYPES.get(types[name].name, ScalarType.FLOAT), types[name].shape)
            for name in names
        ]

    return found(model.inputs), found(model.outputs)


def _xnnpack(random: Random) -> bytes:
    from fuzz.corpus import xnnpack_images, xnnpack_matrices

    if random.random() < 0.5:
        return random.choice((xnnpack_images, xnnpack_matrices))()
    return random_xnnpack(random, nodes=_OPERATORS, elements=_ELEMENTS)


def _damaged_xnnpack(blob: bytes, random: Random) -> bytes:
    made = read_xnnpack(blob)
    change_tables(made.graph, random)
    return serialize_xnnpack(made.graph, [bytes(made.constants)])


_XNNPACK_TYPES: Final = {"fp16": ScalarType.HALF, "int32": ScalarType.INT, "qint8": ScalarType.CHAR}


def _xnnpack_arguments(blob: bytes) -> tuple[Sequence[Argument], Sequence[Argument]]:
    graph = read_xnnpack(blob).graph
    values = {one.id_out: one for one in map(tensor_of, graph.xvalues) if one is not None}

    def found(ids: Sequence[int]) -> list[Argument]:
        ordered = sorted(ids, key=lambda number: values[number].external_id)
        return [
            Argument(
                _XNNPACK_TYPES.get(values[number].datatype.name, ScalarType.FLOAT), tuple(values[number].dims)
            )
            for number in ordered
        ]

    return found(graph.input_ids), found(graph.output_ids)


def _vulkan(random: Random) -> bytes:
    """Layers of floats and of integers."""
    build = vulkan_graphs.Build()
    literal, rows = build.literal, random.randint(1, 4)
    x = build.input(rows, 16)
    width = random.choice((4, 8))
    weights = build.constant(np.full((width, 8), 0x59, np.uint8))
    scales = build.constant(np.ones((2, width), np.float32))
    made = build.call(
        "et_vk.linear_q4gsw.default", x, weights, scales, literal(8), literal(None), build.tensor(rows, width)
    )
    whole = build.constant(np.ones((width, width), np.int8))
    by_row = build.constant(np.ones(width, np.float32))
    made = build.call("aten._weight_int8pack_mm.default", made, whole, by_row, build.tensor(rows, width))
    dim, no = literal(-1), literal(False)
    made = build.call("aten._softmax.default", made, dim, no, build.tensor(rows, width))
    parts = build.tensor(rows, 1), build.tensor(rows, width - 1)
    build.call("aten.split_with_sizes_copy.default", made, literal([1, width - 1]), dim, build.values(*parts))
    build.call("aten.cat.default", build.values(*parts, made), dim, build.output(rows, 2 * width))
    return build.blob()


def _damaged_vulkan(blob: bytes, random: Random) -> bytes:
    made = read_vkgraph(blob)
    change_tables(made.graph, random)
    return serialize_vkgraph(made.graph, bytes(made.data))


def _vulkan_arguments(blob: bytes) -> tuple[Sequence[Argument], Sequence[Argument]]:
    graph = read_vkgraph(blob).graph

    def found(ids: Sequence[int]) -> list[Argument]:
        tables = [graph.values[number].value for number in ids]
        return [
            Argument(ScalarType.FLOAT, tuple(one.dims) if isinstance(one, VkTensor) else ()) for one in tables
        ]

    return found(graph.input_ids), found(graph.output_ids)


FORMATS: Final = {
    "tosa": Format(TosaRuntime, _tosa, _damaged_tosa, _tosa_arguments),
    "coreml": Format(CoremlRuntime, _coreml, _damaged_coreml, _coreml_arguments),
    "xnnpack": Format(
        XnnpackBackend,
        _xnnpack,
        _damaged_xnnpack,
        _xnnpack_arguments,
    ),
    "vulkan": Format(VulkanGraphBackend, _vulkan, _damaged_vulkan, _vulkan_arguments),
}
"""By backend."""


@cache
def good_blobs() -> Mapping[str, bytes]:
    """A blob of each backend."""
    return {name: format.make(Random(0)) for name, format in FORMATS.items()}


def damaged_blob(backend: str, random: Random) -> bytes:
    """A blob with damage, to its tables or to bytes."""
    format = FORMATS[backend]
    good = format.make(random)
    damaged = good
    if random.random() < 0.7:
        try:
            damaged = format.damage(good, random)
        except (*UNWRITABLE, AttributeError):
            damaged = mutated_bytes(good, random)
    return mutated_bytes(damaged, random) if damaged == good or random.random() < 0.2 else damaged


def run_blob(backend: str, blob: bytes, platform: Platform, meter: WorkMeter) -> str:
    """The outcome of loading and running a blob, in a word: the code of a typed error, or that it ran."""
    format = FORMATS[backend]
    runtime = format.backend()
    try:
        # As methods do.
        with np.errstate(all="ignore"):
            handle = runtime.init(
                BackendInitContext(platform, None, "forward", {}, meter=meter), memoryview(blob), []
            )
        inputs, outputs = format.arguments(blob)
        arrays: list[Any] = []
        for dtype, shape in (*inputs, *outputs):
            made = Tensor(dtype, shape)
            if made.nbytes > MOST_BYTES:
                return "too large to make arguments for"
            made.bind(np.zeros(made.nbytes, np.uint8))
            arrays.append(made)
        for _ in range(2):
            meter.reset()
            with np.errstate(all="ignore"):
                runtime.execute(BackendExecuteContext(platform, None, "forward"), handle, arrays)
    except ExecutorchError as error:
        if error.code == Error.Internal:
            raise
        return error.code.name
    return "ran"
