"""Histograms of constants, for the distribution of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from et_schema.program import Tensor
    from et_vm.program import Program

__all__ = ["BINS", "constant_values", "histogram"]

BINS: Final = 32
"""Bins of equal width between the least and the largest finite value."""
MOST: Final = 1 << 20
"""Values that are looked at: of larger constants, every n-th."""


def constant_values(program: Program, table: Tensor, nbytes: int) -> NDArray[np.generic]:
    """The elements of a constant in the file, in the order of its memory."""
    import numpy as np

    from et_schema.scalar_type import numpy_dtype
    from et_vm.verify.tensors import tensor_data

    return np.frombuffer(tensor_data(table, nbytes, program.pte), numpy_dtype(table.scalar_type))


def histogram(values: NDArray[np.generic]) -> dict[str, Any] | None:
    """`bins` with `min`, `max`, `mean`, `std`, the number of `zeros` and of values that are not finite (`nonfinite`),
    and of values looked at (`count`, of `of`); None for complex numbers and where there are no values.
    """
    import numpy as np

    if not values.size or values.dtype.kind == "c":
        return None
    step = -(-values.size // MOST)
    looked_at = values[::step].astype(np.float64)
    finite = looked_at[np.isfinite(looked_at)]
    found: dict[str, Any] = {"count": int(looked_at.size), "of": int(values.size)}
    found["nonfinite"] = int(looked_at.size - finite.size)
    found["zeros"] = int(np.count_nonzero(finite == 0))
    if not finite.size:
        return found | {"bins": []}
    low, high = float(finite.min()), float(finite.max())
    # Scaled to [-1, 1]: sums of squares and widths of bins of the largest floats would overflow.
    scale = max(abs(low), abs(high)) or 1.0
    scaled = finite / scale
    counts = np.histogram(scaled, BINS, (low / scale, high / scale))[0] if low < high else [finite.size]
    return found | {
        "min": low,
        "max": high,
        "mean": float(scaled.mean()) * scale,
        "std": float(scaled.std()) * scale,
        "bins": [int(count) for count in counts],
    }
