"""Programs for sizes that change: shapes that they take, smallest and largest, and shapes that they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

__all__ = ["CASES", "Case", "One", "Shapes", "inputs_of", "module_of"]

AUTO, DYNAMIC = Dim.AUTO, Dim.DYNAMIC
N, M = Dim("n", min=2, max=12), Dim("m", min=3, max=9)
Shapes = tuple[tuple[int, ...], ...]


class Case(NamedTuple):
    """A function, how its inputs vary, shapes that it takes (the first is exported with), and shapes that it does not,
    with what the refusal says. `bounds` are given by the user.
    """

    function: Callable[..., Any]
    dynamic: tuple[Any, ...]
    fits: Sequence[Shapes]
    refused: Sequence[tuple[Shapes, str]]
    bounds: dict[str, int] = {}  # noqa: RUF012 (never changed)


def checked(x: Tensor) -> Tensor:
    torch._check(x.shape[0] % 3 == 0)
    torch._check(x.shape[0] != 6)
    return x.reshape(-1, 3, 4).sum(1)


def checked_together(x: Tensor, y: Tensor) -> Tensor:
    torch._check(x.shape[0] + y.shape[0] <= 12)
    return torch.cat([x, y]).cumsum(0)


def chosen(x: Tensor) -> Tensor:
    return x * torch.sym_ite(x.shape[0] > 5, x.shape[0], 2 * x.shape[0])


def scaled_by_root(x: Tensor) -> Tensor:
    return x * x.shape[0] ** -0.5


def rounded(x: Tensor) -> list[Tensor]:
    n = x.shape[0]
    counts = (math.ceil(n / 3), math.floor(n / 3), round(n / 4), math.trunc(n * 0.75), round(n * 0.5))
    return [x.new_zeros(count + 2) + x[0, 0] for count in counts]


def one(*sizes: int) -> list[Shapes]:
    return [((n, 4),) for n in sizes]


def two(*sizes: tuple[int, int]) -> list[Shapes]:
    return [((a, 4), (b, 4)) for a, b in sizes]


LOW, HIGH = (((1, 4),), "requires 2 <= x.shape"), (((13, 4),), "dimension 0 is 13, its upper bound is 12")
RANGE: tuple[Any, Sequence[Shapes], Sequence[tuple[Shapes, str]]] = (({0: N},), one(5, 2, 12), [LOW, HIGH])

CASES: dict[str, Case] = {
    "elements": Case(lambda x: (x + 1).relu() * 2, *RANGE),
    "rows summed": Case(lambda x: x.sum(0), *RANGE),
    "softmax": Case(lambda x: x.softmax(0), *RANGE),
    "product with itself": Case(lambda x: x @ x.T, *RANGE),
    "normalised": Case(lambda x: F.layer_norm(x, (4,)), *RANGE),
    "shape computed": Case(lambda x: torch.ones(2 * x.shape[0] + 1, x.shape[0]), *RANGE),
    "number computed": Case(lambda x: x * (x.shape[0] % 5 - 3) / x.shape[0], *RANGE),
    "root of a size": Case(scaled_by_root, *RANGE),
    "power of a size": Case(lambda x: x + 2.0 ** (x.shape[0] - 6), *RANGE),
    "choice by a size": Case(chosen, *RANGE),
    "at least and at most": Case(
        lambda x: x.new_ones(torch.sym_max(x.shape[0], 5), torch.sym_min(x.shape[0], 3)), *RANGE
    ),
    "padded to a multiple": Case(lambda x: F.pad(x, (0, 0, 0, -x.shape[0] % 4)), *RANGE),
    "padded to a multiple that is rounded": Case(
        lambda x: F.pad(x, (0, 0, 0, math.ceil(x.shape[0] / 4) * 4 - x.shape[0])),
        ({0: DYNAMIC(min=2, max=12)},),
        one(6, 5, 12),
        [HIGH],
    ),
    "roundings": Case(rounded, ({0: DYNAMIC(min=2, max=12)},), one(5, 2, 6, 11, 12), [HIGH]),
    "centers of patches": Case(
        lambda x: torch.cat([torch.arange(0.5, x.shape[0] // 2), x[: x.shape[0] // 2, 0]]).reshape(2, -1),
        ({0: DYNAMIC(min=2, max=12)},),
        one(8, 4, 7, 12),
        [HIGH],
    ),
    "attention with heads of any size": Case(
        lambda x: F.scaled_dot_product_attention(*[x.T[None, None] + n for n in range(3)], is_causal=True),
        *RANGE,
    ),
    "lower triangle": Case(lambda x: torch.tril(torch.ones(x.shape[0], x.shape[0])) @ x, *RANGE),
    "halves that change places": Case(
        lambda x: torch.cat([x[x.shape[0] // 2 :].relu(), x[: x.shape[0] // 2]]) * 2,
        ({0: Dim.DYNAMIC(min=4, max=12)},),
        one(5, 4, 12),
        [HIGH],
    ),
    "positions": Case(lambda x: x + torch.arange(x.shape[0])[:, None], *RANGE),
    "returned size": Case(lambda x: (x, x.shape[0] * 3 - 1), *RANGE),
    "where not zero": Case(lambda x: torch.nonzero(x > 0).sum(0), *RANGE),
    "selected": Case(lambda x: x[x > 0] * 2, *RANGE),
    "another upper bound": Case(
        lambda x: x + 1, ({0: Dim("n", max=7)},), one(5, 0, 1, 7), [(((8, 4),), "its upper bound is 7")]
    ),
    "minimum 1": Case(
        lambda x: x.mean(0), ({0: Dim("n", min=1, max=7)},), one(3, 1, 7), [(((0, 4),), "requires 1 <= x")]
    ),
    "even": Case(
        lambda x: x.reshape(-1, 2, 4).sum(1),
        ({0: 2 * Dim("h", min=2, max=6)},),
        one(6, 4, 12),
        [(((7, 4),), "x.shape.0. % 2 == 0"), (((2, 4),), "requires 4 <= x.shape"), (((14, 4),), "is 14")],
    ),
    "equal": Case(
        lambda x, y: x * y,
        ({0: N}, {0: N}),
        two((5, 5), (2, 2), (12, 12)),
        [(((5, 4), (6, 4)), "dimension 0 of y is 6 and dimension 0 of x is 5")],
    ),
    "one more": Case(
        lambda x, y: x + y[1:],
        ({0: N}, {0: N + 1}),
        two((5, 6), (2, 3), (12, 13)),
        [(((5, 4), (5, 4)), "requires y.shape.0. == 1 \\+ x.shape")],
    ),
    "two": Case(
        lambda x, y: torch.cat([x, y]) @ torch.ones(4, 3),
        ({0: N}, {0: M}),
        two((5, 4), (2, 3), (12, 9), (2, 9)),
        [(((5, 4), (2, 4)), "requires 3 <= y.shape"), (((5, 4), (10, 4)), "its upper bound is 9")],
    ),
    "two of one tensor": Case(
        lambda x: (x.transpose(0, 1) * 2).contiguous(),
        ({0: N, 1: M},),
        [((5, 4),), ((2, 3),), ((12, 9),), ((12, 3),)],
        [(((5, 2),), "dimension 1 of x is 2"), (((2, 10),), "dimension 1 is 10")],
    ),
    "automatic": Case(
        lambda x, y: x + y,
        ({0: AUTO}, {0: AUTO}),
        two((5, 5), (2, 2), (8, 8)),
        [(((3, 4), (4, 4)), "y is 4 and dimension 0 of x is 3"), (((9, 4), (9, 4)), "its upper bound is 8")],
        {"x.0": 8},
    ),
    "dynamic with limits": Case(
        lambda x: x.cumsum(0),
        ({0: DYNAMIC(min=3, max=9)},),
        one(5, 3, 9),
        [(((2, 4),), "requires 3 <= x.shape"), (((10, 4),), "its upper bound is 9")],
    ),
    "default bound": Case(
        lambda x: x.flip(0), ({0: DYNAMIC},), one(5, 2, 9), [(((10, 4),), "its upper bound is 9")], {"x.0": 9}
    ),
    # Decompositions of torch that are right in these ranges only.
    "halves": Case(lambda x: x.chunk(2)[1] * 2, ({0: 2 * N},), one(6, 4, 24), [(((7, 4),), "% 2 == 0")]),
    "sections": Case(
        lambda x: x.tensor_split(2)[0] * 2, ({0: 2 * N},), one(6, 4, 24), [(((7, 4),), "% 2 == 0")]
    ),
    "differences": Case(
        lambda x: torch.diff(x, n=2, dim=0), ({0: Dim("n", min=4, max=12)},), one(5, 4, 12), []
    ),
    "distances": Case(
        lambda x, y: torch.cdist(x, y),
        ({0: N}, {0: M}),
        two((5, 4), (2, 3), (12, 9)),
        [(((13, 4), (3, 4)), "its upper bound is 12")],
    ),
    "distances of pairs": Case(lambda x: F.pdist(x), ({0: Dim("n", min=4, max=12)},), one(5, 4, 12), []),
    "areas": Case(
        lambda x: torch.cumulative_trapezoid(x, dim=0), ({0: Dim("n", min=4, max=12)},), one(5, 4, 12), []
    ),
    "windows": Case(
        lambda x: F.unfold(x[None, None], 3, stride=2, padding=1),
        ({0: Dim("n", min=4, max=12)},),
        one(5, 4, 12),
        [],
    ),
    "checked": Case(
        checked,
        ({0: DYNAMIC(max=12)},),
        one(9, 12),
        [(((4, 4),), "% 3 == 0"), (((6, 4),), "x.shape.0. != 6")],
    ),
    "checked together": Case(
        checked_together,
        ({0: DYNAMIC(max=10)}, {0: DYNAMIC(max=10)}),
        two((5, 4), (2, 2), (10, 2)),
        [(((10, 4), (3, 4)), r"input \d \([xy]\) and input \d")],
    ),
}


class One(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


class Two(One):
    def forward(self, x: Tensor, y: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.function(x, y)


def inputs_of(shapes: Shapes) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(sum(map(sum, shapes)))
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def module_of(case: Case) -> nn.Module:
    """The function of a case as a module of its number of inputs."""
    return (One if len(case.fits[0]) == 1 else Two)(case.function)
