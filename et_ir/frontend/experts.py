"""Products of groups of rows as one operator.

Mixtures of experts have them. Rows are sorted by group; where groups end is known at run time only. transformers and
torch have operators for them, with matrices side by side, `[G, K, N]`; `grouped::linear` has matrices of linear layers,
one below the other, `[G * N, K]`, so that their quantization is that of a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import torch
from torch import Tensor

__all__ = ["FORMULAS", "KEPT", "grouped_linear"]

_LIBRARY: Final[Any] = torch.library.Library("grouped", "DEF")
_LIBRARY.define("linear(Tensor input, Tensor weight, Tensor ends) -> Tensor")


def grouped_linear(input: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """Rows `[S, K]`, of which those of group g end before row `ends[g]`, times its matrix in `weight`, `[G * N, K]`.

    `ends` are `[G]` of i32 or i64, none smaller than that before it. The result is `[S, N]`; rows behind the last group
    are zeros. In a graph, the call is one operator.
    """
    operators: Any = torch.ops
    return operators.grouped.linear(input, weight, ends)


def _shape_of_result(input: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    return input.new_empty(input.size(0), weight.size(0) // ends.size(0))


def _computed(input: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    if ends.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"ends of groups are int32 or int64, not {ends.dtype}")
    limits: list[int] = [0, *cast("list[int]", cast(Any, ends).tolist())]
    if limits != sorted(limits) or limits[-1] > input.size(0):
        raise ValueError(f"groups of {input.size(0)} rows cannot end at {limits[1:]}")
    matrices = weight.view(ends.size(0), -1, weight.size(1))
    result = _shape_of_result(input, weight, ends).zero_()
    for matrix, first, last in zip(matrices, limits, limits[1:], strict=False):
        result[first:last] = input[first:last] @ matrix.T
    return result


_LIBRARY.impl("linear", _computed, "CPU")
cast(Any, torch.library).register_fake("grouped::linear", _shape_of_result, lib=_LIBRARY)


def _of_matrices(input: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """As `grouped_linear`, of matrices `[G, K, N]`."""
    return grouped_linear(input, weight.transpose(1, 2).reshape(-1, weight.size(1)), ends)


def _of_transformers(target: Any, input: Tensor, weight: Tensor, offs: Tensor) -> Tensor:
    del target
    return _of_matrices(input, weight, offs)


def _of_torch(
    target: Any,
    self: Tensor,
    mat2: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    if self.dim() != 2 or mat2.dim() != 3 or offs is None or bias is not None:
        return target(self, mat2, offs, bias, out_dtype)
    found = _of_matrices(self, mat2, offs)
    return found if out_dtype is None else found.to(out_dtype)


FORMULAS: Final[Mapping[str, Callable[..., Any]]] = {
    "transformers::grouped_mm_fallback": _of_transformers,
    "aten::_grouped_mm": _of_torch,
}
"""By name: the first is there once transformers is imported."""
KEPT: Final = frozenset({"grouped.linear"})
"""The operator that formulas call."""
