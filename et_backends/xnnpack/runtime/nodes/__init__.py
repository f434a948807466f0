"""Lowering of XNNPACK nodes to steps of the VM's kernels.

There is one module for each family of nodes.
"""

from __future__ import annotations

from et_backends.xnnpack.runtime.nodes import (
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
from et_backends.xnnpack.runtime.nodes.declare import TRANSLATIONS, NodeTranslation

__all__ = ["TRANSLATIONS", "NodeTranslation"]

FAMILIES = (arithmetic, attention, convolution, functions, linear, move, pooling, resize, rounding)
