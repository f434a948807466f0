"""Attention over a cache as objects, which have no large stack: keys and values are packed as a whole."""

from __future__ import annotations

from pathlib import Path

import freestanding_machines as machines
import pytest
import torch
from support.accuracy import assert_accurate, truth_of
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program


class Cached(nn.Module):
    """Keys and values in bytes, and a mask of positions."""

    def forward(self, q: Tensor, k: Tensor, of_k: Tensor, v: Tensor, of_v: Tensor, at: Tensor) -> Tensor:
        scores = q @ (k.to(torch.float32) * of_k).mT
        seen = torch.arange(k.shape[1]) <= at[:, None]
        return torch.softmax(scores + torch.where(seen, 0.0, -3e38), -1) @ (v.to(torch.float32) * of_v)


@pytest.mark.parametrize("queries", [1, 11])
@pytest.mark.parametrize("target", ["cortex-m4", "riscv64gc"])
def test_bytes_and_positions(target: str, queries: int, tmp_path: Path):
    """Indices of Cortex-M have 32 bits: a position that is beyond them leaves all keys."""
    torch.manual_seed(0)
    bytes = [torch.randint(-127, 128, (2, 40, 8), dtype=torch.int8) for _ in range(2)]
    scales = [torch.rand(2, 40, 1) * 0.01 + 0.001 for _ in range(2)]
    q = torch.randn(2, queries, 8)
    module = Cached()
    at = torch.arange(queries)
    arguments = [q, bytes[0], scales[0], bytes[1], scales[1]]
    made = compile_program(torch.export.export(module, (*arguments, at)), target, "net")
    for first in (0, 17, -1, (1 << 32) - 2, (1 << 63) - 1 - queries):
        given = at + first
        found = machines.run(target, tmp_path, made, [*(one.numpy() for one in arguments), given.numpy()])
        assert found.status == 0
        assert_accurate(found.outputs[0], truth_of(module, *arguments, given))
