"""Decoders that have no form with a cache of fixed size are refused, with the reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from language_models import ATTENTION, RECURRENT, hf, random_model

from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.language_models import (
    AttentionCache,
    CachedDecoder,
    LanguageModelError,
    Sizes,
    check_decoder,
    export_decoder,
    metadata,
)
from et_schema.errors import ExecutorchError
from et_vm.llm import LanguageModel, Session
from et_vm.runtime import Runtime


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


@pytest.mark.parametrize("kind", ["sliding_attention", "chunked_attention"])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("steps", [[4, 4, 4], [1, 4, 2, 3, 1, 1], [1] * 12])
def test_rings(kind: str, window: int, steps: list[int]) -> None:
    """A ring shows each token the positions of its window or chunk, in calls of any length, and no others."""
    cache = AttentionCache(kind, window - 1 + 4, window, is_ring=True)
    positions = torch.arange(12)
    for at in positions.split(steps):
        cache.start(at)
        keys, values = cache.update(at.float().view(1, 1, -1, 1), -at.float().view(1, 1, -1, 1))
        seen = cache.mask(at)[0, 0]
        for row, position in zip(seen, at.tolist(), strict=True):
            shown = sorted(keys[0, 0, row, 0].tolist())
            first = position // window * window if kind == "chunked_attention" else position - window + 1
            assert shown == [float(p) for p in range(max(0, first), position + 1)]
            assert sorted(values[0, 0, row, 0].tolist()) == [-p for p in reversed(shown)]


def test_one_token_at_a_time() -> None:
    sizes = Sizes(16, 1)
    found = export_decoder(CachedDecoder(random_model(ATTENTION["llama"]()), sizes), sizes)
    assert (set(found.programs), found.chunk, found.note) == ({"forward"}, 1, "")


def test_code_of_the_number_of_tokens() -> None:
    """A model that torch cannot export for any number of tokens takes one at a time."""
    model = random_model(ATTENTION["llama"]())
    layer = model.model.layers[0].mlp
    original = layer.forward
    layer.forward = lambda x: original(x) if x.shape[1] < 3 else original(x.flip(1)).flip(1)
    sizes = Sizes(16, 4)
    found = export_decoder(CachedDecoder(model, sizes), sizes)
    assert (set(found.programs), found.chunk) == ({"forward"}, 1)
    assert "its code depends on the number of tokens (" in found.note


def test_ids_that_are_none() -> None:
    model = random_model(ATTENTION["llama"]())
    for wrong in ("x", ["a"], [1.5]):
        model.generation_config.eos_token_id = wrong
        with pytest.raises(LanguageModelError, match=r"eos_token_id is .*, no token id"):
            metadata(model, context=16, chunk=4)


def test_weights_that_are_not_finite() -> None:
    model = random_model(ATTENTION["llama"]())
    with torch.no_grad():
        model.lm_head.weight[3, 4] = torch.nan
    with pytest.raises(LanguageModelError, match="NaN or infinite: its weights are damaged"):
        check_decoder(model, CachedDecoder(model, Sizes(16, 4)))


def test_the_shortest_context() -> None:
    with pytest.raises(LanguageModelError, match="a context of 5 tokens: expected at least 6"):
        Sizes(5, 1)
    model = random_model(ATTENTION["llama"]())
    check_decoder(model, CachedDecoder(model, Sizes(6, 6)))


@pytest.mark.parametrize("name", ["bos_token_id", "eos_token_id"])
@pytest.mark.parametrize("wrong", [64, -1, [2, 64]])
def test_ids_outside_the_vocabulary(name: str, wrong: object) -> None:
    model = random_model(ATTENTION["llama"]())
    setattr(model.generation_config, name, 63)
    metadata(model, context=16, chunk=4)
    setattr(model.generation_config, name, wrong)
    expected = rf"generation_config.json or config.json: {name} has .*, outside the vocabulary of 64 ids"
    with pytest.raises(LanguageModelError, match=expected):
        metadata(model, context=16, chunk=4)


def test_recurrent_state() -> None:
    """Calls of several tokens where they have been tried; the program says that its state does not go back."""
    sizes = Sizes(16, 4)
    model = random_model(RECURRENT["lfm2"]())
    decoder = CachedDecoder(model, sizes)
    assert decoder.takes_one
    check_decoder(model, decoder)
    assert not decoder.takes_one
    found = export_decoder(decoder, sizes, shares_state=False)
    assert (set(found.programs), found.chunk) == ({"forward"}, 1)
    assert "recurrent layers" in found.note
    found = export_decoder(decoder, sizes)
    constants = metadata(model, context=16, chunk=found.chunk)
    assert constants["use_recurrent_state"]
    file = to_edge(found.programs, constant_methods=constants).to_executorch(
        ExecutorchBackendConfig(target="et-vm")
    )
    session = Session(LanguageModel(Runtime().load_program(file.buffer)))
    logits = session.feed([1, 2, 3])
    with pytest.raises(ExecutorchError, match="the state cannot go back by 1"):
        session.rewind(2)
    assert session.tokens == (1, 2, 3)
    with torch.no_grad():
        wanted = model(torch.tensor([[1, 2, 3, 4]]), use_cache=False).logits[0]
    torch.testing.assert_close(torch.as_tensor(logits), wanted[2])
    torch.testing.assert_close(torch.as_tensor(session.feed([4])), wanted[3])


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
        "get_max_batch_size": 1,
        "get_dtype": 6,
        "get_head_dim": 8,
        "get_n_kv_heads": 2,
        "use_kv_cache": True,
        "use_sdpa_with_kv_cache": False,
        "enable_dynamic_shape": True,
    }


def test_heads_of_other_configurations() -> None:
    """Sizes of heads that a configuration has, as many heads of keys as of queries, and no heads."""

    def heads(model: Any) -> tuple[Any, ...]:
        found = metadata(model, context=16, chunk=4)
        return found.get("get_head_dim"), found.get("get_n_kv_heads")

    gemma = random_model(ATTENTION["gemma"]())
    assert heads(gemma) == (gemma.config.head_dim, gemma.config.num_key_value_heads)
    assert heads(random_model(ATTENTION["opt"]())) == (8, 4)
    assert heads(random_model(RECURRENT["mamba"]())) == (None, None)
