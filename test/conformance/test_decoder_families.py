"""Decoders of transformers with static caches, exported as `torch.export` does by default, step by step."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from language_models import ATTENTION, hf
from stock import StockRuntime

from et_ir import ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime

with warnings.catch_warnings(action="ignore"):  # of transformers about itself
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

PLACES: Final = 32
TOKENS: Final = (5, 9, 3, 40, 22, 7, 1, 2, 63, 4, 5, 6, 8, 0, 31, 17)

FAMILIES: Final = ("llama", "qwen3", "gemma3", "phi", "gpt_neox", "olmo2", "granite", "smollm3", "gpt2")


def decoder(family: str) -> Any:
    """A model of a few random weights, and its cache."""
    torch.manual_seed(0)
    config = ATTENTION[family]()
    config.use_cache = True
    model = hf.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    model.generation_config = hf.GenerationConfig(
        use_cache=True,
        cache_implementation="static",
        max_length=PLACES,
        cache_config={"batch_size": 1, "max_cache_len": PLACES},
    )
    return TorchExportableModuleWithStaticCache(model)


def step(place: int, token: int) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.tensor([[token]]), "cache_position": torch.tensor([place])}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_steps_with_a_cache(family: str, strict: bool, stock: StockRuntime, tmp_path: Path) -> None:
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        exported = torch.export.export(decoder(family), (), step(0, TOKENS[0]), strict=strict)
        eager = decoder(family)
        expected = [eager(**step(*one)) for one in enumerate(TOKENS)]
    edge = to_edge(exported)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, poison=True).load_method("forward")
    for one, wanted in zip(enumerate(TOKENS), expected, strict=True):
        found = torch.as_tensor(method.execute(list(step(*one).values()))[0])
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    path = tmp_path / "model.pte"
    edge.to_executorch().save(path)
    # Each run of the stock worker loads the file anew: the first step alone.
    (first,) = stock.run(path, list(step(0, TOKENS[0]).values()))
    torch.testing.assert_close(first, expected[0], rtol=1e-5, atol=1e-5)
