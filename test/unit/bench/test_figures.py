"""Published figures: the registry, what is kept, and the page agree."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from bench.figures import (
    BEGIN,
    END,
    MEASUREMENTS,
    PAGE,
    ROOT,
    Column,
    Measurement,
    page,
    read,
    rows_of,
    state_of,
    table,
    value_of,
)


def unmarked(text: str) -> str:
    """A page without what depends on the commits there are in a clone."""
    return re.sub(r" \((stale|unknown)\)", "", text)


def test_the_page_has_the_figures_that_are_kept() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert unmarked(text) == unmarked(page(text, table(read(), {})))


def test_kept_figures_are_of_the_registry() -> None:
    registry = {each.name: {column.figure for column in each.columns} for each in MEASUREMENTS}
    for name, record in read().items():
        assert re.fullmatch(r"[0-9a-f]{40}", record["commit"])
        assert {row["figure"] for row in record["rows"]} == registry[name]
        assert all(value_of(row["value"]) >= 0 for row in record["rows"])


def test_measurements_name_code_that_there_is() -> None:
    for each in MEASUREMENTS:
        assert (ROOT / "bench" / f"{each.name}.py").exists()
        assert all((ROOT / path.removeprefix(":!")).exists() for path in each.paths)


LOAD = Measurement("load", (Column(1, "ratio", "time", goals={"a": 0.5}),), ("et_vm",))


def test_a_row_has_its_goal_its_verdict_and_its_commit() -> None:
    rows = list(rows_of(LOAD, [[["model", "ratio"], [["a", "0.75"], ["b", "2.1 ms"]]]]))
    assert [(row["of"], row["goal"]) for row in rows] == [("a", 0.5), ("b", None)]
    lines = table({"load": {"commit": "0123456789abcdef", "rows": rows}}, {"load": "stale"}).splitlines()
    (first, second) = (line for line in lines if "(stale)" in line)
    assert "0.75 | ≤ 0.5 | missed |" in first
    assert "0123456789 (stale)" in first
    assert "2.1 ms |  |  |" in second


def test_another_table_than_expected_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"bench\.load: column 1 is 'seconds'"):
        list(rows_of(LOAD, [[["model", "seconds"], [["a", "1"]]]]))


def test_values() -> None:
    shown = {"1.25": 1.25, "18 ms": 0.018, "1,012 MB": 1012, "1.000 0.12 s": 1}
    assert [value_of(cell) for cell in shown] == pytest.approx(list(shown.values()))


def test_states() -> None:
    assert state_of(LOAD, "0" * 40) == "unknown"
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], check=False, cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    nothing = Measurement("README", (), ("LICENSE",))
    assert not head or state_of(nothing, head) == "current"


def test_a_page_without_a_place_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place"):
        page("text", "figures")
    assert page(f"a\n{BEGIN}old\n{END}b\n", "new\n") == f"a\n{BEGIN}\nnew\n\n{END}b\n"


def test_help_measures_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--help"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--check" in done.stdout
