"""Products of Householder reflectors, as LAPACK's geqrf packs them: reflector i is I - tau v v*, v one at row i, zero
above, and below it what stands in column i.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from et_vm.kernels.portable.arguments import check_same_type, check_shape
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.linalg.factorization import adjoint
from et_vm.kernels.portable.linalg.linalg import check_matrix
from et_vm.kernels.portable.steps import NOTHING
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


def reflected(packed: Array, tau: Array, c: Array, adjoint_: bool) -> Array:
    """Q `c`, or Q* `c`, with the Q of the first reflectors in the columns of `packed` [..., m, k], as many as
    `tau` has factors.
    """
    made = c.copy()
    count = tau.shape[-1]
    # Q is H1 H2 ... Hk: the last reflector acts first.
    for at in range(count) if adjoint_ else range(count - 1, -1, -1):
        below = packed[..., at + 1 :, at, None]
        factor = np.conjugate(tau[..., at]) if adjoint_ else tau[..., at]
        row = made[..., at : at + 1, :] + np.conjugate(below.swapaxes(-1, -2)) @ made[..., at + 1 :, :]
        row = row * factor[..., None, None]
        made[..., at : at + 1, :] -= row
        made[..., at + 1 :, :] -= below * row
    return made


@kernel("aten::geqrf.a")
def geqrf_out(ctx: PrepareContext, self: Tensor, a: Tensor, tau: Tensor) -> Step:
    """R of the QR factorization of `self` on the diagonal and above, and below it the reflectors that make Q.
    Allocates them, in float64.
    """
    rows, columns = check_matrix(ctx, self, "self")
    check_same_type(ctx, self, ("a", a), ("tau", tau))
    a.resize(self.sizes)
    tau.resize((*self.sizes[:-2], min(rows, columns)))
    return evaluated(_packed, (self,), (a, tau)) if self.numel else NOTHING


def _packed(matrix: Array) -> tuple[Array, Array]:
    made: Any = np.linalg.qr(matrix, "raw")
    return made[0].swapaxes(-1, -2), made[1]


@kernel("aten::linalg_householder_product.out")
def linalg_householder_product_out(ctx: PrepareContext, input: Tensor, tau: Tensor, out: Tensor) -> Step:
    """The first columns of the product of the reflectors in the columns of `input`. Allocates it."""
    rows, columns = check_matrix(ctx, input, "input")
    ctx.check(rows >= columns, arg="input", expected="no more columns than rows", got=list(input.sizes))
    _check_tau(ctx, input, tau, "tau")
    check_same_type(ctx, input, ("tau", tau), ("out", out))
    out.resize(input.sizes)

    def compute(packed: Array, factors: Array) -> Array:
        start: Array = np.broadcast_to(np.eye(rows, columns, dtype=packed.dtype), packed.shape)
        return reflected(packed, factors, start, False)

    return evaluated(compute, (input, tau), (out,))


def _check_tau(ctx: PrepareContext, packed: Tensor, tau: Tensor, arg: str) -> None:
    batch, columns = packed.sizes[:-2], packed.sizes[-1]
    good = len(tau.sizes) == len(batch) + 1 and tau.sizes[:-1] == batch and tau.sizes[-1] <= columns
    ctx.check(good, arg=arg, expected=f"shape {[*batch, columns]} or less", got=list(tau.sizes))


@kernel("aten::ormqr.out")
def ormqr_out(
    ctx: PrepareContext,
    self: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: bool,
    transpose: bool,
    out: Tensor,
) -> Step:
    """Q `input3` (`input3` Q unless `left`; with Q's adjoint if `transpose`) with the Q of the reflectors in
    the columns of `self` and their factors `input2`. Allocates the result, and a row or column of it.
    """
    rows, _ = check_matrix(ctx, self, "self")
    check_matrix(ctx, input3, "input3")
    check_same_type(ctx, self, ("input2", input2), ("input3", input3), ("out", out))
    size = input3.sizes[-2] if left else input3.sizes[-1]
    ctx.check(size == rows, arg="input3", expected=f"{rows} rows", got=list(input3.sizes))
    _check_tau(ctx, self, input2, "input2")
    good = input2.sizes[-1] <= rows
    ctx.check(good, arg="input2", expected=f"at most {rows} factors", got=list(input2.sizes))
    check_shape(ctx, input3, (*self.sizes[:-2], *input3.sizes[-2:]), arg="input3")
    out.resize(input3.sizes)

    def compute(packed: Array, factors: Array, c: Array) -> Array:
        if left:
            return reflected(packed, factors, c, transpose)
        # C Q is the adjoint of Q* C*.
        return adjoint(reflected(packed, factors, adjoint(c), not transpose))

    return evaluated(compute, (self, input2, input3), (out,)) if math.prod(input3.sizes) else NOTHING
