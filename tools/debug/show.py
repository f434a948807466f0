"""Display of values in a terminal: numbers with their statistics, curves, images and histograms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from et_vm.values import Tensor

__all__ = ["dump_lines", "plot_lines", "selected", "value_lines"]

SHADES = " .:-=+*#%@"
LEVELS = "▁▂▃▄▅▆▇█"
BINS = 12
ROW = 16
"""Bytes in a line of a dump."""


def selected(value: object, index: Any) -> np.ndarray[Any, Any] | None:
    """The elements of a tensor that an index selects, in a type that numpy has; None for other values.

    Raises IndexError.
    """
    if not isinstance(value, Tensor) or not value.has_data:
        return None
    array = value.array[index]
    return array.astype(np.float32) if array.dtype.kind == "V" or value.scalar_type.is_floating else array


def value_lines(value: object, index: Any, width: int) -> Iterator[str]:
    """Type, statistics and elements of a value. Raises IndexError."""
    array = selected(value, index)
    if array is None:
        yield _plain(value)
        return
    assert isinstance(value, Tensor)
    place = "" if index is ... else f" of {list(value.sizes)}"
    yield f"{value.scalar_type.torch_name} {list(array.shape)}{place}{_facts(array)}"
    with np.printoptions(threshold=200, edgeitems=4, linewidth=max(width, 40), precision=6, suppress=False):
        yield from str(array).splitlines()


def _plain(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.scalar_type.torch_name} {list(value.sizes)}, without data"
    if isinstance(value, list):
        return (
            f"[{', '.join(_plain(item) if not isinstance(item, Tensor) else repr(item) for item in value)}]"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        )
    return "None" if value is None else f"{type(value).__name__} {value!r}"


def _facts(array: np.ndarray[Any, Any]) -> str:
    if not array.size or array.dtype.kind not in "biuf":
        return ""
    finite = array[np.isfinite(array)].astype(np.float64)
    facts: list[str] = []
    if finite.size:
        facts = [f"min {finite.min():.5g}", f"mean {finite.mean():.5g}", f"max {finite.max():.5g}"]
    nans = int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
    infinities = array.size - finite.size - nans
    facts += [f"{nans:,} NaN"] * bool(nans) + [f"{infinities:,} infinite"] * bool(infinities)
    return f"  {'  '.join(facts)}" if facts else ""


def plot_lines(array: np.ndarray[Any, Any], width: int) -> Iterator[str]:
    """A curve of a vector or an image of a matrix, and the histogram of the elements."""
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        yield "no finite elements"
        return
    low, high = float(finite.min()), float(finite.max())
    squeezed = values.squeeze()
    if squeezed.ndim == 1:
        yield "".join(_mark(item, low, high, LEVELS) for item in _shrunk(squeezed, width, 0))
    elif squeezed.ndim >= 2:
        plane = squeezed.reshape(-1, *squeezed.shape[-2:])[0]
        if squeezed.ndim > 2:
            yield f"the first of {squeezed.size // plane.size:,} planes of {list(plane.shape)}"
        # A character is about twice as high as it is wide.
        small = _shrunk(_shrunk(plane, max(width // 2, 1), 1), max(width // 4, 1), 0)
        for row in small:
            yield "".join(_mark(item, low, high, SHADES) * 2 for item in row).rstrip()
    counts, edges = np.histogram(finite, BINS)
    longest = max(width - 35, 10)
    for count, start, end in zip(counts, edges[:-1], edges[1:], strict=True):
        bar = "█" * round(longest * int(count) / int(counts.max()))
        yield f"{start:>11.4g} … {end:<11.4g} {count:>8,} {bar}".rstrip()


def _shrunk(values: np.ndarray[Any, Any], size: int, axis: int) -> np.ndarray[Any, Any]:
    """Means of neighbours along an axis, so that at most `size` are left."""
    if values.shape[axis] <= size:
        return values
    parts = np.array_split(values, size, axis)
    return np.stack([part.mean(axis) for part in parts], axis)


def _mark(value: float, low: float, high: float, marks: str) -> str:
    if not np.isfinite(value):
        return "!"
    share = 0.5 if high == low else (value - low) / (high - low)
    return marks[min(int(share * len(marks)), len(marks) - 1)]


def dump_lines(data: np.ndarray[Any, Any], start: int) -> Iterator[str]:
    """Bytes in hexadecimal, with the offset of each line."""
    for at in range(0, data.size, ROW):
        row = bytes(data[at : at + ROW])
        yield f"{start + at:>10,}  {row[:8].hex(' '):<23}  {row[8:].hex(' ')}".rstrip()
