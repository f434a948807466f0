"""The kernel of `fma::fma` for et-vm."""

from __future__ import annotations

import numpy as np

from et_vm import kernel


@kernel("fma::fma.out")
def fma_out(a: np.ndarray, b: np.ndarray, c: np.ndarray, *, out: np.ndarray) -> None:
    """The product and the sum."""
    np.add(a * b, c, out=out)
