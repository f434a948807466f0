"""et-vm: invalid files, inputs, libraries and outputs. See also test/unit/et_vm."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

VERBS = ("run", "info", "validate")
"""Those of one file and a library of kernels."""


def npy(array: np.ndarray, **options: bool) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npz(*arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, *arrays)
    return stream.getvalue()


GOOD = np.ones(4, np.float32)


@pytest.fixture(autouse=True)
def program(command: Command) -> bytes:
    """relu.pte, which takes four floats."""
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    return Path("relu.pte").read_bytes()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("file", "code", "message"),
    [
        ("missing.pte", 2, "No such file or directory"),
        (".", 2, "Is a directory"),
        ("relu.pte/x", 2, "Not a directory"),
        ("", 2, "No such file or directory"),
        ("/dev/null", 3, "a file of 0 bytes is too short"),
        ("empty.pte", 3, "a file of 0 bytes is too short"),
        ("short.pte", 3, "byte 0x"),
        (
            "subjects.py",
            3,
            "Python source, not a compiled program (.pte); compile it first: "
            "et-compile subjects.py:FACTORY -o subjects.pte",
        ),
        ("subjects.py:relu", 2, "compile it first: et-compile subjects.py:relu -o relu.pte"),
        ("hf:folder/tiny", 2, "compile it first: et-compile hf:folder/tiny -o tiny.pte"),
        (
            "saved.pt2",
            3,
            "an exported program of PyTorch, not a compiled program (.pte); compile it first: "
            "et-compile saved.pt2 -o saved.pte",
        ),
        ("firmware.pte", 3, "an ELF file of machine code, not a compiled program (.pte); compile the model"),
    ],
)
def test_files(command: Command, program: bytes, verb: str, file: str, code: int, message: str) -> None:
    Path("empty.pte").write_bytes(b"")
    Path("short.pte").write_bytes(program[:-200])
    Path("firmware.pte").write_bytes(b"\x7fELF" + bytes(96))
    with zipfile.ZipFile("saved.pt2", "w") as archive:
        archive.writestr("saved/archive_format", "pt2")
    ran = command("et-vm", verb, file)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"et-vm: error: {file or repr(file)}: ")
    assert message in ran.err
    if verb != "validate":  # which goes on after the first problem
        assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(np.ones(5, np.float32)), "expected shape [4], got [5] at input 0 (x.npy)"),
        (npy(np.float32(1)), "expected shape [4], got [] at input 0 (x.npy)"),
        (npy(np.ones((1, 4), np.float32)), "expected shape [4], got [1, 4]"),
        (npy(np.ones(4)), "expected element type float32, got float64 at input 0 (x.npy)"),
        (npy(np.ones(4, np.complex64)), "expected element type float32, got complex64"),
        (npy(np.array(list("abcd"))), "expected element type float32, got str32"),
        (npy(np.zeros(4, [("field", "f4")])), "expected element type float32, got void32"),
        (npy(np.zeros(4, "V4")), "expected element type float32, got void32"),
        (
            npy(np.array([None] * 4), allow_pickle=True),
            "x.npy: not a valid .npy file of numbers: contains Python objects",
        ),
        (npy(GOOD)[:-3], "x.npy: not a valid .npy file of numbers: "),
        (npy(GOOD)[:20], "x.npy: not a valid .npy file of numbers: "),
        (npy(GOOD).replace(b"(4,), }            ", b"(4000000000000,), }"), "x.npy: not a valid .npy file"),
        (npy(GOOD).replace(b"(4,), }", b"(4,),  "), "x.npy: not a valid .npy file of numbers: "),
        (npy(GOOD).replace(b"'shape': (4,)", b"'shape': [4 ]"), "x.npy: not a valid .npy file of numbers: "),
        (b"", "x.npy: not a valid .npy file of numbers: "),
        (b"nonsense" * 20, "x.npy: not a valid .npy file of numbers: "),
        (npz(), "forward takes 1 input, got 0"),
        (npz(GOOD, GOOD), "forward takes 1 input, got 2: x.npy[arr_0], x.npy[arr_1]"),
        (
            npz(np.zeros((1 << 20, 8), np.float32)),
            "x.npy: 33,554,560 bytes of arrays, more than the inputs have",
        ),
        (npz(GOOD)[:-40], "x.npy: not a valid .npz file: "),
        (npz(GOOD)[:60] + bytes(8) + npz(GOOD)[68:], "x.npy: not a valid .npz file: "),
        (npz(GOOD)[:-3] + b"\xff" + npz(GOOD)[-2:], "x.npy: not a valid .npz file: "),
        (None, "x.npy: No such file or directory"),
    ],
)
def test_inputs(command: Command, data: bytes | None, message: str) -> None:
    Path("output_0.npy").write_bytes(b"before")
    if data is not None:
        Path("x.npy").write_bytes(data)
    ran = command("et-vm", "run", "relu.pte", "--input", "x.npy", "--output-dir", ".")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("et-vm: error: ")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert Path("output_0.npy").read_bytes() == b"before"


def test_expected_outputs_out_of_proportion(command: Command) -> None:
    np.savez_compressed("y.npz", np.zeros(1 << 23, np.float32))
    ran = command("et-vm", "bundle", "relu.pte", "--expected", "y.npz", "-o", "relu.bpte")
    assert (ran.code, ran.out) == (2, "")
    assert "y.npz: not a valid .npz file: members of 33,554,560 bytes in a file of" in ran.err


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["."], "'.' not recognized: expected x.npy"),
        (["folder.npy"], "folder.npy: Is a directory"),
        (["x.npy", "x.npy"], "forward takes 1 input, got 2: x.npy, x.npy"),
        (["ones", "random"], "forward takes 1 input, got 2: ones, random"),
        (["random:-1"], "the seed in 'random:-1' is not a number"),
        ([""], "'' not recognized: expected x.npy"),
    ],
)
def test_sources(command: Command, inputs: list[str], message: str) -> None:
    Path("x.npy").write_bytes(npy(GOOD))
    Path("folder.npy").mkdir()
    ran = command("et-vm", "run", "relu.pte", *(word for each in inputs for word in ("--input", each)))
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.mark.parametrize("verb", VERBS)
def test_kernel_libraries(command: Command, verb: str) -> None:
    ran = command("et-vm", verb, "relu.pte", "--kernels", "fast")
    assert ran.code == 2
    assert "argument --kernels: invalid choice: 'fast'" in ran.err
    assert f"(see et-vm {verb} --help)" in ran.err


def test_methods(command: Command) -> None:
    ran = command("et-vm", "run", "relu.pte", "--method", "backward")
    assert (ran.code, ran.err) == (2, "et-vm: error: no method 'backward'; the methods are forward\n")


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("file", "is a file, not a folder"),
        ("file/inside", "is a file, not a folder"),
        ("", "empty name for the output folder"),
        ("/dev/null/x", "is a file, not a folder"),
    ],
)
def test_output_folders_are_checked_before_the_work(command: Command, folder: str, message: str) -> None:
    """As they are the first thing that is wrong, they are what is complained of."""
    Path("file").write_text("before")
    ran = command("et-vm", "run", "missing.pte", "--output-dir", folder)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert Path("file").read_text() == "before"


def test_folders_without_permission(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """For root every folder is writable: what the system says is replaced."""
    allowed: Callable[..., bool] = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).endswith("locked") and allowed(path, mode)
    )
    Path("locked").mkdir()
    for line in (
        ("et-vm", "run", "relu.pte", "--output-dir", "locked/new"),
        ("et-opt", "relu.mlir", "-o", "locked/x.mlir"),
        ("et-compile", "relu.mlir", "-o", "locked/x.pte"),
        ("et-translate", "--pte-to-mlir", "relu.pte", "-o", "locked/x.mlir"),
    ):
        ran = command(*line)
        assert ran.code == 2
        assert "locked is not writable" in ran.err
        assert ran.err.count("\n") == 1
    assert not list(Path("locked").iterdir())


def test_all_outputs_are_written_or_none(command: Command) -> None:
    Path("two.mlir").write_text(
        "func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  %0 = aten.relu %x : tensor<4xf32>\n  %1 = aten.neg %x : tensor<4xf32>\n"
        "  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>\n}\n"
    )
    assert command("et-compile", "two.mlir", "-o", "two.pte", "-q").code == 0
    Path("out/output_1.npy").mkdir(parents=True)
    Path("out/output_0.npy").write_bytes(b"before")
    ran = command("et-vm", "run", "two.pte", "--input", "ones", "--output-dir", "out")
    assert ran.code == 2
    assert "out/output_1.npy: is a folder" in ran.err
    assert Path("out/output_0.npy").read_bytes() == b"before"
    Path("out/output_1.npy").rmdir()
    assert command("et-vm", "run", "two.pte", "--input", "ones", "--output-dir", "out").code == 0
    assert [np.load(f"out/output_{n}.npy").tolist() for n in range(2)] == [[1] * 4, [-1] * 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ("run", "gone.pte"),
            "gone.pte: AccessFailed (0x22): cannot read the file: No such file or directory\n",
        ),
        (("run", ""), "'': AccessFailed (0x22): cannot read the file: No such file or directory\n"),
        (("run", "relu.pte", "--data", "empty"), "empty: InvalidExternalData (0x24): a file of 0 bytes"),
        (("debug", "relu.pte", "--debug-map", "empty"), "empty: InvalidProgram (0x23): not a debug map: "),
        (
            ("debug", "relu.pte", "--debug-map", "gone"),
            "gone: AccessFailed (0x22): cannot read the file: No such",
        ),
        (
            ("profile", "relu.pte", "--no-peak", "--debug-map", "empty"),
            "empty: InvalidProgram (0x23): not a debug ",
        ),
        (
            ("compare", "relu.pte", "relu.pte", "--debug-map", "empty"),
            "empty: InvalidProgram (0x23): not a debug map",
        ),
        (
            ("report", "relu.pte", "-o", "x.html", "--profile", "gone"),
            "gone: AccessFailed (0x22): cannot read the file: No such",
        ),
        (
            ("profile", "run.etdp", "--etdump", "--etrecord", "empty"),
            "empty: InvalidProgram (0x23): not an ETRecord",
        ),
        (
            ("profile", "run.etdp", "--etdump", "--debug-buffer", "gone"),
            "gone: AccessFailed (0x22): cannot read the file: No such file or directory\n",
        ),
        (("generate", "", "--prompt", "x"), "no file: its name is empty"),
        (
            ("info", "relu.mlir"),
            "relu.mlir: InvalidProgram (0x23): IR in text form, not a compiled program (.pte); compile it first: "
            "et-compile relu.mlir -o relu.pte, or run the text itself: et-vm run relu.mlir\n",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors_name_the_file_that_they_are_about(
    command: Command, line: tuple[str, ...], message: str
) -> None:
    """Once, and first: not the program, if the file is another one."""
    Path("empty").touch()
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    assert command("et-vm", "profile", "relu.pte", "--no-peak", "--write-etdump", "run.etdp").code == 0
    ran = command("et-vm", *line)
    assert ran.code in (2, 3)
    assert ran.err.startswith(f"et-vm: error: {message}")


@pytest.mark.parametrize("name", ["profile", "portable", "forward"])
def test_errors_in_a_method_are_about_its_program(command: Command, name: str) -> None:
    """The command line has the method's name, too: of a subcommand, a library, or as it is."""
    text = Path("relu.mlir").read_text().replace("@forward", f"@{name}")
    Path("relu.mlir").write_text(text)
    assert command("et-compile", "relu.mlir", "-o", "relu.pte", "-q").code == 0
    Path("relu.pte").write_bytes(Path("relu.pte").read_bytes().replace(b"aten::relu", b"aten::rexu"))
    ran = command("et-vm", "profile", "relu.pte", "--no-peak", "--method", name)
    assert ran.err.startswith("et-vm: error: relu.pte: OperatorMissing ")
    assert f" at {name}" in ran.err
