"""`et-bisect`."""

from __future__ import annotations

import json
from pathlib import Path

from support.command_line import WRONG, Command

from et_tools.bisection import first_true

LINE = ("et-bisect", "subjects.py:net", "--load", "wrong.py", "--pass", "edge:drop", "--input", "random:1")


def test_pass_and_rewrite(command: Command) -> None:
    Path("wrong.py").write_text(WRONG)
    ran = command(*LINE)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("pass 'drop', the ")
    assert lines[1].startswith("rewrite 1 of 1: the pattern Drop of the pass 'drop' on 'edge.relu' at ")
    assert lines[1].endswith("subjects.py:12 in forward")
    assert "passes, " in ran.err
    assert "pass 4: good" in ran.err
    assert not list(Path().glob("*.mlir")) or [path.name for path in Path().glob("*.mlir")] == ["relu.mlir"]


def test_json_and_criteria(command: Command) -> None:
    Path("wrong.py").write_text(WRONG)
    found = json.loads(command(*LINE, "-q", "--json", "--bad", "sqnr<60, max>1e3").out)["found"]
    assert (found["pass"], found["rewrite"], found["rewrites"]) == ("drop", 1, 1)
    ran = command(*LINE, "-q", "--bad", "max>1e3", "--json")
    assert (ran.code, json.loads(ran.out)) == (1, {"found": None})
    assert "no pass makes the results wrong" in ran.err


def test_wrong_usage(command: Command) -> None:
    Path("wrong.py").write_text(WRONG)
    for bad in ("max", "most>1", "max>x", "max=1"):
        ran = command(*LINE, "--bad", bad)
        assert (ran.code, "expected MEASURE>NUMBER" in ran.err) == (2, True)
    ran = command("et-bisect", "subjects.py:net", "--input", "some")
    assert (ran.code, "expected inputs, random[:SEED]" in ran.err) == (2, True)


def test_first_true() -> None:
    for last in range(1, 9):
        for wanted in range(1, last + 1):
            assert first_true(lambda at, wanted=wanted: at >= wanted, last) == wanted
