"""Encoder-decoders of transformers, compiled from folders: both runtimes against the model without a cache."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from language_models import ENCODER_DECODERS, VOCABULARY, random_encoder_decoder
from speech_models import IDS, LANGUAGES, speech, speech_model, transcription
from stock import StockRuntime

from et_schema.errors import InputError
from et_vm.llm import GenerationConfig, LanguageModel, Session, TextLLMRunner
from et_vm.llm.model import Audio
from et_vm.runtime import Runtime

STEPS: Final = 12
TOKENS: Final = torch.randint(3, VOCABULARY, (1, STEPS), generator=torch.Generator().manual_seed(0))


def _source(family: str, length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(length)
    if family == "whisper":
        return torch.randn(1, 8, 40, generator=generator)
    return torch.randint(3, VOCABULARY, (1, length), generator=generator)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Path]]:
    """A random model of a family, and its program by et-compile, which is made once."""

    @cache
    def make(family: str) -> tuple[Any, Path]:
        folder = tmp_path_factory.mktemp(family)
        model = random_encoder_decoder(family)
        model.save_pretrained(folder / "model")
        path = folder / "model.pte"
        _compile(folder / "model", path, "--max-len", "16", "--max-prefill", "4")
        return model, path

    return make


def _compile(folder: Path, path: Path, *options: str) -> None:
    command = Path(sys.executable).parent / "et-compile"
    ran = subprocess.run(
        [command, f"hf:{folder}", "-o", path, *options, "-q"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_texts_from_sources(
    family: str, stock: StockRuntime, compiled: Callable[[str], tuple[Any, Path]]
) -> None:
    model, path = compiled(family)
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
def test_sessions(family: str, compiled: Callable[[str], tuple[Any, Path]], tmp_path: Path) -> None:
    """Greedy text of a source as the model's own, on two sources, forked, and restored from a file."""
    model, path = compiled(family)
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


SUPPRESSED: Final = {"suppress_tokens": [140, 14], "begin_suppress_tokens": [118, IDS["<|endoftext|>"]]}


@pytest.fixture(scope="module")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, Path]:
    """A small Whisper that tells languages, its folder, and its program by et-compile."""
    folder = tmp_path_factory.mktemp("whisper")
    forced = [[1, None], [2, IDS["<|transcribe|>"]]]
    model = speech_model(folder / "model", forced_decoder_ids=forced, **SUPPRESSED)
    _compile(folder / "model", folder / "model.pte")
    return model, folder / "model", folder / "model.pte"


def test_transcriptions(whisper: tuple[Any, Path, Path], tmp_path: Path) -> None:
    """Greedy text of audio as `generate` of transformers writes it: language detected or given, behind a prompt."""
    model, folder, path = whisper
    runner = TextLLMRunner(path, path.with_suffix(".tokenizer"))
    start = tuple(IDS[f"<|{name}|>"] for name in ("startoftranscript", "transcribe", "notimestamps"))
    assert runner.model.audio == Audio(8, 40, start, tuple(LANGUAGES.values()))
    assert runner.model.context == 60
    texts = set[str]()
    for seed in range(2):
        file = tmp_path / f"{seed}.wav"
        speech(file, seed, length=1600 - 500 * seed)
        for prompt, options in (
            ("", {}),
            ("", {"language": "de"}),
            ("", {"task": "translate"}),
            ("", {"language": "fr", "task": "translate"}),
            ("a new one", {}),
        ):
            expected = transcription(model, folder, file, prompt, max_new_tokens=12, **options)
            config = GenerationConfig(temperature=0, max_new_tokens=12, **options)
            text = runner.generate(prompt, config, audio=file)
            assert text == runner.tokenizer.decode(expected)
            assert runner.session.tokens[-len(expected) :] == tuple(expected)
            texts.add(text)
        whole = runner.generate("", GenerationConfig(temperature=0), audio=file)
        assert whole == runner.tokenizer.decode(transcription(model, folder, file))
    assert len(texts) > 6
    free = transcription(model, folder, file, suppress_tokens=None, begin_suppress_tokens=None)
    assert {140, 14, 118} & set(free)
    assert whole != runner.tokenizer.decode(free)


def test_sessions_of_audio(whisper: tuple[Any, Path, Path], tmp_path: Path) -> None:
    model, _, path = whisper
    loaded = LanguageModel(Runtime().load_program(path, poison=True))
    assert loaded.audio is not None
    session = Session(loaded)
    with pytest.raises(InputError, match="reads audio, not text"):
        session.encode([3])
    features = _source("whisper", 5)
    with pytest.raises(InputError, match=r"features float32\[1, 8, 39\]: expected float32\[1, 8, 40\]"):
        session.encode_features(features[:, :, :39].numpy())
    with pytest.raises(InputError, match=r"features float64"):
        session.encode_features(features.double().numpy())
    session.encode_features(features.numpy())
    session.feed(list(loaded.audio.start_ids))
    other = session.fork()
    session.save(tmp_path / "session.safetensors")
    restored = Session(loaded)
    restored.restore(tmp_path / "session.safetensors")
    tokens = torch.tensor([[*loaded.audio.start_ids, 9, 8]])
    with torch.no_grad():
        expected = model(input_features=features, decoder_input_ids=tokens, use_cache=False).logits[0]
    for one in (session, other, restored):
        assert one.logits is not None
        torch.testing.assert_close(torch.tensor(one.logits), expected[-3], rtol=1e-4, atol=1e-5)
        logits = one.feed([9, 8])
        torch.testing.assert_close(torch.tensor(logits), expected[-1], rtol=1e-4, atol=1e-5)
