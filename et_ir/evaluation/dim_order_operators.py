"""Reference implementations of the `dim_order_ops` operators, which torch does not have.

Values of the evaluator have no memory layout, so a dim order changes nothing but where the result lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

__all__ = ["DIM_ORDER_OPERATORS"]


def _clone(self: Any, *_: Any, **__: Any) -> Any:
    return self.clone()


def _convert(self: Any, *, dtype: Any = None, **_: Any) -> Any:
    return self.clone() if dtype is None else self.to(dtype)


def _empty(size: Sequence[int], *, dtype: Any = None, **_: Any) -> Any:
    import torch

    return torch.zeros(tuple(size), dtype=dtype)


DIM_ORDER_OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "dim_order_ops._clone_dim_order": _clone,
    "dim_order_ops._to_dim_order_copy": _convert,
    "dim_order_ops._empty_dim_order": _empty,
}
"""By the name of the op without its dialect."""
