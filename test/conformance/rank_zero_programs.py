"""Operators on tensors of rank 0, whose dimension may be called 0 or -1, by family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from support.programs import Calls
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["PROGRAMS"]

Function = Callable[[Tensor], Any]

FIRST: Final = torch.tensor(0)

MOVES: Final[tuple[Function, ...]] = (
    lambda x: torch.flip(x.neg(), [0]),
    lambda x: torch.flip(torch.flip(x.neg(), [0]), [-1]),
    lambda x: x.transpose(0, -1) + 1,
    lambda x: x.permute(()) + 1,
    lambda x: x.squeeze(0) + 1,
    lambda x: x.squeeze((-1,)) + 1,
    lambda x: x.expand(2, 3),
    lambda x: x.expand(()) + 1,
    lambda x: x.repeat(2),
    lambda x: x.repeat(()),
    lambda x: x.roll(1),
    lambda x: x.flatten(),
    lambda x: functional.pad(x, ()),
    lambda x: x.unfold(0, 1, 1),
    lambda x: torch.stack([x, x]),
    lambda x: x[None, ..., None] * 2,
)
REDUCTIONS: Final[tuple[Function, ...]] = (
    lambda x: x.sum(0),
    lambda x: x.sum(-1, keepdim=True),
    lambda x: x.mean(0),
    lambda x: x.prod(0),
    lambda x: x.amax(0),
    lambda x: x.amin(()),
    lambda x: x.argmax(0),
    lambda x: x.bool().any(0),
    lambda x: x.bool().all(-1),
    lambda x: x.var(0, correction=0),
    lambda x: x.norm(2, 0),
    lambda x: x.logsumexp(0),
    lambda x: x.softmax(0),
    lambda x: x.log_softmax(-1),
    lambda x: x.cumsum(0),
    lambda x: x.cumprod(-1),
)
SORTS: Final[tuple[Function, ...]] = (
    lambda x: x.max(0),
    lambda x: x.min(-1),
    lambda x: x.sort(0),
    lambda x: x.topk(1, 0),
    lambda x: x.kthvalue(1, 0),
    lambda x: x.median(0),
    lambda x: x.cummax(0),
)
INDICES: Final[tuple[Function, ...]] = (
    lambda x: x.gather(0, FIRST),
    lambda x: x.scatter(0, FIRST, x * 2),
    lambda x: x.scatter(0, FIRST, 3.0),
    lambda x: x.scatter_add(0, FIRST, x),
    lambda x: x.index_select(0, FIRST),
    lambda x: x.index_select(0, FIRST.reshape(1)),
    lambda x: x.index_copy(0, FIRST.reshape(1), x.reshape(1) * 2),
    lambda x: x.index_fill(0, FIRST.reshape(1), 3.0),
    lambda x: x.take(FIRST),
)


def _program(functions: tuple[Function, ...]) -> Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]:
    def make() -> tuple[nn.Module, tuple[Tensor, ...]]:
        return Calls(lambda x: tuple(function(x.neg()) for function in functions)), (torch.tensor(1.25),)

    return make


PROGRAMS: Final = {
    "moves": _program(MOVES),
    "reductions": _program(REDUCTIONS),
    "sorts": _program(SORTS),
    "indices": _program(INDICES),
}
