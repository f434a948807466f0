"""Text to token ids and back: tokenizers of Hugging Face, and pieces of text as tokens come."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from et_schema.distribution import installation
from et_schema.errors import Error, ExecutorchError, InputError
from et_vm.llm.chat_template import render_chat
from et_vm.llm.tokenizer_folder import AddedToken, TokenizerFolder

__all__ = ["TextStream", "Tokenizer"]

_FILE: Final = "tokenizer.json"
_INCOMPLETE: Final = "\ufffd"
_PANIC: Final = "PanicException"
"""The exception that panics of Rust become: it has no module to be imported from."""
_INSTALL: Final = installation("llm")


class Tokenizer:
    """A `tokenizer.json`, or the folder that it is in, by the library `tokenizers`.

    Texts have the ids that transformers gives them: with the tokens that the files beside it add, whole, and without
    padding, whatever `tokenizer.json` says of lengths.

    Raises ExecutorchError: NotSupported if that is not installed, AccessFailed for a path without one,
    InvalidExternalData for a file that is no tokenizer; InputError for malformed files beside it.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            from tokenizers import Tokenizer as Library
        except ImportError:
            raise ExecutorchError(
                Error.NotSupported, "the package tokenizers is not installed", hint=_INSTALL
            ) from None
        place = Path(path)
        self.file = place / _FILE if place.is_dir() else place
        try:
            if place.is_dir() and self.file.exists() and not self.file.is_file():
                # A pipe or a device that the user has not named: it may have no end.
                raise OSError(f"{self.file}: not a regular file")
            text = self.file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ExecutorchError(Error.AccessFailed, f"no tokenizer: {error}", where=str(path)) from None
        library: Any = Library
        self._tokenizer: Any = self._called(library.from_str, text)
        self._folder = TokenizerFolder(self.file.parent)
        self.size = int(self._tokenizer.get_vocab_size(with_added_tokens=True))
        """The number of ids of `tokenizer.json`, from 0 to the largest; files beside it may add others."""
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._add(self._folder.added_tokens)
        self._tokenizer.encode_special_tokens = self._folder.splits_special_tokens
        merges = type(self._tokenizer.model).__name__ == "BPE"
        self.cleans_up = self._folder.cleans_up_spaces(merges=merges)
        """Spaces before punctuation are taken out of decoded texts."""
        decoder = self._tokenizer.decoder
        self._decoders = [] if decoder is None else _steps(json.loads(decoder.__getstate__()))
        added: dict[int, Any] = self._tokenizer.get_added_tokens_decoder()
        # Some files mark the bytes of characters without a token as special: without them, these would be lost.
        has_bytes = any(one.get("type") == "ByteFallback" for one in self._decoders)
        self._special = frozenset(
            token
            for token, one in added.items()
            if one.special and not (has_bytes and _BYTE.fullmatch(one.content))
        )

    def encode(self, text: str) -> list[int]:
        """The ids of a text, with those that the tokenizer puts around one. Raises InputError for lone surrogates."""
        return self._encoded(text, around=True)

    def encode_rest(self, text: str) -> list[int]:
        """The ids of a text in the middle of another, as one that a chat template makes.

        Raises InputError for lone surrogates.
        """
        return self._encoded(text, around=False)

    def _encoded(self, text: str, *, around: bool) -> list[int]:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            # What a terminal or a file has there are bytes that are not UTF-8.
            raise InputError(f"the text is not in UTF-8 at character {error.start}") from None
        return list(self._called(self._tokenizer.encode, text, add_special_tokens=around).ids)

    def _called(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """The result of a function of the library. Raises ExecutorchError(InvalidExternalData) for what it raises,
        panics of its Rust code included, which are no `Exception`.
        """
        try:
            return function(*arguments, **named)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            message = f"not a tokenizer: {error}"
            raise ExecutorchError(
                Error.InvalidExternalData,
                message,
                where=str(self.file),
                hint="tokenizer.json of Hugging Face's tokenizers is read, or the folder that has it",
            ) from None

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """The text of ids; that of `special` tokens, which mark beginnings and ends, if asked for."""
        text = self.decode_uncleaned(ids, special=special)
        return _cleaned_up(text) if self.cleans_up else text

    def decode_uncleaned(self, ids: Sequence[int], *, special: bool = False) -> str:
        """The text of ids with all spaces, as the parts of a text are decoded."""
        given = list(ids) if special else [one for one in ids if one not in self._special]
        return str(self._called(self._tokenizer.decode, given, skip_special_tokens=False))

    def id_of(self, token: str) -> int | None:
        """The id of a token."""
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)

    def bytes_of_tokens(self) -> dict[int, bytes]:
        """The bytes that each token adds to a text, in UTF-8; none for special tokens.

        Raises InputError for a tokenizer that says neither with byte-level tokens nor with others how its tokens are
        written, or that changes texts afterwards.
        """
        if self.cleans_up:
            raise InputError(
                "clean_up_tokenization_spaces of the tokenizer is not supported by constraints",
                where=str(self._folder.path),
                hint="set it to false in tokenizer_config.json to keep the spaces before punctuation",
            )
        kinds = {str(one.get("type")) for one in self._decoders}
        if not kinds & {"ByteLevel", "Metaspace", "ByteFallback", "Replace"}:
            raise InputError(
                f"the decoder of the tokenizer, {', '.join(sorted(kinds)) or 'none'}, is not supported by constraints",
                where=str(self.file),
            )
        vocabulary: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        return {
            token: b"" if token in self._special else self._bytes(text) for text, token in vocabulary.items()
        }

    def _bytes(self, text: str) -> bytes:
        """The bytes that a token stands for."""
        for one in self._decoders:
            match one:
                case {"type": "ByteLevel"} if all(sign in _BYTES for sign in text):
                    return bytes(_BYTES[sign] for sign in text)
                case {"type": "ByteFallback"} if found := _BYTE.fullmatch(text):
                    return bytes([int(found[1], 16)])
                case {"type": "Metaspace", "replacement": str(sign)}:
                    text = text.replace(sign, " ")
                case {"type": "Replace", "pattern": {"String": str(sign)}, "content": str(content)}:
                    text = text.replace(sign, content)
                case _:
                    pass
        return text.encode()

    def chat(self, messages: Sequence[dict[str, str]]) -> str:
        """The prompt of a conversation, by the template beside the tokenizer: messages of a `role` and its `content`.

        It has all special tokens: `encode_rest` gives its ids. Raises InputError if there is no template, it fails, or
        it refuses the messages; ExecutorchError(NotSupported) if jinja2 is not installed.
        """
        folder = self._folder
        return render_chat(
            folder.chat_template, messages, folder.named_tokens, where=str(folder.path), install=_INSTALL
        )

    def _add(self, tokens: Sequence[AddedToken]) -> None:
        """Add those that the vocabulary lacks, and mark those as special that are not yet, as transformers does."""
        from tokenizers import AddedToken as Added

        library: Any = Added
        known: dict[int, Any] = self._tokenizer.get_added_tokens_decoder()
        special = {one.content: bool(one.special) for one in known.values()}
        self._tokenizer.add_tokens(
            [
                library(one.content, special=one.special, **one.flags)
                for one in tokens
                if one.special > special.get(one.content, -1)
            ]
        )


