"""Caches of fixed size, of attention and recurrent layers, as buffers."""

from __future__ import annotations

import inspect
from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from transformers.cache_utils import (
    CacheLayerMixin,
    DummyLayer,
    LinearAttentionCacheLayerMixin,
    LinearAttentionLayer,
    get_layer_types_and_kwargs,  # pyright: ignore[reportUnknownVariableType]  (untyped)
)

from et_ir.language_models.errors import LanguageModelError
from et_ir.language_models.recurrence import RecurrentCache

__all__ = ["AttentionCache", "CacheBuffers", "cache_argument", "has_recurrent_layers"]

_FULL: Final = "full_attention"
_CHUNKED: Final = "chunked_attention"
_SLIDING: Final = "sliding_attention"
_RECURRENT: Final = ("linear_attention", "conv")


def cache_argument(model: Any) -> str:
    """The name of the argument of a model that takes a cache; transformers 5.24 has given all of them one name."""
    taken = inspect.signature(model.forward).parameters
    return next((name for name in ("cache", "cache_params") if name in taken), "past_key_values")


class AttentionCache(CacheLayerMixin):
    """Keys and values `[1, heads, places, size]` of one layer, written in place.

    Position `p` is at place `p`, or at `p % places` of a ring, whose layers attend to a window of positions only. A
    quantized cache has integers of 8 bits, with a scale for each position of each head.
    """

    is_compileable = True
    is_sliding = False

    def __init__(
        self,
        kind: str,
        places: int,
        window: int | None = None,
        *,
        is_ring: bool = False,
        is_quantized: bool = False,
    ) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  (untyped)
        self.kind = kind
        """The kind of attention, as configurations name it."""
        self.places = places
        self.window = window
        """The number of positions that a token attends to, or of the chunk that it is in."""
        self.is_ring = is_ring
        self.is_quantized = is_quantized
        self.at: Tensor | None = None
        """Where the tokens of this call go, `[tokens]` i64."""
        self.first: Tensor | int = 0
        """The position of the first of them."""
        self.begin: Any = 0
        """The same as a number, where `is_by_place`."""
        self.is_by_place = False
        """Whether keys and values are `[1, places, heads, size]` in memory."""

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Allocate for keys and values of these sizes."""
        self.dtype, self.device = key_states.dtype, key_states.device
        for name, like in (("keys", key_states), ("values", value_states)):
            batch, heads, _, size = like.shape
            dtype = torch.int8 if self.is_quantized else like.dtype
            sizes = (self.places, heads) if self.is_by_place else (heads, self.places)
            setattr(self, name, torch.zeros(batch, *sizes, size, dtype=dtype))
            if self.is_quantized:
                setattr(self, f"{name}_scales", torch.zeros(batch, heads, self.places, 1, dtype=like.dtype))
        self.is_initialized = True

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that are state."""
        scales = ("keys_scales", "values_scales") if self.is_quantized else ()
        return ("keys", "values", *scales)

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write the keys and values of new tokens; all that are in the cache."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        return self._written("keys", key_states), self._written("values", value_states)

    def _written(self, name: str, new: Tensor) -> Tensor:
        assert self.at is not None
        stored: Tensor = getattr(self, name)
        if self.is_by_place:
            return stored.index_copy_(1, self.at, new.transpose(1, 2)).transpose(1, 2)
        if not self.is_quantized:
            return stored.index_copy_(2, self.at, new)
        scales: Tensor = getattr(self, f"{name}_scales")
        scale = new.abs().amax(-1, keepdim=True).clamp(min=torch.finfo(new.dtype).tiny * 256) / 127
        stored.index_copy_(2, self.at, (new / scale).round().to(torch.int8))
        scales.index_copy_(2, self.at, scale)
        return stored.to(new.dtype) * scales

    def start(self, positions: Tensor, begin: Any = 0) -> None:
        """Begin a call with tokens at `positions` `[tokens]` i64, one after the other, from `begin` on."""
        self.at = positions % self.places if self.is_ring else positions
        self.first = positions[0]
        if self.is_by_place and self.window is None:
            self.begin = begin

    def mask(self, positions: Tensor, *, sees_call: bool = False) -> Tensor:
        """The places that each token attends to after the call has written its own, `[1, 1, tokens, places]` bool.

        With `sees_call`, tokens attend to all of the call, and not to those before them alone.
        """
        held = torch.arange(self.places)
        asked = positions[:, None]
        if self.is_ring:
            # The latest position that was written to each place, negative where none was.
            last = positions[-1]
            held = last - (last - held) % self.places
        seen = held <= (positions[-1:, None].expand_as(asked) if sees_call else asked)
        if self.is_ring:
            seen = seen & (held >= 0)
        if self.window is not None and self.kind == _CHUNKED:
            seen = seen & (held // self.window == asked // self.window)
        elif self.window is not None:
            seen = seen & (held > asked - self.window)
        return seen[None, None]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The number of places, and the first."""
        return self.places, 0

    def get_seq_length(self) -> Any:
        """The number of positions before those of the call."""
        return self.first

    def get_max_length(self) -> int:
        """The number of places."""
        return self.places


class CacheBuffers(nn.Module):
    """The cache of a model as buffers, which `torch.export` takes for state.

    Full attention reaches back to `context` positions. A layer with a window of `W` positions is a ring of
    `W - 1 + tokens` places, where that is less: enough for calls of up to `tokens` tokens. Caches of attention may be
    quantized. Raises `LanguageModelError` for a kind of layer that has no cache of fixed size.
    """

    def __init__(self, config: Any, context: int, tokens: int, *, is_quantized: bool = False) -> None:
        super().__init__()
        kinds, options = cast("tuple[list[str], list[dict[str, Any]]]", get_layer_types_and_kwargs(config))
        made = [
            _layer(kind, option, context, tokens, is_quantized)
            for kind, option in zip(kinds, options, strict=True)
        ]
        self._cache: Any = RecurrentCache(layers=made)
        self._context = context
        self._places: list[tuple[Any, str, int | None, str]] = []

    @property
    def layers(self) -> list[Any]:
        """The caches of the layers."""
        return self._cache.layers

    @property
    def is_recurrent(self) -> bool:
        """Whether a layer has a state that is not of keys and values."""
        return any(isinstance(one, LinearAttentionCacheLayerMixin) for one in self.layers)

    def attentions(self) -> dict[str, AttentionCache]:
        """A cache of each kind of attention: those of one kind have equal masks."""
        return {one.kind: one for one in self.layers if isinstance(one, AttentionCache)}

    def register(self) -> None:
        """Make buffers, all zeros, of what the first call of the model has allocated."""
        for number, layer in enumerate(self.layers):
            if isinstance(layer, AttentionCache) and layer.is_initialized:
                for name in layer.names:
                    self._register(layer, name, None, f"{name}_{number}", getattr(layer, name))
            elif isinstance(layer, LinearAttentionCacheLayerMixin):
                for name in ("conv_states", "recurrent_states"):
                    for index, tensor in getattr(layer, name).items():
                        if tensor is not None:
                            self._register(layer, name, index, f"{name}_{number}_{index}", tensor)

    def _register(self, layer: Any, name: str, index: int | None, label: str, tensor: Tensor) -> None:
        self.register_buffer(label, torch.zeros_like(tensor))
        self._places.append((layer, name, index, label))

    def start(self, positions: Tensor) -> Any:
        """The cache for a call with tokens at `positions` `[tokens]` i64, one after the other."""
        for layer, name, index, label in self._places:
            if index is None:
                setattr(layer, name, getattr(self, label))
            else:
                getattr(layer, name)[index] = getattr(self, label)
        begin: Any = 0
        if any(isinstance(layer, AttentionCache) and layer.is_by_place for layer in self.layers):
            begin = positions[0].item()
            check: Any = getattr(torch, "_check")  # noqa: B009 (what torch.export documents for such numbers)
            check(begin >= 0)
            check(begin + positions.shape[0] <= self._context)
        for layer in self.layers:
            if isinstance(layer, AttentionCache):
                layer.start(positions, begin)
            elif isinstance(layer, LinearAttentionCacheLayerMixin) and self._places:
                # A state of zeros is what there is before the first token.
                layer.has_previous_state = dict.fromkeys(layer.has_previous_state, True)
        return self._cache


def has_recurrent_layers(config: Any) -> bool:
    """Whether a model has state that later tokens replace, beside keys and values or in their place."""
    kinds, _ = cast("tuple[list[str], Any]", get_layer_types_and_kwargs(config))
    return any(kind in _RECURRENT for kind in kinds)


def _layer(kind: str, option: dict[str, Any], context: int, tokens: int, is_quantized: bool) -> Any:
    if kind == "dummy":
        return DummyLayer()
    if kind in _RECURRENT:
        return LinearAttentionLayer(**option)
    if kind == _FULL:
        return AttentionCache(kind, context, is_quantized=is_quantized)
    if kind in (_SLIDING, _CHUNKED):
        window = int(option["sliding_window"])
        reach = window - 1 + tokens
        if reach < context:
            return AttentionCache(kind, reach, window, is_ring=True, is_quantized=is_quantized)
        return AttentionCache(kind, context, window, is_quantized=is_quantized)
    raise LanguageModelError(f"layers of the kind '{kind}' have no cache of fixed size")
