"""Data files: tensors by name for programs that lack them."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from support.vm_commands import run
from support.vm_programs import Build

from et_schema import digests
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.flat_tensor import FlatTensor, NamedData, TensorLayout
from et_schema.program import NamedData as ProgramData
from et_schema.ptd import serialize_ptd
from et_schema.pte import read_pte, serialize_pte
from et_schema.scalar_type import ScalarType
from et_tools.exit_codes import ExitCode
from et_vm.load.data_files import DataFiles
from et_vm.program import Program

ROW = np.arange(2, dtype=np.float32)
LAYOUT = TensorLayout(ScalarType.FLOAT, [2], b"\x00")


def ptd(layout: TensorLayout | None = LAYOUT, **tensors: bytes) -> bytes:
    entries = [NamedData(name, at, layout) for at, name in enumerate(tensors)]
    return serialize_ptd(FlatTensor(named_data=entries), [[data] for data in tensors.values()])


def program() -> bytes:
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    build.call("aten::add.out", x, build.external("w", 2), build.scalar(1), out, out)
    build.inputs(x)
    build.outputs(out)
    return build.file()


def test_running_with_a_data_file(tmp_path: Path) -> None:
    (tmp_path / "w.ptd").write_bytes(ptd(w=ROW.tobytes(), other=bytes(8)))
    files = DataFiles.load(tmp_path / "w.ptd")
    assert sorted(files) == ["other", "w"]
    method = Program.load(program()).load_method("forward", external=files)
    assert method.execute([np.ones(2, np.float32)])[0].tolist() == [1, 2]


def test_data_without_a_layout() -> None:
    files = DataFiles()
    files.add(ptd(None, w=ROW.tobytes()))
    assert files.layout("w") is None
    Program.load(program()).load_method("forward", external=files)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (ptd(v=ROW.tobytes()), "the data of tensor 'w' is neither in the file nor in the data"),
        (ptd(None, w=b"four"), "has 4 bytes, the tensor needs 8"),
        (
            ptd(TensorLayout(ScalarType.INT, [2], b"\x00"), w=ROW.tobytes()),
            "is int32 [2], the tensor is float32 [2]",
        ),
        (
            ptd(TensorLayout(ScalarType.FLOAT, [1, 2], b"\x01\x00"), w=ROW.tobytes()),
            "[1, 2] in dim order [1, 0]",
        ),
    ],
)
def test_data_that_does_not_fit(data: bytes, message: str) -> None:
    files = DataFiles()
    files.add(data)
    with pytest.raises(InvalidFile) as caught:
        Program.load(program()).load_method("forward", external=files)
    assert message in caught.value.message
    assert caught.value.code == Error.InvalidExternalData


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def tied_program(content: bytes) -> bytes:
    """`program` with digests as named data."""
    file = read_pte(program())
    table = replace(file.program, named_data=[ProgramData(digests.KEY, len(file.segments))])
    return serialize_pte(table, [*([one] for one in file.segments), [content]])


def tied_data(name: str = "w.ptd", **data: bytes) -> bytes:
    """A data file with the digests of what is in it."""
    content = digests.encode({key: digest_of(one) for key, one in data.items()})
    entries = [NamedData(key, at, LAYOUT) for at, key in enumerate(data)]
    entries.append(NamedData(digests.key_in(name), len(data), None))
    return serialize_ptd(FlatTensor(named_data=entries), [*([one] for one in data.values()), [content]])


class TestDigests:
    PROGRAM = tied_program(digests.encode({"w": digest_of(ROW.tobytes()), "unknown": "0" * 64}))
    OTHER = tied_data(w=ROW[::-1].tobytes())

    def test_of_the_program(self) -> None:
        files = DataFiles()
        files.add(tied_data(w=ROW.tobytes()), "w.ptd")
        assert sorted(files) == ["w"]
        Program.load(self.PROGRAM).load_method("forward", external=files)

    def test_a_data_file_without_them(self) -> None:
        files = DataFiles()
        files.add(ptd(w=bytes(8)))
        Program.load(self.PROGRAM).load_method("forward", external=files)

    def test_a_program_without_them(self) -> None:
        files = DataFiles()
        files.add(self.OTHER)
        Program.load(program()).load_method("forward", external=files)

    def test_of_another_program(self) -> None:
        files = DataFiles()
        files.add(self.OTHER, "w.ptd")
        with pytest.raises(InvalidFile, match="'w' is not what the program was compiled with") as caught:
            Program.load(self.PROGRAM).load_method("forward", external=files)
        assert (caught.value.code, caught.value.where) == (Error.InvalidExternalData, "w.ptd")
        files = DataFiles(any_data=True)
        files.add(self.OTHER)
        Program.load(self.PROGRAM).load_method("forward", external=files)

    def test_two_files(self) -> None:
        files = DataFiles()
        files.add(tied_data("one.ptd", w=ROW.tobytes()))
        files.add(tied_data("two.ptd", v=bytes(8)))
        Program.load(self.PROGRAM).load_method("forward", external=files)

    @pytest.mark.parametrize(
        "content", [b"", b"[]", b'{"w": 1}', b'{"w": "00"}', b"[" * 10_000, b'{"\\ud800": "00"}', b"\xff"]
    )
    def test_malformed(self, content: bytes) -> None:
        with pytest.raises(InvalidFile, match=r"digests: .* at named_data\[0\]"):
            Program.load(tied_program(content))
        entries = [NamedData(digests.key_in("w.ptd"), 0, None)]
        with pytest.raises(InvalidFile, match="digests: ") as caught:
            DataFiles().add(serialize_ptd(FlatTensor(named_data=entries), [[content]]), "w.ptd")
        assert caught.value.code == Error.InvalidExternalData

    def test_command(self, capsys, file, tmp_path) -> None:
        path, data = file(self.PROGRAM), tmp_path / "w.ptd"
        data.write_bytes(self.OTHER)
        error = run(capsys, "run", path, "--data", str(data), code=ExitCode.INVALID_INPUT)
        assert (
            "w.ptd: InvalidExternalData (0x24): the data of 'w' is not what the program was compiled with"
            in error
        )
        assert "--any-data" in error
        assert "output 0" in run(capsys, "run", path, "--data", str(data), "--any-data")

    def test_damage(self, capsys, file, tmp_path) -> None:
        """The bytes are compared with their digests where a file is checked, not where it is run."""
        path, data = file(self.PROGRAM), tmp_path / "w.ptd"
        content = tied_data(w=ROW.tobytes())
        data.write_bytes(content.replace(ROW.tobytes(), bytes(8)))
        assert "output 0" in run(capsys, "run", path, "--data", str(data))
        arguments = ("validate", path, "--kernels", "portable", "--data", str(data))
        assert "'w' has changed since the file was written" in run(
            capsys, *arguments, code=ExitCode.INVALID_INPUT
        )
        data.write_bytes(content)
        assert run(capsys, *arguments) == ""


def test_a_name_in_two_files(tmp_path: Path) -> None:
    for name in ("a.ptd", "b.ptd"):
        (tmp_path / name).write_bytes(ptd(w=ROW.tobytes()))
    with pytest.raises(InvalidFile, match=r"'w' is already in .*a.ptd at .*b.ptd: named_data\[0\]"):
        DataFiles.load(tmp_path / "a.ptd", tmp_path / "b.ptd")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ExecutorchError, match="No such file"):
        DataFiles.load(tmp_path / "none.ptd")
    (tmp_path / "bad.ptd").write_bytes(b"x" * 100)
    with pytest.raises(InvalidFile, match=r"bad\.ptd"):
        DataFiles.load(tmp_path / "bad.ptd")


class TestCommand:
    def test_run_and_validate(self, capsys, file, tmp_path):
        path = file(program())
        data = tmp_path / "w.ptd"
        data.write_bytes(ptd(w=ROW.tobytes()))
        assert "output 0" in run(capsys, "run", path, "--data", str(data))
        assert run(capsys, "validate", path, "--kernels", "portable", "--data", str(data)) == ""
        assert run(capsys, "validate", path) == ""
        error = run(capsys, "validate", path, "--kernels", "portable", code=ExitCode.INVALID_INPUT)
        assert "--data FILE.ptd" in error

    def test_missing(self, capsys, file, tmp_path):
        missing = str(tmp_path / "none.ptd")
        assert "No such file" in run(capsys, "run", file(program()), "--data", missing, code=ExitCode.USAGE)
