"""Distributions of what random operators decompose into."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from support.aten_interpreter import Interpreter
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from et_ir.dialects.aten import ops as aten
from et_ir.dialects.schema import SchemaOp
from et_ir.passes.aten_to_core.decompose import DECOMPOSITIONS, DecomposePass
from et_ir.passes.aten_to_core.decompose_traced import DecomposeTracedPass

SIZE = 20_000


def drawn(build: Callable[..., SchemaOp], fill: float = 0.0, element: Attribute = f32) -> torch.Tensor:
    """The samples that a decomposed op draws for a tensor of equal elements."""
    line = TensorType(element, [SIZE])
    block = Block(arg_types=[line])
    op = build(block.args[0])
    block.add_ops([op, ReturnOp(op.results[0])])
    module = ModuleOp([FuncOp("forward", ([line], [op.results[0].type]), Region(block))])
    if type(op) not in DECOMPOSITIONS:
        DecomposeTracedPass().apply(Context(), module)
    DecomposePass().apply(Context(), module)
    torch.manual_seed(0)
    (found,) = Interpreter(module).run(
        torch.full((SIZE,), fill, dtype=torch.int64 if element == i64 else None)
    )
    return found.double()


def typed(cls: Any, *args: Any, **kwargs: Any) -> Callable[..., SchemaOp]:
    return lambda x: cls.make(x, *args, result_types=[x.type], **kwargs)


MOMENTS: dict[str, tuple[Callable[..., SchemaOp], float, float]] = {
    "rand_like": (typed(aten.RandLikeOp), 0.5, math.sqrt(1 / 12)),
    "randn_like": (typed(aten.RandnLikeOp), 0.0, 1.0),
    "uniform": (typed(aten.UniformOp, -1.0, 3.0), 1.0, 4 * math.sqrt(1 / 12)),
    "normal": (typed(aten.NormalFunctionalOp, 2.0, 3.0), 2.0, 3.0),
    "exponential": (typed(aten.ExponentialOp, 2.0), 0.5, 0.5),
    "geometric": (typed(aten.GeometricOp, 0.25), 4.0, math.sqrt(0.75) / 0.25),
    "log_normal": (
        typed(aten.LogNormalOp, 0.0, 0.5),
        math.exp(0.125),
        math.sqrt(math.expm1(0.25) * math.exp(0.25)),
    ),
    "bernoulli": (typed(aten.BernoulliPOp, 0.3), 0.3, math.sqrt(0.21)),
    "randint": (typed(aten.RandintLikeLowDtypeOp, -2, 3), 0.0, math.sqrt(2)),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_deviation(name: str) -> None:
    build, mean, deviation = MOMENTS[name]
    found = drawn(build)
    assert abs(float(found.mean()) - mean) < 5 * deviation / math.sqrt(SIZE)
    assert abs(float(found.std()) / deviation - 1) < 0.05


def test_cauchy_has_its_quartiles() -> None:
    """It has neither mean nor deviation: half of it lies within `sigma` of the median."""
    found = drawn(typed(aten.CauchyOp, 1.0, 2.0))
    quartiles = torch.quantile(found, torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64))
    torch.testing.assert_close(
        quartiles, torch.tensor([-1.0, 1.0, 3.0], dtype=torch.float64), atol=0.15, rtol=0
    )


def test_integers_are_equally_frequent() -> None:
    found = drawn(typed(aten.RandintLikeLowDtypeOp, -2, 3), element=i64)
    counts = torch.stack([(found == value).sum() for value in range(-2, 3)]).double()
    assert counts.sum() == SIZE
    assert (counts / SIZE - 0.2).abs().max() < 0.015


@pytest.mark.parametrize("cls", [aten.DropoutOp, aten.AlphaDropoutOp])
def test_dropout_keeps_the_mean(cls: Any) -> None:
    """Of standard normal elements alpha dropout keeps the deviation too."""
    found = drawn(typed(cls, 0.3, True), 1.0 if cls is aten.DropoutOp else 0.0)
    assert abs(float(found.mean()) - (1.0 if cls is aten.DropoutOp else 0.0)) < 0.03
    assert len(found.unique()) == 2
