"""An encoder-decoder transformer that decodes greedily within the program: 2 + 2 layers, width 128.

After Vaswani et al. 2017, section 3, with pre-norm layers and learned positions. The whole of `generate` is one
program: the decoder is the body of a `while_loop` that goes on until it gives the end token or the sentence is full.
What it carries is the number of tokens, the tokens, and the keys and values of each layer, one row of which each turn
adds.

Try it: `et-compile examples/models/translator.py:translator -o translator.pte`
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from examples.models.weights import initialise, seeded

START = 0
END = 1


class Attention(nn.Module):
    """Multi-head attention of queries `[N, Q, W]` over keys and values `[N, H, K, W/H]`."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        """`[N, T, W]` to `[N, H, T, W/H]`."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_and_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.split(self.key(x)), self.split(self.value(x))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        query = self.split(self.query(x))
        attended = nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        return self.output(attended.transpose(1, 2).flatten(2))


class FeedForward(nn.Sequential):
    def __init__(self, width: int) -> None:
        super().__init__(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.feed_forward_norm, self.feed_forward = nn.LayerNorm(width), FeedForward(width)

    def forward(self, x: Tensor) -> Tensor:
        normal = self.norm(x)
        x = x + self.attention(normal, *self.attention.keys_and_values(normal))
        return x + self.feed_forward(self.feed_forward_norm(x))


class DecoderLayer(nn.Module):
    """One token against those before it, whose keys and values are kept, and against the encoded sentence."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.cross_norm, self.cross = nn.LayerNorm(width), Attention(width, heads)
        self.feed_forward_norm, self.feed_forward = nn.LayerNorm(width), FeedForward(width)

    def forward(
        self, x: Tensor, position: Tensor, keys: Tensor, values: Tensor, source: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The next stream `[N, 1, W]`, and `keys` and `values` `[N, H, T, W/H]` with row `position`."""
        normal = self.norm(x)
        key, value = self.attention.keys_and_values(normal)
        row = position.reshape(1)
        keys, values = keys.index_copy(2, row, key), values.index_copy(2, row, value)
        seen = (torch.arange(keys.shape[2]) <= position)[None]
        x = x + self.attention(normal, keys, values, seen)
        x = x + self.cross(self.cross_norm(x), *source)
        return x + self.feed_forward(self.feed_forward_norm(x)), keys, values


class Translator(nn.Module):
    """Source ids `[1, S]` i64 to target ids `[1, target]` i64, `END` behind the last, and their number."""

    def __init__(
        self, vocabulary: int = 512, width: int = 128, heads: int = 4, layers: int = 2, target: int = 24
    ) -> None:
        super().__init__()
        self.target = target
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(64, width)
        self.encoder = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.encoder_norm = nn.LayerNorm(width)
        self.decoder = nn.ModuleList(DecoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def encode(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for layer in self.encoder:
            x = layer(x)
        return self.encoder_norm(x)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        encoded = self.encode(ids)
        layers = [cast(DecoderLayer, layer) for layer in self.decoder]
        sources = [layer.cross.keys_and_values(encoded) for layer in layers]
        heads = layers[0].attention.heads
        empty = torch.zeros(1, heads, self.target, encoded.shape[2] // heads)
        caches = [empty + 0 for _ in range(2 * len(layers))]

        def unfinished(count: Tensor, out: Tensor, last: Tensor, *caches: Tensor) -> Tensor:
            return (count < self.target) & (last != END)

        def step(count: Tensor, out: Tensor, last: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
            x = self.tokens(last.reshape(1, 1)) + self.positions(count.reshape(1, 1))
            kept: list[Tensor] = []
            for index, layer in enumerate(layers):
                x, *new = layer(x, count, *caches[2 * index : 2 * index + 2], sources[index])
                kept.extend(new)
            token = self.head(self.norm(x)).argmax(-1)
            out = out.index_copy(1, count.reshape(1), token)
            return count + 1, out, token.reshape(()), *kept

        first = torch.full((), START)
        out = torch.full((1, self.target), END)
        count, out, *_ = while_loop(
            unfinished, step, (torch.zeros((), dtype=torch.int64), out, first, *caches)
        )
        return out, count


def translator() -> tuple[nn.Module, tuple[Tensor], dict[str, dict[int, Dim]]]:
    """The transformer with seeded weights in eval mode, 10 source ids, and up to 64 of them."""
    with seeded(11):
        module = cast(Translator, initialise(Translator()))
        with torch.no_grad():
            # Positions that tell tokens apart, and an end that comes early for some sentences.
            module.tokens.weight.mul_(2)
            module.positions.weight.mul_(4)
            module.head.bias[END] += 2.2
        return module, (torch.randint(2, 512, (1, 10)),), {"ids": {1: Dim("source", min=2, max=64)}}
