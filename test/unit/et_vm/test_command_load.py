"""The option --load of et-vm's verbs: kernels of a user's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.vm_commands import run
from support.vm_programs import Build

from et_tools.exit_codes import ExitCode

SCALE = """
import numpy as np
from et_vm import kernel

print("imported")

@kernel("mylib::scale.out")
def scale_out(x: np.ndarray, by: float, *, out: np.ndarray) -> None:
    np.multiply(x, by, out=out)
"""


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = set(sys.modules)

    def write(text: str = SCALE, name: str = "own_kernels.py") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    yield write
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def program(file: Any) -> str:
    build = Build()
    x, out = build.tensor(4), build.tensor(4)
    build.call("mylib::scale.out", x, build.scalar(2.0), out, out)
    build.inputs(x)
    build.outputs(out)
    return file(build)


def captured(capsys: Any, *arguments: str) -> str:
    """The output of a command that succeeds; the kernels' file prints to stderr."""
    from et_tools.et_vm import main

    assert main(list(arguments)) == ExitCode.OK
    both = capsys.readouterr()
    assert both.err in ("", "imported\n")
    return both.out


def test_run(capsys, program, kernels):
    report = json.loads(captured(capsys, "run", program, "--load", kernels(), "--input", "ones", "--json"))
    assert report["outputs"][0]["values"] == [2, 2, 2, 2]


def test_run_without(capsys, program):
    text = run(capsys, "run", program, code=ExitCode.MISSING_OPERATOR)
    assert "no kernel for mylib::scale.out" in text
    assert "et-vm run --load FILE" in text


def test_info(capsys, program, kernels):
    assert "mylib::scale.out  no portable kernel" in captured(capsys, "info", program)
    assert "no portable kernel" not in captured(capsys, "info", program, "--load", kernels())


def test_validate(capsys, program, kernels):
    assert run(capsys, "validate", program, "--no-kernels") == ""
    run(capsys, "validate", program, code=ExitCode.MISSING_OPERATOR)
    assert captured(capsys, "validate", program, "--load", kernels()) == ""


def test_several_files(capsys, program, kernels):
    other = kernels(
        'from et_vm import kernel\n@kernel("a::b.out")\ndef f(x, *, out): pass\n', "other_kernels.py"
    )
    assert "forward" in captured(capsys, "run", program, "--load", other, "--load", kernels())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "defines neither a kernel nor a backend: decorate functions"),
        ("1 / 0", "own_kernels.py:1: importing it failed: ZeroDivisionError: division by zero"),
        ("from et_vm import kernel\n@kernel('scale')\ndef f(): pass", "'scale' is not an op"),
        (
            SCALE.replace("mylib::scale.out", "aten::add.out"),
            "aten::add.out: a kernel is registered already; @kernel",
        ),
    ],
)
def test_files_that_cannot_be_used(capsys, program, kernels, text, message):
    from et_tools.et_vm import main

    assert main(["run", program, "--load", kernels(text)]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_no_such_file(capsys, program):
    assert "--load none.py: no such file" in run(
        capsys, "run", program, "--load", "none.py", code=ExitCode.USAGE
    )


def test_a_kernel_of_another_signature(capsys, program, kernels):
    path = kernels(SCALE.replace("by: float, ", ""))
    from et_tools.et_vm import main

    assert main(["run", program, "--load", path]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert "takes 2 arguments (x, out), the call has 3" in error
    assert "scale_out (own_kernels.py:7)" in error
