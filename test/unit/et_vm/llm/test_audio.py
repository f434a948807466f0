"""Spectrograms of audio against transformers, WAV files of all widths, and what is no audio."""

from __future__ import annotations

import json
import random
import struct
import warnings
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from language_models import hf

from et_schema.errors import ExecutorchError, InputError
from et_vm.llm.audio import LogMel, read_wave

MEL = LogMel(bands=8, rate=1600, hop=40, seconds=1, window=160)


def _extractor(mel: LogMel) -> Any:
    with warnings.catch_warnings(action="ignore"):  # of empty bands
        return _of(mel)


def _of(mel: LogMel) -> Any:
    return hf.WhisperFeatureExtractor(
        feature_size=mel.bands,
        sampling_rate=mel.rate,
        hop_length=mel.hop,
        chunk_length=mel.seconds,
        n_fft=mel.window,
        padding_value=mel.padding,
    )


def _signal(kind: str, length: int, rate: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(length)
    times = np.arange(length) / rate
    if kind == "noise":
        return generator.uniform(-1, 1, length).astype(np.float32)
    if kind == "faint noise":
        return (1e-4 * generator.standard_normal(length)).astype(np.float32)
    if kind == "tone":
        return np.sin(2 * np.pi * 0.11 * rate * times).astype(np.float32)
    if kind == "click":
        return np.eye(1, length, length // 2, dtype=np.float32)[0]
    return np.zeros(length, np.float32)


@pytest.mark.parametrize("kind", ["noise", "faint noise", "tone", "click", "silence"])
def test_spectrograms(kind: str) -> None:
    """Those of the extractor of Whisper: of its code for numpy, and, but for rounding there, of that for torch."""
    generator = random.Random(kind)
    mels = [
        LogMel(),
        LogMel(bands=128, seconds=5),
        MEL,
        LogMel(8, 1600, 40, 1, 81, 0.25),
        LogMel(5, 999, 7, 1, 50),
    ]
    for mel in mels:
        extractor = _extractor(mel)
        for length in (1, generator.randrange(2, mel.samples), mel.samples):
            samples = _signal(kind, length, mel.rate)
            found = mel.features(samples)
            assert (found.shape, found.dtype) == ((1, mel.bands, mel.frames), np.float32)
            padded = np.full(mel.samples, mel.padding, np.float32)
            padded[:length] = samples
            expected = extractor._np_extract_fbank_features(padded[None], "cpu")
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
            by_torch = extractor(samples, sampling_rate=mel.rate, return_tensors="np").input_features
            # In float32, energies far below the loudest are sums of rounding errors.
            far = found < found.max() - 1.25
            np.testing.assert_allclose(found[~far], by_torch[~far], rtol=0, atol=1e-4)
            np.testing.assert_allclose(found, by_torch, rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros(0, np.float32), "0 samples: expected 1 to 1600"),
        (np.zeros(1601, np.float32), "1601 samples: expected 1 to 1600, which are 1 s at 1600 Hz"),
        (np.zeros((1, 5), np.float32), r"samples float32\[1, 5\]: expected floats \[N\]"),
        (np.zeros(5, np.int16), r"samples int16\[5\]: expected floats \[N\]"),
        (np.array([0, np.nan], np.float32), "not all finite"),
    ],
)
def test_samples_that_do_not_fit(samples: np.ndarray[Any, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MEL.features(samples)


def _write(path: Path, values: np.ndarray[Any, Any], width: int, rate: int = MEL.rate) -> None:
    """A file of values `[N, channels]` from -1 to 1."""
    steps = np.floor(values * ((1 << (8 * width - 1)) - 1)).astype(np.int64)
    data = b"".join(
        int(one + 128).to_bytes(1, "little")
        if width == 1
        else int(one).to_bytes(width, "little", signed=True)
        for one in steps.reshape(-1)
    )
    with wave.open(str(path), "wb") as file:
        file.setparams((values.shape[1], width, rate, len(values), "NONE", "not compressed"))
        file.writeframes(data)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2])
def test_files(width: int, channels: int, tmp_path: Path) -> None:
    values = np.random.default_rng(width).uniform(-1, 1, (70, channels))
    values[:2] = [[1], [-1]]
    _write(tmp_path / "a.wav", values, width)
    found = read_wave(tmp_path / "a.wav", MEL)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, values.mean(axis=1), rtol=0, atol=2 ** (2 - 8 * width) + 1e-7)


