"""Products of groups of rows with a matrix for each group.

Mixtures of experts have them. Rows are sorted by group; where groups end is known at run time only. Of few rows each is
multiplied with a copy of its group's matrix, so that only these are read. Of more rows, or of a number that is not
known, all are multiplied with each matrix, and a group's rows are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch import Tensor

__all__ = ["FORMULAS"]


def _grouped_product(input: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """Rows `[S, K]`, of which the last `ends[g] - ends[g - 1]` before `ends[g]` are of group g, times `[G, K, N]`."""
    rows: Any = input.size(0)
    groups = weight.size(0)
    at = torch.arange(rows)
    if isinstance(rows, int) and rows <= groups:
        # Rows behind the last group have none, and are zeros.
        group = (at[:, None] >= ends[None, :]).sum(1)
        found = torch.bmm(input[:, None], weight.index_select(0, group.clamp(max=groups - 1)))[:, 0]
        return torch.where((group < groups)[:, None], found, 0)
    result = torch.zeros_like(input[:, :1]).expand(-1, weight.size(2))
    for group in reversed(range(groups)):
        product = torch.mm(input, weight[group])
        result = torch.where((at < ends[group])[:, None], product, result)
    return result


def _of_transformers(target: Any, input: Tensor, weight: Tensor, offs: Tensor) -> Tensor:
    del target
    return _grouped_product(input, weight, offs)


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
    found = _grouped_product(self, mat2, offs)
    return found if out_dtype is None else found.to(out_dtype)


FORMULAS: Final[Mapping[str, Callable[..., Any]]] = {
    "transformers::grouped_mm_fallback": _of_transformers,
    "aten::_grouped_mm": _of_torch,
}
"""By name: the first is there once transformers is imported."""
