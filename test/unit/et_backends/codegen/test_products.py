"""Products of matrices of the native backend against torch, on every instruction set of this machine."""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import pytest
import torch
from native_modules import check, compiled
from torch import nn
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from et_backends.codegen.dialect import PrefetchOp
from et_backends.codegen.kernels.product import AHEAD, SUMS
from et_backends.codegen.object_code import InstructionSet
from et_backends.codegen.pipeline import observed

_Function = Callable[..., torch.Tensor]


@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        pytest.param(195, 257, 48, id="one-step-left"),
        pytest.param(200, 600, 37, id="columns-left"),
        pytest.param(311, 513, 5, id="less-than-a-panel"),
        pytest.param(196, 1030, 17, id="more-than-a-panel"),
    ],
)
def test_long_products(rows: int, inner: int, columns: int) -> None:
    """Sums of blocks of the shared dimension are stored in between, and finished with the last."""
    torch.manual_seed(0)
    check(nn.Sequential(nn.Linear(inner, columns), nn.GELU()), torch.randn(rows, inner))


def test_prefetches_of_one_row() -> None:
    """A panel is prefetched a page ahead where memory is waited for."""
    found: list[PrefetchOp] = []

    def listen(level: str, target: InstructionSet, code: ModuleOp) -> None:
        if level == "loops":
            found.extend(op for op in code.clone().walk() if isinstance(op, PrefetchOp))

    with observed(listen):
        compiled(nn.Linear(96, 64).eval(), (torch.randn(1, 96),), "x86-64-v4")
    distances: list[int] = []
    for op in found:
        ahead = op.indices[1].owner
        assert isinstance(ahead, arith.AddiOp)
        distance = ahead.rhs.owner
        assert isinstance(distance, arith.ConstantOp)
        assert isinstance(distance.value, IntegerAttr)
        distances.append(distance.value.value.data)
    assert distances == [AHEAD // 64] * SUMS


@pytest.mark.parametrize("inner", [1, 3, 4, 37])
def test_sums_of_one_row(inner: int) -> None:
    """One row is computed in several sums, of which each has every fourth product."""
    torch.manual_seed(0)
    check(nn.Linear(inner, 21), torch.randn(1, inner))


PRODUCTS = [
    pytest.param(lambda x, y: x @ y.t(), (7, 19), (21, 19), id="transposed"),
    pytest.param(lambda x, y: x @ y.t(), (1, 64), (100, 64), id="transposed-of-one-row"),
    pytest.param(lambda x, y: x @ y, (40, 9), (9, 500), id="wide"),
    pytest.param(lambda x, y: x @ y.t(), (200, 300), (33, 300), id="transposed-in-blocks"),
    pytest.param(lambda x, y: x @ y.mT, (3, 7, 19), (3, 21, 19), id="transposed-batch"),
    pytest.param(lambda x, y: x @ y, (2, 33, 9), (2, 9, 401), id="wide-batch"),
    pytest.param(lambda x, y: x.mT @ y, (3, 19, 7), (3, 19, 21), id="left-transposed"),
    pytest.param(lambda x, y: x @ y.permute(1, 2, 0), (3, 7, 9), (21, 3, 9), id="rows-of-a-batch-apart"),
    pytest.param(lambda x, y: x @ y.transpose(0, 1), (4, 7, 9), (9, 4, 21), id="interleaved-rows"),
    pytest.param(lambda x, y: torch.relu(x @ y.mT - 1), (2, 5, 16), (2, 16, 16), id="followed"),
]


@pytest.mark.parametrize(("function", "left", "right"), PRODUCTS)
def test_computed_matrices(function: _Function, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    check(function, torch.randn(left), torch.randn(right))


BIASES = [
    pytest.param((4, 1), (4, 9), (9, 5), id="column"),
    pytest.param((4, 1), (4, 9), (9, 4), id="column-of-a-square"),
    pytest.param((1, 5), (4, 9), (9, 5), id="row"),
    pytest.param((1, 1), (4, 9), (9, 5), id="one-element"),
    pytest.param((), (4, 9), (9, 5), id="number"),
    pytest.param((4, 5), (4, 9), (9, 5), id="all-elements"),
]


@pytest.mark.parametrize(("bias", "left", "right"), BIASES)
def test_biases(bias: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    given = torch.randn(bias), torch.randn(left), torch.randn(right)
    check(lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2).relu(), *given)


def test_bias_scaled_by_0() -> None:
    """It is not read, whatever it is."""
    torch.manual_seed(0)
    bias = torch.full((5,), nan)
    check(lambda b, x, y: torch.addmm(b, x, y, beta=0), bias, torch.randn(4, 9), torch.randn(9, 5))


@pytest.mark.parametrize("shape", [(5, 7), (16, 16), (17, 33), (40, 15), (1, 30), (64, 1)])
def test_transpositions(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    check(lambda x: (x * 2).t().reshape(-1) + 1, torch.randn(shape))


@pytest.mark.parametrize("dims", [(2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)])
def test_permutations(dims: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    check(lambda x: (x * 2).permute(dims).reshape(-1) + 1, torch.randn(3, 18, 35))


def test_square_of_a_matrix() -> None:
    """One matrix on both sides is read as it is."""
    torch.manual_seed(0)
    check(lambda x: x.t() @ x.t(), torch.randn(9, 9))
