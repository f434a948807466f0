"""Files that are given in the place of a program: models that are not compiled, and other files of this project."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Final, NamedTuple

from et_schema import bundled_program, etdump, etrecord, flat_tensor, program
from et_schema.archives import DAMAGE
from et_schema.wording import worded

__all__ = ["RECORDED", "FileKind", "kind_of"]

_HEAD: Final = 4096
"""Bytes by which a text is recognised."""


class FileKind(NamedTuple):
    """The kind of a file that is no program."""

    name: str
    """A noun phrase: `Python source`."""
    python: str
    """The use of the file, or the way from it to a program; empty where there is none."""
    command: str | None = None
    """The same at the command line, if it is said otherwise there."""
    is_source: bool = False
    """Whether `et-compile` compiles it."""

    @property
    def hint(self) -> str:
        """The use of the file, at the interface in use."""
        return worded(python=self.python, command=self.python if self.command is None else self.command)


_WEIGHTS: Final = "weights alone are no program: export the module that they belong to"


def _source(name: str) -> FileKind:
    """A kind that `et-compile` compiles."""
    return FileKind(
        name,
        "compile it first, with et-compile or et_ir.to_edge",
        command="compile it first, with et-compile",
        is_source=True,
    )


def _arrays(name: str) -> FileKind:
    """A kind for inputs of methods."""
    return FileKind(
        name,
        "give its arrays as inputs: method.execute([numpy.load(…)])",
        command="give it as --input of et-vm run",
    )


_EXPORTED: Final = _source("an exported program of PyTorch")
_PYTHON: Final = _source("Python source")
_IR: Final = _source("IR in text form")
_SAVED: Final = FileKind("a file of torch.save", _WEIGHTS)
RECORDED: Final = FileKind("a recorded run (ETDump)", "et_vm.devtools reads it")
"""The kind of ETDumps."""
_IDENTIFIERS: Final = {
    program.FILE_IDENTIFIER: FileKind("a compiled program (.pte)", ""),
    bundled_program.FILE_IDENTIFIER: FileKind(
        "a program with test cases (.bpte)", "its program is et_schema.bpte.read_bpte(data).program"
    ),
    flat_tensor.FILE_IDENTIFIER: FileKind(
        "weights of a program (.ptd)",
        "load the program, with this file as its data: load_program(…, data_path=…)",
        command="give the program, and this file as --data",
    ),
    etdump.FILE_IDENTIFIER: RECORDED,
    b"TFL3": FileKind("a model of TensorFlow Lite", "only programs of ExecuTorch run here"),
}
_MAGIC: Final = {
    b"\x7fELF": FileKind("an ELF file of machine code", "compile the model to a .pte instead"),
    b"GGUF": FileKind("weights of llama.cpp (GGUF)", "compile the model from its Hugging Face folder"),
    b"\x80\x02": _SAVED,
    b"\x93NUMPY": _arrays("an array of numpy (.npy)"),
    b"\x89HDF": FileKind("an HDF5 file", "only programs of ExecuTorch run here"),
}


def kind_of(data: memoryview) -> FileKind | None:
    """The kind of a file by its content; None for one that may be a damaged program, or whatever else."""
    head = bytes(data[:_HEAD])
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    # An ETDump may have its length in front.
    found = _IDENTIFIERS.get(head[4:8]) or (
        _IDENTIFIERS[etdump.FILE_IDENTIFIER] if head[8:12] == etdump.FILE_IDENTIFIER else None
    )
    if found is not None:
        return found
    if head.startswith(b"PK\x03\x04"):
        return _archive(data)
    if re.match(rb'.{6}\0\0\{"', head, re.DOTALL):
        return FileKind("weights (.safetensors)", _WEIGHTS)
    return _text(head)


def _archive(data: memoryview) -> FileKind:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except DAMAGE:
        names = []
    if etrecord.IDENTIFIER in names:
        return FileKind("an ETRecord", "et_vm.devtools reads it")
    if any(
        name.rpartition("/")[2] in ("archive_format", "serialized_exported_program.json") for name in names
    ):
        return _EXPORTED
    if any(name.rpartition("/")[2] == "data.pkl" for name in names):
        return _SAVED
    if names and all(name.endswith(".npy") for name in names):
        return _arrays("arrays of numpy (.npz)")
    return FileKind("a ZIP archive", "")


def _text(head: bytes) -> FileKind | None:
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        # The end may be in the middle of a character.
        if error.start < len(head) - 3:
            return None
        text = head[: error.start].decode()
    if re.search(r"[^\s\x20-\uffff]|[\x7f-\x9f]", text) or not text.strip():
        return None
    if re.search(r"^\s*(builtin\.module|func\.func|program\.\w+ )", text, re.MULTILINE):
        return _IR
    if re.search(r'^(from \S+ import |import \w|def \w|class \w|""")', text, re.MULTILINE):
        return _PYTHON
    return FileKind("a text", "")
