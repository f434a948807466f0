"""et-vm debug: the session and its errors."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from support.vm_commands import add, run
from support.vm_programs import Build

from et_schema.program import Frame
from et_tools.et_vm import main
from et_tools.exit_codes import ExitCode


def chain() -> Build:
    build = Build()
    x, y, z = (build.tensor(2, 3) for _ in range(3))
    one = build.scalar(1)
    frames = [[Frame("lib/model.py", line, "forward", "    a line ")] for line in (10, 11)]
    build.call("aten::add.out", x, x, one, y, y, frames=frames[0])
    build.call("aten::log.out", y, z, z, frames=frames[1])
    build.inputs(x)
    build.outputs(z)
    return build


def session(capsys: Any, path: str, *commands: str, code: int = ExitCode.OK) -> tuple[str, str]:
    """What a session with these commands prints, behind what it starts with."""
    arguments = [part for command in commands for part in ("--command", command)]
    assert main(["debug", path, "--input", "random:1", *arguments]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out.startswith("step 0")
    return captured.out.split("\n", 3)[3], captured.err


class TestSession:
    def test_places(self, capsys, file):
        shown, _ = session(capsys, file(chain()), "break model.py:11", "continue", "where", "list 0")
        assert shown.splitlines() == [
            "breakpoint 1: model.py:11",
            "breakpoint 1: model.py:11",
            "step 1, lib/model.py:11: a line",
            "       0  aten::add.out(%0, %0, 1) -> %1",
            "->     1  aten::log.out(%1) -> %2",
            "step 1",
            "lib/model.py:11 in forward: a line",
            "       0  aten::add.out(%0, %0, 1) -> %1",
            "->     1  aten::log.out(%1) -> %2",
        ]

    def test_modules(self, capsys, file, tmp_path):
        path = tmp_path / "map.json"
        path.write_text(json.dumps({"forward": [{"instruction": 1, "module": "head.log"}]}))
        arguments = ["--debug-map", str(path), "--command", "break module head", "--command", "continue"]
        text = run(capsys, "debug", file(chain()), *arguments)
        assert "breakpoint 1: module head" in text
        assert "step 1, module head.log, lib/model.py:11: a line" in text

    def test_values(self, capsys, file):
        shown, _ = session(
            capsys,
            file(chain()),
            "poke %0 [[1, 2, -3], [nan, inf, 0]]",
            "step 2",
            "print %2",
            "print %1[0, ::-1]",
        )
        assert "float32 [2, 3]  min 0.69315  mean 1.0397  max 1.3863  2 NaN  2 infinite" in shown
        assert "float32 [3] of [2, 3]  min -6  mean 0  max 4\n[-6.  4.  2.]" in shown

    @pytest.mark.parametrize("shape", [(50,), (3, 200), (2, 3, 40, 40), (1,)])
    def test_plots(self, capsys, file, shape):
        shown, _ = session(capsys, file(add(*shape)), "plot %0")
        lines = shown.splitlines()
        assert max(map(len, lines)) <= 96
        assert sum(int(line.split()[3].replace(",", "")) for line in lines[-12:]) == np.prod(shape)

    def test_standard_input(self, capsys, file, monkeypatch):
        monkeypatch.setattr("sys.stdin", io.StringIO("step\n\nquit\nstep\n"))
        assert main(["debug", file(chain())]) == ExitCode.OK
        assert capsys.readouterr().out.count("step ") == 2

    def test_a_script(self, capsys, file, tmp_path):
        script = tmp_path / "commands"
        script.write_text("step\n# a comment\n\nwhere\n")
        assert run(capsys, "debug", file(chain()), "--script", str(script)).count("step 1") == 2

    def test_help(self, capsys, file):
        shown, _ = session(capsys, file(chain()), "help", "help b")
        assert "reverse: go back to the last breakpoint or watchpoint, or to the start (rc)\n" in shown
        assert "nan and inf stop behind the instruction" in shown


class TestErrors:
    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("foo", "unknown command 'foo'"),
            ("help foo", "unknown command 'foo'"),
            ("print 1.5", "expected a register such as %12"),
            ("print %99", "no register 99"),
            ("print %0[a]", "expected an index"),
            ("print %0[9]", "out of bounds"),
            ("plot %1[0, 0, 0]", "too many indices"),
            ("plot %3", "holds no tensor"),
            ("step x", "expected a number of steps, got 'x'"),
            ("goto", "expected a number of steps"),
            ("break a b", "expected an instruction, an operator"),
            ("delete 3", "no breakpoint 3"),
            ("watch 1 2", "expected ARENA START END"),
            ("watch %77", "no register 77"),
            ("memory 1 0 999", "expected bytes within arena 1, which has"),
            ("memory 5 0 9", "no arena 5"),
            ("poke %0 x", "expected a number or a list of numbers, got 'x'"),
            ("poke %0[0] __import__('os')", "expected a number or a list"),
            ("poke %0[7, 7] 1", "out of bounds"),
            ("poke %0", "expected a register and a value"),
            ("list 88", "no instruction 88"),
            ("outputs", "has not come to its end"),
        ],
    )
    def test_commands(self, capsys, file, command, message):
        shown, error = session(capsys, file(chain()), command, "step", code=ExitCode.CHECK_FAILED)
        assert message in error
        assert error.startswith("error: ")
        assert "step 1" not in shown

    def test_files(self, capsys, file, tmp_path):
        path = file(chain())
        binary, other = tmp_path / "binary", tmp_path / "other.json"
        binary.write_bytes(b"\xff\xfe\x00")
        other.write_text('{"decode": []}')
        run(capsys, "debug", str(tmp_path / "none.pte"), code=ExitCode.USAGE)
        assert "not a text file" in run(capsys, "debug", path, "--script", str(binary), code=ExitCode.USAGE)
        assert "none" in run(capsys, "debug", path, "--script", str(tmp_path / "none"), code=ExitCode.USAGE)
        for map_file, message in (
            (other, "the debug map has no method 'forward'"),
            (binary, "not a debug map"),
            (tmp_path / "none.json", "none.json"),
        ):
            code = ExitCode.USAGE if map_file.name == "none.json" else ExitCode.INVALID_INPUT
            assert message in run(capsys, "debug", path, "--debug-map", str(map_file), code=code)
        assert "give commands with --command" in run(capsys, "debug", "-", code=ExitCode.USAGE)
        assert "got 2" in run(
            capsys, "debug", path, "--input", "ones", "--input", "ones", code=ExitCode.USAGE
        )

    def test_a_trap(self, capsys, file):
        build = chain()
        # Calls of methods with jumps are not checked before they run.
        build.jump_false(build.scalar(True), 3)
        build.call("aten::add.out", 0, build.tensor(3, 3), 3, 1, 1)
        shown, _ = session(capsys, file(build), "c", "where", "back", code=ExitCode.OK)
        assert "trap: InvalidArgument" in shown
        assert "do not broadcast" in shown
        assert shown.count("->     3") == 2
