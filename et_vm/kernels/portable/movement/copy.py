"""Copies that convert: between types, between layouts, between devices that here are all the same memory."""

from __future__ import annotations

import numpy as np

from et_ops.inference.creation import to_copy
from et_ops.inference.pointwise import copy, same_as_self
from et_vm.kernels.portable.arguments import check_dim_order
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.inference import infer, inferred
from et_vm.kernels.portable.movement.move import move
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Tensor


@kernel("aten::clone.out", any_type=True)
@inferred(same_as_self)
def clone_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """A copy, in the layout that `out` was planned with."""
    return move(ctx, self.array, out.array)


@kernel("aten::_to_copy.out", any_type=True)
@inferred(to_copy)
def to_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, memory_format: int | None, out: Tensor
) -> Step:
    """A copy, in the type and layout that `out` was planned with."""
    return move(ctx, self.array, out.array)


@kernel("dim_order_ops::_to_dim_order_copy.out", any_type=True)
@check_dim_order
@inferred(to_copy)
def to_dim_order_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy in the type of `out`, laid out as `dim_order`."""
    return move(ctx, self.array, out.array)


@kernel("dim_order_ops::_clone_dim_order.out", any_type=True)
@check_dim_order
@inferred(same_as_self)
def clone_dim_order_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy laid out as `dim_order`."""
    return move(ctx, self.array, out.array)


@kernel("et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out", any_type=True)
@inferred(same_as_self)
def device_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """A copy: host and device are one memory here."""
    return move(ctx, self.array, out.array)


@kernel("aten::copy.out", any_type=True)
@inferred(copy)
def copy_out(ctx: PrepareContext, self: Tensor, src: Tensor, non_blocking: bool, out: Tensor) -> Step:
    """`src` broadcast to the shape, and converted to the type, of `self`."""
    return move(ctx, np.broadcast_to(src.array, self.sizes), out.array)


@kernel("aten::copy_", any_type=True)
def copy_(ctx: PrepareContext, self: Tensor, src: Tensor, non_blocking: bool) -> Step:
    """Overwrite `self` with `src` broadcast to its shape and converted to its type."""
    ctx.check(not self.constant, arg="self", expected="a mutable tensor", got="a constant")
    infer(ctx, copy, ("self", "src", "non_blocking"), (self, src, non_blocking))
    return move(ctx, np.broadcast_to(src.array, self.sizes), self.array)
