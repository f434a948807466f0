"""Products of Householder reflectors, as LAPACK's geqrf packs them: reflector i is I - tau v v*, v one at row i, zero
above, and below it what stands in column i.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from et_ops.inference import factorization as rules
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.factorization import adjoint
from et_vm.kernels.portable.linalg.linalg import spend_cubic
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
@inferred(rules.reflectors, outs=2)
def geqrf_out(ctx: PrepareContext, self: Tensor, a: Tensor, tau: Tensor) -> Step:
    """R of the QR factorization of `self` on the diagonal and above, and below it the reflectors that make Q.
    Allocates them, in float64.
    """
    spend_cubic(ctx, self)
    return evaluated(_packed, (self,), (a, tau))


def _packed(matrix: Array) -> tuple[Array, Array]:
    made: Any = np.linalg.qr(matrix, "raw")
    return made[0].swapaxes(-1, -2), made[1]


@kernel("aten::linalg_householder_product.out")
@inferred(rules.householder_product)
def linalg_householder_product_out(ctx: PrepareContext, input: Tensor, tau: Tensor, out: Tensor) -> Step:
    """The first columns of the product of the reflectors in the columns of `input`. Allocates it."""
    spend_cubic(ctx, input)
    rows, columns = input.sizes[-2:]

    def compute(packed: Array, factors: Array) -> Array:
        start: Array = np.broadcast_to(np.eye(rows, columns, dtype=packed.dtype), packed.shape)
        return reflected(packed, factors, start, False)

    return evaluated(compute, (input, tau), (out,))


@kernel("aten::ormqr.out")
@inferred(rules.multiply_reflectors)
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
    spend_cubic(ctx, self)
    spend_cubic(ctx, input3)

    def compute(packed: Array, factors: Array, c: Array) -> Array:
        if left:
            return reflected(packed, factors, c, transpose)
        # C Q is the adjoint of Q* C*.
        return adjoint(reflected(packed, factors, adjoint(c), not transpose))

    return evaluated(compute, (self, input2, input3), (out,)) if math.prod(input3.sizes) else NOTHING
