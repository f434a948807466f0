"""Indices that are read from tensors, as objects: they are checked in the type that they are given in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import freestanding_machines as machines
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from et_backends.freestanding.compiler.programs import compile_program

_Function = Callable[[Tensor, Tensor], Tensor]

OPERATORS: Final[dict[str, tuple[_Function, bool]]] = {
    "embedding": (lambda x, i: nn.functional.embedding(i, x), False),
    "index_select": (lambda x, i: x.index_select(1, i), False),
    "gather": (lambda x, i: x[:, 0].gather(0, i), False),
    "index": (lambda x, i: x[i], True),
    "scatter": (lambda x, i: x[:, 0].scatter(0, i, 1.0), False),
    "index_put": (lambda x, i: x.index_put((i,), x[:2]), True),
}
"""Functions of a tensor `[4, 4]` and two indices, and whether an index may count from the end."""


class _Module(nn.Module):
    def __init__(self, function: _Function) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return self._function(x, index)


@pytest.mark.parametrize(
    ("operator", "target"),
    [*((name, "cortex-m4") for name in OPERATORS), ("index", "riscv64gc"), ("embedding", "wasm32")],
)
def test_indices(operator: str, target: str, tmp_path: Path) -> None:
    """Places in memory have 32 bits on most targets: the low half of an index that is beyond them is no index."""
    function, wraps = OPERATORS[operator]
    x = torch.arange(16.0).reshape(4, 4)
    module = _Module(function)
    made = compile_program(torch.export.export(module, (x, torch.tensor([0, 1]))), target, "net")
    for some in ([3, 0], [1, 2], *([[-1, -4]] if wraps else [])):
        index = torch.tensor(some)
        found = machines.run(target, tmp_path, made, [x.numpy(), index.numpy()])
        assert found.status == 0
        np.testing.assert_array_equal(found.outputs[0], module(x, index).numpy())
    for beyond in (4, -5, (1 << 32) + 1, -(1 << 32), (1 << 32) - 1, -(1 << 63), (1 << 63) - 1):
        given = np.array([1, beyond], np.int64)
        assert machines.run(target, tmp_path, made, [x.numpy(), given]).status == 1, beyond
