"""Constants in data files: written, read back, and given to a module that lacks them."""

from __future__ import annotations

import io

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from et_ir.dialects.edge import Edge
from et_ir.dialects.executorch import Executorch
from et_ir.dialects.program import Program
from et_ir.emit import attach_data_file, data_files, disassemble, write, write_data_file
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
    assert {key: len(data) for key, data in files["constants.ptd"].named_data().items()} == {"v": 16}
    one = files["one.ptd"]
    assert list(one.named_data()) == ["same", "w"]
    # Equal bytes are there once.
    assert len(one.segments) == 1
    layout = one.tensors.named_data[1].tensor_layout
    assert layout is not None
    assert (layout.scalar_type, layout.sizes, layout.dim_order) == (ScalarType.FLOAT, [2, 2], b"\x01\x00")


def test_the_program_does_not_have_them() -> None:
    stream = io.BytesIO()
    write(parse(MODULE), stream)
    assert read_pte(stream.getvalue()).segments == []


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


def test_too_few_bytes() -> None:
    module = parse(MODULE.replace("= #program.data<i64, [5, 6]>", ""))
    file = read_ptd(files_of(parse(MODULE))["constants.ptd"])
    short = PtdFile(file.tensors, [file.segments[0][:8]])
    with pytest.raises(InvalidFile, match="8 bytes of 'v', which needs 16") as caught:
        attach_data_file(module, "constants.ptd", short)
    assert caught.value.code == Error.InvalidExternalData


def test_unknown_file() -> None:
    with pytest.raises(KeyError):
        write_data_file(parse(MODULE), "two.ptd", io.BytesIO())
