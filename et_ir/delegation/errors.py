"""Errors in requests for a backend."""

from __future__ import annotations

__all__ = ["BackendError", "MissingBackend"]


class MissingBackend(Exception):
    """There is no backend of this name."""

    exit_code = 4


class BackendError(Exception):
    """A backend, or what is said to it, is wrong: two of one name, an option that it does not have."""

    exit_code = 2
