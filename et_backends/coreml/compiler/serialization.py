"""Serialization of ML programs, and of the blobs that have them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from hashlib import sha256
from math import prod
from typing import Any, Final
from uuid import UUID

from et_backends.coreml.format.blob import METADATA, MODEL, PACKAGE, REFERENCE, ROOT, WEIGHTS, CoremlReference
from et_backends.coreml.format.mil import (
    BLOB_TYPES,
    MAIN,
    OPSETS,
    RECORD,
    SENTINEL,
    MilOperation,
    MilProgram,
    MilType,
    MilTypeName,
    MilValue,
)
from et_backends.coreml.format.protobuf import bytes_field, packed_field, text_field, varint_field

__all__ = [
    "Weights",
    "serialize_coreml",
    "serialize_functions",
    "serialize_model",
    "serialize_reference",
    "serialize_shared",
]

_FEATURES: Final = {
    MilTypeName.FLOAT16: 65552,
    MilTypeName.FLOAT32: 65568,
    MilTypeName.INT32: 131104,
}
"""Element types that inputs and outputs can have, with their numbers in descriptions."""
_WEIGHTS_PATH: Final = "@model_path/weights/weight.bin"
_HEADER: Final = struct.Struct("<II56x")
_STORED_ELEMENTS: Final = 10
"""Constants of so many elements are stored in the weight file."""
_FUNCTIONS_VERSION: Final = 9
"""Version of files that may have several functions: of iOS 18."""


def serialize_coreml(program: MilProgram) -> bytes:
    """The blob of a program, which is deterministic: identifiers are digests of the program."""
    weights = Weights()
    model = serialize_model(program, weights)
    names = {"inputNames": [name for name, _ in program.inputs], "outputNames": list(program.outputs)}
    return _package(model, weights.file(), names)[1]


def serialize_shared(programs: Mapping[str, MilProgram]) -> tuple[str, bytes]:
    """The identifier and the blob of a model with the programs of several methods, whose equal weights are stored
    once. The identifier depends on the content alone.
    """
    weights = Weights()
    model = serialize_functions(programs, weights)
    methods = {
        method: {"inputNames": [name for name, _ in program.inputs], "outputNames": list(program.outputs)}
        for method, program in programs.items()
    }
    return _package(model, weights.file(), {"methods": methods})


def serialize_reference(reference: CoremlReference) -> bytes:
    """The blob of a method whose model is elsewhere in the program."""
    content = {"version": 1, "key": reference.key, "functionName": reference.function}
    return REFERENCE + json.dumps(content).encode()


def _package(model: bytes, weights: bytes, names: Mapping[str, object]) -> tuple[str, bytes]:
    """The identifier and the blob of a model, whose metadata have the `names` of arguments."""
    digest = sha256(model + sha256(weights).digest())
    root, data = (str(UUID(bytes=digest.digest()[at : at + 16])) for at in (0, 16))
    identifier = f"executorch_{root}"
    author = "com.apple.CoreML"
    manifest = {
        "fileFormatVersion": "1.0.0",
        "itemInfoEntries": {
            root: {
                "author": author,
                "description": "CoreML Model Specification",
                "name": "model.mlmodel",
                "path": f"{author}/model.mlmodel",
            },
            data: {
                "author": author,
                "description": "CoreML Model Weights",
                "name": "weights",
                "path": f"{author}/weights",
            },
        },
        "rootModelIdentifier": root,
    }
    blob = _flatten(
        {
            METADATA: json.dumps({**names, "identifier": identifier}).encode(),
            f"{PACKAGE}/Manifest.json": json.dumps(manifest).encode(),
            MODEL: model,
            WEIGHTS: weights,
        }
    )
    return identifier, blob


def _flatten(contents: Mapping[str, bytes]) -> bytes:
    nodes: list[dict[str, Any]] = []
    position = 0

    def add(name: str, files: Mapping[str, bytes]) -> int:
        nonlocal position
        children: dict[str, int] = {}
        for child in dict.fromkeys(path.split("/", 1)[0] for path in files):
            if child in files:
                size = len(files[child])
                nodes.append(_node(child, 0, {}, position, size))
                position += size
                children[child] = len(nodes) - 1
            else:
                inner = {
                    path.split("/", 1)[1]: data
                    for path, data in files.items()
                    if path.startswith(f"{child}/")
                }
                children[child] = add(child, inner)
        nodes.append(_node(name, 1, children, 0, 0))
        return len(nodes) - 1

    add(ROOT, contents)
    tree = json.dumps({"nodes": nodes}, separators=(",", ":")).encode()
    return b"".join([*contents.values(), tree[::-1]])


def _node(name: str, kind: int, children: Mapping[str, int], offset: int, size: int) -> dict[str, Any]:
    region = {"offset": offset, "size": size}
    return {"children": children, "dataRegion": region, "kind": kind, "name": name}


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

        kind = BLOB_TYPES[value.type.name]
        key = kind, sha256(value.data).digest()
        if key not in self._places:
            at = self._places[key] = self._size
            length = len(value.data)
            padding = b"\0" * (-length % 64)
            self._parts += [RECORD.pack(SENTINEL, kind, length, at + RECORD.size), value.data, padding]
            self._size += RECORD.size + length + len(padding)
            self._count += 1
        return self._places[key]

    def file(self) -> bytes:
        """The bytes of the file."""
        return b"".join([_HEADER.pack(self._count, 2), *self._parts])


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
    if weights is not None and prod(type.shape) >= _STORED_ELEMENTS and type.name in BLOB_TYPES:
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
