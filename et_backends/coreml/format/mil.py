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
    fields,
    numbers,
    text,
)
from et_schema.errors import InvalidFile

__all__ = [
    "BLOB_TYPES",
    "ITEM_BYTES",
    "MAIN",
    "OPSETS",
    "RECORD",
    "SENTINEL",
    "MilOperation",
    "MilProgram",
    "MilType",
    "MilTypeName",
    "MilValue",
    "read_functions",
    "read_model",
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


BLOB_TYPES: Final = {
    MilTypeName.FLOAT16: 1,
    MilTypeName.FLOAT32: 2,
    MilTypeName.UINT8: 3,
    MilTypeName.INT8: 4,
}
"""Element types of a weight file, with their numbers there."""

RECORD: Final = struct.Struct("<IIQQ40x")
"""Of a weight file, in front of elements: sentinel, number of the type, bytes, and where the elements begin."""
SENTINEL: Final = 0xDEADBEEF
_MAX_RANK: Final = 5
MAIN: Final = "main"


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
            if op.value is not None and op.value.type.shape and op.value.type.name in BLOB_TYPES:
                yield op.outputs[0][0], op.value


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
    if not isinstance(at, int) or at + RECORD.size > len(weights):
        raise InvalidFile(f"no record is at byte {at} of {len(weights):,} in the file of weights")
    sentinel, kind, length, start = RECORD.unpack_from(weights, at)
    if sentinel != SENTINEL or BLOB_TYPES.get(type.name) != kind or length != type.nbytes:
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
