"""Blobs of ExecuTorch's Vulkan backend: a header (`et_schema.graph_blob`), a graph of operator calls, and constants.

A blob without the header is the flatbuffer alone. A graph calls operators by name, on values; the runtime chooses
shaders for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from et_backends.vulkan_graph.format.tables import (
    FILE_IDENTIFIER,
    NO_OFFSET,
    BoolList,
    DoubleList,
    IntList,
    SymInt,
    ValueList,
    VkBytes,
    VkDataType,
    VkGraph,
    VkTensor,
    VkValue,
)
from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile
from et_schema.graph_blob import CONSTANT_ALIGNMENT, MAGIC_AT, decode_graph, pack_header, split_blob
from et_schema.reader import Source
from et_schema.scalar_type import ScalarType
from et_schema.wording import data_file

__all__ = [
    "BACKEND",
    "SCALAR_TYPES",
    "VkBlob",
    "read_vkgraph",
    "results_of",
    "serialize_vkgraph",
    "staged_type",
    "vkgraph_writes",
]

BACKEND: Final = "VulkanBackend"
"""The backend id of blobs in this format."""
MAX_RANK: Final = 16
MAX_BYTES: Final = 2**48
"""More than a tensor may take: what a process can address."""

_VERSIONS: Final = ("", "0")
"""Versions of graphs: that of all compilers so far, or none."""
_MENTIONS_PER_BYTE: Final = 1
"""Items of lists that calls may name in all, for each byte of the graph: a list takes four bytes for each, but many
calls may name one list, and each takes the time and memory that it is long.
"""

_MAGIC: Final = b"VH00"

SCALAR_TYPES: Final = {
    VkDataType.BOOL: ScalarType.BOOL,
    VkDataType.UINT8: ScalarType.BYTE,
    VkDataType.INT8: ScalarType.CHAR,
    VkDataType.INT32: ScalarType.INT,
    VkDataType.FLOAT16: ScalarType.HALF,
    VkDataType.FLOAT32: ScalarType.FLOAT,
    VkDataType.FLOAT64: ScalarType.DOUBLE,
    VkDataType.INT64: ScalarType.LONG,
}
"""Element types of tensors."""


@dataclass(slots=True)
class VkBlob:
    """A decoded blob; `data` is a view of the buffer that was read: what follows the graph."""

    graph: VkGraph
    data: memoryview

    def constant(self, number: int, named_data: Mapping[str, memoryview]) -> memoryview:
        """The bytes of a constant of the graph, which may be in the program's `named_data`.

        Raises InvalidFile(DelegateInvalidCompatibility) for data that the program does not have.
        """
        found = self.graph.constants[number]
        if found.offset != NO_OFFSET:
            return self.data[found.offset : found.offset + found.length]
        named = named_data.get(found.named_key)
        if named is None or len(named) < found.length:
            raise InvalidFile(
                f"the program has no data named {found.named_key!r} of {found.length} bytes",
                code=Error.DelegateInvalidCompatibility,
                where=f"constants[{number}].named_key",
                hint=f"if it is in a data file, pass the file: {data_file()}",
            )
        return named[: found.length]


def staged_type(tensor: VkTensor) -> ScalarType:
    """The element type of an argument that the tensor is."""
    staged = tensor.staging_datatype
    return SCALAR_TYPES[tensor.datatype if staged is VkDataType.UNSET else staged]


def results_of(graph: VkGraph, args: Sequence[int]) -> list[int]:
    """The values that a call with these arguments computes."""
    last = graph.values[args[-1]].value
    return list(last.items) if isinstance(last, ValueList) else [args[-1]]


def read_vkgraph(buffer: Source) -> VkBlob:
    """Decode and check a blob without copying its constants.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the table path and the byte of the blob.
    """
    blob = memoryview(buffer).cast("B").toreadonly()
    try:
        return _read(blob)
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise


def vkgraph_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises as `read_vkgraph` does."""
    return BlobWrites(len(read_vkgraph(blob).graph.output_ids))


def _read(blob: memoryview) -> VkBlob:
    if bytes(blob[MAGIC_AT : MAGIC_AT + 4]) == FILE_IDENTIFIER:
        return VkBlob(_graph(blob, 0, 0), blob[:0])
    parts = split_blob(blob, _MAGIC)
    return VkBlob(_graph(parts.flatbuffer, parts.start, len(parts.constants)), parts.constants)


def _graph(flatbuffer: memoryview, start: int, data_size: int) -> VkGraph:
    """Decode and check the graph that starts at byte `start`."""
    return decode_graph(
        flatbuffer, start, VkGraph, FILE_IDENTIFIER, lambda graph: _check(graph, data_size, len(flatbuffer))
    )


def _check(graph: VkGraph, data_size: int, size: int) -> None:
    """Raise InvalidFile, with the path of the table, unless values, constants and calls agree with each other."""
    if graph.version not in _VERSIONS:
        raise InvalidFile(f"a graph of version {graph.version!r}; version '0' is supported", where="version")
    for name, entries in (("constants", graph.constants), ("shaders", graph.shaders)):
        for number, entry in enumerate(entries):
            _check_bytes(entry, data_size, f"{name}[{number}]")
    if graph.shaders:
        raise InvalidFile("shaders of the blob's own are not supported", where="shaders[0]")
    for number, value in enumerate(graph.values):
        _check_value(graph, value, f"values[{number}].value")
    _check_mentions(graph, _MENTIONS_PER_BYTE * size)
    written = _check_arguments(graph)
    for number, call in enumerate(graph.chain):
        _check_call(graph, call.args, written, f"chain[{number}].args")
    for number, value in enumerate(graph.output_ids):
        _check_known(graph, value, written, f"output_ids[{number}]")
    # A list is written item by item.
    for number, value in enumerate(graph.output_ids):
        if not isinstance(graph.values[value].value, VkTensor | SymInt):
            raise InvalidFile("an output is not a tensor or a number", where=f"output_ids[{number}]")


