"""Encoder-decoders of transformers, compiled from folders: both runtimes against the model without a cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from language_models import ENCODER_DECODERS, VOCABULARY, random_encoder_decoder
from stock import StockRuntime

from et_schema.errors import ExecutorchError, InputError
from et_vm.llm import LanguageModel, Session
from et_vm.runtime import Runtime

STEPS: Final = 12
TOKENS: Final = torch.randint(3, VOCABULARY, (1, STEPS), generator=torch.Generator().manual_seed(0))


def _source(family: str, length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(length)
    if family == "whisper":
        return torch.randn(1, 8, 40, generator=generator)
    return torch.randint(3, VOCABULARY, (1, length), generator=generator)


def _compiled(family: str, folder: Path) -> tuple[Any, Path]:
    """A random model, and its program by et-compile."""
    model = random_encoder_decoder(family)
    model.save_pretrained(folder / "model")
    path = folder / "model.pte"
    command = Path(sys.executable).parent / "et-compile"
    sizes = ("--max-len", "16", "--max-prefill", "4")
    ran = subprocess.run(
        [command, f"hf:{folder / 'model'}", "-o", path, *sizes, "-q"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return model, path


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_texts_from_sources(family: str, stock: StockRuntime, tmp_path: Path) -> None:
    model, path = _compiled(family, tmp_path)
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


@pytest.mark.parametrize("family", [family for family in ENCODER_DECODERS if family != "whisper"])
def test_sessions(family: str, tmp_path: Path) -> None:
    """Greedy text of a source as the model's own, on two sources, forked, and restored from a file."""
    model, path = _compiled(family, tmp_path)
    loaded = LanguageModel(Runtime().load_program(path, poison=True))
    assert loaded.encoder == "encoder"
    assert loaded.bos_id == model.config.decoder_start_token_id
    session = Session(loaded)
    with pytest.raises(InputError, match="the encoder has read nothing"):
        session.feed([1])
    with pytest.raises(InputError, match="the encoder takes up to 16"):
        session.encode([3] * 17)
    with pytest.raises(InputError, match=f"the vocabulary has {VOCABULARY} ids"):
        session.encode([VOCABULARY])
    for length in (5, 16):
        source = _source(family, length)
        expected = _greedy(model, source)
        session.encode(source[0].tolist())
        assert session.tokens == ()
        logits = session.feed([loaded.bos_id])
        other = None
        for at, token in enumerate(expected):
            assert int(logits.argmax()) == token
            if at == 4:
                other = session.fork()
                session.save(tmp_path / "session.safetensors")
            logits = session.feed([token])
        restored = Session(loaded)
        restored.restore(tmp_path / "session.safetensors")
        assert other is not None
        for again in (other, restored):
            logits = again.feed([expected[4]])
            for token in expected[5:]:
                assert int(logits.argmax()) == token
                logits = again.feed([token])


def _greedy(model: Any, source: torch.Tensor) -> list[int]:
    tokens = [model.config.decoder_start_token_id]
    with torch.no_grad():
        for _ in range(8):
            logits = model(input_ids=source, decoder_input_ids=torch.tensor([tokens]), use_cache=False).logits
            tokens.append(int(logits[0, -1].argmax()))
    return tokens[1:]


def test_an_encoder_of_features_reads_no_text(tmp_path: Path) -> None:
    _, path = _compiled("whisper", tmp_path)
    with pytest.raises(ExecutorchError, match="no token ids"):
        LanguageModel(Runtime().load_program(path))
