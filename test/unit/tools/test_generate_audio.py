"""et-vm generate with audio: transcriptions by options, and messages for what is no audio or does not fit."""

from __future__ import annotations

import json
import shutil
import wave
from pathlib import Path
from typing import Any

import pytest
from speech_models import IDS, speech, speech_model, transcription
from support.command_line import Command
from support.language_model import compiled, tokenizer

from et_vm.llm import Tokenizer

LINE = ("et-vm", "generate", "m.pte", "-q", "--max-new-tokens", "8", "--audio")


@pytest.fixture(scope="module")
def compiled_speech(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A small Whisper of German that suppresses tokens, in a folder with its program."""
    from et_tools.et_compile import main

    folder = tmp_path_factory.mktemp("speech")
    model = speech_model(
        folder / "whisper", language="german", suppress_tokens=[47, 166], begin_suppress_tokens=[118]
    )
    line = [f"hf:{folder / 'whisper'}", "-o", str(folder / "m.pte"), "--target", "et-vm", "-q"]
    assert main([*line, "--max-len", "40", "--max-prefill", "8"]) == 0
    return folder, model


@pytest.fixture
def model(compiled_speech: tuple[Path, Any], workplace: Path) -> Any:
    """The model, with its program, its tokenizer and audio in the folder of the test."""
    folder, model = compiled_speech
    shutil.copytree(folder, workplace, dirs_exist_ok=True)
    speech(workplace / "a.wav", 3)
    return model


def test_text_of_audio(command: Command, model: Any) -> None:
    reader = Tokenizer("whisper")
    for prompt, options in (
        ("", {}),
        ("", {"language": "fr"}),
        ("", {"language": "en", "task": "translate"}),
        ("", {"task": "translate"}),
        ("what was said", {}),
    ):
        given = [word for name, value in options.items() for word in (f"--{name}", value)]
        ran = command(*LINE, "a.wav", *given, *(("--prompt", prompt) if prompt else ()))
        expected = transcription(model, Path("whisper"), Path("a.wav"), prompt, max_new_tokens=8, **options)
        assert ran == (0, reader.decode(expected) + "\n", "")
    found = json.loads(command(*LINE, "a.wav", "--json").out)
    assert (found["num_prompt_tokens"], found["num_generated_tokens"]) == (4, 8)
    assert command(*LINE, "a.wav", "--regex", "[0-9]{4}").out.strip().isdecimal()


@pytest.mark.usefixtures("model")
def test_sessions_of_transcriptions(command: Command) -> None:
    """A text that goes on is not at its beginning, where some tokens are suppressed."""
    whole = command(*LINE[:-3], "--max-new-tokens", "8", "--audio", "a.wav").out
    for count in (1, 3):
        line = (
            *LINE[:4],
            "--max-new-tokens",
            str(count),
            "--audio",
            "a.wav",
            "--save-session",
            "s.safetensors",
        )
        begun = command(*line).out.removesuffix("\n")
        more = command(*LINE[:4], "--max-new-tokens", str(8 - count), "--session", "s.safetensors")
        assert begun + more.out == whole


def _write(path: str, rate: int, count: int) -> None:
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, rate, count, "NONE", "not compressed"))
        file.writeframes(bytes(2 * count))


@pytest.mark.usefixtures("model")
def test_refusals(command: Command) -> None:
    _write("fast.wav", 16000, 10)
    _write("long.wav", 1600, 1601)
    _write("empty.wav", 1600, 0)
    Path("text.wav").write_text("no audio")
    Path("text.pte").write_bytes(compiled())
    tokenizer(Path("text.tokenizer"))
    audio = ("m.pte", "--audio", "a.wav")
    for line, message in (
        (("m.pte",), "give --prompt TEXT ('-': standard input), --audio FILE or --chat"),
        (("m.pte", "--prompt", "x"), "the model transcribes audio, and none is given"),
        (("m.pte", "--audio", "absent.wav"), "no audio: No such file"),
        (("m.pte", "--audio", "text.wav"), "not a WAV file"),
        (("m.pte", "--audio", "empty.wav"), "the audio is empty"),
        (("m.pte", "--audio", "fast.wav"), "16000 samples per second: the model takes 1600"),
        (("m.pte", "--audio", "fast.wav"), "ffmpeg -i FILE -ar 1600"),
        (("m.pte", "--audio", "long.wav"), "1601 samples, 1.0 s: the model takes up to 1600, 1 s"),
        (("text.pte", "--audio", "a.wav"), "the model takes no audio"),
        ((*audio, "--image", "x.png"), "--audio and --image cannot be combined"),
        ((*audio, "--session", "s"), "--audio and --session cannot be combined"),
        (("m.pte", "--chat", "--audio", "a.wav"), "--audio and --chat cannot be combined"),
        ((*audio, "--draft", "text.pte"), "drafts are for models that continue texts"),
        ((*audio, "--language", "xx"), "language 'xx': expected one of en, de, fr"),
        ((*audio, "--task", "sing"), "invalid choice: 'sing'"),
        (
            (*audio, "--prompt", "x" * 36),
            "a prompt of 38 tokens does not fit before the 4 of a transcription",
        ),
        ((*audio, "--save-session", "a.wav"), "would overwrite an input"),
        (("text.pte", "--prompt", "x", "--language", "de"), "--language applies to --audio only"),
        (("text.pte", "--prompt", "x", "--task", "translate"), "--task applies to --audio only"),
    ):
        ran = command("et-vm", "generate", *line)
        assert (ran.code, message in ran.err) == (2, True), ran
    settings = Path("m.tokenizer/preprocessor_config.json")
    config = json.loads(settings.read_text())
    settings.write_text(json.dumps(config | {"feature_size": 9}))
    ran = command("et-vm", "generate", *audio)
    assert (ran.code, "gives spectrograms [9, 40]: the program takes [8, 40]" in ran.err) == (2, True)
    settings.unlink()
    ran = command("et-vm", "generate", *audio)
    assert (ran.code, "no preprocessor_config.json, the configuration of audio" in ran.err) == (2, True)


@pytest.mark.usefixtures("model")
def test_tokenizers_without_special_tokens(command: Command) -> None:
    path = Path("m.tokenizer/tokenizer.json")
    path.write_text(path.read_text().replace("<|startofprev|>", "<|other|>"))
    ran = command(*LINE, "a.wav", "--prompt", "x")
    assert (ran.code, "the tokenizer has no <|startofprev|>" in ran.err) == (2, True)
    path.write_text(path.read_text().replace("<|translate|>", "<|another|>"))
    ran = command(*LINE, "a.wav", "--task", "translate")
    assert (ran.code, "task 'translate': the model has none of this name" in ran.err) == (2, True)
    assert command(*LINE, "a.wav").code == 0


def test_contexts_of_speech_models(command: Command, workplace: Path) -> None:
    """Whisper has another name for the number of its positions; a model of one language has no other one."""
    generation = {"lang_to_id": None, "task_to_id": None, "no_timestamps_token_id": None}
    model = speech_model(workplace / "whisper", **generation)
    ran = command("et-compile", "hf:whisper", "-o", "m.pte", "--max-len", "61")
    assert (ran.code, "--max-len 61: the model has 60 positions" in ran.err) == (2, True)
    line = ("et-compile", "hf:whisper", "-o", "m.pte", "--target", "et-vm", "-q")
    assert command(*line).code == 0
    speech(workplace / "a.wav", 1)
    ran = command("et-vm", "generate", "m.pte", "-q", "--audio", "a.wav")
    expected = transcription(model, Path("whisper"), Path("a.wav"))
    assert ran == (0, Tokenizer("whisper").decode(expected) + "\n", "")
    assert len(expected) == 59 or IDS["<|endoftext|>"] not in expected
    ran = command(*LINE, "a.wav", "--language", "en")
    assert (ran.code, "the model has one language and one task" in ran.err) == (2, True)
