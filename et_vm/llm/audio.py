"""Log-mel spectrograms of WAV files, as Whisper takes them."""

from __future__ import annotations

import math
import os
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from et_schema.errors import Error, ExecutorchError, InputError
from et_vm.llm.preprocessor import read_preprocessor
from et_vm.values import Array

__all__ = ["LogMel", "read_wave"]

_EXTRACTOR: Final = "WhisperFeatureExtractor"
_MOST_SAMPLES: Final = 1 << 26
"""Limit of the samples of a chunk: over an hour at 16 kHz."""
_HIGHEST: Final = 8000.0
"""Upper frequency of the last filter, in Hz."""
_FLOOR: Final = 1e-10
"""The least energy of a band."""
_RANGE: Final = 8.0
"""Decades of energy below the loudest that are told apart."""
_BLOCK: Final = 1 << 22
"""Limit of the numbers that are transformed at a time."""
_ENDLESS: Final = 0x7FFF0000
"""From this many bytes on, the size in a header is that of a stream, whose writer did not know it."""


@dataclass(frozen=True)
class LogMel:
    """A log-mel spectrogram with fields after `preprocessor_config.json`.

    After Radford et al. 2022 (Whisper), section 2.2. Windows are Hann's, frames are centered, with the ends of the
    chunk reflected; bands are on the mel scale of Slaney 1998 (Auditory Toolbox), of equal area.
    """

    bands: int = 80
    """`feature_size`."""
    rate: int = 16000
    """`sampling_rate`: samples per second."""
    hop: int = 160
    """`hop_length`: samples from one frame to the next."""
    seconds: int = 30
    """`chunk_length`."""
    window: int = 400
    """`n_fft`: samples of a frame."""
    padding: float = 0.0
    """`padding_value`: the samples behind the end of shorter audio."""

    @property
    def samples(self) -> int:
        """The number of samples of a chunk."""
        return self.seconds * self.rate

    @property
    def frames(self) -> int:
        """The number of frames of a chunk."""
        return (self.samples - self.window % 2) // self.hop

    @classmethod
    def of_folder(cls, folder: Path) -> LogMel:
        """The one that the preprocessor in a folder says.

        Raises InputError for a folder without one, one of another kind or with dither, and sizes that make no sense.
        """
        config = read_preprocessor(folder, "feature_extractor", "audio")
        kind = config.get("feature_extractor_type", _EXTRACTOR)
        if kind != _EXTRACTOR:
            raise InputError(f"features of {kind!r}: only those of {_EXTRACTOR} are known", where=str(folder))
        if config.get("dither"):
            raise InputError("features with dither, which is random, are not supported", where=str(folder))
        names = {
            "bands": "feature_size",
            "rate": "sampling_rate",
            "hop": "hop_length",
            "seconds": "chunk_length",
            "window": "n_fft",
        }
        sizes = {field: config.get(name, getattr(cls, field)) for field, name in names.items()}
        padding: Any = config.get("padding_value", 0.0)
        if (
            not all(type(size) is int and 0 < size <= _MOST_SAMPLES for size in sizes.values())
            or type(padding) not in (int, float)
            or not abs(padding) < np.inf
        ):
            told = ", ".join(f"{names[field]} {size!r}" for field, size in sizes.items())
            raise InputError(f"not a configuration of audio: {told}", where=str(folder))
        found = cls(**sizes, padding=float(padding))
        # The ends are reflected, so that a chunk is longer than half a frame.
        is_sound = found.frames and found.samples <= _MOST_SAMPLES and 1 < found.window < 2 * found.samples
        if not is_sound:
            raise InputError(
                f"not a configuration of audio: {found.samples} samples in frames of {found.window}, "
                f"one each {found.hop}",
                where=str(folder),
            )
        return found

    def features(self, samples: Array) -> Array:
        """The spectrogram `[1, bands, frames]` f32 of samples `[N]` from -1 to 1, which are padded to a chunk.

        Raises InputError for no samples, more than a chunk, others than finite numbers, and another rank.
        """
        if samples.ndim != 1 or samples.dtype.kind != "f":
            raise InputError(
                f"samples {samples.dtype}{list(samples.shape)}: expected floats [N], from -1 to 1"
            )
        if not 0 < len(samples) <= self.samples:
            raise InputError(
                f"{len(samples)} samples: expected 1 to {self.samples}, which are {self.seconds} s at {self.rate} Hz"
            )
        if not np.isfinite(samples).all():
            raise InputError("the samples are not all finite")
        chunk = np.full(self.samples, self.padding)
        chunk[: len(samples)] = samples
        half = self.window // 2
        padded = np.pad(chunk, half, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(padded, self.window)[:: self.hop][: self.frames]
        hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self.window) / self.window)
        filters = mel_filters(self.bands, self.rate, self.window)
        found = np.empty((self.bands, len(frames)))
        step = max(1, _BLOCK // self.window)
        for first in range(0, len(frames), step):
            spectrum = np.fft.rfft(frames[first : first + step] * hann)
            found[:, first : first + step] = filters @ (spectrum.real**2 + spectrum.imag**2).T
        found = np.log10(np.maximum(found, _FLOOR))
        found = np.maximum(found, found.max() - _RANGE)
        return ((found + 4) / 4).astype(np.float32)[None]


def mel_filters(bands: int, rate: int, window: int) -> Array:
    """Triangular filters `[bands, window // 2 + 1]` f64 from 0 to 8 kHz, for a window of samples at a `rate` in Hz."""
    mels: Array = np.linspace(0, 15 + math.log(_HIGHEST / 1000) * 27 / math.log(6.4), bands + 2)
    edges = _hertz(mels)
    frequencies = np.linspace(0, rate // 2, window // 2 + 1)
    widths = np.diff(edges)[:, None]
    behind = frequencies - edges[:, None]
    triangles = np.minimum(behind[:-2] / widths[:-1], -behind[2:] / widths[1:])
    return np.maximum(triangles, 0) * (2 / (edges[2:] - edges[:-2]))[:, None]


def _hertz(mels: Array) -> Array:
    """Frequencies of mels: 15 are 1000 Hz, as many are linear below, and 27 are a factor of 6.4 above."""
    above = 1000 * np.exp((mels - 15) * np.log(6.4) / 27)
    return np.where(mels < 15, mels * 200 / 3, above)


def read_wave(path: str | os.PathLike[str], mel: LogMel) -> Array:
    """The samples `[N]` f32 of a WAV file with integers of 8 to 32 bits, from -1 to 1; the mean of two channels.

    Raises ExecutorchError(AccessFailed) for a file that cannot be read; InputError for one that is no such file, is
    damaged or empty, has another rate than `mel` or more than two channels, or is longer than its chunk.
    """
    where = os.fspath(path)
    convert = f"convert it: ffmpeg -i FILE -ar {mel.rate} -ac 1 -c:a pcm_s16le converted.wav"
    try:
        with open(path, "rb") as file, wave.open(file) as audio:
            channels, width, rate, count, *_ = audio.getparams()
            if rate != mel.rate:
                raise InputError(
                    f"audio of {rate} samples per second: the model takes {mel.rate}",
                    where=where,
                    hint=convert,
                )
            if channels > 2 or width > 4:
                raise InputError(
                    f"audio of {channels} channels of {8 * width} bits: expected one or two of 8 to 32 bits",
                    where=where,
                    hint=convert,
                )
            is_endless = count * channels * width >= _ENDLESS
            data = audio.readframes(min(count, mel.samples + 1))
    except (wave.Error, EOFError, RuntimeError) as error:  # the last for sizes beyond the end
        raise InputError(
            f"not a WAV file with integers: {error or 'it is damaged'}", where=where, hint=convert
        ) from None
    except OSError as error:
        raise ExecutorchError(
            Error.AccessFailed, f"no audio: {error.strerror or error}", where=where
        ) from None
    read = len(data) // (channels * width)
    if read > mel.samples:
        length = "more" if is_endless else f"{count} samples, {count / rate:.1f} s"
        raise InputError(
            f"the audio has {length}: the model takes up to {mel.samples}, {mel.seconds} s",
            where=where,
            hint="split it into parts",
        )
    if not read:
        raise InputError("the audio is empty", where=where)
    if read < count and not is_endless:
        raise InputError(f"the audio is damaged: it ends after {read} of {count} samples", where=where)
    raw = np.frombuffer(data, np.uint8)[: read * channels * width].reshape(-1, width)
    # Bytes of 8 bits are unsigned.
    raw = raw ^ np.uint8(0x80) if width == 1 else raw
    wide = np.zeros((len(raw), 4), np.uint8)
    wide[:, 4 - width :] = raw
    samples = wide.view("<i4").reshape(read, channels).mean(axis=1) / (1 << 31)
    return samples.astype(np.float32)
