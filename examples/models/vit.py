"""A vision transformer: patches as tokens, and a class token that the head reads.

After Dosovitskiy et al., "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale", ICLR
2021, section 3.1, at the size of a "tiny" model with fewer layers.

Try it: `et-compile examples/models/vit.py:vit -o vit.pte`
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from examples.models.weights import initialise, seeded


class Attention(nn.Module):
    """Self-attention of all tokens, with one projection to queries, keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        query, key, value = (
            part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2)
            for part in self.project(x).chunk(3, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return self.output(mixed.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    """Attention and a two-layer network, each behind a norm and beside a shortcut."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class VisionTransformer(nn.Module):
    """Images `[N, 3, size, size]` f32 to logits `[N, classes]` f32."""

    def __init__(
        self,
        size: int = 112,
        patch: int = 16,
        width: int = 192,
        layers: int = 4,
        heads: int = 3,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * 0.5)
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.1)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image: Tensor) -> Tensor:
        tokens = self.patches(image).flatten(2).transpose(1, 2)
        first = self.class_token.expand(image.shape[0], -1, -1)
        x = self.blocks(torch.cat([first, tokens], dim=1) + self.positions)
        return self.head(self.norm(x)[:, 0])


def vit() -> tuple[nn.Module, tuple[Tensor]]:
    """The network with seeded weights in eval mode, and one image `[1, 3, 112, 112]` f32."""
    with seeded(16):
        return initialise(VisionTransformer()), (torch.randn(1, 3, 112, 112),)
