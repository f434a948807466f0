"""Shape rules of operators: result shapes and element types from those of the operands, without torch.

`RULES` maps operator names to functions of shapes and element types, one module a family. Sizes that are known are
inferred exactly, others are `UNKNOWN`; where types cannot be told at all, the answer is `None`.
"""

from __future__ import annotations

from et_ops.inference import (  # noqa: F401
    backward,  # pyright: ignore[reportUnusedImport]
    convolution,  # pyright: ignore[reportUnusedImport]
    creation,  # pyright: ignore[reportUnusedImport]
    einsum,  # pyright: ignore[reportUnusedImport]
    indexing,  # pyright: ignore[reportUnusedImport]
    matmul,  # pyright: ignore[reportUnusedImport]
    normalization,  # pyright: ignore[reportUnusedImport]
    pointwise,  # pyright: ignore[reportUnusedImport]
    quantized,  # pyright: ignore[reportUnusedImport]
    recurrent,  # pyright: ignore[reportUnusedImport]
    reductions,  # pyright: ignore[reportUnusedImport]
    spectral,  # pyright: ignore[reportUnusedImport]
    views,  # pyright: ignore[reportUnusedImport]
)
from et_ops.inference.meta import RULES

__all__ = ["RULES"]
