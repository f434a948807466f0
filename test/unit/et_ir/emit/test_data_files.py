"""Constants in data files: written, read back, and given to a module that lacks them."""

from __future__ import annotations

import io
from hashlib import sha256

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DictionaryAttr, ModuleOp, StringAttr
from xdsl.parser import Parser

from et_ir.dialects.edge import Edge
from et_ir.dialects.executorch import Executorch
from et_ir.dialects.program import Program
from et_ir.emit import attach_data_file, data_files, disassemble, write, write_data_file
from et_schema.digests import digests_of
from et_schema.errors import Error, InvalidFile
from et_schema.ptd import PtdFile, read_ptd
from et_schema.pte import read_pte
from et_schema.scalar_type import ScalarType

MODULE = """
program.parameter @w : tensor<2x2xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]> {executorch.data_file = "one.ptd"}
program.parameter @same : tensor<4xf32> = #program.data<f32, [1.0, 2.0, 3.0, 4.0]> {executorch.data_file = "one.ptd"}
program.parameter @v : tensor<2xi64> = #program.data<i64, [5, 6]>
program.parameter @absent : tensor<2xi64>
executorch.plan @f {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %w = executorch.constant external @w : tensor<2x2xf32, #edge.dim_order<1, 0>>
  %s = executorch.constant external @same : tensor<4xf32>
  %v = executorch.constant external @v : tensor<2xi64>
  %a = executorch.constant external @absent : tensor<2xi64>
  executorch.kernel_call "a::b.out"(%x, %w, %s, %v, %a) outs(%x)
  executorch.return %x
}
executorch.plan @g {arenas = array<i64: 32>} {
  %x = executorch.input {memory_id = 1, offset = 0} : tensor<4xf32>
  %s = executorch.constant external @same : tensor<4xf32>
  executorch.kernel_call "a::b.out"(%x, %s) outs(%x)
  executorch.return %x
}
"""


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Program, Edge, Executorch):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def files_of(module: ModuleOp) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in data_files(module):
        stream = io.BytesIO()
        assert write_data_file(module, name, stream) == len(stream.getvalue())
        files[name] = stream.getvalue()
    return files


def test_what_is_in_which_file() -> None:
    files = {name: read_ptd(data) for name, data in files_of(parse(MODULE)).items()}
    assert list(files) == ["constants.ptd", "one.ptd"]
    found = files["constants.ptd"].named_data()
    assert found.keys() == {"v", "et_ir.digests:constants.ptd"}
    assert len(found["v"]) == 16
    one = files["one.ptd"]
    assert list(one.named_data()) == ["et_ir.digests:one.ptd", "same", "w"]
    # Equal bytes are there once.
    assert len(one.segments) == 2
    layout = one.tensors.named_data[2].tensor_layout
    assert layout is not None
    assert (layout.scalar_type, layout.sizes, layout.dim_order) == (ScalarType.FLOAT, [2, 2], b"\x01\x00")


def test_the_program_does_not_have_them() -> None:
    file = read_pte(program_of(parse(MODULE)))
    assert list(file.named_data()) == ["et_ir.digests"]
    assert len(file.segments) == 1


def test_both_ways() -> None:
    """A module made of the program's file and its data files writes the same files again."""
    module = parse(MODULE)
    stream = io.BytesIO()
    write(module, stream)
    again = disassemble(read_pte(stream.getvalue()))
    assert files_of(again) == {}
    files = files_of(module)
    for name, data in files.items():
        attach_data_file(again, name, read_ptd(data))
    assert files_of(again) == files


def program_of(module: ModuleOp) -> bytes:
    stream = io.BytesIO()
    write(module, stream)
    return stream.getvalue()


def test_digests() -> None:
    """The program and its data files have the digests of what is in the latter; who lacks the data keeps its digest."""
    module = parse(MODULE)
    files = {name: read_ptd(data) for name, data in files_of(module).items()}
    program = program_of(module)
    expected = {
        key: sha256(data).hexdigest() for file in files.values() for key, data in file.named_data().items()
    }
    expected = {key: digest for key, digest in expected.items() if not key.startswith("et_ir.")}
    assert digests_of(read_pte(program)) == expected
    assert files["one.ptd"].digests() | files["constants.ptd"].digests() == expected

    again = disassemble(read_pte(program))
    assert program_of(again) == program
    attach_data_file(again, "one.ptd", files["one.ptd"])
    assert again.attributes["executorch.digests"] == DictionaryAttr({"v": StringAttr(expected["v"])})
    assert program_of(again) == program
    attach_data_file(again, "constants.ptd", files["constants.ptd"])
    assert "executorch.digests" not in again.attributes
    assert program_of(again) == program


def test_the_data_of_another_program() -> None:
    program = program_of(parse(MODULE))
    other = read_ptd(files_of(parse(MODULE.replace("[5, 6]", "[5, 7]")))["constants.ptd"])
    module = disassemble(read_pte(program))
    with pytest.raises(InvalidFile, match="'v' is not what the program was compiled with") as caught:
        attach_data_file(module, "constants.ptd", other)
    assert caught.value.code == Error.InvalidExternalData
    attach_data_file(module, "constants.ptd", other, any_data=True)
    assert digests_of(read_pte(program_of(module)))["v"] == other.digests()["v"]


def test_too_few_bytes() -> None:
    module = parse(MODULE.replace("= #program.data<i64, [5, 6]>", ""))
    file = read_ptd(files_of(parse(MODULE))["constants.ptd"])
    short = PtdFile(file.tensors, [file.segments[0][:8], *file.segments[1:]])
    with pytest.raises(InvalidFile, match="8 bytes of 'v', which needs 16") as caught:
        attach_data_file(module, "constants.ptd", short)
    assert caught.value.code == Error.InvalidExternalData


def test_unknown_file() -> None:
    with pytest.raises(KeyError):
        write_data_file(parse(MODULE), "two.ptd", io.BytesIO())
