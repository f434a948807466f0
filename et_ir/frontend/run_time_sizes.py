"""Sizes that are known at run time only, in graphs of torch.

A size is a symbol, or computed from symbols. One that is computed is read off a tensor that has it, or, in a view,
left for the view to make out: so shapes need no arithmetic while the program runs. Only what no tensor has is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from xdsl.ir import SSAValue

__all__ = [
    "Like",
    "Numbering",
    "SizedTensors",
    "UnknownNumber",
    "expression",
    "numberings",
    "symbolic_tensors",
]


def expression(size: Any) -> Any:
    """A key of a size, equal for equal sizes; `None` for a number."""
    symbolic: Any = size
    return symbolic.node.expr if isinstance(size, torch.SymInt) else None


class SizedTensors:
    """The first tensor that has each size, as a program goes along."""

    def __init__(self) -> None:
        self._found: dict[Any, tuple[SSAValue, int]] = {}

    def add(self, value: SSAValue, fake: Any) -> None:
        """Note the sizes of a value that torch knows as `fake`."""
        for dim, size in enumerate(fake.shape if isinstance(fake, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt):
                self._found.setdefault(expression(size), (value, dim))

    def copy(self) -> SizedTensors:
        """The same, to be added to on its own."""
        made = SizedTensors()
        made._found = dict(self._found)
        return made

    def find(self, size: Any) -> tuple[SSAValue, int] | None:
        """A tensor, and which of its dimensions is of a size."""
        return self._found.get(expression(size))


# -- tracing


@dataclass(frozen=True)
class Like:
    """A tensor to trace with: its shape, in which -1 is a size known at run time only, and its dtype."""

    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def is_static(self) -> bool:
        """Whether all sizes are known."""
        return min(self.shape, default=0) >= 0

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Like:
        """That of a (fake) tensor."""
        return cls(tuple(size if type(size) is int else -1 for size in tensor.shape), tensor.dtype)


class UnknownNumber(Like):
    """A number known at run time only: it is read from a tensor without dimensions."""

    @classmethod
    def number(cls, *, is_float: bool) -> UnknownNumber:
        """An integer, or a float."""
        return cls((), torch.float64 if is_float else torch.int64)


Numbering = Callable[[int, int, int], int]
"""The number of the symbol for a dimension, given the tensor's place among the operands, the dimension, and the
tensor's rank: dimensions of one number are of one size.
"""

_NUMBERINGS: Final[tuple[Numbering, ...]] = (
    lambda tensor, dim, rank: 16 * tensor + dim,
    lambda tensor, dim, rank: dim,
    lambda tensor, dim, rank: rank - 1 - dim,
    lambda tensor, dim, rank: 0,
)
"""From all sizes differ to all are the same: operators that demand equal sizes refuse the first ones."""


def numberings(tensors: Sequence[Like]) -> Iterator[Numbering]:
    """Ways to tell sizes of tensors apart, without those that come to the same."""
    dims = [
        (i, dim, len(like.shape))
        for i, like in enumerate(tensors)
        for dim, n in enumerate(like.shape)
        if n < 0
    ]
    seen: set[tuple[int, ...]] = set()
    for numbering in _NUMBERINGS:
        numbers = [numbering(*place) for place in dims]
        groups = tuple(numbers.index(number) for number in numbers)
        if groups not in seen:
            seen.add(groups)
            yield numbering


_SMALLEST: Final = 1013
"""The example of the first symbol. Large, so that no comparison with a size that programs have says that it is less."""


def symbolic_tensors(env: ShapeEnv, tensors: Sequence[Like], numbering: Numbering) -> list[torch.Tensor]:
    """Tensors in whose shapes sizes known at run time only are symbols, for a trace in the fake mode of `env`.

    As in `torch.export`, a symbol is neither 0 nor 1.
    """
    symbols: dict[int, Any] = {}

    def size(tensor: int, dim: int, rank: int) -> Any:
        number = numbering(tensor, dim, rank)
        if number not in symbols:
            source = ConstantSource(f"s{number}")
            hint = _SMALLEST + 2 * len(symbols)
            symbol = env.create_symbol(hint, source, dynamic_dim=DimDynamic.DYNAMIC, constraint_dim=None)
            symbols[number] = env.create_symintnode(symbol, hint=hint, source=source)
        return symbols[number]

    made: list[torch.Tensor] = []
    for i, like in enumerate(tensors):
        rank = len(like.shape)
        sizes = [n if n >= 0 else size(i, dim, rank) for dim, n in enumerate(like.shape)]
        made.append(torch.empty(sizes, dtype=like.dtype))
    return made
