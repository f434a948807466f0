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
from typing import Any, Final, cast

from et_backends.coreml.format.mil import (
    MilProgram,
    read_functions,
    read_model,
)
from et_schema.delegate_blobs import BlobWrites
from et_schema.errors import Error, InvalidFile
from et_schema.wording import data_file

__all__ = [
    "BACKEND",
    "METADATA",
    "MODEL",
    "PACKAGE",
    "REFERENCE",
    "ROOT",
    "WEIGHTS",
    "CoremlModel",
    "CoremlReference",
    "check_coreml",
    "coreml_writes",
    "read_coreml",
    "reference_of",
]

BACKEND: Final = "CoreMLBackend"
"""The backend id of blobs in this format."""

ROOT: Final = "lowered_module"
PACKAGE: Final = "model.mlpackage"
DATA: Final = f"{PACKAGE}/Data/com.apple.CoreML"
MODEL: Final = f"{DATA}/model.mlmodel"
WEIGHTS: Final = f"{DATA}/weights/weight.bin"
METADATA: Final = "metadata.json"
REFERENCE: Final = b"CMJR"
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


def reference_of(blob: bytes | memoryview) -> CoremlReference | None:
    """The reference that a blob is, None for one with a model. Raises `InvalidFile(DelegateInvalidCompatibility)`."""
    if bytes(blob[: len(REFERENCE)]) != REFERENCE:
        return None
    try:
        content: object = json.loads(bytes(blob[len(REFERENCE) :]))
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


def _read(blob: memoryview, function: str | None) -> CoremlModel:
    """The model of a blob, of one that methods share the part that is a `function`."""
    files = _files(blob)
    if any(path.startswith(_COMPILED) for path in files):
        raise InvalidFile("the model was compiled on a Mac; only packages can be read", where=_COMPILED)
    for path in (METADATA, MODEL):
        if path not in files:
            raise InvalidFile("the file is missing", where=path)
    try:
        metadata: object = json.loads(bytes(files[METADATA]))
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"no JSON: {error}", where=METADATA) from error
    described = metadata if function is None else _member(_member(metadata, "methods"), function)
    names = [_names(described, key) for key in ("inputNames", "outputNames")]
    weights = files.get(WEIGHTS, memoryview(b""))
    try:
        if function is None:
            program = read_model(files[MODEL], weights)
        else:
            program = read_functions(files[MODEL], weights, only=function)[function]
    except InvalidFile as error:
        error.nest(MODEL)
        raise
    if sorted(names[0]) != sorted(name for name, _ in program.inputs) or set(names[1]) - set(program.outputs):
        raise InvalidFile("the names of inputs and outputs are not those of the model", where=METADATA)
    identifier = cast("dict[str, object]", metadata).get("identifier", "")
    return CoremlModel(program, names[0], names[1], str(identifier))


def _member(metadata: object, name: str) -> object:
    found = cast("dict[str, object]", metadata).get(name) if isinstance(metadata, dict) else None
    if found is None:
        raise InvalidFile(f"there is no {name}", where=METADATA)
    return found


def _names(metadata: object, key: str) -> tuple[str, ...]:
    found = cast("dict[str, object]", metadata).get(key) if isinstance(metadata, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in cast("list[object]", found)):
        raise InvalidFile(f"{key} is not a list of names", where=METADATA)
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
