"""Features of programs: nesting of arguments and results, literals, and weights that are shared or lifted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

__all__ = ["CASES", "Case"]


class Case(NamedTuple):
    """A module, and the arguments that it is exported and run with."""

    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012 (of a tuple)


class Trees(nn.Module):
    def forward(self, a: dict[str, Any], b: list[torch.Tensor]) -> dict[str, Any]:
        return {"sum": a["x"] + a["y"][0], "pair": (b[0] - b[1], [b[0] * 2, None]), "none": None}


class Keywords(nn.Module):
    def forward(
        self, x: torch.Tensor, *, scale: torch.Tensor, double: bool = False, shift: torch.Tensor | None = None
    ) -> torch.Tensor:
        x = x * scale if shift is None else x * scale + shift
        return x * 2 if double else x


class Numbers(nn.Module):
    def forward(self, x: torch.Tensor, times: int, plus: float, negate: bool, nothing: None) -> torch.Tensor:
        y = x * times + plus
        return -y if negate and nothing is None else y


class Strings(nn.Module):
    def forward(self, x: torch.Tensor, how: str) -> tuple[torch.Tensor, str]:
        return x.abs() if how == "flat" else -x, "done"


class Literals(nn.Module):
    """Outputs that are no tensors, an input among them."""

    def forward(self, x: torch.Tensor, k: int) -> tuple[Any, ...]:
        return 3, k, None, 2.5, True, x + 1


class Lifted(nn.Module):
    """Tensors made in `forward`, which export lifts to constants."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + torch.tensor([1.0, 2.0, 3.0]), torch.arange(3) + x, torch.ones(3) * 2


class EqualBytes(nn.Module):
    """Constants of several element types and shapes, in equal bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(2, 4))
        self.register_buffer("reals", torch.zeros(8))
        self.register_buffer("integers", torch.zeros(4, dtype=torch.int64))
        self.register_buffer("flags", torch.zeros(32, dtype=torch.bool))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        small = x[:4].to(torch.int64)
        return x + self.reals, x.view(2, 4) - self.rows, small + self.integers, (x > 0) | self.flags[:8]


class Hollow(nn.Module):
    """Whose only constants have no elements, which makes a segment of constants without bytes."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.cat([x, torch.empty(0)]), x[torch.tensor([], dtype=torch.int64)]


class Passing(nn.Module):
    """Outputs that are inputs, parameters, each other, and views."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, x: torch.Tensor, unused: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return x, y, y, self.weight, x.t(), y[0], y.view(-1)


class Tied(nn.Module):
    """One weight for two layers, and another one for an embedding and the layer that undoes it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(40, 40)
        self.second = nn.Linear(40, 40)
        self.second.weight = self.first.weight
        self.words = nn.Embedding(500, 40)
        self.scores = nn.Linear(40, 500, bias=False)
        self.scores.weight = self.words.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.scores(self.second(self.first(self.words(ids))))


def _pair() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, generator=generator), torch.randn(2, 3, generator=generator)


X, Y = _pair()

CASES: dict[str, Callable[[], Case]] = {
    "trees": lambda: Case(Trees(), ({"x": X, "y": (Y, None)}, [X, Y])),
    "keywords": lambda: Case(Keywords(), (X,), {"scale": Y}),
    "keywords in another order": lambda: Case(Keywords(), (X,), {"shift": Y, "double": True, "scale": X}),
    "numbers": lambda: Case(Numbers(), (X, 3, 0.5, True, None)),
    "strings": lambda: Case(Strings(), (X, "flat")),
    "literals": lambda: Case(Literals(), (X, 7)),
    "lifted": lambda: Case(Lifted(), (X,)),
    "equal bytes": lambda: Case(EqualBytes(), (torch.linspace(-2, 2, 8),)),
    "hollow": lambda: Case(Hollow(), (X,)),
    "passing": lambda: Case(Passing(), (X, Y)),
    "tied": lambda: Case(Tied(), (torch.tensor([1, 499]),)),
}
