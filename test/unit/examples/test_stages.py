"""The table of ops per level."""

from __future__ import annotations

import torch

from examples.stages import WIDTH, exported_ops, table


def test_exported_ops() -> None:
    program = torch.export.export(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU()), (torch.ones(2),))
    assert exported_ops(program) == {"relu": 2}


def test_table_has_a_row_per_level_and_wraps() -> None:
    many = {f"operator_{index}": index + 1 for index in range(30)}
    lines = table({"export": {"relu": 2, "add.Tensor": 3, "tanh": 1}, "edge": many}).splitlines()
    assert lines[2] == "export          6  add.Tensor ×3, relu ×2, tanh"
    assert lines[3].startswith("edge          465  operator_29 ×30, ")
    assert max(map(len, lines)) <= WIDTH
    assert all(line.startswith(" " * 19) for line in lines[4:])