def _check_bytes(entry: VkBytes, data_size: int, where: str) -> None:
    if entry.offset == NO_OFFSET:
        if not entry.named_key:
            raise InvalidFile("named data without a name", where=f"{where}.named_key")
    elif entry.named_key:
        raise InvalidFile(f"named {entry.named_key!r}, and at offset {entry.offset} too", where=where)
    elif entry.length and entry.offset + entry.length > data_size:
        raise InvalidFile(
            f"bytes {entry.offset}..{entry.offset + entry.length} of {data_size} bytes of constants",
            where=where,
            hint="the blob may be cut short",
        )


def _check_value(graph: VkGraph, value: VkValue, where: str) -> None:
    found = value.value
    if found is None:
        raise InvalidFile("value without a type", where=where)
    if isinstance(found, ValueList):
        for at, item in enumerate(found.items):
            place = f"{where}.items[{at}]"
            if not 0 <= item < len(graph.values):
                raise InvalidFile(f"value {item} of {len(graph.values)}", where=place)
            if isinstance(graph.values[item].value, ValueList):
                raise InvalidFile("a list of lists", where=place)
    if not isinstance(found, VkTensor):
        return
    if found.datatype not in SCALAR_TYPES:
        raise InvalidFile(f"elements of type {found.datatype.name}", where=f"{where}.datatype")
    if len(found.dims) > MAX_RANK:
        raise InvalidFile(f"{len(found.dims)} dimensions; the limit is {MAX_RANK}", where=f"{where}.dims")
    if prod(max(size, 1) for size in found.dims) * 8 > MAX_BYTES:
        raise InvalidFile(f"a tensor of sizes {list(found.dims)}", where=f"{where}.dims")
    if found.constant_id < 0:
        return
    if found.constant_id >= len(graph.constants):
        message = f"constant {found.constant_id} of {len(graph.constants)}"
        raise InvalidFile(message, where=f"{where}.constant_id")
    needed = prod(found.dims) * SCALAR_TYPES[found.datatype].itemsize
    length = graph.constants[found.constant_id].length
    if length < needed:
        raise InvalidFile(f"a constant of {length} bytes for {needed}", where=f"{where}.constant_id")


def _check_arguments(graph: VkGraph) -> set[int]:
    """The inputs of the graph."""
    written: set[int] = set()
    for number, value in enumerate(graph.input_ids):
        where = f"input_ids[{number}]"
        if value >= len(graph.values):
            raise InvalidFile(f"value {value} of {len(graph.values)}", where=where)
        found = graph.values[value].value
        if not isinstance(found, VkTensor | SymInt):
            raise InvalidFile("an input is not a tensor or a number", where=where)
        if isinstance(found, VkTensor) and found.constant_id >= 0:
            raise InvalidFile("an input is a constant", where=where)
        if value in written:
            raise InvalidFile(f"value {value} is an input twice", where=where)
        written.add(value)
    return written


def _check_mentions(graph: VkGraph, most: int) -> None:
    values = [one.value for one in graph.values]
    lengths = [
        len(one.items) if isinstance(one, ValueList | IntList | DoubleList | BoolList) else 0
        for one in values
    ]
    count = 0
    for number, call in enumerate(graph.chain):
        count += sum(lengths[arg] for arg in call.args if 0 <= arg < len(lengths))
        if count > most:
            message = f"the calls up to this name {count} items of lists, too many for a graph of this size"
            raise InvalidFile(message, where=f"chain[{number}].args")


def _check_call(graph: VkGraph, args: Sequence[int], written: set[int], where: str) -> None:
    """Whether a call reads what is there; adds its results to those that are `written`."""
    if not args:
        raise InvalidFile("a call without a result", where=where)
    for at, arg in enumerate(args[:-1]):
        _check_known(graph, arg, written, f"{where}[{at}]")
    place = f"{where}[{len(args) - 1}]"
    if not 0 <= args[-1] < len(graph.values):
        raise InvalidFile(f"value {args[-1]} of {len(graph.values)}", where=place)
    for result in results_of(graph, args):
        if not isinstance(graph.values[result].value, VkTensor | SymInt):
            raise InvalidFile(f"the result {result} is not a tensor or a number", where=place)
        written.add(result)


def _check_known(graph: VkGraph, number: int, written: set[int], where: str) -> None:
    """Whether a value exists and, where a call computes it, has been computed."""
    if not 0 <= number < len(graph.values):
        raise InvalidFile(f"value {number} of {len(graph.values)}", where=where)
    found = graph.values[number].value
    for item in found.items if isinstance(found, ValueList) else (number,):
        one = graph.values[item].value
        computed = isinstance(one, SymInt) or (isinstance(one, VkTensor) and one.constant_id < 0)
        if computed and item not in written:
            raise InvalidFile(f"value {item} is read before it is computed", where=where)


def serialize_vkgraph(graph: VkGraph, data: bytes = b"") -> bytes:
    """The bytes of a blob, which depend on the arguments alone. `data` is what constants have offsets in.

    Says nothing of whether the graph means something: `read_vkgraph` does.
    """
    from et_schema.writer import encode

    flatbuffer = bytes(encode(graph, FILE_IDENTIFIER))
    header, padding = pack_header(_MAGIC, len(flatbuffer), len(data))
    return header + flatbuffer + bytes(padding) + data + bytes(-len(data) % CONSTANT_ALIGNMENT)
