"""The data files (`.ptd`) of a program: the constants that are not in its own file, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from et_ir.data import Blob
from et_ir.diagnostics import Diagnostic, PassReport, diagnose
from et_ir.dialects.backend import NamedDataOp
from et_ir.dialects.executorch import PlanOp, SymbolRegisterOp
from et_ir.dialects.executorch.attributes import DATA_FILE, DATA_FILES, DIGESTS
from et_ir.dialects.executorch.layout import dim_order, nbytes, scalar_type
from et_ir.dialects.program import DataAttr, Globals
from et_ir.emit.data import SegmentList
from et_schema import digests
from et_schema.errors import Error, InvalidFile
from et_schema.files import is_bare_name
from et_schema.flat_tensor import FlatTensor, NamedData, TensorLayout
from et_schema.ptd import PtdFile, write_ptd

__all__ = ["attach_data_file", "data_files", "digests_of_data", "set_digests", "write_data_file"]

DEFAULT = "constants.ptd"
"""The data file of constants that do not say which."""


class Entry(NamedTuple):
    """Named entry of a data file."""

    key: str
    blob: Blob
    layout: TensorLayout | None
    """That of a tensor; what backends find by name is bytes."""
    alignment: int


class DataFileError(PassReport):
    """The data files of a program cannot be written."""


def data_files(module: ModuleOp) -> dict[str, list[Entry]]:
    """The contents of each data file of a module: external constants with their bytes, and named data of backends, each
    once. A file that was asked for and has none of these is empty.

    Raises `DataFileError` for two different ones of one name, which a runtime could not tell apart, and for a file that
    is not beside the program.
    """
    symbols = Globals(module).by_name
    empty = module.attributes.get(DATA_FILES)
    files: dict[str, dict[str, Entry]] = {}
    for file in cast("ArrayAttr[Attribute]", empty) if isinstance(empty, ArrayAttr) else ():
        if isinstance(file, StringAttr):
            files[file.data] = {}
    seen: dict[str, Blob] = {}
    findings: list[Diagnostic] = []
    for op in module.body.block.ops:
        file = op.attributes.get(DATA_FILE)
        if isinstance(op, NamedDataOp) and isinstance(file, StringAttr):
            alignment = 1 if op.alignment is None else op.alignment.value.data
            files.setdefault(file.data, {})[op.key] = Entry(op.key, op.value.blob, None, alignment)
            seen[op.key] = op.value.blob
    for plan in module.body.block.ops:
        if not isinstance(plan, PlanOp):
            continue
        for register in plan.registers:
            if not isinstance(register, SymbolRegisterOp) or register.external is None:
                continue
            symbol = symbols.get(register.key)
            if symbol is None or symbol.value is None:
                continue
            blob = symbol.value.blob
            if seen.setdefault(register.key, blob) != blob:
                message = f"a backend has different data named '{register.key}'"
                findings.append(diagnose(register, message, "rename one, or keep one in the program file"))
            name = symbol.attributes.get(DATA_FILE)
            file = name.data if isinstance(name, StringAttr) else DEFAULT
            type = register.type
            layout = TensorLayout(
                scalar_type(type.element_type), list(type.get_shape()), bytes(dim_order(type))
            )
            entries = files.setdefault(file, {})
            if entries.setdefault(register.key, Entry(register.key, blob, layout, 1)).layout is None:
                entries[register.key] = entries[register.key]._replace(layout=layout)
    findings += [
        diagnose(module, f"'{file}' is not a file name without folders")
        for file in files
        if not is_bare_name(file)
    ]
    DataFileError.raise_if("data files cannot be written", findings)
    return {file: list(entries.values()) for file, entries in sorted(files.items())}


def digests_of_data(module: ModuleOp) -> dict[str, str]:
    """The SHA-256 digests of a module's external data by name: of what it has, and those that a file had of the rest.

    Raises as `data_files` does.
    """
    found = _noted_digests(module)
    for entries in data_files(module).values():
        found |= _digests(entries)
    return found


def _noted_digests(module: ModuleOp) -> dict[str, str]:
    noted = module.attributes.get(DIGESTS)
    items = noted.data.items() if isinstance(noted, DictionaryAttr) else ()
    return {name: digest.data for name, digest in items if isinstance(digest, StringAttr)}


def _digests(entries: list[Entry]) -> dict[str, str]:
    return {entry.key: entry.blob.sha256 for entry in entries}


def write_data_file(module: ModuleOp, name: str, stream: IO[bytes], *, segment_alignment: int = 128) -> int:
    """Write one of the data files of a module; returns its size in bytes. The same module gives the same bytes.

    Constants with equal bytes share a segment. Raises `KeyError` if the module has no such data file, `MissingData`
    if the bytes of a constant cannot be read, and what `data_files` raises.
    """
    segments = SegmentList()
    contents = data_files(module)[name]
    entries = [
        NamedData(entry.key, segments.add_blob(entry.blob, entry.alignment), entry.layout)
        for entry in contents
    ]
    if contents:
        key = digests.key_in(name)
        blob = Blob.of(key, digests.encode(_digests(contents)))
        entries.append(NamedData(key, segments.add_blob(blob)))
    # The stock runtime reads names until it finds one: their order is ours to choose.
    entries.sort(key=lambda entry: entry.key)
    return write_ptd(
        FlatTensor(named_data=entries), segments.segments, stream, segment_alignment=segment_alignment
    )


def attach_data_file(module: ModuleOp, name: str, file: PtdFile, *, any_data: bool = False) -> None:
    """Give the external constants of a module the bytes that a data file has of them; they stay external, and are
    written to the data file `name` again.

    Raises `InvalidFile(InvalidExternalData)` for a constant that the file has fewer bytes of, or, unless `any_data`,
    whose digest in the module is another than in the file.
    """
    symbols = Globals(module).by_name
    places = {entry.key: at for at, entry in enumerate(file.tensors.named_data)}
    wanted = _noted_digests(module)
    if not any_data:
        digests.check(wanted, file.digests(), dict.fromkeys(places, name))
    for plan in module.body.block.ops:
        for register in plan.registers if isinstance(plan, PlanOp) else ():
            if not isinstance(register, SymbolRegisterOp) or register.external is None:
                continue
            at, symbol = places.get(register.key), symbols.get(register.key)
            if at is None or symbol is None or symbol.value is not None:
                continue
            data = file.segments[file.tensors.named_data[at].segment_index]
            size = nbytes(register.type)
            if len(data) < size:
                raise InvalidFile(
                    f"{len(data)} bytes of {register.key!r}, which needs {size}",
                    code=Error.InvalidExternalData,
                    where=f"{name}: named_data[{at}]",
                )
            blob = Blob.of(register.key, data[:size])
            symbol.properties["value"] = DataAttr.of(register.type.element_type, blob)
            symbol.attributes[DATA_FILE] = StringAttr(name)
            wanted.pop(register.key, None)
    set_digests(module, wanted)


def set_digests(module: ModuleOp, found: Mapping[str, str]) -> None:
    """Note the digests of external data that a module lacks, by name of the data."""
    if found:
        module.attributes[DIGESTS] = DictionaryAttr({name: StringAttr(one) for name, one in found.items()})
    else:
        module.attributes.pop(DIGESTS, None)
