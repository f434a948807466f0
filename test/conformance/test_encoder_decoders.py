"""Encoder-decoders of transformers, compiled from folders: both runtimes against the model without a cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import torch
from language_models import ENCODER_DECODERS, VOCABULARY, random_encoder_decoder
from stock import StockRuntime

from et_vm.runtime import Runtime

STEPS: Final = 12
TOKENS: Final = torch.randint(3, VOCABULARY, (1, STEPS), generator=torch.Generator().manual_seed(0))


def _source(family: str, length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(length)
    if family == "whisper":
        return torch.randn(1, 8, 40, generator=generator)
    return torch.randint(3, VOCABULARY, (1, length), generator=generator)


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_texts_from_sources(family: str, stock: StockRuntime, tmp_path: Path) -> None:
    model = random_encoder_decoder(family)
    model.save_pretrained(tmp_path / "model")
    path = tmp_path / "model.pte"
    command = Path(sys.executable).parent / "et-compile"
    sizes = ("--max-len", "16", "--max-prefill", "4")
    ran = subprocess.run(
        [command, f"hf:{tmp_path / 'model'}", "-o", path, *sizes, "-q"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    program = Runtime().load_program(path, poison=True)
    encoder, decoder = program.load_method("encoder"), program.load_method("text_decoder")
    (first,) = program.load_method("get_bos_id").execute([])
    assert first == model.config.decoder_start_token_id
    for length in (5, 16):
        source = _source(family, length)
        with torch.no_grad():
            expected = model(
                **{model.main_input_name: source}, decoder_input_ids=TOKENS, use_cache=False
            ).logits
            states = model.get_encoder()(source)[0]
        (hidden,) = encoder.execute([source])
        torch.testing.assert_close(hidden, states, rtol=1e-4, atol=1e-5)
        at = 0
        for count in (4, 3, 1, 1, 2, 1):
            positions = torch.arange(at, at + count)
            (found,) = decoder.execute([TOKENS[:, at : at + count], hidden, positions])
            torch.testing.assert_close(found, expected[:, at : at + count], rtol=1e-4, atol=1e-5)
            at += count
    (begun,) = stock.run(path, [TOKENS[:, :4].contiguous(), states, torch.arange(4)], method="text_decoder")
    torch.testing.assert_close(begun, expected[:, :4], rtol=1e-4, atol=1e-5)
