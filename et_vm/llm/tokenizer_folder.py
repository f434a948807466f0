"""The files beside a `tokenizer.json`: special and added tokens, and the chat template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from et_schema.errors import InputError
from et_schema.wording import worded

__all__ = ["AddedToken", "TokenizerFolder"]

_CONFIG: Final = "tokenizer_config.json"
_SPECIAL: Final = "special_tokens_map.json"
_TEMPLATE: Final = "chat_template.jinja"
_LISTS: Final = ("additional_special_tokens", "extra_special_tokens")
_FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized")


class AddedToken(NamedTuple):
    """A token beside the vocabulary of the model."""

    content: str
    special: bool
    flags: Mapping[str, bool]
    """Of `single_word`, `lstrip`, `rstrip` and `normalized` those that are stated."""


_DIGITS: Final = 18
"""Digits of an id at most."""


class TokenizerFolder:
    """What a folder says of its tokenizer; none of the files has to be there.

    The attributes raise InputError for a file that cannot be read, is no JSON, or has values of other types.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def config(self) -> dict[str, Any]:
        """`tokenizer_config.json`, with what older folders, whose configuration lists no tokens, have beside it."""
        config = _read(self.path / _CONFIG)
        return config if "added_tokens_decoder" in config else config | _read(self.path / _SPECIAL)

    @cached_property
    def named_tokens(self) -> dict[str, str]:
        """Special tokens by name, as `bos_token`."""
        return {
            key: _content(value)
            for key, value in self.config.items()
            if key.endswith("_token") and isinstance(value, str | dict)
        }

    @cached_property
    def added_tokens(self) -> list[AddedToken]:
        """The tokens that a tokenizer must have: by their ids, then special tokens in the order of the file."""
        stated: Any = self.config.get("added_tokens_decoder") or {}
        if not isinstance(stated, dict):
            raise self._malformed("added_tokens_decoder", "an object")
        decoder = cast("dict[str, Any]", stated)
        for key, value in decoder.items():
            if (
                not key.isdecimal()
                or len(key) > _DIGITS
                or not isinstance(value, dict)
                or "content" not in value
            ):
                raise self._malformed(f"added_tokens_decoder: {key!r}", "an id, and an object with 'content'")
        by_id = [_token(decoder[key], special=False) for key in sorted(decoder, key=int)]
        listed = [value for key in _LISTS for value in _list(self.config.get(key))]
        named = [self.config[key] for key in self.named_tokens]
        special = [_token(one, special=True) for one in [*named, *listed]]
        names = {one.content for one in special}
        found = {one.content: one._replace(special=one.special or one.content in names) for one in by_id}
        for one in special:
            found.setdefault(one.content, one)
        return [one for one in found.values() if one.content]

    @property
    def splits_special_tokens(self) -> bool:
        """Special tokens in a text are text like any other."""
        return self._flag("split_special_tokens")

    def cleans_up_spaces(self, *, merges: bool) -> bool:
        """Spaces before punctuation are taken out of decoded texts; of a tokenizer that `merges` only if forced to.

        After `decode` of transformers.
        """
        return self._flag("clean_up_tokenization_spaces") and (
            not merges
            or self._flag("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output")
        )

    @property
    def chat_template(self) -> str:
        """The template of conversations. Raises InputError if there is none."""
        template: Any = self.config.get("chat_template")
        if isinstance(template, list):  # one for each use, as of tools
            named = [
                cast("dict[str, Any]", one) for one in cast("list[Any]", template) if isinstance(one, dict)
            ]
            template = next((one.get("template") for one in named if one.get("name") == "default"), None)
        if (self.path / _TEMPLATE).is_file():
            try:
                template = (self.path / _TEMPLATE).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"not a chat template: {error}", where=str(self.path / _TEMPLATE)) from None
        if not isinstance(template, str):
            raise InputError(
                "the tokenizer has no chat template, as those of models for conversations have",
                where=str(self.path),
                hint="give texts: "
                + worded(python="generate(prompt)", command="--prompt TEXT in place of --chat"),
            )
        return template

    def _flag(self, key: str) -> bool:
        value: Any = self.config.get(key)
        if not isinstance(value, bool | None):
            raise self._malformed(key, "true or false")
        return bool(value)

    def _malformed(self, key: str, expected: str) -> InputError:
        return InputError(
            f"not a configuration of a tokenizer: {key}: expected {expected}", where=str(self.path / _CONFIG)
        )


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found: Any = json.loads(path.read_bytes())
        # Escapes of JSON can be halves of characters, which no text has.
        json.dumps(found, ensure_ascii=False).encode()
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"not a configuration of a tokenizer: {error}", where=str(path)) from None
    if not isinstance(found, dict):
        raise InputError("not a configuration of a tokenizer: expected an object", where=str(path))
    return cast("dict[str, Any]", found)


def _list(value: Any) -> list[Any]:
    """Special tokens without a name, or with names of the model's own."""
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    return (
        [one for one in cast("list[Any]", value) if isinstance(one, str | dict)]
        if isinstance(value, list)
        else []
    )


def _content(value: Any) -> str:
    return value if isinstance(value, str) else str(cast("dict[str, Any]", value).get("content", ""))


def _token(value: Any, *, special: bool) -> AddedToken:
    stated = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    flags = {name: bool(stated[name]) for name in _FLAGS if name in stated}
    return AddedToken(_content(value), special or bool(stated.get("special", False)), flags)
