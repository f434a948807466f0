"""A BERT-style encoder, post-norm, with padding mask and pooler: 4 layers, width 256, 4 heads, 64 tokens.

After Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", NAACL 2019; attention after
Vaswani et al. 2017, section 3.2, spelled out in matmul and softmax (`llama.py` uses the fused operator).

Try it: `et-compile examples/models/bert.py:bert -o bert.pte`
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from examples.models.weights import initialise, seeded


class SelfAttention(nn.Module):
    """Multi-head attention of `[N, T, width]` on itself where `mask` `[N, 1, 1, T]` is true."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def split_heads(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        return x.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (self.split_heads(f(x)) for f in (self.query, self.key, self.value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return self.output((weights @ value).transpose(1, 2).reshape(x.shape))


class EncoderLayer(nn.Module):
    """Attention, then a two-layer GELU network, each followed by a residual sum and a layer norm."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.widen = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width)
        self.output_norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention_norm(x + self.dropout(self.attention(x, mask)))
        hidden = nn.functional.gelu(self.widen(x))
        return self.output_norm(x + self.dropout(self.narrow(hidden)))


class Bert(nn.Module):
    """Token ids and mask `[N, T]` i64 (1 = token, 0 = padding) to hidden states and the pooled first token.

    The results are `[N, T, width]` and `[N, width]` f32.
    """

    def __init__(
        self, vocabulary: int = 30522, width: int = 256, heads: int = 4, layers: int = 4, positions: int = 512
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(0.1)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, 4 * width) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.tokens(ids) + self.positions(places) + self.segments(torch.zeros_like(ids))
        x = self.dropout(self.norm(x))
        mask = attention_mask[:, None, None, :].to(torch.bool)
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


def bert() -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """The encoder with seeded weights in eval mode, and 64 tokens of which the last 12 are padding."""
    with seeded(4):
        module = initialise(Bert())
        ids = torch.randint(1000, 30522, (1, 64))
        attention_mask = torch.ones(1, 64, dtype=torch.int64)
        ids[:, 52:] = 0
        attention_mask[:, 52:] = 0
        return module, (ids, attention_mask)
