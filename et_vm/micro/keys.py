"""Kernel keys: element types and dim orders of a call, for kernel selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from et_schema.program import OptionalTensorList, Tensor, TensorList
from et_schema.scalar_type import ScalarType

if TYPE_CHECKING:
    from et_schema.program import ExecutionPlan

__all__ = ["KernelKey", "kernel_key", "key_text"]

KernelKey = tuple[tuple[ScalarType, tuple[int, ...]], ...]
"""Element type and dim order of each argument that is a tensor, as files give them: outputs twice."""


def kernel_key(plan: ExecutionPlan, args: Sequence[int]) -> KernelKey:
    """The key of a call: lists count by their first tensor."""
    parts: list[tuple[ScalarType, tuple[int, ...]]] = []
    for register in args:
        table = plan.values[register].val
        if isinstance(table, TensorList | OptionalTensorList):
            tensors = (plan.values[item].val for item in table.items if item >= 0)
            table = next((tensor for tensor in tensors if isinstance(tensor, Tensor)), None)
        if isinstance(table, Tensor):
            parts.append((table.scalar_type, tuple(table.dim_order)))
    return tuple(parts)


def key_text(key: KernelKey) -> str:
    """A key as the stock tool writes it: `v1/6;0,1|6;0,1`, without the slash where there is no tensor."""
    text = "|".join(f"{int(kind)};{','.join(map(str, order))}" for kind, order in key)
    return f"v1/{text}" if key else "v1"
