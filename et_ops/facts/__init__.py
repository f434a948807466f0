"""Facts of operators that no schema says: each family declares its own, and `Operator.facts` is what it declared."""

from __future__ import annotations

from et_ops.fact import DECLARED, Facts, Promotion
from et_ops.facts import (  # noqa: F401
    aliasing,  # pyright: ignore[reportUnusedImport]
    arithmetic,  # pyright: ignore[reportUnusedImport]
    products,  # pyright: ignore[reportUnusedImport]
    promotion,  # pyright: ignore[reportUnusedImport]
    shapes,  # pyright: ignore[reportUnusedImport]
)

__all__ = ["DECLARED", "Facts", "Promotion"]
