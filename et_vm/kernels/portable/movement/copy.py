"""Copies that convert: between types, between layouts, between devices that here are all the same memory."""

from __future__ import annotations

import numpy as np

from et_vm.kernels.portable.arguments import broadcast, check_shape, check_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.movement.move import move
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Tensor


def _convert(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    out.resize(self.sizes)
    return move(ctx, self.array, out.array)


def _check_dim_order(ctx: PrepareContext, dim_order: list[int] | None, out: Tensor) -> None:
    if dim_order is not None and tuple(dim_order) != out.dim_order:
        raise ctx.trap(arg="out", expected=f"dim order {dim_order}", got=list(out.dim_order))


@kernel("aten::clone.out")
def clone_out(ctx: PrepareContext, self: Tensor, memory_format: int | None, out: Tensor) -> Step:
    """A copy, in the layout that `out` was planned with."""
    check_type(ctx, self.scalar_type, out, arg="out")
    return _convert(ctx, self, out)


@kernel("aten::_to_copy.out")
def to_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, memory_format: int | None, out: Tensor
) -> Step:
    """A copy, in the type and layout that `out` was planned with."""
    return _convert(ctx, self, out)


@kernel("dim_order_ops::_to_dim_order_copy.out")
def to_dim_order_copy_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy in the type of `out`, laid out as `dim_order`."""
    _check_dim_order(ctx, dim_order, out)
    return _convert(ctx, self, out)


@kernel("dim_order_ops::_clone_dim_order.out")
def clone_dim_order_out(
    ctx: PrepareContext, self: Tensor, non_blocking: bool, dim_order: list[int] | None, out: Tensor
) -> Step:
    """A copy laid out as `dim_order`."""
    check_type(ctx, self.scalar_type, out, arg="out")
    _check_dim_order(ctx, dim_order, out)
    return _convert(ctx, self, out)


@kernel("et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out")
def device_copy_out(ctx: PrepareContext, self: Tensor, out: Tensor) -> Step:
    """A copy: host and device are one memory here."""
    check_type(ctx, self.scalar_type, out, arg="out")
    return _convert(ctx, self, out)


@kernel("aten::copy.out")
def copy_out(ctx: PrepareContext, self: Tensor, src: Tensor, non_blocking: bool, out: Tensor) -> Step:
    """`src` broadcast to the shape, and converted to the type, of `self`."""
    check_type(ctx, self.scalar_type, out, arg="out")
    check_shape(ctx, self, broadcast(ctx, self, src), arg="src")
    out.resize(self.sizes)
    return move(ctx, np.broadcast_to(src.array, self.sizes), out.array)


@kernel("aten::copy_")
def copy_(ctx: PrepareContext, self: Tensor, src: Tensor, non_blocking: bool) -> Step:
    """Overwrite `self` with `src` broadcast to its shape and converted to its type."""
    ctx.check(not self.constant, arg="self", expected="a mutable tensor", got="a constant")
    check_shape(ctx, self, broadcast(ctx, self, src), arg="src")
    return move(ctx, np.broadcast_to(src.array, self.sizes), self.array)
