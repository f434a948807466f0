"""Files in the place of programs are named by their content; damaged programs are not."""

from __future__ import annotations

import io
import zipfile

import pytest

from et_schema.errors import Error, InvalidFile
from et_schema.file_kinds import kind_of
from et_schema.program import Program
from et_schema.ptd import read_ptd
from et_schema.pte import NoProgram, read_pte, serialize_pte


def archive(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as written:
        for name in names:
            written.writestr(name, "")
    return stream.getvalue()


KINDS = [
    (b"import torch\n", "Python source"),
    ('"""Ein Modell für Töne."""\n'.encode(), "Python source"),
    (b"builtin.module {\n}\n", "IR in text form"),
    (b"// RUN: x\nfunc.func @f() {\n", "IR in text form"),
    (b"hello\n" * 20, "a text"),
    (("é" * 4000).encode(), "a text"),
    (archive("m/archive_format"), "an exported program of PyTorch"),
    (archive("serialized_exported_program.json"), "an exported program of PyTorch"),
    (archive("w/data.pkl"), "a file of torch.save"),
    (archive("ETRECORD_V0"), "an ETRecord"),
    (archive("x"), "a ZIP archive"),
    (b"PK\x03\x04" + bytes(60), "a ZIP archive"),
    (b"\x7fELF" + bytes(60), "an ELF file of machine code"),
    (bytes(4) + b"FT01" + bytes(60), "weights of a program (.ptd)"),
    (bytes(4) + b"BP08" + bytes(60), "a program with test cases (.bpte)"),
    (bytes(8) + b"ED00" + bytes(60), "a recorded run (ETDump)"),
    (b"\x93NUMPY\x01\x00" + bytes(60), "an array of numpy (.npy)"),
    (archive("x.npy", "y.npy"), "arrays of numpy (.npz)"),
    ((80).to_bytes(8, "little") + b'{"w":{' + bytes(80), "weights (.safetensors)"),
]


@pytest.mark.parametrize(("data", "name"), KINDS, ids=[name for _, name in KINDS])
def test_kinds(data: bytes, name: str) -> None:
    kind = kind_of(memoryview(data))
    assert kind is not None
    assert kind.name == name
    with pytest.raises(NoProgram, match="not a compiled program") as caught:
        read_pte(data)
    assert caught.value.hint == (kind.hint or None)


@pytest.mark.parametrize("at", range(4, 8))
def test_programs_with_a_damaged_identifier(at: int) -> None:
    data = bytearray(serialize_pte(Program(), []))
    data[at] ^= 1
    assert kind_of(memoryview(data)) is None


@pytest.mark.parametrize("data", [b"", b"\n", b"\xff" * 80, bytes(80), b"\xc3"])
def test_others(data: bytes) -> None:
    assert kind_of(memoryview(data)) is None


def test_a_program_in_the_place_of_its_data() -> None:
    with pytest.raises(
        InvalidFile, match=r"a compiled program \(\.pte\), not a data file \(\.ptd\)"
    ) as caught:
        read_ptd(bytes(4) + b"ET12" + bytes(60))
    assert caught.value.code == Error.InvalidExternalData
