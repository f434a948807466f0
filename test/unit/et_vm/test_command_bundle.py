"""`et-vm bundle`: test cases of files, of runs and of others, and what does not fit. That stock's runtime verifies
what it writes is test/conformance/test_bundled.py's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.vm_commands import add, run

from et_schema.scalar_type import ScalarType
from et_tools.exit_codes import ExitCode
from et_vm.devtools.bundled import BundledProgram

ONE = np.ones(2, np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "add.pte").write_bytes(add(2).file())
    np.save("one.npy", ONE)
    np.save("two.npy", 2 * ONE)
    np.savez("ones.npz", x=ONE, y=ONE)
    return tmp_path


def cases(file: str) -> list[tuple[list[Any], list[Any]]]:
    bundled = BundledProgram.load(file)
    return [
        (
            [np.asarray(v).tolist() for v in bundled.inputs(name, at)],
            [np.asarray(v).tolist() for v in bundled.expected(name, at)],
        )
        for name, at in bundled.cases()
    ]


def test_expected_outputs_from_files(folder: Path, capsys: Any) -> None:
    given = ("--input", "ones.npz", "--expected", "two.npy")
    assert run(capsys, "bundle", "add.pte", *given, "-o", "add.bpte") == ""
    assert cases("add.bpte") == [([[1, 1], [1, 1]], [[2, 2]])]
    assert run(capsys, "verify", "add.bpte") == "1 of 1 test case passed\n"
    assert BundledProgram.load("add.bpte").program.file == (folder / "add.pte").read_bytes()


def test_wrong_expected_outputs_fail_when_they_are_verified(folder: Path, capsys: Any) -> None:
    run(capsys, "bundle", "add.pte", "--input", "ones", "--expected", "one.npy", "-o", "add.bpte")
    message = run(capsys, "verify", "add.bpte", code=ExitCode.CHECK_FAILED)
    assert "2.0, expected 1.0 at [0]" in message


def test_outputs_of_a_run(folder: Path, capsys: Any) -> None:
    run(capsys, "bundle", "add.pte", "--input", "one.npy", "--input", "two.npy", "-o", "add.bpte")
    assert cases("add.bpte") == [([[1, 1], [2, 2]], [[3, 3]])]


def test_further_cases(folder: Path, capsys: Any) -> None:
    run(capsys, "bundle", "add.pte", "--input", "ones", "-o", "add.bpte")
    run(capsys, "bundle", "add.bpte", "--input", "two.npy", "--input", "one.npy", "-o", "add.bpte")
    assert cases("add.bpte") == [([[1, 1], [1, 1]], [[2, 2]]), ([[2, 2], [1, 1]], [[3, 3]])]
    assert run(capsys, "verify", "add.bpte") == "2 of 2 test cases passed\n"


def test_standard_streams(folder: Path, capsysbinary: Any) -> None:
    from et_tools.et_vm import main

    assert main(["bundle", "add.pte", "--input", "ones", "-o", "-"]) == 0
    assert list(BundledProgram(capsysbinary.readouterr().out).cases()) == [("forward", 0)]


def test_types_that_numpy_lacks(folder: Path, capsys: Any) -> None:
    """`et-vm run --output-dir` writes them as float32, which holds them exactly."""
    (folder / "half.pte").write_bytes(add(2, dtype=ScalarType.BFLOAT16).file())
    run(capsys, "run", "half.pte", "--input", "ones", "--output-dir", ".")
    run(capsys, "bundle", "half.pte", "--input", "ones", "--expected", "output_0.npy", "-o", "half.bpte")
    (value,) = BundledProgram.load("half.bpte").expected("forward", 0)
    assert value.dtype == ml_dtypes.bfloat16
    assert run(capsys, "verify", "half.bpte") == "1 of 1 test case passed\n"


def test_dynamic_sizes(folder: Path, capsys: Any) -> None:
    (folder / "upto.pte").write_bytes(add(4, dynamic=True).file())
    run(capsys, "bundle", "upto.pte", "--input", "ones.npz", "--expected", "two.npy", "-o", "upto.bpte")
    assert run(capsys, "verify", "upto.bpte") == "1 of 1 test case passed\n"
    np.save("five.npy", np.ones(5, np.float32))
    given = ("--input", "ones.npz", "--expected", "five.npy", "-o", "upto.bpte")
    message = run(capsys, "bundle", "upto.pte", *given, code=ExitCode.USAGE)
    assert "output 0 (five.npy) is float32 [5], the method has float32 at most [4]" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--input", "one.npy"), "forward takes 2 inputs, got 1: one.npy"),
        (("--input", "wide.npz"), "input 0 (wide.npz[x]) is float32 [3], the method has float32 [2]"),
        (("--input", "long.npz"), "input 0 (long.npz[x]) is int64 [2], the method has float32 [2]"),
        (("--input", "nope.npy"), "nope.npy: No such file"),
        (("--expected", "ones.npz"), "forward has 1 output, got 2"),
        (("--expected", "wide.npy"), "output 0 (wide.npy) is float32 [3], the method has float32 [2]"),
        (("--expected", "random"), "--expected random: expected x.npy or x.npz"),
        (("--method", "backward"), "no method 'backward'; the methods are forward"),
        (("-o", "nope/add.bpte"), "the folder"),
    ],
)
def test_what_does_not_fit(folder: Path, capsys: Any, arguments: tuple[str, ...], message: str) -> None:
    np.save("wide.npy", np.ones(3, np.float32))
    np.savez("wide.npz", x=np.ones(3, np.float32), y=ONE)
    np.savez("long.npz", x=np.ones(2, np.int64), y=ONE)
    found = run(capsys, "bundle", "add.pte", "-o", "add.bpte", *arguments, code=ExitCode.USAGE)
    assert message in found
    assert not (folder / "add.bpte").exists()


def test_a_bundle_stays_as_it_is_when_adding_to_it_fails(folder: Path, capsys: Any) -> None:
    run(capsys, "bundle", "add.pte", "--input", "ones", "-o", "add.bpte")
    before = (folder / "add.bpte").read_bytes()
    run(capsys, "bundle", "add.bpte", "--input", "one.npy", "-o", "add.bpte", code=ExitCode.USAGE)
    assert (folder / "add.bpte").read_bytes() == before


def test_no_output_file(folder: Path, capsys: Any) -> None:
    assert "-o/--output" in run(capsys, "bundle", "add.pte", code=ExitCode.USAGE)
