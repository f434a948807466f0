"""Encoder-decoders as methods: the encoder, the decoder with a cache of fixed size, and its step."""

from __future__ import annotations

from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from et_ir.language_models.cache import CacheBuffers, cache_argument
from et_ir.language_models.cross_attention import CrossAttentionBuffers
from et_ir.language_models.decoder import Sizes, check_finite
from et_ir.language_models.errors import LanguageModelError

__all__ = ["CachedTextDecoder", "Encoder", "check_encoder_decoder", "export_encoder_decoder"]

_EXAMPLE: Final = 3
_TOLERANCE: Final = 1e-3


class Encoder(nn.Module):
    """Token ids `[1, S]` i64, or features `[1, bands, frames]` f32, to hidden states `[1, S, width]`."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.encoder = model.get_encoder()

    def forward(self, source: Tensor) -> Tensor:
        """The hidden states of the last layer."""
        return self.encoder(source)[0]


class CachedTextDecoder(nn.Module):
    """Token ids `[1, T]`, hidden states of the encoder `[1, S, width]` and positions `[T]` to logits `[1, T, V]`.

    Keys and values of the tokens are in the cache; those of the hidden states are computed in each call. With
    `shares_state` they are also kept, for `NextTokenDecoder`.
    """

    def __init__(self, model: Any, hidden: Tensor, sizes: Sizes, *, shares_state: bool = True) -> None:
        super().__init__()
        self.model = model
        # That of the decoder: it may have another number of layers.
        config = model.get_decoder().config.get_text_config(decoder=True)
        self.cache = CacheBuffers(config, sizes.context, sizes.chunk)
        # One place more than the longest source has: torch.export guards against a slice that is the whole.
        places = hidden.shape[1] if _has_fixed_source(model) else sizes.context + 1
        self.cross = CrossAttentionBuffers(len(self.cache.layers), places) if shares_state else None
        with torch.no_grad():
            self(torch.zeros(1, 1, dtype=torch.int64), hidden, torch.zeros(1, dtype=torch.int64))
        self.cache.register()
        if self.cross is not None:
            self.cross.register()

    def forward(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        """Logits, after the cache has been extended."""
        cross = DynamicCache() if self.cross is None else self.cross.writing(hidden.shape[1])
        return _logits(self, cross, tokens, hidden, positions)


class NextTokenDecoder(nn.Module):
    """The same for a token behind others, with the keys and values of the hidden states that the decoder has kept.

    Of the hidden states, only the number is used. Submodules have the names of the decoder's, so that both methods have
    the same state.
    """

    def __init__(self, decoder: CachedTextDecoder) -> None:
        super().__init__()
        assert decoder.cross is not None
        self.model, self.cache, self.cross = decoder.model, decoder.cache, decoder.cross

    def forward(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        """Logits, after the cache has been extended."""
        return _logits(self, self.cross.reading(hidden.shape[1]), tokens, hidden, positions)


def _logits(
    decoder: CachedTextDecoder | NextTokenDecoder,
    cross: Cache,
    tokens: Tensor,
    hidden: Tensor,
    positions: Tensor,
) -> Tensor:
    cache = decoder.cache.start(positions)
    (attention,) = decoder.cache.attentions().values()
    mask = torch.where(attention.mask(positions), 0.0, torch.finfo(hidden.dtype).min)
    return decoder.model(
        encoder_outputs=BaseModelOutput(last_hidden_state=cast(Any, hidden)),
        decoder_input_ids=tokens,
        decoder_attention_mask=mask,
        use_cache=True,
        **{cache_argument(decoder.model): EncoderDecoderCache(cache, cross)},
    ).logits


def _has_fixed_source(model: Any) -> bool:
    """Whether all sources have one length, as spectrograms have."""
    return model.main_input_name == "input_features"


def example_source(model: Any, tokens: int = 2 * _EXAMPLE) -> Tensor:
    """The example input of an encoder: ids, or features of the one length that it has."""
    config = model.config
    if _has_fixed_source(model):
        frames = 2 * config.max_source_positions
        return torch.linspace(-1, 1, config.num_mel_bins * frames).reshape(1, -1, frames)
    return torch.arange(1, tokens + 1)[None] * 7919 % config.get_text_config().vocab_size


def check_encoder_decoder(model: Any, encoder: Encoder, decoder: CachedTextDecoder) -> None:
    """Raise `LanguageModelError` if logits with the cache differ from those without; the cache is zeros afterwards."""
    source = example_source(model)
    vocabulary = model.config.get_text_config(decoder=True).vocab_size
    tokens = torch.arange(1, _EXAMPLE + 2)[None] * 4243 % vocabulary
    step = decoder if decoder.cross is None else NextTokenDecoder(decoder)
    with torch.no_grad():
        wanted = model(**{model.main_input_name: source}, decoder_input_ids=tokens, use_cache=False).logits
        hidden = encoder(source)
        found = torch.cat(
            [
                called(tokens[:, first:last], hidden, torch.arange(first, last))
                for called, first, last in ((decoder, 0, _EXAMPLE), (step, _EXAMPLE, _EXAMPLE + 1))
            ],
            dim=1,
        )
        for buffer in (*decoder.cache.buffers(), *(() if decoder.cross is None else decoder.cross.buffers())):
            buffer.zero_()
    check_finite(model, wanted)
    error, scale = float((found - wanted).abs().max()), float(wanted.abs().max())
    if not error <= _TOLERANCE * scale:
        raise LanguageModelError(
            f"{type(model).__name__} with a cache of fixed size gives logits that are off by {error:.1e} of {scale:.1e}"
        )


def export_encoder_decoder(
    model: Any, encoder: Encoder, decoder: CachedTextDecoder, sizes: Sizes
) -> dict[str, ExportedProgram]:
    """The methods `encoder`, of texts of up to `sizes.context` tokens, `text_decoder`, and `decode` for one token if
    methods share state.

    Raises what `torch.export` does.
    """
    source = example_source(model)
    is_text = not source.is_floating_point()
    with torch.no_grad():
        hidden = encoder(source)
    length = {1: Dim("source", min=1, max=sizes.context)} if is_text else None
    example = min(_EXAMPLE, sizes.chunk)
    tokens = {1: Dim("tokens", min=1, max=sizes.chunk)} if sizes.chunk > 1 else None
    positions = None if tokens is None else {0: tokens[1]}
    inputs = torch.zeros(1, example, dtype=torch.int64), hidden, torch.arange(example)
    programs = {
        "encoder": torch.export.export(encoder, (source,), dynamic_shapes=(length,)),
        "text_decoder": torch.export.export(decoder, inputs, dynamic_shapes=(tokens, length, positions)),
    }
    if decoder.cross is not None:
        one = torch.zeros(1, 1, dtype=torch.int64), hidden, torch.zeros(1, dtype=torch.int64)
        programs["decode"] = torch.export.export(
            NextTokenDecoder(decoder), one, dynamic_shapes=(None, length, None)
        )
    return programs
