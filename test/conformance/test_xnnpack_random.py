"""Random programs that move images and matrices about, compiled for XNNPACK, on both runtimes against eager.

What is random is above all the order in which dimensions are in memory, which the compiler keeps track of by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from stock import StockRuntime
from torch import Tensor, nn

from et_backends.xnnpack.compiler.partitioner import XnnpackPartitioner
from et_ir import to_edge_transform_and_lower
from et_vm.runtime import Runtime

Step = Callable[[list[Tensor]], Tensor]
PROGRAMS = 24
STEPS = 9
KINDS = [
    "permute",
    "permute",
    "flatten",
    "split",
    "add",
    "scale",
    "conv",
    "softmax",
    "cat",
    "slice",
    "mean",
    "product",
    "linear",
    "pad",
    "select",
    "relu",
]
MOST = 4000
"""Elements of a tensor, at most."""


class RandomProgram(nn.Module):
    """Steps that each make a tensor of those before; the last three are what it gives."""

    def __init__(self, chance: random.Random, x: Tensor) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        self.steps: list[Step] = []
        values = [x]
        while len(self.steps) < STEPS:
            step = self._step(chance, values)
            if step is None:
                continue
            made = step(values)
            if not 1 < made.numel() <= MOST or made.dim() > 5 or made.dim() < 2:
                continue
            # Of order one again, so that the comparison means something.
            scale = float(1 / made.abs().max().clamp(min=0.1))
            values.append(made * scale)
            self.steps.append(lambda values, step=step, scale=scale: step(values) * scale)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        values = [x]
        for step in self.steps:
            values.append(step(values))
        return tuple(values[-3:])

    def _step(self, chance: random.Random, values: list[Tensor]) -> Step | None:
        # What was made last is used most, so that programs are deep.
        at = max(chance.randrange(len(values)), chance.randrange(len(values)))
        shape = values[at].shape
        rank = len(shape)
        dim = chance.randrange(rank)
        match chance.choice(KINDS):
            case "permute":
                dims = chance.sample(range(rank), rank)
                return lambda values: values[at].permute(dims)
            case "flatten" if rank > 2:
                first = chance.randrange(rank - 1)
                return lambda values: values[at].flatten(first, first + 1)
            case "split" if shape[dim] % 2 == 0:
                return lambda values: values[at].unflatten(dim, (2, -1))
            case "add":
                same = [number for number, value in enumerate(values) if value.shape == shape]
                other = chance.choice(same)
                return lambda values: values[at] + torch.sigmoid(values[other])
            case "scale":
                constant = torch.rand(shape[dim:]) + 0.5
                return lambda values: values[at] * constant
            case "conv" if rank == 4:
                number = len(self.layers)
                self.layers.append(nn.Conv2d(shape[1], 4, chance.choice([1, 3]), padding=1).eval())
                return lambda values: self.layers[number](values[at])
            case "softmax":
                return lambda values: torch.softmax(values[at], dim)
            case "cat":
                return lambda values: torch.cat([values[at], values[at].neg(), values[at]], dim)
            case "slice" if shape[dim] > 2:
                return lambda values: values[at].narrow(dim, 1, shape[dim] - 2)
            case "mean" if rank > 2:
                kept = chance.random() < 0.5
                return lambda values: values[at].mean(dim, keepdim=kept)
            case "product" if rank > 2:
                return lambda values: values[at] @ values[at].transpose(-1, -2)
            case "linear":
                number = len(self.layers)
                self.layers.append(nn.Linear(shape[-1], 6).eval())
                return lambda values: torch.relu(self.layers[number](values[at]))
            case "pad":
                return lambda values: nn.functional.pad(values[at], (1, 0, 0, 2), value=0.5)
            case "select" if rank > 2:
                return lambda values: values[at].select(dim, shape[dim] - 1)
            case "relu":
                return lambda values: torch.relu(values[at])
            case _:
                return None


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_right_on_both_runtimes(seed: int, stock: StockRuntime, tmp_path: Path) -> None:
    torch.manual_seed(seed)
    x = torch.randn(1, 4, 5, 6) if seed % 2 else torch.randn(2, 3, 8)
    with torch.no_grad():
        program = RandomProgram(random.Random(seed), x).eval()
        expected = list(program(x))
    exported = torch.export.export(program, (x,))
    manager = to_edge_transform_and_lower(exported, partitioner=XnnpackPartitioner())
    assert manager.delegation is not None
    assert manager.delegation.delegated
    path = tmp_path / "random.pte"
    manager.to_executorch().save(path)
    torch.testing.assert_close(stock.run(path, [x]), expected, rtol=1e-3, atol=1e-4)
    method = Runtime.get().load_program(path).load_method("forward")
    torch.testing.assert_close(list(method.execute([x])), expected, rtol=1e-3, atol=1e-4)
