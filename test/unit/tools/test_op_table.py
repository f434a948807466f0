"""The table of ops per level."""

from __future__ import annotations

import io

from et_tools.op_table import WIDTH, print_op_table


def test_a_row_per_level_that_wraps() -> None:
    many = {f"operator_{index}": index + 1 for index in range(30)}
    stream = io.StringIO()
    print_op_table({"export": {"relu": 2, "add.Tensor": 3, "tanh": 1}, "edge": many, "pte": {}}, stream)
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["level", "ops", "of", "each"]
    assert lines[1].split(maxsplit=2) == ["export", "6", "add.Tensor ×3, relu ×2, tanh"]
    assert lines[2].split(maxsplit=2)[:2] == ["edge", "465"]
    assert "operator_29 ×30, " in lines[2]
    assert all(line.startswith(" " * 13) for line in lines[3:-1])
    assert max(map(len, lines)) <= WIDTH
    assert lines[-1].split() == ["pte", "0", "-"]
