"""Blobs of `CoreMLBackend`: a model package and the names of its arguments.

The contents of the files are concatenated, followed by the directory tree with names and offsets: JSON with its
characters reversed, so that a reader can start at the end without knowing the length. In the tree, children come
before their folders. Source of the format: `inmemory_filesystem` of ExecuTorch's Core ML backend.

Methods may share a model: it has a function for each of them, and is in the program's named data. Their blobs are
references to it: `CMJR`, and the key and the function as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, cast
from uuid import UUID

from et_backends.coreml.format.mil import (
    MilProgram,
    Weights,
    read_functions,
    read_model,
    serialize_functions,
    serialize_model,
)
from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile
from et_schema.wording import data_file

__all__ = [
    "BACKEND",
    "CoremlModel",
    "CoremlReference",
    "check_coreml",
    "coreml_writes",
    "read_coreml",
    "reference_of",
    "serialize_coreml",
    "serialize_reference",
    "serialize_shared",
]

BACKEND: Final = "CoreMLBackend"
"""The backend id of blobs in this format."""

_ROOT: Final = "lowered_module"
_PACKAGE: Final = "model.mlpackage"
_DATA: Final = f"{_PACKAGE}/Data/com.apple.CoreML"
_MODEL: Final = f"{_DATA}/model.mlmodel"
_WEIGHTS: Final = f"{_DATA}/weights/weight.bin"
_METADATA: Final = "metadata.json"
_REFERENCE: Final = b"CMJR"
_COMPILED: Final = "model.mlmodelc"
_MOST_NODES: Final = 1000


@dataclass(frozen=True)
class CoremlModel:
    """A model and the names of its arguments."""

    program: MilProgram
    inputs: tuple[str, ...]
    """In the order of the delegate's arguments."""
    outputs: tuple[str, ...]
    identifier: str
    """By which the runtime on a device keeps the compiled model."""


@dataclass(frozen=True)
class CoremlReference:
    """The function of a model that methods share."""

    key: str
    """The name of the model among the named data of the program."""
    function: str


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
    return _REFERENCE + json.dumps(content).encode()


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
            _METADATA: json.dumps({**names, "identifier": identifier}).encode(),
            f"{_PACKAGE}/Manifest.json": json.dumps(manifest).encode(),
            _MODEL: model,
            _WEIGHTS: weights,
        }
    )
    return identifier, blob


def reference_of(blob: bytes | memoryview) -> CoremlReference | None:
    """The reference that a blob is, None for one with a model. Raises `InvalidFile(DelegateInvalidCompatibility)`."""
    if bytes(blob[: len(_REFERENCE)]) != _REFERENCE:
        return None
    try:
        content: object = json.loads(bytes(blob[len(_REFERENCE) :]))
    except (ValueError, RecursionError) as error:
        raise InvalidFile(
            f"the reference to a model is no JSON: {error}", code=Error.DelegateInvalidCompatibility
        ) from error
    found = cast("dict[str, object]", content) if isinstance(content, dict) else {}
    key, function = found.get("key"), found.get("functionName")
    if found.get("version") != 1 or not isinstance(key, str) or not isinstance(function, str):
        raise InvalidFile(
            "the reference to a model has no version 1, key and functionName",
            code=Error.DelegateInvalidCompatibility,
        )
    return CoremlReference(key, function)


def read_coreml(blob: bytes | memoryview, named: Mapping[str, memoryview] | None = None) -> CoremlModel:
    """Decode and check a blob without copying its weights. `named` is the named data of the program, for blobs that
    refer to it.

    Raises `InvalidFile(DelegateInvalidCompatibility)` with the file and the operation at fault, for a model that the
    program does not have, and for models that were compiled on a Mac, which are not readable.
    """
    try:
        reference = reference_of(blob)
        if reference is None:
            return _read(memoryview(blob).cast("B").toreadonly(), None)
        found = (named or {}).get(reference.key)
        if found is None:
            raise InvalidFile(
                f"the program has no model named {reference.key!r}",
                hint=f"if it is in a data file, pass the file: {data_file()}",
            )
        try:
            return _read(found.cast("B").toreadonly(), reference.function)
        except InvalidFile as error:
            error.nest(f"the named data {reference.key!r}")
            raise
    except InvalidFile as error:
        error.code = Error.DelegateInvalidCompatibility
        raise


def check_coreml(blob: memoryview) -> None:
    """Check the form of a blob, of one that refers to a model elsewhere in the program that of the reference alone.
    Raises as `read_coreml` does.
    """
    if reference_of(blob) is None:
        read_coreml(blob)


