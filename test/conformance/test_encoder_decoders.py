"""Encoder-decoders of transformers, compiled from folders: both runtimes against the model without a cache."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from language_models import ENCODER_DECODERS, VOCABULARY, hf, random_encoder_decoder
from speech_models import IDS, LANGUAGES, speech, speech_model, transcription
from stock import StockRuntime

from et_schema.errors import InputError
from et_vm.llm import GenerationConfig, LanguageModel, Session, TextLLMRunner
from et_vm.llm.model import Audio
from et_vm.runtime import Runtime

STEPS: Final = 20
TARGETS: Final = {
    "stock": (),
    "vm": ("--target", "et-vm"),
    "native": ("--target", "et-vm", "--backend", "native"),
}
"""Options of et-compile: for the stock runtime, et-vm's kernels and machine code."""
TOKENS: Final = torch.randint(3, VOCABULARY, (1, STEPS), generator=torch.Generator().manual_seed(0))


def _source(family: str, length: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(length)
    if family == "whisper":
        return torch.randn(1, 8, 40, generator=generator)
    return torch.randint(3, VOCABULARY, (1, length), generator=generator)


Compiled = Callable[[str, str], tuple[Any, Path]]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """A random model of a family, and its program for one of `TARGETS` by et-compile, which is made once."""

    @cache
    def make(family: str, target: str) -> tuple[Any, Path]:
        folder = tmp_path_factory.mktemp(f"{family}-{target}")
        model = random_encoder_decoder(family)
        model.save_pretrained(folder / "model")
        path = folder / "model.pte"
        _compile(folder / "model", path, "--max-len", "20", "--max-prefill", "4", *TARGETS[target])
        return model, path

    return make


def _compile(folder: Path, path: Path, *options: str) -> None:
    command = Path(sys.executable).parent / "et-compile"
    ran = subprocess.run(
        [command, f"hf:{folder}", "-o", path, *options, "-q"], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_texts_from_sources(family: str, target: str, compiled: Compiled) -> None:
    """Logits behind sources that follow one another, of which the next one must not see anything."""
    model, path = compiled(family, target)
    program = Runtime().load_program(path, poison=True, allow_native=target == "native")
    encoder, decoder = program.load_method("encoder"), program.load_method("text_decoder")
    # Methods of the stock runtime share no state.
    assert ("decode" in program.method_names) == (target != "stock")
    step = decoder if target == "stock" else program.load_method("decode")
    (first,) = program.load_method("get_bos_id").execute([])
    assert first == model.config.decoder_start_token_id
    assert program.load_method("decoder_start_token_id").execute([]) == [first]
    for length, counts in ((20, (4, *[1] * 16)), (5, (1, 1, 3, 1, 1, 4)), (6, (4, *[1] * 16))):
        source = _source(family, length)
        with torch.no_grad():
            expected = model(
                **{model.main_input_name: source}, decoder_input_ids=TOKENS, use_cache=False
            ).logits
            states = model.get_encoder()(source)[0]
        (hidden,) = encoder.execute([source])
        torch.testing.assert_close(hidden, states, rtol=1e-4, atol=1e-5)
        at = 0
        for count in counts:
            positions = torch.arange(at, at + count)
            called = step if at and count == 1 else decoder
            (found,) = called.execute([TOKENS[:, at : at + count], hidden, positions])
            torch.testing.assert_close(found, expected[:, at : at + count], rtol=1e-4, atol=1e-5)
            at += count


@pytest.mark.parametrize("family", ENCODER_DECODERS)
def test_texts_on_stock(family: str, stock: StockRuntime, compiled: Compiled) -> None:
    """Sources one after the other in one program, whose methods share no state."""
    model, path = compiled(family, "stock")
    for length in (20, 5):
        source = _source(family, length)
        with torch.no_grad():
            expected = model(
                **{model.main_input_name: source}, decoder_input_ids=TOKENS, use_cache=False
            ).logits
        (hidden,) = stock.run_on(path, [source], method="encoder")
        at = 0
        for count in (4, 1, 1):
            inputs = [TOKENS[:, at : at + count].contiguous(), hidden, torch.arange(at, at + count)]
            (found,) = stock.run_on(path, inputs, method="text_decoder")
            torch.testing.assert_close(found, expected[:, at : at + count], rtol=1e-4, atol=1e-5)
            at += count


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", [family for family in ENCODER_DECODERS if family != "whisper"])
def test_sessions(family: str, target: str, compiled: Compiled, tmp_path: Path) -> None:
    """Greedy text of a source as `generate` writes it, on two sources, forked, and restored from a file."""
    model, path = compiled(family, target)
    is_native = target == "native"
    loaded = LanguageModel(Runtime().load_program(path, poison=True, allow_native=is_native))
    assert loaded.encoder == "encoder"
    assert loaded.bos_id == model.config.decoder_start_token_id
    session = Session(loaded)
    with pytest.raises(InputError, match="the encoder has read nothing"):
        session.feed([1])
    with pytest.raises(InputError, match="the encoder takes up to 20"):
        session.encode([3] * 21)
    with pytest.raises(InputError, match=f"the vocabulary has {VOCABULARY} ids"):
        session.encode([VOCABULARY])
    for length in (20, 5):
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
            logits = session.advance(token)
        # In another program, where nothing has been computed yet.
        again = LanguageModel(Runtime().load_program(path, poison=True, allow_native=is_native))
        restored = Session(again)
        restored.restore(tmp_path / "session.safetensors")
        assert other is not None
        for one in (other, restored):
            logits = one.feed([expected[4]])
            for token in expected[5:]:
                assert int(logits.argmax()) == token
                logits = one.feed([token])


def _greedy(model: Any, source: torch.Tensor) -> list[int]:
    """The first 16 tokens that `generate` writes."""
    first = model.config.decoder_start_token_id
    # The cache that transformers would make has the number of layers of T5's encoder.
    model.generation_config = hf.GenerationConfig(
        decoder_start_token_id=first, bos_token_id=first, pad_token_id=0, max_new_tokens=16
    )
    with warnings.catch_warnings(action="ignore"):
        found = model.generate(source, do_sample=False, num_beams=1, use_cache=False)
    return found[0, 1:].tolist()


SUPPRESSED: Final = {"suppress_tokens": [140, 14], "begin_suppress_tokens": [118, IDS["<|endoftext|>"]]}


@pytest.fixture(scope="module", params=TARGETS)
def whisper(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Path, Path]:
    """A small Whisper that tells languages, its folder, and its program for one of `TARGETS` by et-compile."""
    folder = tmp_path_factory.mktemp("whisper")
    forced = [[1, None], [2, IDS["<|transcribe|>"]]]
    model = speech_model(folder / "model", forced_decoder_ids=forced, **SUPPRESSED)
    _compile(folder / "model", folder / "model.pte", *TARGETS[request.param])
    return model, folder / "model", folder / "model.pte"


def test_transcriptions(whisper: tuple[Any, Path, Path], tmp_path: Path) -> None:
    """Greedy text of audio as `generate` of transformers writes it: language detected or given, behind a prompt."""
    model, folder, path = whisper
    runner = TextLLMRunner(path, path.with_suffix(".tokenizer"), allow_native=True)
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
    loaded = LanguageModel(Runtime().load_program(path, poison=True, allow_native=True))
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
    # In another program, where nothing has been computed yet.
    restored = Session(LanguageModel(Runtime().load_program(path, poison=True, allow_native=True)))
    restored.restore(tmp_path / "session.safetensors")
    tokens = torch.tensor([[*loaded.audio.start_ids, 9, 8]])
    with torch.no_grad():
        expected = model(input_features=features, decoder_input_ids=tokens, use_cache=False).logits[0]
    for one in (session, other, restored):
        assert one.logits is not None
        torch.testing.assert_close(torch.tensor(one.logits), expected[-3], rtol=1e-4, atol=1e-5)
        one.advance(9)
        logits = one.advance(8)
        torch.testing.assert_close(torch.tensor(logits), expected[-1], rtol=1e-4, atol=1e-5)
