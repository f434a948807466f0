"""A Llama-style decoder: 4 layers, width 256, 8 query heads over 2 key/value heads, 64 tokens, no cache.

After Touvron et al. 2023, section 2: pre-norm RMSNorm (Zhang & Sennrich 2019), rotary positions (Su et al.
2021), grouped-query attention (Ainslie et al. 2023), SwiGLU (Shazeer 2020), and the head tied to the
embedding (Press & Wolf 2017).

Try it: `et-compile examples/models/llama.py:llama -o llama.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from examples.models.weights import initialise, seeded


def rotary_table(tokens: int, size: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """Cosines, sines `[tokens, size]` f32: pair `i` of a head turns by `position · base^(-2i/size)`."""
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.outer(torch.arange(tokens, dtype=torch.float64), frequencies)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().float(), angles.sin().float()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair (element `i` of a head's first half and of its second) by its angle."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    """Causal grouped-query attention: each key/value head serves `heads / kv_heads` query heads."""

    def __init__(self, width: int, heads: int, kv_heads: int) -> None:
        super().__init__()
        self.size = width // heads
        self.query = nn.Linear(width, heads * self.size, bias=False)
        self.key = nn.Linear(width, kv_heads * self.size, bias=False)
        self.value = nn.Linear(width, kv_heads * self.size, bias=False)
        self.output = nn.Linear(heads * self.size, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, tokens, _ = x.shape
        query, key, value = (
            f(x).view(batch, tokens, -1, self.size).transpose(1, 2)
            for f in (self.query, self.key, self.value)
        )
        attended = nn.functional.scaled_dot_product_attention(
            rotate(query, cos, sin), rotate(key, cos, sin), value, is_causal=True, enable_gqa=True
        )
        return self.output(attended.transpose(1, 2).reshape(batch, tokens, -1))


class FeedForward(nn.Module):
    """SwiGLU: a SiLU gate times a linear branch, projected back."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class DecoderLayer(nn.Module):
    """Attention and feed-forward, each on the normalised stream and added back to it."""

    def __init__(self, width: int, heads: int, kv_heads: int, hidden: int) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(width, eps=1e-5)
        self.attention = Attention(width, heads, kv_heads)
        self.feed_forward_norm = nn.RMSNorm(width, eps=1e-5)
        self.feed_forward = FeedForward(width, hidden)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(nn.Module):
    """Token ids `[N, T]` i64 to logits `[N, T, vocabulary]` f32."""

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        vocabulary: int = 8192,
        width: int = 256,
        heads: int = 8,
        kv_heads: int = 2,
        hidden: int = 688,
        layers: int = 4,
        positions: int = 128,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, kv_heads, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        cos, sin = rotary_table(positions, width // heads)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids)
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def llama() -> tuple[nn.Module, tuple[Tensor]]:
    """The decoder with seeded weights in eval mode, and 64 token ids."""
    with seeded(7):
        return initialise(Llama()), (torch.randint(0, 8192, (1, 64)),)