def test_streams(tmp_path: Path) -> None:
    """A writer that cannot go back leaves the largest sizes in the header."""
    path = tmp_path / "a.wav"
    values = np.random.default_rng(0).uniform(-1, 1, (1600, 1))
    _write(path, values, 2)
    expected = read_wave(path, MEL)
    data = bytearray(path.read_bytes())
    data[4:8] = data[40:44] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    assert np.array_equal(read_wave(path, MEL), expected)
    path.write_bytes(data + b"\0\0")
    with pytest.raises(InputError, match="the audio has more: the model takes up to 1600, 1 s"):
        read_wave(path, MEL)


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    some = np.zeros((8, 1))

    def refused(message: str, hint: str | None) -> None:
        with pytest.raises(InputError, match=message) as raised:
            read_wave(path, MEL)
        assert raised.value.where == str(path)
        assert hint is None or hint in str(raised.value.hint)

    _write(path, some, 2, rate=44100)
    refused("audio of 44100 samples per second: the model takes 1600", "ffmpeg -i FILE -ar 1600")
    _write(path, np.zeros((8, 3)), 2)
    refused("audio of 3 channels of 16 bits", "-ac 1")
    _write(path, np.zeros((1601, 1)), 1)
    refused("the audio has 1601 samples, 1.0 s: the model takes up to 1600, 1 s", "split it")
    _write(path, np.zeros((0, 1)), 2)
    refused("the audio is empty", None)
    _write(path, some, 2)
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    refused("the audio is damaged: it ends after 6 of 8 samples", None)
    path.write_bytes(whole[:20] + struct.pack("<H", 3) + whole[22:])
    refused("not a WAV file with integers: unknown format: 3", "pcm_s16le")
    for data in (b"", b"RIFF", b"ID3\4" * 40, whole[:30]):
        path.write_bytes(data)
        refused("not a WAV file with integers: .", "ffmpeg")
    for other in (tmp_path, tmp_path / "absent.wav"):
        with pytest.raises(ExecutorchError, match="no audio: "):
            read_wave(other, MEL)


def test_damaged_files(tmp_path: Path) -> None:
    """Any damage is an error with a message, or gives samples."""
    path = tmp_path / "a.wav"
    _write(path, np.random.default_rng(0).uniform(-1, 1, (8, 2)), 3)
    whole = path.read_bytes()
    generator = random.Random(0)
    refused = 0
    for _ in range(400):
        data = bytearray(whole[: generator.choice([len(whole), generator.randrange(len(whole))])])
        for _ in range(generator.randrange(3) if data else 0):
            data[generator.randrange(min(len(data), 48))] = generator.randrange(256)
        path.write_bytes(data)
        try:
            assert len(read_wave(path, MEL))
        except InputError:
            refused += 1
    assert 100 < refused < 400


def test_configurations(tmp_path: Path) -> None:
    file = tmp_path / "preprocessor_config.json"
    extractor = _extractor(MEL)
    extractor.save_pretrained(tmp_path)
    assert LogMel.of_folder(tmp_path) == MEL
    saved = json.loads(file.read_text())
    file.unlink()
    (tmp_path / "processor_config.json").write_text(json.dumps({"feature_extractor": saved}))
    assert LogMel.of_folder(tmp_path) == MEL
    file.write_text("{}")
    assert LogMel.of_folder(tmp_path) == LogMel()
    for changed, message in (
        ({"feature_extractor_type": "ClapFeatureExtractor"}, "features of 'ClapFeatureExtractor'"),
        ({"dither": 0.1}, "with dither"),
        ({"hop_length": 0}, "not a configuration of audio: .*hop_length 0"),
        ({"hop_length": 1601}, "1600 samples in frames of 160, one each 1601"),
        ({"n_fft": "400"}, "n_fft '400'"),
        ({"n_fft": 3200}, "1600 samples in frames of 3200"),
        ({"feature_size": True}, "feature_size True"),
        ({"sampling_rate": 10**9}, "sampling_rate 1000000000"),
        ({"chunk_length": 10**6}, "1600000000 samples"),
        ({"padding_value": "0"}, "not a configuration of audio"),
    ):
        file.write_text(json.dumps(saved | changed))
        with pytest.raises(InputError, match=message):
            LogMel.of_folder(tmp_path)
    file.write_text("[")
    with pytest.raises(InputError, match="not a configuration of audio"):
        LogMel.of_folder(tmp_path)
    file.unlink()
    (tmp_path / "processor_config.json").unlink()
    with pytest.raises(InputError, match=r"no preprocessor_config\.json, the configuration of audio"):
        LogMel.of_folder(tmp_path)
