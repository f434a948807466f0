"""Forms of cache updates: modules of one buffer that take new entries and their positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

BATCH, HEADS, PLACES, WIDTH = 1, 2, 8, 4
WRITTEN = (3, 0, 7)
"""Positions of the writes, one after the other."""


def steps() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Query, new entry and position of each write."""
    torch.manual_seed(5)
    shape = (BATCH, HEADS, 1, WIDTH)
    return [(torch.randn(shape), torch.randn(shape), torch.tensor([place])) for place in WRITTEN]


class Cache(nn.Module):
    """Writes an entry and attends to all of them."""

    def __init__(self, write: Callable[[Cache, Tensor, Tensor], None], shape: tuple[int, ...]) -> None:
        super().__init__()
        self.write = write
        self.cache = nn.Buffer(torch.zeros(shape))

    def forward(self, query: Tensor, new: Tensor, at: Tensor) -> Tensor:
        self.write(self, new, at)
        keys = self.cache.view(-1, PLACES, WIDTH)[-HEADS:]
        return torch.softmax(query @ keys.transpose(-2, -1), dim=-1) @ keys


@dataclass(frozen=True)
class Form:
    """A way to write, and whether the stock runtime has kernels to do it in place."""

    name: str
    write: Callable[[Cache, Tensor, Tensor], None]
    shape: tuple[int, ...] = (BATCH, HEADS, PLACES, WIDTH)
    stock_in_place: bool = True


def _index(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, at] = new


def _index_from_end(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, at - PLACES] = new


def _index_of_no_dimension(net: Cache, new: Tensor, at: Tensor) -> None:
    torch.ops.aten.index_put_(net.cache, [None, None, at.view(())], new[:, :, 0])


def _broadcast(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, at] = new[:, :1]


def _number(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, at] = 0.5


def _index_copy(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache.index_copy_(2, at, new)


def _index_add(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache.index_add_(2, at, new)


def _accumulate(net: Cache, new: Tensor, at: Tensor) -> None:
    zero = torch.zeros(1, dtype=torch.int64)
    net.cache.index_put_((zero, zero, at), new[0, 0], accumulate=True)


def _accumulate_several(net: Cache, new: Tensor, at: Tensor) -> None:
    twice, values = torch.cat([at, at]), torch.cat([new, new], dim=2)
    torch.ops.aten.index_put_(net.cache, [None, None, twice], values, True)


def _per_row(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[torch.arange(HEADS), torch.cat([at, PLACES - 1 - at])] = new[0, :, 0]


def _between(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[torch.zeros_like(at), :, at] = new[:, :, 0]


def _static_slice(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, 3:4] = new


def _static_steps(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, 1::2] = new


def _outermost(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[0, 1:2] = new[0, 1:]


def _last(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, -1] = new[:, :, 0]


def _slice(net: Cache, new: Tensor, at: Tensor) -> None:
    start = at.item()
    torch._check(start >= 0)
    torch._check(start < PLACES)
    net.cache[:, :, start : start + 1] = new


def _narrow(net: Cache, new: Tensor, at: Tensor) -> None:
    start = at.item()
    torch._check(start >= 0)
    torch._check(start + 1 <= PLACES)
    net.cache.narrow(2, start, 1).copy_(new)


def _scatter(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache.scatter_(2, at.view(1, 1, 1, 1).expand(BATCH, HEADS, 1, WIDTH), new)


def _ring(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, (at * 3) % PLACES] = new


def _two_slices(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, at] = new
    net.cache[:, :, 5:6] = new * 2
    net.cache[:, :, 6] += 1


def _converted(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[:, :, at] = new.double().to(torch.float32)
    net.cache[:, :, 0:1] = new.double()


def _layer(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache[1, :, :, at] = new


def _layers(net: Cache, new: Tensor, at: Tensor) -> None:
    for layer in range(3):
        net.cache[layer][:, :, at] = new * layer


def _flat(net: Cache, new: Tensor, at: Tensor) -> None:
    net.cache.view(HEADS, PLACES, WIDTH)[:, at] = new[0]


FORMS = (
    Form("index", _index),
    Form("index from the end", _index_from_end),
    Form("index of no dimension", _index_of_no_dimension),
    Form("broadcast", _broadcast),
    Form("number", _number),
    Form("index_copy", _index_copy),
    Form("index_add", _index_add),
    Form("accumulate", _accumulate),
    Form("accumulate several", _accumulate_several, stock_in_place=False),
    Form("per row", _per_row, (HEADS, PLACES, WIDTH)),
    Form("between", _between, stock_in_place=False),
    Form("static slice", _static_slice),
    Form("static steps", _static_steps),
    Form("outermost", _outermost),
    Form("last", _last),
    Form("slice", _slice),
    Form("narrow", _narrow),
    Form("scatter", _scatter),
    Form("ring", _ring),
    Form("two slices", _two_slices),
    Form("converted", _converted),
    Form("layer", _layer, (3, BATCH, HEADS, PLACES, WIDTH)),
    Form("layers", _layers, (3, BATCH, HEADS, PLACES, WIDTH)),
    Form("flat", _flat),
)