def coreml_writes(blob: memoryview, named: Mapping[str, memoryview]) -> BlobWrites:
    """The values that a delegate writes. Raises as `read_coreml` does."""
    return BlobWrites(len(read_coreml(blob, named).outputs))


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

    add(_ROOT, contents)
    tree = json.dumps({"nodes": nodes}, separators=(",", ":")).encode()
    return b"".join([*contents.values(), tree[::-1]])


def _node(name: str, kind: int, children: Mapping[str, int], offset: int, size: int) -> dict[str, Any]:
    region = {"offset": offset, "size": size}
    return {"children": children, "dataRegion": region, "kind": kind, "name": name}


def _read(blob: memoryview, function: str | None) -> CoremlModel:
    """The model of a blob, of one that methods share the part that is a `function`."""
    files = _files(blob)
    if any(path.startswith(_COMPILED) for path in files):
        raise InvalidFile("the model was compiled on a Mac; only packages can be read", where=_COMPILED)
    for path in (_METADATA, _MODEL):
        if path not in files:
            raise InvalidFile("the file is missing", where=path)
    try:
        metadata: object = json.loads(bytes(files[_METADATA]))
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"no JSON: {error}", where=_METADATA) from error
    described = metadata if function is None else _member(_member(metadata, "methods"), function)
    names = [_names(described, key) for key in ("inputNames", "outputNames")]
    weights = files.get(_WEIGHTS, memoryview(b""))
    try:
        if function is None:
            program = read_model(files[_MODEL], weights)
        else:
            program = read_functions(files[_MODEL], weights, only=function)[function]
    except InvalidFile as error:
        error.nest(_MODEL)
        raise
    if sorted(names[0]) != sorted(name for name, _ in program.inputs) or set(names[1]) - set(program.outputs):
        raise InvalidFile("the names of inputs and outputs are not those of the model", where=_METADATA)
    identifier = cast("dict[str, object]", metadata).get("identifier", "")
    return CoremlModel(program, names[0], names[1], str(identifier))


def _member(metadata: object, name: str) -> object:
    found = cast("dict[str, object]", metadata).get(name) if isinstance(metadata, dict) else None
    if found is None:
        raise InvalidFile(f"there is no {name}", where=_METADATA)
    return found


def _names(metadata: object, key: str) -> tuple[str, ...]:
    found = cast("dict[str, object]", metadata).get(key) if isinstance(metadata, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in cast("list[object]", found)):
        raise InvalidFile(f"{key} is not a list of names", where=_METADATA)
    return tuple(cast("list[str]", found))


def _files(blob: memoryview) -> dict[str, memoryview]:
    """The contents of all files by path."""
    nodes = _tree(blob)
    names: dict[int, tuple[str, ...]] = {len(nodes) - 1: ()}
    files: dict[str, memoryview] = {}
    for at in range(len(nodes) - 1, -1, -1):
        if at not in names:
            raise InvalidFile(f"node {at} of the tree is in no folder", where="nodes")
        node, path = nodes[at], names[at]
        try:
            kind, children = int(node["kind"]), {str(key): int(to) for key, to in node["children"].items()}
            offset, size = (int(node["dataRegion"][key]) for key in ("offset", "size"))
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise InvalidFile(f"node {at} of the tree is damaged", where="nodes") from error
        if kind == 0:
            if not 0 <= offset <= offset + size <= len(blob):
                raise InvalidFile(f"{size:,} bytes at {offset:,} of {len(blob):,}", where="/".join(path))
            files["/".join(path)] = blob[offset : offset + size]
        for name, child in children.items():
            if not 0 <= child < at or child in names:
                raise InvalidFile(f"node {at} of the tree has the child {child}", where="nodes")
            names[child] = (*path, name)
    return files


def _tree(blob: memoryview) -> Sequence[dict[str, Any]]:
    # The tree is small beside the data, and how small is not said: it ends where its brackets do.
    size = 4096
    while True:
        text = bytes(blob[-size:])[::-1].decode("latin-1")
        try:
            found: object = json.JSONDecoder().raw_decode(text)[0]
            break
        except ValueError as error:
            if size >= len(blob) or size > 1 << 22:
                raise InvalidFile("the blob does not end with a tree of files", where="nodes") from error
            size *= 4
        except RecursionError as error:
            raise InvalidFile("the tree of files is nested too deeply", where="nodes") from error
    nodes = cast("dict[str, object]", found).get("nodes") if isinstance(found, dict) else None
    good = isinstance(nodes, list) and 0 < len(cast("list[object]", nodes)) <= _MOST_NODES
    if not good or not all(isinstance(one, dict) for one in cast("list[object]", nodes)):
        raise InvalidFile("the blob does not end with a tree of files", where="nodes")
    return cast("list[dict[str, Any]]", nodes)
