"""Comparison of results with torch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

TOLERANCES = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1e-4, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
"""Relative and absolute, by element type; what has none is compared exactly."""


TORCH_IS_OFF = {
    "special.airy_ai": 3e-6,
    "special.bessel_j0": 1e-6,
    "special.bessel_j1": 1e-6,
    "special.bessel_y0": 1e-6,
    "special.bessel_y1": 1e-6,
}
"""The error of torch's float64 results of an entry, whose true values the kernels' unit tests compare with."""

AS_THE_LARGEST = frozenset({"linalg.matrix_exp", "matrix_exp", "nn.functional.scaled_dot_product_attention"})
"""Entries whose results are only as exact as the largest of them: powers of matrices, and means by weights, which are
exponentials of products up to 200 here, whose own rounding they multiply (torch's f32 is 4e-5 from f64).
"""


def difference(
    actual: Sequence[Any], expected: Sequence[Any], *, random: bool = False, entry: str = ""
) -> str | None:
    """The difference of `actual` from torch's result, None if there is none.

    Of `random` results only types and shapes are compared; `entry` is whose results they are.
    """
    if len(actual) != len(expected):
        return f"{len(actual)} results, expected {len(expected)}"
    for at, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        found = _difference(got, wanted, random, entry)
        if found is not None:
            return f"result {at}: {found}" if len(expected) > 1 else found
    return None


TIES = frozenset({"argsort", "kthvalue", "median", "mode", "nanmedian", "sort", "topk"})
"""Entries whose integer results say where elements came from, where torch does not say which of equal ones."""


def same_elements(source: torch.Tensor, got: Any, wanted: Any) -> bool:
    """Whether two tensors of indices name equal elements of `source`, each once, along one of its dimensions."""
    if not isinstance(got, torch.Tensor) or got.dtype != torch.int64 or got.shape != wanted.shape:
        return False
    for dim in range(source.dim() if got.dim() in (source.dim(), source.dim() - 1) else 0):
        pair = [index if index.dim() == source.dim() else index.unsqueeze(dim) for index in (got, wanted)]
        try:
            elements = [torch.take_along_dim(source, index, dim) for index in pair]
        except (RuntimeError, IndexError):
            continue
        if torch.equal(
            *(values.nan_to_num() if values.is_floating_point() else values for values in elements)
        ):
            ordered = pair[0].sort(dim).values
            if not (ordered.diff(dim=dim) == 0).any():
                return True
    return False


def _difference(got: Any, wanted: Any, random: bool, entry: str) -> str | None:
    if not isinstance(wanted, torch.Tensor):
        value = got.item() if isinstance(got, torch.Tensor) and not got.dim() else got
        if random:
            return None if type(value) is type(wanted) else f"{value!r}, expected {wanted!r}"
        equal = value == wanted
        if isinstance(wanted, float) and isinstance(value, float):
            both_nan = math.isnan(value) and math.isnan(wanted)
            equal = equal or both_nan or math.isclose(value, wanted, rel_tol=1e-6)
        return None if equal else f"{value!r}, expected {wanted!r}"
    if not isinstance(got, torch.Tensor):
        return f"{got!r}, expected a tensor"
    if got.dtype != wanted.dtype:
        return f"element type {_short(got.dtype)}, expected {_short(wanted.dtype)}"
    if got.shape != wanted.shape:
        return f"shape {list(got.shape)}, expected {list(wanted.shape)}"
    if random or not wanted.numel():
        return None
    rtol, atol = TOLERANCES.get(wanted.dtype, (0.0, 0.0))
    if wanted.dtype == torch.float64:
        atol = max(atol, TORCH_IS_OFF.get(entry, 0.0))
    if wanted.dtype in (torch.float16, torch.bfloat16) or entry in AS_THE_LARGEST:
        # Sums of terms that cancel are only as exact as the largest of them.
        finite = wanted.abs().nan_to_num(0, 0, 0)
        atol *= max(1.0, float(finite.max()))
    if wanted.dtype in (torch.float32, torch.complex64):
        # The same, by two units of the last place: torch itself is as far from the sums in f64.
        atol = max(atol, float(wanted.abs().nan_to_num(0, 0, 0).max()) * 2.0**-22)
    try:
        torch.testing.assert_close(got, wanted, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
    except AssertionError:
        return _values(got, wanted, rtol, atol)
    return None


def _values(got: torch.Tensor, wanted: torch.Tensor, rtol: float, atol: float) -> str:
    wrong = ~torch.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
    place = tuple(wrong.nonzero()[0].tolist()) if wrong.any() else (0,) * got.dim()
    return f"{got[place].item()!r}, expected {wanted[place].item()!r}"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
