"""Memory that the faster forms of operators may take at once."""

from __future__ import annotations

from typing import Literal

__all__ = ["MemoryAllowance"]

MemoryAllowance = Literal["peak", "fast", "any"]
"""`peak`: what the program needs at once anyway. `fast`: more only where an operator would be a hundred times slower
without. `any`: no limit.
"""
