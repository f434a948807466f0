"""Factors of resizes whose operand has its channels last in memory. Values of the IR have no strides.

F.interpolate(x, scale_factor=1.3)      # x [1, 5, 3, 110], channels last: torch copies the rows

aten.upsample_nearest2d.vec %x {scale_factors = [1.3, 1.3]}    ->    {scale_factors = [1.0, 1.3]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import statically_known_true

from et_ir.frontend.torch_registry import Operator, schema_of
from et_ir.frontend.unsupported import UnsupportedNode
from et_ops.resampling import goes_by_sizes, nearest_factor

__all__ = ["RESIZES", "with_factors_in_use"]

RESIZES: Final = frozenset({"aten::upsample_nearest2d", "aten::upsample_nearest3d"})
"""The operators whose factors torch may not go by."""

_LAYOUTS: Final = {2: torch.channels_last, 3: torch.channels_last_3d}


def with_factors_in_use(target: Operator, node: Node) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Arguments of a resize with the factors that torch goes by, whatever the layout of the operand is.

    Raises `UnsupportedNode` where this depends on sizes that are known at run time only.
    """
    names = [argument.name for argument in schema_of(target).arguments]
    arguments: dict[str, Any] = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    operand: Any = cast(Node, node.args[0]).meta["val"]
    result: Any = node.meta["val"]
    rank = operand.dim() - 2
    if not operand.is_contiguous(memory_format=_LAYOUTS[rank]) or operand.is_contiguous():
        return node.args, node.kwargs
    if not goes_by_sizes(operand.shape[1], result.shape[2:], is_channels_last=True):
        return node.args, node.kwargs
    by_axis = [f"scales_{axis}" for axis in "dhw"[-rank:]]
    is_vector = "scale_factors" in names
    given: Sequence[Any] = (
        arguments.get("scale_factors") or [None] * rank
        if is_vector
        else [arguments.get(one) for one in by_axis]
    )
    used = [_in_use(*line) for line in zip(operand.shape[2:], result.shape[2:], given, strict=True)]
    if used == list(given):
        return node.args, node.kwargs
    arguments |= {"scale_factors": used} if is_vector else dict(zip(by_axis, used, strict=True))
    return (), arguments


def _in_use(extent: Any, count: Any, factor: float | None) -> float | None:
    """The factor of a dimension, which is that of its sizes where torch goes by these."""
    if factor is None or factor in (1, 2):
        return factor
    if type(extent) is int and type(count) is int:
        return count / extent if nearest_factor(extent, count, factor, by_sizes=True) is None else factor
    excess = factor - 1 if 1 < factor < 2 else factor - 2 if 2 < factor < 3 else None
    if excess is None or statically_known_true(extent > 1 / excess):
        return factor
    raise UnsupportedNode(
        f"a factor of {factor:g} keeps or doubles some sizes of the operand, whose channels are last in memory: torch "
        "then goes by the sizes",
        "call contiguous() on the operand first, give size= in place of scale_factor=, or state a larger minimum of "
        "the dynamic size",
    )
