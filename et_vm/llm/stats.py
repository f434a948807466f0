"""Times and numbers of tokens of a generation."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

__all__ = ["Stats"]


@dataclass
class Stats:
    """Times of a generation, in ms since an arbitrary moment, and numbers of tokens."""

    inference_start_ms: float = 0.0
    """Before the prompt is read."""
    prompt_eval_end_ms: float = 0.0
    """When it has been."""
    first_token_ms: float = 0.0
    """When the first token has been chosen."""
    inference_end_ms: float = 0.0
    """At the end."""
    num_prompt_tokens: int = 0
    """Tokens of the prompt."""
    num_generated_tokens: int = 0
    """Tokens behind it."""
    num_draft_tokens: int = 0
    """Tokens that a draft proposed."""
    num_accepted_tokens: int = 0
    """Those of them that were generated."""
    is_match: bool | None = None
    """Whether the text matches its constraint, which one that ends early may not; `None` without a constraint."""

    @property
    def prompt_tokens_per_second(self) -> float:
        """Of the prompt."""
        return _rate(self.num_prompt_tokens, self.prompt_eval_end_ms - self.inference_start_ms)

    @property
    def generated_tokens_per_second(self) -> float:
        """Of the tokens behind the first, which is known when the prompt has been read."""
        return _rate(self.num_generated_tokens - 1, self.inference_end_ms - self.first_token_ms)

    def to_json_string(self) -> str:
        """All fields."""
        return json.dumps(asdict(self))


def _rate(tokens: int, milliseconds: float) -> float:
    return tokens / milliseconds * 1e3 if tokens > 0 and milliseconds > 0 else 0.0
