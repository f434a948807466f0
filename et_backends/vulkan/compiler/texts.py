"""Text of partitions as shaders."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from et_backends.vulkan.compiler.pipeline import observed
from et_ir.text import module_text

__all__ = ["spirv_texts"]


def spirv_texts(write: Callable[[str], None]) -> AbstractContextManager[None]:
    """Shaders and the function that dispatches them."""
    return observed(lambda module: write(module_text(module)))
