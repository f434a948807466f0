"""`et-plan`: layouts, exit codes, and messages for invalid instances."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from et_ir.planning.instances import read_instance
from et_tools.et_plan import main

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLE = Path(__file__).parents[2] / "fixtures/minimalloc/input.12.csv"
# Each time has a peak of 6 bytes; together they need 8.
PUZZLE = "id,lower,upper,size\na,0,2,2\nb,1,3,2\nc,1,2,2\nd,0,1,4\ne,2,3,4\n"


def test_a_layout(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([str(EXAMPLE), "--capacity", "12"]) == 0
    text, messages = capsys.readouterr()
    assert text.splitlines()[:2] == ["id,lower,upper,size,offset", "b1,0,3,4,0"]
    assert messages == "et-plan: 12 bytes for 5 buffers; no arena is smaller\n"
    output = tmp_path / "layout.csv"
    assert main([str(EXAMPLE), "-o", str(output)]) == 0
    assert output.read_text() == text
    assert read_instance(text) == read_instance(EXAMPLE.read_text())


def test_drawing_and_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    drawing = tmp_path / "plan.svg"
    assert main([str(EXAMPLE), "--capacity", "1K", "--svg", str(drawing), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["nbytes"], facts["bound"], facts["in_use"], facts["optimal"]) == (12, 12, 12, True)
    assert max(facts["usage"]) == 12
    assert [tensor["name"] for tensor in facts["tensors"]] == ["b1", "b2", "b3", "b4", "b5"]
    titles = [title.text or "" for title in ElementTree.parse(drawing).iter(f"{SVG}title")]
    assert [title.splitlines()[0] for title in titles] == ["b1", "b2", "b3", "b4", "b5"]


def test_options_that_make_no_sense(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for options in (["--capacity", "12Q"], ["--svg", "-"], ["--svg", str(EXAMPLE)]):
        assert main([str(EXAMPLE), *options]) == 2
        assert capsys.readouterr().err.startswith("et-plan: error: ")


def test_no_room(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(EXAMPLE), "--capacity", "11"]) == 6
    text, messages = capsys.readouterr()
    assert text == ""
    assert "no layout fits in 11 bytes" in messages
    assert "3 buffers of 12 bytes cannot be placed together (minimal set)" in messages
    assert "  b5: 4 bytes from 0 to before 21\n" in messages
    assert messages.endswith("the smallest sufficient capacity is 12 bytes\n")


def test_no_room_though_the_peak_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "puzzle.csv"
    path.write_text(PUZZLE)
    code = main([str(path), "--capacity", "6"])
    messages = capsys.readouterr().err
    smallest = main([str(path), "-o", str(tmp_path / "layout.csv")])
    assert smallest == 0
    size = int(capsys.readouterr().err.split()[1])
    assert code == (0 if size == 6 else 6)
    assert size == 6 or f"the smallest sufficient capacity is {size} bytes" in messages


def test_alignment_and_gaps_stay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "instance.csv"
    path.write_text("id,lower,upper,size,alignment,gaps\nx,0,10,8,8,3-5 7-8\ny,3,5,8,4,\n")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == (
        "id,lower,upper,size,alignment,gaps,offset\nx,0,10,8,8,3-5 7-8,0\ny,3,5,8,4,,0\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1: no column id, lower, upper, size"),
        (b"id,lower,upper\n", "line 1: no column size"),
        (b"id,lower,upper,size\na,0,1\n", "line 2: 3 cells for 4 columns"),
        (b"id,lower,upper,size\na,0,1,-1\n", "line 2: size is '-1'"),
        (b"id,lower,upper,size\na,0,1,99999999999999999999999\n", "line 2: size is"),
        (b"id,lower,upper,size\na,1,1,1\n", "line 2: upper is 1, not above lower, 1"),
        (b"id,lower,upper,size\na,0,1,1\na,0,1,1\n", "line 3: buffer a is a duplicate of line 2"),
        (b"id,lower,upper,size,alignment\na,0,1,1,0\n", "line 2: 0 is not an alignment"),
        (b"id,lower,upper,size,gaps\na,0,9,1,x\n", "line 2: 'x' is not a gap"),
        (b"id,lower,upper,size,gaps\na,0,9,1,0-3\n", "line 2: (0, 2) is not a gap"),
        (b"\xff\xfe", "byte 0: not a text in UTF-8; expected a table of buffers"),
        (b'id,lower,upper,size\n"a', "line 2"),
    ],
)
def test_what_is_no_instance(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: bytes, message: str
) -> None:
    path = tmp_path / "instance.csv"
    path.write_bytes(text)
    assert main([str(path)]) == 3
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv"], "missing.csv"),
        ([str(EXAMPLE), "--capacity", "x"], "'x' is not a"),
        ([str(EXAMPLE), "--seconds", "nan"], "'nan' is not a number of seconds"),
        ([str(EXAMPLE), "--algorithm", "none"], "unknown planner 'none'"),
        ([str(EXAMPLE), "--planner", "nowhere:plan"], "no module named 'nowhere'"),
        ([str(EXAMPLE), "--planner", "math:pi"], "is a float, not a function"),
        ([str(EXAMPLE), "--planner", "builtins:len"], "returned int, not a Layout"),
        ([str(EXAMPLE), "--planner", "a:b", "--algorithm", "greedy"], "exclude each other"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_planner_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from et_ir.planning import Layout, plan_greedy\n"
        "def good(buffers): return plan_greedy(buffers)\n"
        "def bad(buffers): return Layout((0,) * len(buffers), 4)\n"
    )
    assert main([str(EXAMPLE), "--planner", f"{path}:good"]) == 0
    assert main([str(EXAMPLE), "--planner", f"{path}:bad"]) == 2
    assert "while both are live" in capsys.readouterr().err


def test_planners_that_raise(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def plan(buffers):\n    raise ValueError('no idea')\n")
    assert main([str(EXAMPLE), "--planner", f"{mine}:plan"]) == 2
    assert "raised ValueError: no idea (mine.py:2 in plan)\n" in capsys.readouterr().err


def test_the_table_is_not_replaced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "puzzle.csv"
    table.write_text(PUZZLE)
    assert main([str(table), "-o", str(tmp_path / "." / "puzzle.csv")]) == 2
    assert "would overwrite the input" in capsys.readouterr().err
    assert table.read_text() == PUZZLE


FIXTURES = Path(__file__).parents[2] / "fixtures"


def test_arenas_of_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([str(FIXTURES / "two_chains.pte")]) == 0
    text, messages = capsys.readouterr()
    assert messages == "et-plan: 48 bytes for 3 buffers; no arena is smaller; forward, arena 1, has 48\n"
    table = tmp_path / "table.csv"
    table.write_text(text)
    assert main([str(table)]) == 0
    assert capsys.readouterr().out == text
    assert main([str(FIXTURES / "two_methods.pte"), "--method", "encode", "--capacity", "1"]) == 6
    assert "no layout fits in 1 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "options", "code", "message"),
    [
        ("two_methods.pte", [], 2, "choose one with --method and --arena; there are: decode 1, encode 1"),
        ("two_methods.pte", ["--arena", "2"], 2, "no such arena; methods and arenas are: decode 1, encode 1"),
        ("unplanned.pte", [], 2, "has no planned memory"),
        ("minimalloc/input.12.csv", ["--method", "forward"], 2, "apply to a .pte only"),
    ],
)
def test_arenas_to_choose(
    capsys: pytest.CaptureFixture[str], file: str, options: list[str], code: int, message: str
) -> None:
    assert main([str(FIXTURES / file), *options]) == code
    assert message in capsys.readouterr().err


def test_a_damaged_program(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "short.pte"
    path.write_bytes((FIXTURES / "two_methods.pte").read_bytes()[:60])
    assert main([str(path)]) == 3
    assert "a file of 60 bytes is too short to be a program" in capsys.readouterr().err
