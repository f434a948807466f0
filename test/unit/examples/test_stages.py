"""The ops of an exported program."""

from __future__ import annotations

import torch

from examples.stages import exported_ops


def test_exported_ops() -> None:
    program = torch.export.export(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU()), (torch.ones(2),))
    assert exported_ops(program) == {"relu": 2}
