"""Distributions of random operators, end to end and in every kernel library.

Seeds are fixed, but for the stock runtime, which takes its own; its draws would have to be a ten-millionth
event to fail.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from stock import StockRuntime

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.passes.verify.link_check import MissingKernels
from et_vm.kernels.portable.creation.random import seed
from et_vm.runtime import Runtime

COUNT = 20_000
UNLIKELY = 1e-7

Check = Callable[[np.ndarray[Any, Any]], float]
"""From a draw of COUNT numbers to the probability that the distribution has one at least as odd."""


def continuous(name: str, *parameters: float) -> Check:
    """By Kolmogorov's and Smirnov's test against a distribution of scipy's."""
    return lambda draw: float(stats.kstest(draw.ravel().astype(np.float64), name, parameters).pvalue)


def discrete(probabilities: dict[int, float]) -> Check:
    """By Pearson's test; numbers that are not expected make it 0."""

    def check(draw: np.ndarray[Any, Any]) -> float:
        values, counts = np.unique(draw, return_counts=True)
        found = dict(zip(values.tolist(), counts.tolist(), strict=True))
        if not found.keys() <= probabilities.keys():
            return 0.0
        observed = [found.get(value, 0) for value in probabilities]
        return float(stats.chisquare(observed, [p * draw.size for p in probabilities.values()]).pvalue)

    return check


CASES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], Check]] = {
    "rand": (lambda x: torch.rand(COUNT), continuous("uniform")),
    "rand_like": (torch.rand_like, continuous("uniform")),
    "randn": (lambda x: torch.randn(COUNT), continuous("norm")),
    "randn_like": (torch.randn_like, continuous("norm")),
    "normal": (lambda x: torch.normal(2.0, 3.0, (COUNT,)), continuous("norm", 2, 3)),
    "normal_means": (lambda x: torch.normal(x * 0 + 2, 3.0), continuous("norm", 2, 3)),
    "uniform": (lambda x: torch.empty(COUNT).uniform_(-1, 3), continuous("uniform", -1, 4)),
    "randint": (lambda x: torch.randint(2, 6, (COUNT,)), discrete(dict.fromkeys(range(2, 6), 0.25))),
    "randint_like": (lambda x: torch.randint_like(x, 4), discrete(dict.fromkeys(range(4), 0.25))),
    "bernoulli": (lambda x: torch.bernoulli(x * 0 + 0.3), discrete({0: 0.7, 1: 0.3})),
    "bernoulli_p": (lambda x: torch.bernoulli(x, 0.3), discrete({0: 0.7, 1: 0.3})),
    "dropout": (lambda x: torch.dropout(x * 0 + 1, 0.75, True), discrete({0: 0.75, 4: 0.25})),
    "multinomial": (
        lambda x: torch.multinomial(x[:4] * 0 + torch.tensor([0.1, 0.2, 0.3, 0.4]), COUNT, True),
        discrete({0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}),
    ),
    "exponential": (lambda x: torch.empty(COUNT).exponential_(2.0), continuous("expon", 0, 0.5)),
    "randperm": (lambda x: torch.randperm(4).repeat(COUNT // 4), discrete(dict.fromkeys(range(4), 0.25))),
}


class Drawing(torch.nn.Module):
    def __init__(self, draw: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.draw = draw

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.draw(x)


@pytest.mark.parametrize("case", CASES)
def test_distributions(case: str, stock: StockRuntime, tmp_path: Path) -> None:
    draw, check = CASES[case]
    x = torch.zeros(COUNT)
    program = torch.export.export(Drawing(draw), (x,))
    path = tmp_path / "drawing.pte"
    try:
        to_edge(program).to_executorch().save(path)
        results = {"stock": stock.run(path, [x])[0].numpy()}
    except MissingKernels:
        to_edge(program).to_executorch(ExecutorchBackendConfig(target="et-vm")).save(path)
        results = {}
    seed(0)
    torch.manual_seed(0)
    for library in ("portable", "aten"):
        method = Runtime.get().load_program(path, kernels=library).load_method("forward")
        results[library], again = (method.execute([x])[0].numpy() for _ in range(2))
        assert case == "randperm" or not np.array_equal(results[library], again), library
    for where, result in results.items():
        assert result.size == COUNT, where
        assert check(result) > UNLIKELY, where
