"""Caches of cross-attention, of sources up to a fixed length, as buffers."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, CacheLayerMixin

__all__ = ["CrossAttentionBuffers"]

_NAMES: Final = ("keys", "values")


class _CrossAttentionLayer(CacheLayerMixin):
    """Keys and values `[1, heads, places, size]` of one layer: those of a source are the first ones."""

    is_compileable = True
    is_sliding = False

    def __init__(self, places: int) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  (untyped)
        self.places = places
        self.length: Any = 0
        """The length of the source that is there; 0: the call computes its keys and values."""
        self.at: Tensor | None = None
        """Where those that the call computes go, `[S]` i64."""
        self.stored: dict[str, Tensor] = {}

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate for keys and values of these sizes."""
        self.dtype, self.device = key_states.dtype, key_states.device
        for name, like in zip(_NAMES, (key_states, value_states), strict=True):
            batch, heads, _, size = like.shape
            self.stored[name] = like.new_zeros(batch, heads, self.places, size)
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keep the keys and values of a source, and return them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.at is not None
        for name, new in zip(_NAMES, (key_states, value_states), strict=True):
            self.stored[name].index_copy_(2, self.at, new)
        return key_states, value_states

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The length of the source, and its first place."""
        return self.length, 0

    def get_seq_length(self) -> Any:
        """The length of the source that is there."""
        return self.length

    def get_max_length(self) -> int:
        """The number of places."""
        return self.places


class CrossAttentionBuffers(nn.Module):
    """The keys and values of a source, of up to `places` hidden states, as buffers, which `torch.export` takes for
    state.

    Layers whose attention keeps none in the cache compute them in each call.
    """

    def __init__(self, layers: int, places: int) -> None:
        super().__init__()
        self._cache: Any = Cache(layers=[_CrossAttentionLayer(places) for _ in range(layers)])
        self._labels: dict[str, tuple[_CrossAttentionLayer, str]] = {}

    def register(self) -> None:
        """Make buffers, all zeros, of what the first call of the model has allocated."""
        for number, layer in enumerate(self._cache.layers):
            for name, tensor in layer.stored.items():
                label = f"{name}_{number}"
                self.register_buffer(label, torch.zeros_like(tensor))
                self._labels[label] = (layer, name)

    def writing(self, length: Any) -> Any:
        """The cache for a call that computes and keeps the keys and values of a source of this length."""
        self._bind()
        at = torch.arange(length)
        for layer in self._cache.layers:
            layer.length, layer.at = 0, at
        return self._cache

    def reading(self, length: Any) -> Any:
        """The cache for a call that attends to a source of this length, whose keys and values are there."""
        self._bind()
        for layer in self._cache.layers:
            if layer.is_initialized:
                layer.length = length
                layer.keys, layer.values = (layer.stored[name][:, :, :length] for name in _NAMES)
        return self._cache

    def _bind(self) -> None:
        for label, (layer, name) in self._labels.items():
            layer.stored[name] = getattr(self, label)
