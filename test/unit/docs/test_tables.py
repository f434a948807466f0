"""Tables of the documentation that are built, or written by long runs: their content against the sources."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from dev import document_operators, document_passes
from et_ir.dialects.aten import OP_BY_NAME as ATEN
from et_ir.dialects.edge import OP_BY_NAME as EDGE
from et_ir.pass_options import pass_options
from et_ir.passes import load_pass, pass_places
from et_ir.passes.aten_to_core.decompose.chain import REASONS
from et_ir.targets.lookup import CURRENT_TARGETS, find_target

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def operators() -> str:
    return document_operators.page()


def rows(text: str, columns: int) -> list[list[str]]:
    """The cells of the rows of tables with this number of columns."""
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in cells if len(row) == columns]


def test_each_edge_operator_has_a_row(operators: str) -> None:
    table = {row[0].strip("`"): row for row in rows(operators, 3 + len(CURRENT_TARGETS))}
    assert table.keys() == EDGE.keys()
    for name, row in table.items():
        kernel = EDGE[name].operator.kernel
        assert [cell == "yes" for cell in row[2:-1]] == [
            kernel in find_target(target).kernels for target in CURRENT_TARGETS
        ]
        assert row[-1]


def test_each_other_operator_is_listed_once(operators: str) -> None:
    listed = Counter(
        name
        for line in operators.splitlines()
        if line.startswith("- `")
        for name in re.findall(r"`([^`]+)`", line.partition(": ")[0])
    )
    assert listed == Counter(ATEN.keys() - EDGE.keys())


def test_each_pattern_has_its_reason(operators: str) -> None:
    reasons = {
        name.strip("` "): line.split("|")[1].strip()
        for line in operators.splitlines()
        if line.startswith("| ") and not line.startswith("| `")
        for name in line.split("|")[2].split(",")
    }
    for op, reason in REASONS.items():
        assert reasons[op.name.removeprefix("aten.")] == reason.value


def test_each_pass_is_listed_once() -> None:
    stages = document_passes.page().partition("## Passes by stage")[2].partition("## Options")[0]
    assert Counter(re.findall(r"^\| \[`([^`]+)`\]", stages, flags=re.M)) == Counter(pass_places().keys())


def test_every_option_of_a_pass_has_a_meaning() -> None:
    for name in pass_places():
        for option in pass_options(load_pass(name)):
            assert option.meaning.endswith("."), (name, option.name)


def test_failures_in_the_summary_of_the_sweep_are_known() -> None:
    """A limited sweep, as the page says, does not come to all of them."""
    known = json.loads((ROOT / "test/conformance/sweep/known.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/ops.md").read_text(encoding="utf-8")
    section = page.partition("\n## Exceptions")[2].partition("\n## ")[0]
    exceptions = set(re.findall(r"^- `([^`]+)`", section, flags=re.M))
    assert exceptions <= set(known)
    assert exceptions == set(known) or "\nUp to " in page
