"""TOSA files: reading with checks, and writing.

A blob of the backend `TOSABackend` is such a file. Constants are in it, 8-byte aligned, but for those that several
blobs of a program share: their tensors have no data, and a `variable_name`, which is that of the program's named data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from et_backends.tosa.format.graph import (
    FILE_IDENTIFIER,
    DType,
    Op,
    TosaBasicBlock,
    TosaGraph,
    TosaOperator,
    TosaShape,
    TosaTensor,
)
from et_backends.tosa.format.operators import ATTRIBUTES, ITEM_BITS, OPERANDS, TosaType, result_of
from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile
from et_schema.reader import Reader, Source
from et_schema.wording import data_file

__all__ = [
    "BACKEND",
    "DATA_ALIGNMENT",
    "block_of",
    "constant_bytes",
    "constant_data",
    "read_tosa",
    "serialize_tosa",
    "shape_sizes",
    "tosa_writes",
]

BACKEND: Final = "TOSABackend"
"""The backend id of blobs in this format."""

DATA_ALIGNMENT: Final = 8
"""Of the elements of a constant, whose bytes are a multiple of it too."""


_MOST_NUMBERS: Final = 16
"""Largest rank of a shape: `PAD` takes two numbers for each dimension, of which there are 6 in level 8K."""


def read_tosa(buffer: Source) -> TosaGraph:
    """Decode and check a file without copying its constants.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the table path: for tables that are damaged, names that
    are not defined, operators that are not known, and types that no operator makes.
    """
    try:
        graph = Reader(memoryview(buffer).cast("B").toreadonly()).root(TosaGraph, FILE_IDENTIFIER)
        _check(graph)
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise
    return graph


def tosa_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises as `read_tosa` does."""
    return BlobWrites(len(block_of(read_tosa(blob)).outputs))


def serialize_tosa(graph: TosaGraph) -> bytes:
    """The bytes of a file, which depend on the graph alone."""
    from et_schema.writer import encode

    return bytes(encode(graph, FILE_IDENTIFIER))


def block_of(graph: TosaGraph) -> TosaBasicBlock:
    """The block that is the program. Raises `InvalidFile` for a file with control flow, or none."""
    if len(graph.regions) != 1 or len(graph.regions[0].blocks) != 1:
        raise InvalidFile(
            f"{len(graph.regions)} regions; only one of one block is supported", where="regions"
        )
    return graph.regions[0].blocks[0]


def constant_bytes(type: TosaType) -> int:
    """Bytes of the elements of a constant tensor in a file."""
    bits = ITEM_BITS[type.dtype]
    for size in type.shape:
        bits *= size
    return (bits + 7) // 8


def constant_data(tensor: TosaTensor, named_data: Mapping[str, memoryview]) -> memoryview:
    """The bytes of the elements of a constant, which may be in the program's `named_data`, without padding.

    Raises `InvalidFile(DelegateInvalidCompatibility)` for data that the program does not have.
    """
    nbytes = constant_bytes(TosaType(tuple(tensor.shape), tensor.type))
    if tensor.data or not tensor.variable_name:
        return memoryview(tensor.data or b"")[:nbytes]
    found = named_data.get(tensor.variable_name)
    if found is None or found.nbytes < nbytes:
        raise InvalidFile(
            f"the program has no data named {tensor.variable_name!r} of {nbytes} bytes",
            code=Error.DelegateInvalidCompatibility,
            where=f"tensor {tensor.name!r}",
            hint=f"if it is in a data file, pass the file: {data_file()}",
        )
    return found[:nbytes]


def shape_sizes(shape: TosaShape) -> tuple[int, ...]:
    """The numbers of a constant shape, stored as i64."""
    return tuple(memoryview(bytes(shape.data or b"")[: 8 * shape.rank]).cast("q"))


