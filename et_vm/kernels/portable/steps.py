"""Steps made of several numpy calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from et_vm.kernels.registry import PrepareContext
from et_vm.step import NOTHING, Step
from et_vm.values import Array, DType

_KEYWORD_OUT: frozenset[object] = frozenset({np.maximum, np.minimum})


def call(ufunc: Callable[..., object], *arrays: Array) -> Step:
    """`ufunc(*inputs, out)` with the output last. numpy deprecates a positional out of maximum and
    minimum.
    """
    if ufunc in _KEYWORD_OUT:
        return functools.partial(ufunc, *arrays[:-1], out=arrays[-1]), ()
    return ufunc, arrays


def run(calls: Sequence[Step]) -> None:
    """Execute `calls` in order."""
    for fn, args in calls:
        fn(*args)


def chain(calls: Sequence[Step]) -> Step:
    """One step that executes `calls` in order."""
    wanted = [step for step in calls if step is not NOTHING]
    if not wanted:
        return NOTHING
    return wanted[0] if len(wanted) == 1 else (run, (tuple(wanted),))


def overlaps(a: Array, b: Array) -> bool:
    """Whether the memory of the two arrays may overlap (bounds only, so cheap)."""
    return np.may_share_memory(a, b)


def same_view(a: Array, b: Array) -> bool:
    """Whether both arrays are the same elements in the same order."""
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and a.strides == b.strides
        and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    )


def cast(ctx: PrepareContext, source: Array, target: Array) -> list[Step]:
    """Calls that store `source` into `target` (same shape), converting as torch does.

    Floats go to unsigned integers by way of int64, so that negative numbers wrap on every machine; that
    takes scratch of 8 bytes an element. The real part of a complex number is kept.
    """
    if source.dtype.kind == "c" and target.dtype.kind != "c":
        source = source.real
    if source.dtype.kind == "c" or target.dtype.kind != "u" or not is_float(source.dtype):
        return [copy(source, target)]
    wide = ctx.scratch(source.shape, np.int64)
    return [copy(source, wide), copy(wide, target)]


def copy(source: Array, target: Array) -> Step:
    """One call that stores `source` into `target`, by numpy's own conversion."""
    return np.copyto, (target, source, "unsafe")


def is_float(dtype: DType) -> bool:
    """Whether `dtype` is a float, ml_dtypes' (which numpy calls void or has no kind for) included."""
    return "float" in dtype.name


def filled(dtype: DType, value: object) -> Array:
    """A 0-d array."""
    result: np.ndarray[Any, Any] = np.array(value).astype(dtype)
    return result
