"""Pass savings reported by `et-compile --explain`."""

from __future__ import annotations

import json

from support.command_line import Command

from et_ir.analysis.footprint import Footprint
from et_ir.targets.lookup import DEFAULT
from et_tools.compile_explain import Explanation, PassResult


def test_the_total_is_the_sum_of_what_each_pass_saves() -> None:
    explanation = Explanation(DEFAULT, "1")
    explanation.steps = [
        PassResult("(as read)", Footprint(5, 5, None, 1000)),
        PassResult("aten-to-edge", Footprint(1503, 4, 100, 1000)),
        PassResult("in-place", Footprint(7, 2, 160, 0)),
    ]
    columns = [list(column.cells) for column in explanation.passes().columns]
    assert columns[0][-1] == "(in total)"
    for column, total in zip(columns[2::2], ("+2", "-3", "+60", "-1,000"), strict=True):
        assert column[-1] == total
        assert sum(int(str(cell).replace(",", "") or 0) for cell in column[:-1]) == int(
            total.replace(",", "")
        )


def test_what_is_left_is_what_the_file_has(command: Command) -> None:
    ran = command("et-compile", "subjects.py:net", "-o", "net.pte", "-q", "--explain=json")
    last = json.loads(ran.out)["passes"][-1]
    info = json.loads(command("et-vm", "info", "--json", "net.pte").out)
    plan = json.loads(command("et-vm", "info", "--plan", "--json", "net.pte").out)["plan"]
    assert last["instructions"] == info["methods"][0]["instructions"]
    assert last["memory"] == sum(arena["nbytes"] for arena in plan)
    assert last["constants"] == sum(weight["nbytes"] for weight in info["weights"])
