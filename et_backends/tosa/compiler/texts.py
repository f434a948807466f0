"""Text of partitions in the TOSA dialect."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from xdsl.context import Context

from et_backends.tosa.compiler.backend import observed
from et_backends.tosa.passes.inline_tosa_constants import InlineTosaConstantsPass
from et_ir.text import module_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

__all__ = ["tosa_texts"]


def tosa_texts(write: Callable[[str], None]) -> AbstractContextManager[None]:
    """Partitions as they are serialized, with their constants inside."""

    def legalized(module: ModuleOp) -> None:
        shown = module.clone()
        InlineTosaConstantsPass().apply(Context(), shown)
        write(module_text(shown))

    return observed(legalized)
