"""Time budgets of the checks: what is recorded, what is reported, and what fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dev import durations, parts
from dev.machines import LEFT_OUT, SETTINGS, TESTS, setting_of
from dev.parts import BUDGETS, REFERENCE, Run

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(durations, "FOLDER", tmp_path)
    monkeypatch.setattr(parts, "FOLDER", tmp_path)
    monkeypatch.setattr(parts, "FILE", tmp_path / "parts")
    return tmp_path


def test_commands_are_recorded(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = "import os; print(os.environ['PART']); raise SystemExit(3)"
    assert parts.main(["lint", sys.executable, "-c", code]) == 3
    found = capfd.readouterr()
    assert found.out == "lint\n"
    assert found.err.startswith("lint: ")
    [line] = (folder / "parts").read_text().splitlines()
    row = json.loads(line)
    assert row["part"] == "lint"
    assert row["seconds"] > 0
    assert row["counting"] > 0


@pytest.mark.parametrize("line", [["lint"], ["nothing", "true"]])
def test_parts_have_budgets(folder: Path, line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert parts.main(line) == 2
    assert "a part of lint, types" in capsys.readouterr().err
    assert not list(folder.iterdir())


def report(folder: Path, *runs: Run) -> int:
    (folder / "parts").write_text("".join(f"{json.dumps(vars(run))}\n" for run in runs))
    return parts.main([])


def test_what_takes_too_long_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = 0.6 * BUDGETS["tests"]
    kept = Run("lint", 1.0, REFERENCE)
    assert report(folder, kept, Run("tests", half, REFERENCE)) == 0
    assert "TOO LONG" not in capsys.readouterr().out
    assert report(folder, kept, Run("tests", half, REFERENCE), Run("tests", half, REFERENCE)) == 1
    [line] = [each for each in capsys.readouterr().out.splitlines() if "TOO LONG" in each]
    assert line.startswith("tests ")


def test_slow_machines_have_more_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(folder, Run("tests", 1.9 * BUDGETS["tests"], 2 * REFERENCE)) == 0
    assert "takes 2.00 times as long" in capsys.readouterr().out
    assert report(folder, Run("tests", 2.1 * BUDGETS["tests"], 2 * REFERENCE)) == 1


def test_fast_machines_have_the_time_of_the_reference(folder: Path) -> None:
    assert report(folder, Run("tests", 0.9 * BUDGETS["tests"], 0.5 * REFERENCE)) == 0
    assert report(folder, Run("tests", 1.1 * BUDGETS["tests"], 0.5 * REFERENCE)) == 1


def test_the_slowest_tests(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PART", "tests")
    durations.record({f"a.py::test[{case}]": case for case in range(20)})
    (folder / "lit.lit.json").write_text(json.dumps({"tests": [{"name": "x :: y.mlir", "elapsed": 18.5}]}))
    assert report(folder, Run("tests", 1.0, REFERENCE)) == 0
    lines = capsys.readouterr().out.partition("slowest tests, in seconds\n")[2].splitlines()
    assert len(lines) == 10
    assert [line.split()[0] for line in lines[:3]] == ["19.0", "18.5", "18.0"]
    assert lines[1].split(maxsplit=1)[1] == "lit          x :: y.mlir"


def test_runs_outside_of_parts_are_not_recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PART", raising=False)
    durations.record({"a.py::test": 1.0})
    assert not list(folder.iterdir())


def test_table_has_means_of_tests_that_there_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PART", "tests")
    here = str(Path(__file__).relative_to(ROOT))
    durations.record(
        {f"{here}::test[1]": 1.0, f"{here}::test[2]": 2.0, f"{here}::short": 0.01, "gone.py::test": 1.0}
    )
    (folder / "lit.lit.json").write_text(
        json.dumps({"tests": [{"name": "x :: passes/common/cse.mlir", "elapsed": 7.5}]})
    )
    found = durations.table(folder)
    assert found["test/lit/passes/common/cse.mlir"] == 7.5
    assert found[f"{here}::test"] == 1.5
    assert not {f"{here}::short", "gone.py::test"} & set(found)


def test_budgets_are_of_the_parts_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    timed: set[str] = set()
    name = ""
    for line in makefile.splitlines():
        name = line.partition(":")[0] if line[:1].isalpha() else name
        if line.startswith("\t$(RUN)"):
            timed.add(name)
    assert timed == set(BUDGETS)


def test_turns_have_each_machine_once() -> None:
    assert [setting_of(turn) for turn in range(len(SETTINGS))] == list(SETTINGS)
    assert setting_of(len(SETTINGS)) == SETTINGS[0]


def test_tests_of_machines_exist() -> None:
    assert [path for path in (*TESTS, *LEFT_OUT) if not (ROOT / path).exists()] == []
