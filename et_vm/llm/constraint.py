"""Constrained decoding: tokens whose text can still lead to a match of a regular expression or a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from et_schema.errors import InputError
from et_vm.llm.json_schema import expression_of
from et_vm.llm.regular import Automaton, State
from et_vm.values import Array

if TYPE_CHECKING:
    from et_vm.llm.model import LanguageModel
    from et_vm.llm.text import Tokenizer

__all__ = ["Constraint", "Follower"]


_MOST_MASKS: Final = 256
"""Masks that are kept, each of a byte for each token of the vocabulary."""


class Constraint:
    """An expression that generated text must match, of `et_vm.llm.regular.Automaton`."""

    def __init__(self, expression: str) -> None:
        """Raises InputError for an invalid expression."""
        self.expression = expression
        self._automaton = Automaton(expression)
        self._masks: dict[State, Array] = {}
        self._tokens: _Tokens | None = None

    @staticmethod
    def of_schema(schema: str | Mapping[str, Any]) -> Constraint:
        """The constraint of a JSON schema, as text or as a mapping. Raises InputError for unsupported keywords."""
        try:
            read: object = json.loads(schema) if isinstance(schema, str) else schema
        except (ValueError, RecursionError) as error:
            raise InputError(f"JSON schema: {error}") from None
        return Constraint(expression_of(read))

    def start(self, tokenizer: Tokenizer, model: LanguageModel) -> Follower:
        """A follower at the beginning of a text."""
        tokens = self._tokens
        if tokens is None or tokens.tokenizer is not tokenizer or tokens.size != model.vocabulary:
            tokens = self._tokens = _Tokens(tokenizer, model.vocabulary, model.eos_ids)
            self._masks.clear()
        return Follower(self._automaton, tokens, self._masks)

    def matches(self, text: str) -> bool:
        """Whether a whole text matches."""
        return self._automaton.matches(text)


class _Node:
    """The tokens whose bytes begin in a way."""

    __slots__ = ("children", "ids")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.ids: list[int] = []


class _Tokens:
    """The bytes of all tokens, as a tree."""

    def __init__(self, tokenizer: Tokenizer, size: int, eos_ids: frozenset[int]) -> None:
        self.tokenizer = tokenizer
        self.size = size
        self.eos_ids = eos_ids
        self.texts = tokenizer.bytes_of_tokens()
        self.root = _Node()
        for token, text in self.texts.items():
            if not text or token in eos_ids or token >= size:
                continue
            node = self.root
            for byte in text:
                node = node.children.setdefault(byte, _Node())
            node.ids.append(token)


class Follower:
    """A text in the making."""

    def __init__(self, automaton: Automaton, tokens: _Tokens, masks: dict[State, Array]) -> None:
        self._automaton = automaton
        self._tokens = tokens
        self._masks = masks
        self._state = automaton.start

    @property
    def is_match(self) -> bool:
        """Whether the text matches."""
        return self._automaton.is_match(self._state)

    @property
    def is_complete(self) -> bool:
        """Whether the text matches and nothing can follow."""
        return self.is_match and self._automaton.is_final(self._state)

    def allowed(self) -> Array:
        """The tokens that may follow, `[V]` bool; those that end a text where it matches."""
        known = self._masks.get(self._state)
        if known is None:
            known = np.zeros(self._tokens.size, np.bool_)
            pending = [(self._tokens.root, self._state)]
            while pending:
                node, state = pending.pop()
                known[node.ids] = True
                for byte, child in node.children.items():
                    following = self._automaton.after(state, byte)
                    if following:
                        pending.append((child, following))
            if self.is_match:
                known[[one for one in self._tokens.eos_ids if one < self._tokens.size]] = True
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            self._masks[self._state] = known
        return known

    def advance(self, token: int) -> None:
        """Add a token. Raises InputError for one that is not allowed."""
        state = self._state
        for byte in self._tokens.texts.get(token, b""):
            state = self._automaton.after(state, byte)
        if not state:
            raise InputError(f"token {token} cannot follow")
        self._state = state
