"""et-vm build: the sources and the library of a runtime."""

import pytest
from support.vm_commands import add, run

from et_schema.scalar_type import ScalarType
from et_tools.exit_codes import ExitCode
from et_tools.vm_options import BUILD_TARGETS
from et_vm.micro.compilers import TARGETS


def test_build(capsys, file, tmp_path):
    first, second = file(add(2, 3), "a.pte"), file(add(4), "b.pte")
    folder = tmp_path / "build"
    assert run(capsys, "build", "--target", "host", "--ops", first, second, "-o", str(folder)) == ""
    assert (folder / "libet_micro.a").read_bytes().startswith(b"!<arch>\n")
    assert "aten::add.out" in (folder / "et_selected.c").read_text()
    listed = (folder / "selected_operators.yaml").read_text()
    assert listed == run(capsys, "ops", first, second)
    # The list chooses the same kernels.
    again = tmp_path / "again"
    run(
        capsys,
        "build",
        "--target",
        "host",
        "--ops",
        str(folder / "selected_operators.yaml"),
        "-o",
        str(again),
    )
    assert (again / "et_selected.c").read_text() == (folder / "et_selected.c").read_text()


def test_targets():
    """The command's list of targets, which it has without loading what compiles."""
    assert tuple(TARGETS) == BUILD_TARGETS


def test_failing_compiler(capsys, file, tmp_path):
    arguments = ["build", "--target", "host", "--ops", file(add(2)), "-o", str(tmp_path / "build")]
    message = run(capsys, *arguments, "--cc", "false", code=ExitCode.TRAP)
    assert "the compiler failed: false" in message
    assert not (tmp_path / "build" / "libet_micro.a").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["--target", "z80", "--ops", "{good}"],
            ExitCode.USAGE,
            "unknown processor 'z80', expected one of cortex-m0plus, ",
        ),
        (["--target", "host", "--ops", "{bad}"], ExitCode.INVALID_INPUT, "bad.pte: "),
        (["--target", "host", "--ops", "no.yaml"], ExitCode.USAGE, "no.yaml: cannot be read"),
        (["--target", "host", "--ops", "{text}"], ExitCode.USAGE, "cannot parse line"),
        (
            ["--target", "host", "--ops", "{good}", "--cc", "no-such-cc"],
            ExitCode.USAGE,
            "compiler not found: 'no-such-cc'",
        ),
        (
            ["--target", "host", "--ops", "{long}"],
            ExitCode.MISSING_OPERATOR,
            "no kernel for aten::add.out [int64 int64 int64 int64]",
        ),
    ],
)
def test_errors(capsys, file, tmp_path, arguments, code, message):
    names = {
        "good": file(add(2)),
        "bad": file(b"x" * 100, "bad.pte"),
        "long": file(add(2, dtype=ScalarType.LONG), "long.pte"),
        "text": file(b"hello\n", "text.yaml"),
    }
    words = [word.format(**names) for word in arguments]
    assert message in run(capsys, "build", *words, "-o", str(tmp_path / "build"), code=code)
    assert not (tmp_path / "build" / "libet_micro.a").exists()


@pytest.mark.parametrize("compiler", ["'", "", "nobody-has-this", "cc '"])
def test_compilers_that_do_not_exist(capsys, file, tmp_path, compiler):
    arguments = ["build", "--target", "host", "--ops", file(add(2)), "-o", str(tmp_path / "build")]
    message = run(capsys, *arguments, "--cc", compiler, code=ExitCode.USAGE)
    assert f"compiler not found: {compiler!r}" in message
