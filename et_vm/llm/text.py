"""Text to token ids and back: tokenizers of Hugging Face, and pieces of text as tokens come."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from et_schema.errors import Error, ExecutorchError, InputError
from et_vm.llm.chat_template import render_chat

__all__ = ["TextStream", "Tokenizer"]

_FILE: Final = "tokenizer.json"
_CONFIG: Final = "tokenizer_config.json"
_TEMPLATE: Final = "chat_template.jinja"
_INCOMPLETE: Final = "\ufffd"
_INSTALL: Final = "pip install '.[llm]' in the checkout of executorch-ir"


class Tokenizer:
    """A `tokenizer.json`, or the folder that it is in, by the library `tokenizers`.

    Raises ExecutorchError: NotSupported if that is not installed, AccessFailed for a path without one,
    InvalidExternalData for a file that is no tokenizer.
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
            text = self.file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ExecutorchError(Error.AccessFailed, f"no tokenizer: {error}", where=str(path)) from None
        library: Any = Library
        try:
            self._tokenizer: Any = library.from_str(text)
        except Exception as error:  # the library raises nothing narrower
            raise ExecutorchError(
                Error.InvalidExternalData, f"not a tokenizer: {error}", where=str(self.file)
            ) from None

    @property
    def size(self) -> int:
        """The number of ids, from 0 to the largest."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

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
        return list(self._tokenizer.encode(text, add_special_tokens=around).ids)

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """The text of ids; that of `special` tokens, which mark beginnings and ends, if asked for."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=not special))

    def id_of(self, token: str) -> int | None:
        """The id of a token."""
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)

    def bytes_of_tokens(self) -> dict[int, bytes]:
        """The bytes that each token adds to a text, in UTF-8; none for special tokens.

        Raises InputError for a tokenizer that says neither with byte-level tokens nor with others how its tokens are
        written.
        """
        made = json.loads(self._tokenizer.to_str())
        special = {one["id"] for one in made.get("added_tokens", ()) if one.get("special")}
        decoders = _decoders(made.get("decoder"))
        kinds = {str(one.get("type")) for one in decoders}
        vocabulary: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        if "ByteLevel" in kinds:
            table = {sign: byte for byte, sign in _byte_signs().items()}
            return {
                token: b""
                if token in special
                else b"".join(bytes([table[sign]]) if sign in table else sign.encode() for sign in text)
                for text, token in vocabulary.items()
            }
        if not kinds & {"Metaspace", "ByteFallback", "Replace"}:
            raise InputError(
                f"the decoder of the tokenizer, {', '.join(sorted(kinds)) or 'none'}, is not supported by constraints",
                where=str(self.file),
            )
        sign = next((str(one["replacement"]) for one in decoders if "replacement" in one), "\u2581")
        found: dict[int, bytes] = {}
        for text, token in vocabulary.items():
            byte = re.fullmatch(r"<0x([0-9A-F]{2})>", text)
            plain = text.replace(sign, " ").encode() if byte is None else bytes([int(byte[1], 16)])
            found[token] = b"" if token in special else plain
        return found

    def chat(self, messages: Sequence[dict[str, str]]) -> str:
        """The prompt of a conversation, by the template beside the tokenizer: messages of a `role` and its `content`.

        Raises InputError if there is no template, it fails, or it refuses the messages;
        ExecutorchError(NotSupported) if jinja2 is not installed.
        """
        folder = self.file.parent
        config: dict[str, Any] = {}
        if (folder / _CONFIG).is_file():
            config = _config(folder / _CONFIG)
        template: Any = config.get("chat_template")
        if isinstance(template, list):  # one for each use, as of tools
            named = [
                cast("dict[str, Any]", one) for one in cast("list[Any]", template) if isinstance(one, dict)
            ]
            template = next((one.get("template") for one in named if one.get("name") == "default"), None)
        if (folder / _TEMPLATE).is_file():
            try:
                template = (folder / _TEMPLATE).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"not a chat template: {error}", where=str(folder / _TEMPLATE)) from None
        if not isinstance(template, str):
            raise InputError("the tokenizer has no chat template", where=str(folder))
        names = {
            key: value if isinstance(value, str) else str(cast("dict[str, Any]", value).get("content", ""))
            for key, value in config.items()
            if key.endswith("_token") and isinstance(value, str | dict)
        }
        return render_chat(template, messages, names, where=str(folder), install=_INSTALL)


def _config(path: Path) -> dict[str, Any]:
    try:
        found: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"not a configuration of a tokenizer: {error}", where=str(path)) from None
    if not isinstance(found, dict):
        raise InputError("not a configuration of a tokenizer: expected an object", where=str(path))
    return cast("dict[str, Any]", found)


def _decoders(made: Any) -> list[dict[str, Any]]:
    """The steps that a tokenizer decodes by."""
    if not isinstance(made, dict):
        return []
    one = cast("dict[str, Any]", made)
    return [each for part in one["decoders"] for each in _decoders(part)] if "decoders" in one else [one]


def _byte_signs() -> dict[int, str]:
    """The character that byte-level tokens have for each byte: itself if it is printed, else one from 256 on.

    After Radford et al. 2019, the code of GPT-2.
    """
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {byte: chr(byte) for byte in printed} | {
        byte: chr(256 + place) for place, byte in enumerate(others)
    }


class TextStream:
    """Pieces of text as tokens come: a character of several tokens is given when it is complete."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._start = 0
        """Decoding begins here: what a token means may depend on the ones before it."""
        self._given = 0
        """Tokens whose text has been given."""

    def put(self, token: int) -> str:
        """The text that a token completes."""
        self._ids.append(token)
        return self._next(final=False)

    def end(self) -> str:
        """The rest, in which incomplete characters are replaced."""
        return self._next(final=True)

    def _next(self, *, final: bool) -> str:
        before = self._tokenizer.decode(self._ids[self._start : self._given])
        text = self._tokenizer.decode(self._ids[self._start :])
        if len(text) <= len(before) or (text.endswith(_INCOMPLETE) and not final):
            return ""
        self._start, self._given = self._given, len(self._ids)
        return text[len(before) :]
