"""Depthwise convolutions of floats whose windows are unrolled: on some of these functions LLVM's NewGVN aborts."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import pytest
import torch
from support.accuracy import assert_accurate, truth_of
from torch import nn

from et_backends.freestanding.compiler.programs import compile_program


@pytest.mark.parametrize(
    ("target", "size", "apart", "stride"),
    [("cortex-m4", 3, 2, 1), ("cortex-m4", 5, 1, 1), ("cortex-m4", 7, 1, 2), ("aarch64", 5, 2, 1)],
)
def test_windows(target: str, size: int, apart: int, stride: int, tmp_path: Path):
    torch.manual_seed(0)
    module = nn.Conv2d(
        4, 4, size, stride=stride, padding=apart * (size - 1) // 2, dilation=apart, groups=4
    ).eval()
    x = torch.rand(1, 4, 16, 16)
    made = compile_program(torch.export.export(module, (x,)), target, "net")
    found = machines.run(target, tmp_path, made, [x.numpy()])
    assert_accurate(found.outputs[0], truth_of(module, x))
