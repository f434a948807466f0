"""ETRecord files: compile-time information for interpreting a runtime's ETDump.

A zip archive of the graphs before and after lowering to the edge dialect, as JSON with separate tensors, and of maps
from instructions to the debug handles of graph nodes. Member names and JSON keys are ExecuTorch's: its tools read the
files written here, and vice versa.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Final, Self, cast

from et_schema.archives import DAMAGE, check_members
from et_schema.errors import InvalidFile, access_failed
from et_schema.files import atomic_writer

__all__ = ["ETRecord", "RecordedNode", "RecordedProgram", "Tensors", "read_etrecord"]

Tensors = bytes | Callable[[IO[bytes]], object]
"""Output of `torch.save` for tensors, or a function that writes it to a stream."""

IDENTIFIER: Final = "ETRECORD_V0"
EXPORTED: Final = "exported_program"
EDGE: Final = "edge_dialect_exported_program"
_PARTS: Final = ("state_dict", "constants", "example_inputs")
_HANDLES, _DELEGATES, _OUTS = "debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map"
_OUTPUTS, _INPUTS, _GRAPH = "reference_outputs", "representative_inputs", "export_graph_id"
RESERVED: Final = (_HANDLES, _DELEGATES, _OUTS, _OUTPUTS, _INPUTS, _GRAPH)
OPERATORS: Final = "et_ir.operators"
"""The key of `debug_handle_map` under which this compiler says what each instruction calls, by method and index."""
SCHEMA: Final = 5
"""The major version of the graphs' JSON."""


@dataclass(frozen=True)
class RecordedNode:
    """A node of a recorded graph."""

    name: str
    """Its name, as other nodes refer to it; of several results that of the first."""
    target: str
    """The operator, such as `executorch.exir.dialects.edge.ops.aten.add.Tensor`."""
    handle: int | None
    """Its debug handle; None without one."""
    stack_trace: str | None
    """The Python stack, as `traceback` prints it."""
    modules: Mapping[str, tuple[str, str]]
    """The modules around it, outermost first: path and type by key."""
    origins: tuple[tuple[str, int], ...]
    """Nodes that it comes from, nearest first: the name and the number of the graph."""
    raw: Mapping[str, Any] = field(repr=False)
    """The node's JSON."""

    @property
    def operator(self) -> str:
        """The operator without the names of Python modules, such as `aten.add.Tensor`."""
        return ".".join(self.target.split(".")[-3:])


@dataclass(frozen=True)
class RecordedProgram:
    """An exported program in the JSON of ExecuTorch's serializer, with its tensors."""

    document: Mapping[str, Any]
    """The JSON: `graph_module`, `range_constraints`, `schema_version` …"""
    state_dict: Tensors = b""
    """Parameters and buffers by name."""
    constants: Tensors = b""
    """Constants by name."""
    example_inputs: Tensors = b""
    """Arguments and keyword arguments; empty without."""

    @property
    def graph(self) -> Mapping[str, Any]:
        """The graph's JSON: `inputs`, `nodes`, `outputs`, `tensor_values` …"""
        return self.document["graph_module"]["graph"]

    def nodes(self) -> Iterator[RecordedNode]:
        """The nodes of the graph, in order. Raises `InvalidFile` for one that the format does not have."""
        for number, node in enumerate(self.graph["nodes"]):
            try:
                made = _node(node)
            except DAMAGE as error:
                message = f"not a node of a graph: {type(error).__name__}: {error}"
                raise InvalidFile(message, where=f"graph.nodes[{number}]") from None
            yield made


def _node(node: Mapping[str, Any]) -> RecordedNode:
    metadata: Mapping[str, str] = node["metadata"]
    handle = metadata.get("debug_handle")
    outputs = node["outputs"]
    target = node["target"]
    if not isinstance(target, str):
        raise TypeError("its target is not a name")
    return RecordedNode(
        node["name"] or (_names(outputs[0])[0] if outputs else ""),
        target,
        None if handle is None else int(handle),
        metadata.get("stack_trace"),
        dict(map(_module, filter(None, metadata.get("nn_module_stack", "").split(";")))),
        tuple(_origins(json.loads(metadata.get("from_node", "[]")))),
        node,
    )


def _names(argument: Mapping[str, Any]) -> list[str]:
    """The names that an output of a node defines."""
    (kind, value), *_ = argument.items()
    if kind == "as_tensor":
        return [value["name"]]
    if kind == "as_tensors":
        return [one["name"] for one in value]
    return [str(cast("Mapping[str, Any]", value).get("as_name", ""))] if isinstance(value, dict) else [""]


def _module(text: str) -> tuple[str, tuple[str, str]]:
    key, path, kind, *_ = [*text.split(",", 2), "", ""]
    return key, (path, kind)