def _steps(decoder: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps that a tokenizer decodes by, each with its `type`."""
    parts: list[dict[str, Any]] | None = decoder.get("decoders")
    return [decoder] if parts is None else [step for part in parts for step in _steps(part)]


def _byte_signs() -> dict[int, str]:
    """The character that byte-level tokens have for each byte: itself if it is printed, else one from 256 on.

    After Radford et al. 2019, the code of GPT-2.
    """
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {byte: chr(byte) for byte in printed} | {
        byte: chr(256 + place) for place, byte in enumerate(others)
    }


_BYTES: Final = {sign: byte for byte, sign in _byte_signs().items()}
_BYTE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")
"""A token that stands for a byte of a character that has no token."""


_CLEANED: Final = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")
"""Contractions and punctuation that lose the spaces around them, in this order, as in transformers."""
_DECIDED: Final = re.compile(r".*[^ 'n](?= )", re.DOTALL)
"""A text up to its last space, if none of the replacements can reach over it, whatever comes."""


def _cleaned_up(text: str) -> str:
    for one in _CLEANED:
        text = text.replace(one, one.strip())
    return text


class TextStream:
    """Pieces of text as tokens come: a character of several tokens is given when it is complete, and a word at the
    next space if the tokenizer takes spaces out of texts.

    `context` are the ids before: what a token means may depend on them, as whether a space is before it.
    """

    def __init__(self, tokenizer: Tokenizer, context: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = list(context)
        self._start = 0
        """Decoding begins here."""
        self._given = len(self._ids)
        """Tokens whose text has been given."""
        self._undecided = ""
        """Text whose spaces depend on what comes."""

    def put(self, token: int) -> str:
        """The text that a token completes."""
        self._ids.append(token)
        return self._cleaned(self._next(final=False), final=False)

    def end(self) -> str:
        """The rest, in which incomplete characters are replaced."""
        return self._cleaned(self._next(final=True), final=True)

    def _cleaned(self, text: str, *, final: bool) -> str:
        if not self._tokenizer.cleans_up:
            return text
        text = self._undecided + text
        decided = _DECIDED.match(text)
        cut = len(text) if final else decided.end() if decided else 0
        self._undecided = text[cut:]
        return _cleaned_up(text[:cut])

    def _next(self, *, final: bool) -> str:
        before = self._tokenizer.decode_uncleaned(self._ids[self._start : self._given])
        text = self._tokenizer.decode_uncleaned(self._ids[self._start :])
        if len(text) <= len(before) or (text.endswith(_INCOMPLETE) and not final):
            return ""
        self._start, self._given = self._given, len(self._ids)
        return text[len(before) :]
