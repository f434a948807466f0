"""Numeric gaps between a value and its reference: how far two computations of one tensor are apart.

Gaps are computed in double precision. Infinities and NaN count as equal where both sides have the same.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

__all__ = ["Gap", "bound_for", "gap_between"]

_ROUNDING = {"float64": 1e-9, "complex128": 1e-9, "float16": 1e-2, "bfloat16": 6e-2}
"""Relative bounds by element type; float8 has that of bfloat16, and all other floats that of float32."""


@dataclass(frozen=True, slots=True)
class Gap:
    """The distance between a value and its reference. All are 0 (`sqnr` infinite, `cosine` 1) for equal ones."""

    max_abs: float
    """Largest absolute difference of an element; infinite where only one side is finite, or where shapes differ."""
    relative: float
    """`max_abs` over the largest magnitude in the reference."""
    mse: float
    """Mean of the squared differences."""
    sqnr: float
    """Signal to quantization noise ratio in dB: the reference's power over that of the difference."""
    cosine: float
    """Cosine of the angle between both as vectors."""
    place: tuple[int, ...] = ()
    """Index of the element with the largest difference."""
    note: str = ""
    """Why elements cannot be compared, where they cannot."""

    def exceeds(self, bound: float) -> bool:
        """Whether the relative gap is larger than a bound, or not a number."""
        return not self.relative <= bound

    def json(self) -> dict[str, Any]:
        """The measures by name; infinities and NaN are strings."""
        found = asdict(self)
        for name, value in found.items():
            if isinstance(value, float) and not math.isfinite(value):
                found[name] = str(value)
        found["place"] = list(self.place)
        return found

    def __str__(self) -> str:
        if self.note:
            return self.note
        return (
            f"max {self.max_abs:.3g}, relative {self.relative:.3g}, MSE {self.mse:.3g}, "
            f"SQNR {self.sqnr:.1f} dB, cosine {self.cosine:.6f}"
        )


def bound_for(dtype: np.dtype[Any], bound: float | None = None) -> float:
    """The relative gap that rounding explains for an element type: 0 for integers, 1e-4 for float32; or `bound`."""
    if bound is not None:
        return bound
    if dtype.kind in "biu":
        return 0.0
    return _ROUNDING.get(dtype.name, _ROUNDING["bfloat16"] if dtype.name.startswith("float8") else 1e-4)


def _apart(note: str) -> Gap:
    return Gap(math.inf, math.inf, math.inf, -math.inf, math.nan, note=note)


def gap_between(value: Any, reference: Any) -> Gap:
    """The gap between two arrays or numbers; infinite where their shapes differ or one of them is no number."""
    if not _is_numeric(value) or not _is_numeric(reference):
        same = type(value) is type(reference) and value == reference
        return Gap(0.0, 0.0, 0.0, math.inf, 1.0) if same else _apart(f"{value!r}, expected {reference!r}")
    ours, theirs = np.asarray(value), np.asarray(reference)
    if ours.shape != theirs.shape:
        return _apart(f"shape {list(ours.shape)}, expected {list(theirs.shape)}")
    if ours.size == 0:
        return Gap(0.0, 0.0, 0.0, math.inf, 1.0)
    wide = np.complex128 if "c" in (ours.dtype.kind, theirs.dtype.kind) else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if ours.dtype.kind in "iu" and theirs.dtype.kind in "iu":
            same = ours == theirs  # beyond 2**53, double precision does not tell them apart
        difference = np.where(same, 0, np.abs(a - b))
        difference = np.where(np.isnan(difference), math.inf, difference)
        place = tuple(int(index) for index in np.unravel_index(int(np.argmax(difference)), difference.shape))
        largest = float(difference[place])
        finite = np.where(np.isfinite(b), np.abs(b), 0)
        scale = float(finite.max())
        relative = 0.0 if largest == 0 else largest / scale if scale else math.inf
        noise, signal = float(np.square(difference).sum()), float(np.square(finite).sum())
        sqnr = (
            math.inf
            if noise == 0
            else 10 * math.log10(signal / noise)
            if signal and noise < math.inf
            else -math.inf
        )
        norms = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
        dot = float(np.real(np.vdot(b, a)))
        cosine = 1.0 if bool(same.all()) else dot / norms if norms else math.nan
    return Gap(largest, relative, noise / ours.size, sqnr, cosine, place)


def _is_numeric(value: Any) -> bool:
    if isinstance(value, bool | int | float):
        return True
    array: Any = value
    return isinstance(value, np.ndarray | np.generic) and array.dtype.kind in "biufcV"
