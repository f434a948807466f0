"""Import of torchao without known messages.

No user can act upon these. Builds for processors without CUDA lack the libraries of its GPU kernels, and it registers
enumerations in a way that newer versions of torch take for granted. Importing this module before those that use torchao
keeps both off stderr, and nothing else.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

__all__ = ["without_known_messages"]

_KNOWN: Final = {
    "torchao": re.compile(r"Failed to load .*\b_C_\w+\..*so: "),
    "torch.utils._pytree": re.compile(
        r".* is an Enum subclass and is now natively supported by torch\.compile"
    ),
}
"""The messages by their loggers."""


@contextmanager
def without_known_messages() -> Generator[None]:
    """A context in which these messages are dropped."""
    filters = {name: _Others(known) for name, known in _KNOWN.items()}
    for name, one in filters.items():
        logging.getLogger(name).addFilter(one)
    try:
        yield
    finally:
        for name, one in filters.items():
            logging.getLogger(name).removeFilter(one)


class _Others(logging.Filter):
    """Records but for those of a message."""

    def __init__(self, known: re.Pattern[str]) -> None:
        super().__init__()
        self._known = known

    def filter(self, record: logging.LogRecord) -> bool:
        return self._known.match(record.getMessage()) is None


with without_known_messages():
    import_module("torchao")
