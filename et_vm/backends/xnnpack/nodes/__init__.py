"""What each kind of node of an XNNPACK graph becomes: steps of our own kernels, one module for each family."""

from __future__ import annotations

from et_vm.backends.xnnpack.nodes import (
    arithmetic,
    attention,
    convolution,
    functions,
    linear,
    move,
    pooling,
    resize,
    rounding,
)
from et_vm.backends.xnnpack.nodes.declare import TRANSLATIONS, Translation

__all__ = ["TRANSLATIONS", "Translation"]

FAMILIES = (arithmetic, attention, convolution, functions, linear, move, pooling, resize, rounding)
