"""Core ML's ML programs: types, operations, and the file `model.mlmodel`.

A model is a message of Protocol Buffers (`Model.proto` and `MIL.proto` of coremltools): a description of inputs and
outputs, and a program with one function `main` of one block, or with several functions, each with a description of its
own. This module covers what ExecuTorch's delegates use: static shapes, no control flow, no state. Elements of large
constants are in a separate file, `weight.bin`, which all functions share.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from typing import Final

from et_backends.coreml.format.protobuf import (
    bytes_field,
    fields,
    numbers,
    packed_field,
    text,
    text_field,
    varint_field,
)
from et_schema.errors import InvalidFile

__all__ = [
    "ITEM_BYTES",
    "OPSETS",
    "MilOperation",
    "MilProgram",
    "MilType",
    "MilTypeName",
    "MilValue",
    "Weights",
    "read_functions",
    "read_model",
    "serialize_functions",
    "serialize_model",
]


class MilTypeName(IntEnum):
    """Element types, with their numbers in files."""

    BOOL = 1
    STRING = 2
    FLOAT16 = 10
    FLOAT32 = 11
    INT8 = 21
    INT32 = 23
    UINT8 = 31


ITEM_BYTES: Final = {
    MilTypeName.BOOL: 1,
    MilTypeName.FLOAT16: 2,
    MilTypeName.FLOAT32: 4,
    MilTypeName.INT8: 1,
    MilTypeName.INT32: 4,
    MilTypeName.UINT8: 1,
}
"""Bytes of an element in memory; strings have none."""

OPSETS: Final = {"CoreML5": 6, "CoreML6": 7, "CoreML7": 8, "CoreML8": 9}
"""Sets of operations, each with the version of files that have it: of iOS 15 to 18."""

_FEATURES: Final = {
    MilTypeName.FLOAT16: 65552,
    MilTypeName.FLOAT32: 65568,
    MilTypeName.INT32: 131104,
}
"""Element types that inputs and outputs can have, with their numbers in descriptions."""

_BLOB_TYPES: Final = {
    MilTypeName.FLOAT16: 1,
    MilTypeName.FLOAT32: 2,
    MilTypeName.UINT8: 3,
    MilTypeName.INT8: 4,
}
"""Element types of a weight file, with their numbers there."""

_WEIGHTS_PATH: Final = "@model_path/weights/weight.bin"
_HEADER: Final = struct.Struct("<II56x")
_RECORD: Final = struct.Struct("<IIQQ40x")
_SENTINEL: Final = 0xDEADBEEF
_STORED_ELEMENTS: Final = 10
"""Constants of so many elements are stored in the weight file."""
_MAX_RANK: Final = 5
MAIN: Final = "main"
_FUNCTIONS_VERSION: Final = 9
"""Version of files that may have several functions: of iOS 18."""


@dataclass(frozen=True)
class MilType:
    """The type of a tensor. A scalar has no sizes."""

    name: MilTypeName
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.name.name.lower()}{list(self.shape)}"

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * ITEM_BYTES[self.name]


@dataclass(frozen=True)
class MilValue:
    """A constant."""

    type: MilType
    data: bytes | memoryview = b""
    """The elements as they are in memory, little-endian."""
    strings: tuple[str, ...] = ()
    """The elements of a type of strings."""


@dataclass(frozen=True)
class MilOperation:
    """An operation; one of the type `const` has a value, and no inputs."""

    type: str
    inputs: Mapping[str, tuple[str, ...]]
    """Names of the values of each parameter."""
    outputs: tuple[tuple[str, MilType], ...]
    value: MilValue | None = None


@dataclass(frozen=True)
class MilProgram:
    """An ML program."""

    inputs: tuple[tuple[str, MilType], ...]
    outputs: tuple[str, ...]
    operations: tuple[MilOperation, ...]
    opset: str = "CoreML6"
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    def types(self) -> dict[str, MilType]:
        """The type of each value by its name."""
        made = dict(self.inputs)
        for op in self.operations:
            made.update(op.outputs)
        return made

    def weights(self) -> Iterator[tuple[str, MilValue]]:
        """Constant tensors by name, of the types that a weight file has: others are parameters of operations."""
        for op in self.operations:
            if op.value is not None and op.value.type.shape and op.value.type.name in _BLOB_TYPES:
                yield op.outputs[0][0], op.value


class Weights:
    """The file of weights under construction: records of 64 bytes, each followed by elements.

    Elements that are equal are stored once.
    """

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self._size = _HEADER.size
        self._count = 0
        self._places: dict[tuple[int, bytes], int] = {}

    def place(self, value: MilValue) -> int:
        """Add elements; returns the byte of their record."""
        from hashlib import sha256

        kind = _BLOB_TYPES[value.type.name]
        key = kind, sha256(value.data).digest()
        if key not in self._places:
            at = self._places[key] = self._size
            length = len(value.data)
            padding = b"\0" * (-length % 64)
            self._parts += [_RECORD.pack(_SENTINEL, kind, length, at + _RECORD.size), value.data, padding]
            self._size += _RECORD.size + length + len(padding)
            self._count += 1
        return self._places[key]

    def file(self) -> bytes:
        """The bytes of the file."""
        return b"".join([_HEADER.pack(self._count, 2), *self._parts])


# Writing


def serialize_model(program: MilProgram, weights: Weights) -> bytes:
    """The bytes of the file `model.mlmodel`; large constants are added to `weights`."""
    types = program.types()
    description = b"".join(
        [
            *(bytes_field(1, _feature(name, type)) for name, type in program.inputs),
            *(bytes_field(10, _feature(name, types[name])) for name in program.outputs),
            _user_defined(program.metadata),
        ]
    )
    return _model(OPSETS[program.opset], description, {MAIN: _serialized_function(program, weights)})


def serialize_functions(programs: Mapping[str, MilProgram], weights: Weights) -> bytes:
    """The bytes of the file `model.mlmodel` with several functions, by name. The first is the one that runs where none
    is named; its metadata are the model's.
    """
    descriptions: list[bytes] = []
    for name, program in programs.items():
        types = program.types()
        descriptions.append(
            b"".join(
                [
                    text_field(1, name),
                    *(bytes_field(2, _feature(one, type)) for one, type in program.inputs),
                    *(bytes_field(3, _feature(one, types[one])) for one in program.outputs),
                ]
            )
        )
    first = next(iter(programs))
    description = b"".join(
        [
            *(bytes_field(20, one) for one in descriptions),
            text_field(21, first),
            _user_defined(programs[first].metadata),
        ]
    )
    functions = {name: _serialized_function(program, weights) for name, program in programs.items()}
    return _model(_FUNCTIONS_VERSION, description, functions)


def _user_defined(metadata: Mapping[str, str]) -> bytes:
    entries = (bytes_field(100, _entry(*map(str.encode, item))) for item in metadata.items())
    return bytes_field(100, b"".join(entries))


def _model(version: int, description: bytes, functions: Mapping[str, bytes]) -> bytes:
    made = (bytes_field(2, _entry(name.encode(), function)) for name, function in functions.items())
    program = varint_field(1, 1) + b"".join(made)
    return b"".join([varint_field(1, version), bytes_field(2, description), bytes_field(502, program)])


def _serialized_function(program: MilProgram, weights: Weights) -> bytes:
    block = b"".join(
        [
            *(text_field(2, name) for name in program.outputs),
            *(bytes_field(3, _operation(op, weights)) for op in program.operations),
        ]
    )
    return b"".join(
        [
            *(bytes_field(1, _named_type(name, type)) for name, type in program.inputs),
            text_field(2, program.opset),
            bytes_field(3, _entry(program.opset.encode(), block)),
        ]
    )


def _entry(key: bytes, value: bytes) -> bytes:
    return bytes_field(1, key) + bytes_field(2, value)


def _feature(name: str, type: MilType) -> bytes:
    array = packed_field(1, type.shape) + varint_field(2, _FEATURES[type.name])
    return text_field(1, name) + bytes_field(3, bytes_field(5, array))


def _type(type: MilType) -> bytes:
    sizes = (bytes_field(3, bytes_field(1, varint_field(1, size))) for size in type.shape)
    rank = varint_field(2, len(type.shape)) if type.shape else b""
    return bytes_field(1, b"".join([varint_field(1, type.name), rank, *sizes]))


def _named_type(name: str, type: MilType) -> bytes:
    return text_field(1, name) + bytes_field(2, _type(type))


def _operation(op: MilOperation, weights: Weights) -> bytes:
    parts = [text_field(1, op.type)]
    for parameter, names in op.inputs.items():
        bound = b"".join(bytes_field(1, text_field(1, name)) for name in names)
        parts.append(bytes_field(2, _entry(parameter.encode(), bound)))
    parts += [bytes_field(3, _named_type(name, type)) for name, type in op.outputs]
    name = MilValue(MilType(MilTypeName.STRING), strings=(op.outputs[0][0],))
    parts.append(bytes_field(5, _entry(b"name", _value(name, None))))
    if op.value is not None:
        parts.append(bytes_field(5, _entry(b"val", _value(op.value, weights))))
    return b"".join(parts)


def _value(value: MilValue, weights: Weights | None) -> bytes:
    type = value.type
    head = bytes_field(2, _type(type))
    if weights is not None and prod(type.shape) >= _STORED_ELEMENTS and type.name in _BLOB_TYPES:
        stored = text_field(1, _WEIGHTS_PATH) + varint_field(2, weights.place(value))
        return head + bytes_field(5, stored)
    if type.name is MilTypeName.STRING:
        tensor = bytes_field(4, b"".join(text_field(1, one) for one in value.strings))
    elif type.name is MilTypeName.FLOAT32:
        tensor = bytes_field(1, bytes_field(1, value.data))
    elif type.name is MilTypeName.INT32:
        tensor = bytes_field(2, packed_field(1, memoryview(bytes(value.data)).cast("i")))
    elif type.name is MilTypeName.BOOL:
        tensor = bytes_field(3, packed_field(1, memoryview(bytes(value.data))))
    else:
        tensor = bytes_field(7, bytes_field(1, value.data))
    return head + bytes_field(3, bytes_field(1, tensor))


# Reading


def read_model(model: memoryview, weights: memoryview) -> MilProgram:
    """Decode a file with the one function `main`. Raises as `read_functions` does."""
    functions = _functions(model)[1]
    if list(functions) != [MAIN]:
        raise InvalidFile(
            f"the functions are {', '.join(functions) or 'none'}; expected main alone", where="functions"
        )
    return read_functions(model, weights)[MAIN]


def read_functions(
    model: memoryview, weights: memoryview, *, only: str | None = None
) -> dict[str, MilProgram]:
    """Decode the functions of a file by name, or the one of a name, and check that each value is defined once, before
    its uses.

    Constants are views of the files. Raises `InvalidFile` with the operation or the field at fault: for what is
    damaged, and for models that are no such programs, as those with control flow, state or unknown sizes.
    """
    version, functions, metadata = _functions(model)
    if only is not None:
        if only not in functions:
            raise InvalidFile(f"there is no function {only!r}", where="functions")
        functions = {only: functions[only]}
    programs: dict[str, MilProgram] = {}
    for name, message in functions.items():
        try:
            made = programs[name] = _function(message, weights, metadata)
            if OPSETS.get(made.opset, version) > version:
                raise InvalidFile(
                    f"version {version} does not have the operations of {made.opset}", where="opset"
                )
            _check_order(made)
        except InvalidFile as error:
            error.nest(name)
            raise
    return programs


def _functions(model: memoryview) -> tuple[int, dict[str, memoryview], dict[str, str]]:
    """The version of a file, its functions by name, and its metadata."""
    version, program = 0, None
    metadata: dict[str, str] = {}
    for number, content in fields(model):
        if number == 1 and isinstance(content, int):
            version = content
        elif number == 502:
            program = _bytes(content)
        elif number == 2:
            metadata = _metadata(_bytes(content))
    if program is None:
        raise InvalidFile("the model is not an ML program", where="mlProgram")
    functions = {
        key: value for number, content in fields(program) if number == 2 for key, value in [_item(content)]
    }
    return version, functions, metadata


def _metadata(description: memoryview) -> dict[str, str]:
    return {
        key: text(value)
        for number, content in fields(description)
        if number == 100
        for inner, entry in fields(_bytes(content))
        if inner == 100
        for key, value in [_item(entry)]
    }


def _bytes(content: int | memoryview) -> memoryview:
    if isinstance(content, int):
        raise InvalidFile("an integer where a message is expected")
    return content


def _item(content: int | memoryview) -> tuple[str, memoryview]:
    """An entry of a map."""
    key, value = "", memoryview(b"")
    for number, part in fields(_bytes(content)):
        if number == 1:
            key = text(part)
        elif number == 2:
            value = _bytes(part)
    return key, value


def _function(message: memoryview, weights: memoryview, metadata: Mapping[str, str]) -> MilProgram:
    inputs: list[tuple[str, MilType]] = []
    opset = ""
    blocks: dict[str, memoryview] = {}
    for number, content in fields(message):
        if number == 1:
            inputs.append(_read_named_type(_bytes(content)))
        elif number == 2:
            opset = text(content)
        elif number == 3:
            key, block = _item(content)
            blocks[key] = block
    if opset not in blocks:
        raise InvalidFile(f"no block is for the operations {opset!r}", where="block_specializations")
    outputs: list[str] = []
    operations: list[MilOperation] = []
    for number, content in fields(blocks[opset]):
        if number == 2:
            outputs.append(text(content))
        elif number == 3:
            try:
                operations.append(_read_operation(_bytes(content), weights))
            except InvalidFile as error:
                error.nest(f"operations[{len(operations)}]")
                raise
    return MilProgram(tuple(inputs), tuple(outputs), tuple(operations), opset, dict(metadata))


def _read_named_type(message: memoryview) -> tuple[str, MilType]:
    name, type = "", None
    for number, content in fields(message):
        if number == 1:
            name = text(content)
        elif number == 2:
            type = _read_type(_bytes(content))
    if type is None:
        raise InvalidFile(f"the value {name!r} has no type")
    return name, type


def _read_type(message: memoryview) -> MilType:
    for number, content in fields(message):
        if number == 1:
            return _read_tensor_type(_bytes(content))
    raise InvalidFile(
        "a type that is not a tensor's; lists, tuples, dictionaries and states are not supported"
    )


def _read_tensor_type(message: memoryview) -> MilType:
    name, rank = 0, 0
    sizes: list[int] = []
    for number, content in fields(message):
        if number == 1 and isinstance(content, int):
            name = content
        elif number == 2 and isinstance(content, int):
            rank = content
        elif number == 3:
            sizes.append(_size(_bytes(content)))
    if rank != len(sizes) or rank > _MAX_RANK:
        raise InvalidFile(f"a tensor of rank {rank} with {len(sizes)} sizes; ranks go up to {_MAX_RANK}")
    try:
        return MilType(MilTypeName(name), tuple(sizes))
    except ValueError as error:
        raise InvalidFile(f"element type {name} is not supported") from error


def _size(message: memoryview) -> int:
    for number, content in fields(message):
        if number == 1:
            size = next((one for inner, one in fields(_bytes(content)) if inner == 1), 0)
            if isinstance(size, int) and size < 1 << 40:
                return size
    raise InvalidFile("a size that is known at run time only")


def _read_operation(message: memoryview, weights: memoryview) -> MilOperation:
    type, value = "", None
    inputs: dict[str, tuple[str, ...]] = {}
    outputs: list[tuple[str, MilType]] = []
    for number, content in fields(message):
        if number == 1:
            type = text(content)
        elif number == 2:
            key, argument = _item(content)
            inputs[key] = tuple(_bound(argument))
        elif number == 3:
            outputs.append(_read_named_type(_bytes(content)))
        elif number == 4:
            raise InvalidFile(f"{type}: operations with blocks are not supported")
        elif number == 5:
            key, attribute = _item(content)
            if key == "val":
                value = _read_value(attribute, weights)
    if (type == "const") is (value is None):
        raise InvalidFile(f"{type}: a constant has a value, and other operations have none")
    if not outputs or (value is not None and [kind for _, kind in outputs] != [value.type]):
        raise InvalidFile(f"{type}: no outputs, or a value of another type")
    return MilOperation(type, inputs, tuple(outputs), value)


def _bound(argument: memoryview) -> Iterator[str]:
    for number, content in fields(argument):
        if number == 1:
            for inner, name in fields(_bytes(content)):
                if inner != 1:
                    raise InvalidFile("a value in the place of a name is not supported")
                yield text(name)


def _read_value(message: memoryview, weights: memoryview) -> MilValue:
    type, tensor, stored = None, None, None
    for number, content in fields(message):
        if number == 2:
            type = _read_type(_bytes(content))
        elif number == 3:
            tensor = next((_bytes(one) for inner, one in fields(_bytes(content)) if inner == 1), None)
        elif number == 5:
            stored = next((one for inner, one in fields(_bytes(content)) if inner == 2), 0)
    if type is None:
        raise InvalidFile("a value without a type")
    if stored is not None:
        return MilValue(type, _stored(stored, type, weights))
    if tensor is None:
        raise InvalidFile("a value without elements")
    return _immediate(tensor, type)


def _stored(at: int | memoryview, type: MilType, weights: memoryview) -> memoryview:
    if not isinstance(at, int) or at + _RECORD.size > len(weights):
        raise InvalidFile(f"no record is at byte {at} of {len(weights):,} in the file of weights")
    sentinel, kind, length, start = _RECORD.unpack_from(weights, at)
    if sentinel != _SENTINEL or _BLOB_TYPES.get(type.name) != kind or length != type.nbytes:
        raise InvalidFile(f"the record at byte {at:,} of the file of weights is not of {type}")
    if start + length > len(weights):
        raise InvalidFile(f"{length:,} bytes at {start:,} of {len(weights):,} in the file of weights")
    return weights[start : start + length]


def _immediate(tensor: memoryview, type: MilType) -> MilValue:
    kinds = {
        MilTypeName.FLOAT32: 1,
        MilTypeName.INT32: 2,
        MilTypeName.BOOL: 3,
        MilTypeName.STRING: 4,
    }
    wanted = kinds.get(type.name, 7)
    parts: list[int | memoryview] = []
    for number, content in fields(tensor):
        if number != wanted:
            raise InvalidFile(f"elements of another kind than {type}")
        parts += [one for inner, one in fields(_bytes(content)) if inner == 1]
    if type.name is MilTypeName.STRING:
        found = tuple(map(text, parts))
        if len(found) != prod(type.shape):
            raise InvalidFile(f"{len(found)} elements for {type}")
        return MilValue(type, strings=found)
    data = _elements(parts, type.name)
    if len(data) != type.nbytes:
        raise InvalidFile(f"{len(data)} bytes for {type}")
    return MilValue(type, data)


def _elements(parts: Sequence[int | memoryview], name: MilTypeName) -> bytes:
    if name is MilTypeName.INT32:
        integers = [one for part in parts for one in numbers(part, bits=32)]
        return struct.pack(f"<{len(integers)}i", *integers)
    if name is MilTypeName.BOOL:
        return bytes(one != 0 for part in parts for one in numbers(part))
    return b"".join(bytes(_bytes(part)) for part in parts)


def _check_order(program: MilProgram) -> None:
    known = {name for name, _ in program.inputs}
    if len(known) != len(program.inputs):
        raise InvalidFile("two inputs have one name", where="inputs")
    for at, op in enumerate(program.operations):
        for names in op.inputs.values():
            for name in names:
                if name not in known:
                    raise InvalidFile(
                        f"{op.type}: nothing computes {name!r} before", where=f"operations[{at}]"
                    )
        for name, _ in op.outputs:
            if name in known:
                raise InvalidFile(f"{op.type}: two values have the name {name!r}", where=f"operations[{at}]")
            known.add(name)
    for name in program.outputs:
        if name not in known:
            raise InvalidFile(f"nothing computes {name!r}", where="outputs")
