"""Lowering of XNNPACK nodes to steps of the VM's kernels.

There is one module for each family of nodes.
"""

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
from et_vm.backends.xnnpack.nodes.declare import TRANSLATIONS, NodeTranslation

__all__ = ["TRANSLATIONS", "NodeTranslation"]

FAMILIES = (arithmetic, attention, convolution, functions, linear, move, pooling, resize, rounding)