def _check(graph: TosaGraph) -> None:
    version = graph.version
    if version is None or version.major != 1:
        found = "none" if version is None else f"{version.major}.{version.minor}"
        raise InvalidFile(f"TOSA version {found}; versions 1.x are supported", where="version")
    block = block_of(graph)
    where = "regions[0].blocks[0]"
    types = _types(block, where)
    for name in (*block.inputs, *block.outputs):
        if name not in types or types[name].dtype is DType.SHAPE:
            raise InvalidFile(f"no tensor is named {name!r}", where=f"{where}.inputs")
    ready = set(block.inputs)
    data = {tensor.name for tensor in block.tensors if tensor.data or tensor.variable_name}
    for number, op in enumerate(block.operators):
        place = f"{where}.operators[{number}]"
        try:
            _check_operator(op, types, ready, data)
        except ValueError as error:
            raise InvalidFile(f"{op.op.name}: {error}", where=place) from error
    for name in block.outputs:
        if name not in ready:
            raise InvalidFile(f"nothing computes {name!r}", where=f"{where}.outputs")


def _types(block: TosaBasicBlock, where: str) -> dict[str, TosaType]:
    types: dict[str, TosaType] = {}
    for number, tensor in enumerate(block.tensors):
        place = f"{where}.tensors[{number}]"
        if tensor.name in types:
            raise InvalidFile(f"two tensors are named {tensor.name!r}", where=place)
        if tensor.is_unranked or tensor.variable or tensor.size or min(tensor.shape, default=0) < 0:
            raise InvalidFile(
                "variables, unknown shapes and data outside the tables are not supported", where=place
            )
        type = types[tensor.name] = TosaType(tuple(tensor.shape), tensor.type)
        # Arm's serializer pads data to a multiple of 8 bytes.
        if tensor.data and (
            type.dtype not in ITEM_BITS or not 0 <= len(tensor.data) - constant_bytes(type) < DATA_ALIGNMENT
        ):
            raise InvalidFile(f"{len(tensor.data)} bytes of data of a constant {_text(type)}", where=place)
    for number, shape in enumerate(block.shapes):
        place = f"{where}.shapes[{number}]"
        if shape.name in types:
            raise InvalidFile(f"two values are named {shape.name!r}", where=place)
        if not 0 <= shape.rank <= _MOST_NUMBERS:
            raise InvalidFile(f"a shape of {shape.rank} numbers; the limit is {_MOST_NUMBERS}", where=place)
        # Arm's serializer gives a shape without sizes one.
        if len(shape.data or b"") not in (8 * shape.rank, 8 * max(shape.rank, 1)):
            raise InvalidFile(f"{len(shape.data or b'')} bytes of a shape of rank {shape.rank}", where=place)
        types[shape.name] = TosaType((shape.rank,), DType.SHAPE, shape_sizes(shape))
    return types


def _check_operator(op: TosaOperator, types: dict[str, TosaType], ready: set[str], data: set[str]) -> None:
    if op.op not in OPERANDS:
        raise ValueError("the operator is not supported")
    if op.attribute is not None and type(op.attribute) is not ATTRIBUTES[op.op]:
        raise ValueError(f"an attribute {type(op.attribute).__name__}")
    if op.attribute is None and ATTRIBUTES[op.op].__dataclass_fields__:
        raise ValueError("the attribute is missing")
    for name in op.inputs:
        if name not in ready:
            raise ValueError(f"the operand {name!r} is not computed before")
    if len(op.outputs) != 1 or op.outputs[0] not in types or op.outputs[0] in ready:
        raise ValueError(f"results {op.outputs}")
    declared = types[op.outputs[0]]
    if op.op is Op.CONST and op.outputs[0] not in data:
        raise ValueError(f"the constant {op.outputs[0]!r} has no data")
    if op.op is Op.CONST_SHAPE and declared.dtype is not DType.SHAPE:
        raise ValueError(f"{op.outputs[0]!r} is not a shape")
    if op.op not in (Op.CONST, Op.CONST_SHAPE):
        made = result_of(op.op, op.attribute, [types[name] for name in op.inputs], declared.dtype)
        if made[:2] != declared[:2]:
            raise ValueError(f"the result is {_text(made)}, declared as {_text(declared)}")
    ready.add(op.outputs[0])


def _text(type: TosaType) -> str:
    return f"{list(type.shape)} {type.dtype.name}"


def tensors_by_name(block: TosaBasicBlock) -> dict[str, TosaTensor]:
    """The tensors of a block by their names."""
    return {tensor.name: tensor for tensor in block.tensors}
