"""The Llama-style decoder of `llama.py` with a cache of keys and values, as two methods that share it.

`prefill` takes a prompt, of 2 to 64 tokens, `decode` one token; both say at which positions tokens stand, write
their keys and values to the cache there, and give the logits behind the last. With a `window` the cache is a ring: a
token takes the place of the one that is as many positions before it, which is not attended to any more.

Try it: `et-compile examples/models/cached_llama.py:cached_llama -o cached_llama.pte`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from examples.models.llama import Attention, DecoderLayer, Llama, rotate
from examples.models.weights import initialise, seeded

PROMPT = 64
"""The most tokens that a prompt has."""

Step = Callable[[str, Tensor, Tensor], Tensor]
"""Runs a method on token ids and their positions; gives the logits behind the last token."""


class CachedAttention(Attention):
    """Attention of new tokens to all that are in the cache, `[1, kv_heads, places, size]` keys and values."""

    def __init__(self, width: int, heads: int, kv_heads: int, places: int) -> None:
        super().__init__(width, heads, kv_heads)
        self.keys = nn.Buffer(torch.zeros(1, kv_heads, places, self.size))
        self.values = nn.Buffer(torch.zeros(1, kv_heads, places, self.size))

    def attend(self, x: Tensor, cos: Tensor, sin: Tensor, places: Tensor, seen: Tensor) -> Tensor:
        """Put the tokens `x` `[1, T, width]` at `places` `[T]`, and attend to the places that are `seen`."""
        batch, tokens, _ = x.shape
        query, key, value = (
            f(x).view(batch, tokens, -1, self.size).transpose(1, 2)
            for f in (self.query, self.key, self.value)
        )
        self.keys.index_copy_(2, places, rotate(key, cos, sin))
        self.values.index_copy_(2, places, value)
        attended = nn.functional.scaled_dot_product_attention(
            rotate(query, cos, sin), self.keys, self.values, attn_mask=seen, enable_gqa=True
        )
        return self.output(attended.transpose(1, 2).reshape(batch, tokens, -1))


class CachedLayer(DecoderLayer):
    """A layer whose attention has a cache."""

    attention: CachedAttention

    def __init__(self, width: int, heads: int, kv_heads: int, hidden: int, places: int) -> None:
        super().__init__(width, heads, kv_heads, hidden)
        self.attention = CachedAttention(width, heads, kv_heads, places)

    def attend(self, x: Tensor, cos: Tensor, sin: Tensor, places: Tensor, seen: Tensor) -> Tensor:
        x = x + self.attention.attend(self.attention_norm(x), cos, sin, places, seen)
        return x + self.feed_forward(self.feed_forward_norm(x))


class CachedLlama(Llama):
    """Token ids `[1, T]` and their positions `[T]`, i64, to the logits behind the last, `[1, vocabulary]` f32."""

    layers: Any

    def __init__(
        self,
        vocabulary: int = 8192,
        width: int = 256,
        heads: int = 8,
        kv_heads: int = 2,
        hidden: int = 688,
        layers: int = 4,
        positions: int = 128,
        window: int | None = None,
    ) -> None:
        super().__init__(vocabulary, width, heads, kv_heads, hidden, 0, positions)
        self.window = window
        places = window or positions
        self.layers = nn.ModuleList(
            CachedLayer(width, heads, kv_heads, hidden, places) for _ in range(layers)
        )
        self.position = nn.Buffer(torch.full((places,), -1))
        """The position of the token in each entry of the cache."""

    def forward(self, ids: Tensor, at: Tensor) -> Tensor:
        places = at if self.window is None else at % self.window
        self.position.index_copy_(0, places, at)
        seen = (self.position >= 0) & (self.position <= at[:, None])
        x = self.tokens(ids)
        cos, sin = self.cos[at], self.sin[at]
        for layer in self.layers:
            x = layer.attend(x, cos, sin, places, seen)
        return self.head(self.norm(x[:, -1]))


Methods = dict[str, tuple[nn.Module, tuple[Tensor, Tensor], Any]]
"""By name what a method is exported from: module, example arguments, dynamic shapes."""


def methods(model: CachedLlama) -> Methods:
    """The two methods of a decoder."""
    longest = min(PROMPT, model.window or PROMPT, len(model.position))
    tokens = torch.export.Dim("tokens", min=2, max=longest)
    prompt = torch.zeros(1, 3, dtype=torch.int64), torch.arange(3)
    token = torch.zeros(1, 1, dtype=torch.int64), torch.arange(1)
    return {
        "prefill": (model, prompt, {"ids": {1: tokens}, "at": {0: tokens}}),
        "decode": (model, token, None),
    }


def greedy(step: Step, prompt: Tensor, count: int) -> list[int]:
    """The `count` likeliest tokens behind a prompt `[1, T]`, each given the ones before."""
    length = prompt.shape[1]
    logits = step("prefill", prompt, torch.arange(length))
    found = [int(logits.argmax())]
    while len(found) < count:
        token = torch.tensor([[found[-1]]])
        logits = step("decode", token, torch.tensor([length + len(found) - 1]))
        found.append(int(logits.argmax()))
    return found


def cached_llama() -> Methods:
    """The methods of the decoder with the weights of `llama.py`."""
    with seeded(7):
        return methods(initialise(CachedLlama()))  # pyright: ignore[reportArgumentType] it gives its argument back


def ring_llama() -> Methods:
    """The same with a window of 32 tokens."""
    with seeded(7):
        return methods(initialise(CachedLlama(window=32)))  # pyright: ignore[reportArgumentType] as above
