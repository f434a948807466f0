"""Encoder-decoders as two methods: the encoder, and the decoder with a cache of fixed size."""

from __future__ import annotations

from typing import Any, Final, cast

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from transformers.cache_utils import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from et_ir.language_models.cache import CacheBuffers
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

    Keys and values of the tokens are in the cache; those of the hidden states are computed in each call.
    """

    def __init__(self, model: Any, hidden: Tensor, sizes: Sizes) -> None:
        super().__init__()
        self.model = model
        # That of the decoder: it may have another number of layers.
        config = model.get_decoder().config.get_text_config(decoder=True)
        self.cache = CacheBuffers(config, sizes.context, sizes.chunk)
        with torch.no_grad():
            self(torch.zeros(1, 1, dtype=torch.int64), hidden, torch.zeros(1, dtype=torch.int64))
        self.cache.register()

    def forward(self, tokens: Tensor, hidden: Tensor, positions: Tensor) -> Tensor:
        """Logits, after the cache has been extended."""
        cache = self.cache.start(positions)
        (attention,) = self.cache.attentions().values()
        mask = torch.where(attention.mask(positions), 0.0, torch.finfo(hidden.dtype).min)
        return self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=cast(Any, hidden)),
            decoder_input_ids=tokens,
            decoder_attention_mask=mask,
            past_key_values=EncoderDecoderCache(cache, DynamicCache()),
            use_cache=True,
        ).logits


def example_source(model: Any, tokens: int = 2 * _EXAMPLE) -> Tensor:
    """The example input of an encoder: ids, or features of the one length that it has."""
    config = model.config
    if model.main_input_name == "input_features":
        frames = 2 * config.max_source_positions
        return torch.linspace(-1, 1, config.num_mel_bins * frames).reshape(1, -1, frames)
    return torch.arange(1, tokens + 1)[None] * 7919 % config.get_text_config().vocab_size


def check_encoder_decoder(model: Any, encoder: Encoder, decoder: CachedTextDecoder) -> None:
    """Raise `LanguageModelError` if logits with the cache differ from those without; the cache is zeros afterwards."""
    source = example_source(model)
    vocabulary = model.config.get_text_config(decoder=True).vocab_size
    tokens = torch.arange(1, _EXAMPLE + 2)[None] * 4243 % vocabulary
    with torch.no_grad():
        wanted = model(**{model.main_input_name: source}, decoder_input_ids=tokens, use_cache=False).logits
        hidden = encoder(source)
        found = torch.cat(
            [
                decoder(tokens[:, first:last], hidden, torch.arange(first, last))
                for first, last in ((0, _EXAMPLE), (_EXAMPLE, _EXAMPLE + 1))
            ],
            dim=1,
        )
        for buffer in decoder.cache.buffers():
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
    """The methods `encoder`, of texts of up to `sizes.context` tokens, and `text_decoder`.

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
    return {
        "encoder": torch.export.export(encoder, (source,), dynamic_shapes=(length,)),
        "text_decoder": torch.export.export(decoder, inputs, dynamic_shapes=(tokens, length, positions)),
    }
