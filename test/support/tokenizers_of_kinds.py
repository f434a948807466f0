"""Small tokenizers of each kind that language models have, in the files of transformers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

__all__ = ["KINDS", "random_text", "write"]

WORDS: Final = (
    "the import statement combines two operations; name = 12 "
    "{\"a\": [1, 2.5, true]} don't  we're it . is äöü € 😀 日本"
)
_SPECIAL: Final = ["<unk>", "<s>", "</s>"]


def _trained(model: Any, trainer: Any, **parts: Any) -> Any:
    made: Any = Tokenizer(model)
    for name, part in parts.items():
        setattr(made, name, part)
    made.train_from_iterator([WORDS] * 5, trainer)
    return made


def _bpe(byte_fallback: bool = False, **options: Any) -> tuple[Any, Any]:
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
    model: Any = models.BPE(unk_token="<unk>", byte_fallback=byte_fallback, fuse_unk=byte_fallback, **options)
    trainer: Any = trainers.BpeTrainer(
        vocab_size=340 if byte_fallback else 330,
        special_tokens=[*_SPECIAL, *bytes_],
        initial_alphabet=options.pop("alphabet", []),
        show_progress=False,
        **({"end_of_word_suffix": "</w>"} if "end_of_word_suffix" in options else {}),
    )
    return model, trainer


def _plain_bytes(made: Any) -> Any:
    """Without the marks of special tokens that a trainer has put on the tokens of bytes."""
    state = json.loads(made.to_str())
    state["added_tokens"] = [one for one in state["added_tokens"] if one["content"] in _SPECIAL]
    return Tokenizer.from_str(json.dumps(state))


def _byte_level(prefix: bool) -> Any:
    model: Any = models.BPE()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return _trained(
        model,
        trainer,
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=prefix),
        decoder=decoders.ByteLevel(),
    )


def _llama() -> Any:
    """The normalizer and decoder of converted SentencePiece models: spaces are replaced, bytes stand for the rest."""
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    return _plain_bytes(
        _trained(
            *_bpe(byte_fallback=True),
            normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
            decoder=decoders.Sequence(parts),
        )
    )


def _metaspace(scheme: str) -> Any:
    return _trained(
        *_bpe(),
        pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme=scheme),
        decoder=decoders.Metaspace(prepend_scheme=scheme),
    )


def _gemma() -> Any:
    return _plain_bytes(
        _trained(
            *_bpe(byte_fallback=True),
            normalizer=normalizers.Replace(" ", "▁"),
            decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
        )
    )


def _unigram() -> Any:
    model: Any = models.Unigram()
    trainer: Any = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=_SPECIAL, unk_token="<unk>", show_progress=False
    )
    return _trained(model, trainer, pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace())


def _word_piece() -> Any:
    model: Any = models.WordPiece(unk_token="<unk>")
    trainer: Any = trainers.WordPieceTrainer(vocab_size=160, special_tokens=_SPECIAL, show_progress=False)
    return _trained(
        model,
        trainer,
        normalizer=normalizers.BertNormalizer(lowercase=True),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
        decoder=decoders.WordPiece(cleanup=True),
    )


def _word_level() -> Any:
    model: Any = models.WordLevel(unk_token="<unk>")
    trainer: Any = trainers.WordLevelTrainer(special_tokens=_SPECIAL, show_progress=False)
    return _trained(model, trainer, pre_tokenizer=pre_tokenizers.Whitespace())


def _suffixes() -> Any:
    """Words end with a suffix, as of CLIP and the first GPT."""
    return _trained(
        *_bpe(end_of_word_suffix="</w>"),
        pre_tokenizer=pre_tokenizers.Split(Regex(r"\s+"), "removed"),
        decoder=decoders.BPEDecoder(suffix="</w>"),
    )


KINDS: Final[dict[str, Callable[[], Any]]] = {
    "byte-level": lambda: _byte_level(prefix=False),
    "byte-level, prefix": lambda: _byte_level(prefix=True),
    "llama": _llama,
    "metaspace, always": lambda: _metaspace("always"),
    "metaspace, first": lambda: _metaspace("first"),
    "metaspace, never": lambda: _metaspace("never"),
    "gemma": _gemma,
    "unigram": _unigram,
    "word piece": _word_piece,
    "word level": _word_level,
    "suffixes": _suffixes,
}


def write(kind: str, folder: Path, *, around: bool = True, **config: Any) -> None:
    """Write the tokenizer of a kind to a folder; `config` is tokenizer_config.json.

    `around`: `<s>` begins a text, and `</s>` ends it.
    """
    made = KINDS[kind]()
    made.add_special_tokens([AddedToken("<|mark|>", special=True)])
    if around:
        made.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[(one, made.token_to_id(one)) for one in ("<s>", "</s>")]
        )
    folder.mkdir(exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "TokenizersBackend", "clean_up_tokenization_spaces": False} | config
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def random_text(source: random.Random) -> str:
    """Some words of the training text, single characters, spaces and special tokens."""
    words = [*WORDS.split(" "), " ", "  ", "é", "😀", "ß日", "\n", "<|mark|>", "</s>", "n't", " .", "x"]
    return source.choice(["", " "]).join(source.choice(words) for _ in range(source.randrange(1, 9)))
