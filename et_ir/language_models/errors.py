"""Errors of language models: folders that cannot be read, models that have no exportable form."""

from __future__ import annotations

__all__ = ["LanguageModelError"]


class LanguageModelError(ValueError):
    """A folder that holds no complete model, or a model that cannot be exported with a cache of fixed size."""
