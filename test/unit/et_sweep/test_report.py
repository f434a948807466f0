"""Reports of sweeps: differences, groups of failures, and a page without requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from et_sweep.journal import JournalError
from et_sweep.report import differences, failures, read_rows, write_report


def _row(key: str, **columns: Any) -> dict[str, Any]:
    return {
        "key": key,
        "model": "m",
        "command": f"et-compile {key}",
        "compiled": True,
        "message": None,
        **columns,
    }


@pytest.mark.parametrize(("median", "differs"), [(1.05, False), (1.2, True), (0.8, True)])
def test_times_differ_beyond_noise(median: float, differs: bool) -> None:
    rows = [_row("a", median_seconds=median, noise=0.03)]
    found = differences(rows, [_row("a", median_seconds=1.0, noise=0.04)])
    assert [one["column"] for one in found] == ["median_seconds"] * differs
    assert all(one["bound"] == pytest.approx(0.1) and one["ratio"] == median for one in found)


def test_other_differences() -> None:
    rows = [_row("a", file_bytes=10, median_seconds=2.0), _row("b"), _row("new", file_bytes=1)]
    baseline = [_row("a", file_bytes=12, median_seconds=1.0), _row("b", compiled=False)]
    assert [(one["key"], one["column"]) for one in differences(rows, baseline)] == [
        ("a", "file_bytes"),
        ("b", "compiled"),
    ]


def test_failures_are_grouped_by_message() -> None:
    rows = [
        _row("a", compiled=False, message="rank 7 is too much"),
        _row("b", run_message="no kernel"),
        _row("c", compiled=False, message="rank 9 is too much"),
    ]
    found = failures(rows)
    assert [(one["message"], [cell["key"] for cell in one["cells"]]) for one in found] == [
        ("rank 7 is too much", ["a", "c"]),
        ("no kernel", ["b"]),
    ]
    assert found[0]["cells"][0]["command"] == "et-compile a"


def test_page(tmp_path: Path) -> None:
    write_report(tmp_path, "</script>", [_row("a", compiled=False, message="<b>&</b> @@style@@")], [])
    text = (tmp_path / "report.html").read_text()
    data = text.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data)["rows"][0]["message"] == "<b>&</b> @@style@@"
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"table\.jsonl cannot be read"):
        read_rows(tmp_path)
