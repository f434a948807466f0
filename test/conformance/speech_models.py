"""A small Whisper of random weights in a folder, with a tokenizer, a preprocessor and a configuration of generation."""

from __future__ import annotations

import json
import warnings
import wave
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from language_models import hf

RATE: Final = 1600
SPECIAL: Final = (
    "<|endoftext|>",
    "<|startoftranscript|>",
    "<|en|>",
    "<|de|>",
    "<|fr|>",
    "<|translate|>",
    "<|transcribe|>",
    "<|startofprev|>",
    "<|notimestamps|>",
)
IDS: Final = {token: 256 + place for place, token in enumerate(SPECIAL)}
LANGUAGES: Final = {token: IDS[token] for token in ("<|en|>", "<|de|>", "<|fr|>")}
TASKS: Final = {name: IDS[f"<|{name}|>"] for name in ("translate", "transcribe")}
MULTILINGUAL: Final[dict[str, Any]] = {
    "decoder_start_token_id": IDS["<|startoftranscript|>"],
    "eos_token_id": IDS["<|endoftext|>"],
    "pad_token_id": IDS["<|endoftext|>"],
    "no_timestamps_token_id": IDS["<|notimestamps|>"],
    "lang_to_id": LANGUAGES,
    "task_to_id": TASKS,
    "is_multilingual": True,
    "return_timestamps": False,
    "max_length": 60,
}
"""A configuration of generation as those of the models with several languages."""


def speech_model(folder: Path, **generation: Any) -> Any:
    """A model that is saved in a folder; a configuration of generation besides `MULTILINGUAL`, or `None` instead."""
    torch.manual_seed(0)
    config = hf.WhisperConfig(
        vocab_size=len(IDS) + 256,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_mel_bins=8,
        max_source_positions=20,
        max_target_positions=60,
        init_std=0.25,
        bos_token_id=IDS["<|endoftext|>"],
        **{name: MULTILINGUAL[name] for name in ("decoder_start_token_id", "eos_token_id", "pad_token_id")},
    )
    with warnings.catch_warnings(action="ignore"):
        model = hf.WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():  # so that other audio gives another text
        model.model.encoder.conv1.weight *= 2
        for layer in model.model.decoder.layers:
            layer.encoder_attn.q_proj.weight *= 4
    options = {name: value for name, value in (MULTILINGUAL | generation).items() if value is not None}
    model.generation_config = hf.GenerationConfig(**options)
    model.save_pretrained(folder)
    _tokenizer(folder)
    sizes = {"feature_size": 8, "sampling_rate": RATE, "hop_length": 40, "chunk_length": 1, "n_fft": 160}
    kind = {"feature_extractor_type": "WhisperFeatureExtractor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(kind | sizes))
    return model


def _tokenizer(folder: Path) -> None:
    """A token for each byte, behind them the special ones."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    made: Any = Tokenizer(models.BPE(vocab={sign: place for place, sign in enumerate(signs)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    made.save(str(folder / "tokenizer.json"))


def speech(path: Path, seed: int, length: int = 1300) -> None:
    """A file of 16 bits with tones that change, and noise."""
    generator = np.random.default_rng(seed)
    tones = np.repeat(generator.uniform(0.02, 0.4, length // 100 + 1), 100)[:length]
    samples = 0.5 * np.sin(2 * np.pi * np.cumsum(tones)) + 0.1 * generator.standard_normal(length)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, length, "NONE", "not compressed"))
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def transcription(model: Any, folder: Path, path: Path, prompt: str = "", **options: Any) -> list[int]:
    """The tokens that `generate` of transformers writes, without those that it begins with and the one that ends it."""
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
    with warnings.catch_warnings(action="ignore"):
        extractor = hf.WhisperFeatureExtractor.from_pretrained(folder)
        features = extractor(samples, sampling_rate=RATE, return_tensors="pt").input_features
        if prompt:
            before = [IDS["<|startofprev|>"], *_bytes(f" {prompt}")]
            options["prompt_ids"] = torch.tensor(before)
        return model.generate(features, do_sample=False, num_beams=1, **options)[0].tolist()


def _bytes(text: str) -> list[int]:
    from tokenizers import pre_tokenizers

    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    split: Any = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return [signs.index(sign) for word, _ in split.pre_tokenize_str(text) for sign in word]