def _origins(sources: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    while sources:
        last = sources[-1]
        yield str(last["name"]), int(last["graph_id"])
        sources = last["from_node"]


@dataclass
class ETRecord:
    """Information that a compiler records about a program for inspecting its executions."""

    exported_program: RecordedProgram | None = None
    """The graph of the method `forward` that the compiler was given."""
    export_graph_id: int | None = None
    """The number by which nodes of the edge programs name that graph as their origin."""
    edge_dialect_program: dict[str, RecordedProgram] = field(default_factory=dict[str, RecordedProgram])
    """The programs in the edge dialect, by method."""
    graph_map: dict[str, RecordedProgram] = field(default_factory=dict[str, RecordedProgram])
    """Further programs by `name/method`."""
    debug_handle_map: dict[str, dict[str, int | list[int]]] | None = None
    """By method and by the index of an instruction, as text, the handles of the nodes that it computes."""
    delegate_map: dict[str, dict[str, dict[str, Any]]] | None = None
    """By method and by the index of an instruction that calls a delegate: the backend's `name`, the handles of each of
    its identifiers (`delegate_map`), and in files of this compiler the order of dimensions (`orders`) of identifiers
    whose values are not as in the graph, empty for a value that no node has.
    """
    instruction_id_to_num_outs_map: dict[str, dict[str, int]] | None = None
    """The number of results of calls of delegates, by method and index of the instruction."""
    operators: dict[str, dict[str, str]] | None = None
    """The operator of each instruction by method and index, in files of this compiler."""
    reference_outputs: Tensors | None = None
    """Lists of expected outputs by method."""
    representative_inputs: Tensors | None = None
    """Inputs of `forward`."""

    def copy(self) -> Self:
        """The record without what belongs to a compiled program: maps, outputs and inputs."""
        return replace(
            self,
            debug_handle_map=None,
            delegate_map=None,
            instruction_id_to_num_outs_map=None,
            operators=None,
            reference_outputs=None,
            representative_inputs=None,
        )

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the file; one that exists is replaced when the new one is complete.

        Raises `ValueError` for a record without an edge program or without the maps of a compiled one, `OSError`.
        """
        if not self.edge_dialect_program or self.debug_handle_map is None:
            raise ValueError(
                "an ETRecord needs an edge program and a compiled program: to_executorch gives both"
            )
        if isinstance(path, str | os.PathLike):
            with atomic_writer(path) as stream:
                self._write(stream)
        else:
            self._write(path)

    def _write(self, stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(IDENTIFIER, "")
            if self.exported_program is not None:
                _write_program(archive, EXPORTED, self.exported_program)
            for method, program in self.edge_dialect_program.items():
                _write_program(archive, f"{EDGE}/{method}", program)
            for name, program in self.graph_map.items():
                _write_program(archive, name, program)
            handles: dict[str, Any] = dict(self.debug_handle_map or {})
            if self.operators is not None:
                handles[OPERATORS] = self.operators
            documents = {_HANDLES: handles, _DELEGATES: self.delegate_map, _GRAPH: self.export_graph_id}
            documents[_OUTS] = self.instruction_id_to_num_outs_map or {name: {} for name in handles}
            for name, document in documents.items():
                if document is not None:
                    archive.writestr(name, json.dumps(document))
            for name, tensors in ((_OUTPUTS, self.reference_outputs), (_INPUTS, self.representative_inputs)):
                if tensors is not None:
                    _write_tensors(archive, name, tensors)


def _write_program(archive: zipfile.ZipFile, name: str, program: RecordedProgram) -> None:
    archive.writestr(name, json.dumps(program.document))
    for part in _PARTS:
        _write_tensors(archive, f"{name}_{part}", getattr(program, part))


def _write_tensors(archive: zipfile.ZipFile, name: str, tensors: Tensors) -> None:
    with archive.open(name, "w", force_zip64=True) as stream:
        if callable(tensors):
            tensors(stream)
        else:
            stream.write(tensors)


def read_etrecord(source: str | os.PathLike[str] | bytes) -> ETRecord:
    """Read a file, or its bytes.

    Raises `InvalidFile` for what is no ETRecord or a damaged one, and `ExecutorchError(AccessFailed)` for a file that
    cannot be read.
    """
    if isinstance(source, bytes):
        return _read(io.BytesIO(source), "the ETRecord")
    try:
        with Path(source).open("rb") as stream:
            return _read(stream, os.fspath(source))
    except OSError as error:
        raise access_failed(source, error) from error


def _read(stream: IO[bytes], where: str) -> ETRecord:
    hint = "et-compile --etrecord writes one"
    try:
        nbytes = stream.seek(0, io.SEEK_END)
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            check_members(archive.infolist(), nbytes)
            if IDENTIFIER not in names:
                raise InvalidFile(f"not an ETRecord: it has no member {IDENTIFIER}", where=where, hint=hint)
            return _parse(archive, names)
    except zipfile.BadZipFile as error:
        raise InvalidFile(f"not an ETRecord: {error}", where=where, hint=hint) from error
    except KeyError as error:
        raise InvalidFile(f"the ETRecord is damaged: it lacks {error}", where=where, hint=hint) from error
    except DAMAGE as error:
        raise InvalidFile(f"the ETRecord is damaged: {error}", where=where, hint=hint) from error


def _parse(archive: zipfile.ZipFile, names: list[str]) -> ETRecord:
    record = ETRecord()
    parts = tuple(f"_{part}" for part in _PARTS)
    for name in names:
        if name == IDENTIFIER or name.endswith(parts) or name in RESERVED:
            continue
        program = _read_program(archive, name)
        if name == EXPORTED:
            record.exported_program = program
        elif name == EDGE:  # of before several methods
            record.edge_dialect_program["forward"] = program
        elif name.startswith(f"{EDGE}/"):
            record.edge_dialect_program[name.removeprefix(f"{EDGE}/")] = program
        else:
            record.graph_map[name] = program
    present = set(names)
    documents = {
        name: json.loads(archive.read(name)) if name in present else None
        for name in (_HANDLES, _DELEGATES, _OUTS, _GRAPH)
    }
    handles = _mapping(documents[_HANDLES], _HANDLES)
    if handles is not None:
        record.operators = _mapping(handles.pop(OPERATORS, None), OPERATORS)
    record.debug_handle_map = handles
    record.delegate_map = _mapping(documents[_DELEGATES], _DELEGATES)
    record.instruction_id_to_num_outs_map = _mapping(documents[_OUTS], _OUTS)
    record.export_graph_id = documents[_GRAPH]
    _check_maps(record)
    record.reference_outputs = archive.read(_OUTPUTS) if _OUTPUTS in present else None
    record.representative_inputs = archive.read(_INPUTS) if _INPUTS in present else None
    return record


def _check_maps(record: ETRecord) -> None:
    """Raises TypeError for entries of maps that are not what they stand for."""
    operators = [one for entries in (record.operators or {}).values() for one in entries.values()]
    handles = [one for entries in (record.debug_handle_map or {}).values() for one in entries.values()]
    delegates = [one for entries in (record.delegate_map or {}).values() for one in entries.values()]
    parts: list[Any] = []
    for one in cast("list[Any]", delegates):
        inside: Any = cast("dict[str, Any]", one).get("delegate_map") or {} if isinstance(one, dict) else None
        if not isinstance(inside, dict):
            raise TypeError(f"{_DELEGATES} has an instruction without a map")
        parts += cast("dict[str, Any]", inside).values()
        orders: Any = cast("dict[str, Any]", one).get("orders", {})
        if not isinstance(orders, dict) or not all(map(_is_order, cast("dict[str, Any]", orders).values())):
            raise TypeError(f"{orders!r} are not orders of dimensions")
    if not all(isinstance(one, str) for one in cast("list[Any]", operators)):
        raise TypeError(f"{OPERATORS} has an operator that is not a name")
    for one in (*cast("list[Any]", handles), *parts):
        several = cast("list[Any]", one) if isinstance(one, list) else [one]
        if not all(isinstance(handle, int) for handle in several):
            raise TypeError(f"{one!r} are not debug handles")


def _is_order(order: Any) -> bool:
    if not isinstance(order, list):
        return False
    dims = cast("list[Any]", order)
    return all(type(dim) is int for dim in dims) and sorted(dims) == list(range(len(dims)))


def _mapping(document: Any, name: str) -> dict[str, Any] | None:
    """A map of maps by method; None if it is missing."""
    if document is None:
        return None
    if not isinstance(document, dict):
        raise TypeError(f"{name} is not a JSON object")
    found = cast("dict[str, Any]", document)
    if not all(isinstance(one, dict) for one in found.values()):
        raise TypeError(f"{name} has a method without a map")
    return found


def _read_program(archive: zipfile.ZipFile, name: str) -> RecordedProgram:
    document: Any = json.loads(archive.read(name))
    version = document["schema_version"]["major"]
    if version not in (SCHEMA, 0):
        raise ValueError(f"{name} has version {version} of the schema, {SCHEMA} is known")
    program = RecordedProgram(document, *(archive.read(f"{name}_{part}") for part in _PARTS))
    for _ in program.nodes():
        pass  # its nodes have what they need
    return program
