"""Corrections of wrong shapes in torch's traces.

Programs run nonetheless: torch does not look at the shapes that it has traced when it runs them, but memory is planned
by them.
"""

from __future__ import annotations

import operator
from typing import Any, Final, cast

from torch.fx import Node

from et_ir.frontend.torch_registry import as_operator, schema_of
from et_ir.frontend.types import UnsupportedType

__all__ = ["traced_value", "understates"]

_SLICES: Final = frozenset({"aten::unique_consecutive", "aten::unique_dim", "aten::unique_dim_consecutive"})


def traced_value(node: Node) -> Any:
    """Torch's metadata of a call's result. Raises `UnsupportedType` where wrong metadata was used to trace further ops.

    Torch 2.13 gives distinct slices along dimension -1 the dimensions of the operand once more, and their counts
    the size of its last. Runs along dimension 0 of a vector are given places and lengths that were not asked for.
    """
    value: Any = node.meta.get("val")
    op = as_operator(node.target)
    if op is None or schema_of(op).name not in _SLICES:
        return value
    operand: Any = cast(Node, node.args[0]).meta["val"]
    rank = operand.dim()
    if schema_of(op).name == "aten::unique_consecutive" and rank == 1:
        given = (
            dict(zip(("self", "return_inverse", "return_counts", "dim"), node.args, strict=False))
            | node.kwargs
        )
        if given.get("dim") == 0:
            wanted = (True, bool(given.get("return_inverse")), bool(given.get("return_counts")))
            return tuple(
                part if kept else part.new_empty(0) for part, kept in zip(value, wanted, strict=True)
            )
    if value[0].dim() in (1, rank):
        return value
    if not all(_is_read(user) for user in node.users):
        raise UnsupportedType(
            "torch.export infers a result of twice its rank",
            f"count the dimension from the front: dim={rank - 1}",
        )
    sizes = value[0].shape[:rank]
    return value[0].new_empty(sizes), value[1], value[2].new_empty(sizes[-1:])


def _is_read(user: Node) -> bool:
    """Whether nothing is computed from a result but its sizes."""
    if user.op == "output" or (user.target is operator.getitem and user.args[1] == 1):
        return True
    op = as_operator(user.target)
    if op is not None:
        return schema_of(op).name == "aten::sym_size"
    return user.target is operator.getitem and all(map(_is_read, user.users))


def understates(node: Node) -> bool:
    """Whether the range that torch gives the size of a result is too small.

    Torch 2.13 takes it that `masked_select` finds at most as many elements as its operand has, which is less than there
    are where the mask is the larger of the two.
    """
    op = as_operator(node.target)
    if op is None or schema_of(op).name != "aten::masked_select":
        return False
    operand, mask = (_sizes(argument) for argument in node.args[:2])
    if len(mask) > len(operand):
        return True
    pairs = zip(reversed(operand), reversed(mask), strict=False)
    return any(_is_one(mine) and not _is_one(other) for mine, other in pairs)


def _sizes(argument: Any) -> tuple[object, ...]:
    return tuple(argument.meta["val"].shape)


def _is_one(size: object) -> bool:
    return type(size) is int and size == 1
