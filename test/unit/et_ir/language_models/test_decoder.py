"""Decoders that have no form with a cache of fixed size are refused, with the reason."""

from __future__ import annotations

import pytest
import torch
from language_models import ATTENTION, hf, random_model

from et_ir.language_models import (
    AttentionCache,
    CachedDecoder,
    LanguageModelError,
    Sizes,
    check_decoder,
    export_decoder,
    metadata,
)


@pytest.mark.parametrize(("context", "chunk"), [(1, 1), (8, 9), (8, 0)])
def test_sizes(context: int, chunk: int) -> None:
    with pytest.raises(LanguageModelError, match="expected"):
        Sizes(context, chunk)


def test_state_outside_of_the_cache() -> None:
    config = hf.RecurrentGemmaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        lru_width=32,
        attention_window_size=8,
    )
    with pytest.raises(LanguageModelError, match=r"keeps state outside of its cache, in model\.layers\.0"):
        CachedDecoder(random_model(config), Sizes(16, 4))


def test_masks_of_its_own() -> None:
    """GPT-Neo takes local attention from a mask of its own, not from the cache's."""
    config = hf.GPTNeoConfig(
        vocab_size=64,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=2,
        max_position_embeddings=64,
    )
    model = random_model(config)
    decoder = CachedDecoder(model, Sizes(32, 8))
    with pytest.raises(LanguageModelError, match="gives logits that are off by"):
        check_decoder(model, decoder)


@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("steps", [[4, 4, 4], [1, 4, 2, 3, 1, 1], [1] * 12])
def test_rings(window: int, steps: list[int]) -> None:
    """A ring shows each token the positions of its window, in calls of any length, and no others."""
    cache = AttentionCache("sliding_attention", window - 1 + 4, window, is_ring=True)
    positions = torch.arange(12)
    for at in positions.split(steps):
        cache.start(at)
        keys, values = cache.update(at.float().view(1, 1, -1, 1), -at.float().view(1, 1, -1, 1))
        seen = cache.mask(at)[0, 0]
        for row, position in zip(seen, at.tolist(), strict=True):
            shown = sorted(keys[0, 0, row, 0].tolist())
            assert shown == [float(p) for p in range(max(0, position - window + 1), position + 1)]
            assert sorted(values[0, 0, row, 0].tolist()) == [-p for p in reversed(shown)]


def test_one_token_at_a_time() -> None:
    sizes = Sizes(16, 1)
    found = export_decoder(CachedDecoder(random_model(ATTENTION["llama"]()), sizes), sizes)
    assert (set(found.programs), found.chunk, found.note) == ({"forward"}, 1, "")


def test_metadata() -> None:
    model = random_model(ATTENTION["llama"]())
    model.generation_config.bos_token_id = 1
    model.generation_config.eos_token_id = [2, 3]
    assert metadata(model, context=16, chunk=4) == {
        "get_bos_id": 1,
        "get_eos_ids": [2, 3],
        "get_max_seq_len": 4,
        "get_max_context_len": 16,
        "get_vocab_size": 64,
        "get_n_layers": 2,
        "use_kv_cache": True,
        "use_sdpa_with_kv_cache": False,
        "enable_dynamic_shape": True,
    }
