"""QR, singular values and eigenvalues of batches of matrices, by numpy's LAPACK. Signs and the order of equal values
are LAPACK's, as torch's are.
"""

from __future__ import annotations

import functools

import numpy as np

from et_ops.inference import factorization as rules
from et_schema.errors import Error
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.inference import inferred
from et_vm.kernels.portable.linalg.factorization import adjoint
from et_vm.kernels.portable.linalg.linalg import spend_cubic
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array, Tensor


@kernel("aten::linalg_qr.out")
@inferred(rules.qr, outs=2)
def linalg_qr_out(ctx: PrepareContext, A: Tensor, mode: str, Q: Tensor, R: Tensor) -> Step:
    """Q and R of `A` [..., M, N], `mode` 'reduced' or 'complete'; with 'r' Q is empty. Allocates them."""
    spend_cubic(ctx, A)
    return evaluated(functools.partial(_qr, mode), (A,), (Q, R))


def _qr(mode: str, a: Array) -> tuple[Array, Array]:
    if 0 in a.shape:
        rows, columns = a.shape[-2:]
        inner = rows if mode == "complete" else min(rows, columns)
        q = np.broadcast_to(np.eye(rows, inner, dtype=a.dtype), (*a.shape[:-2], rows, inner))
        r = np.zeros((*a.shape[:-2], inner, columns), a.dtype)
    else:
        q, r = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    return (np.empty(0, a.dtype) if mode == "r" else q), r


def _singular(ctx: PrepareContext, problem: np.linalg.LinAlgError) -> Exception:
    return ctx.error(f"LAPACK: {problem}", code=Error.InvalidArgument)


def _check_finite(ctx: PrepareContext, array: Array, arg: str) -> None:
    if not np.isfinite(array).all():
        raise ctx.trap(arg=arg, expected="finite numbers", got="an infinity or NaN")


@kernel("aten::_linalg_svd.U")
@inferred(rules.singular_values, outs=3)
def linalg_svd_out(
    ctx: PrepareContext,
    A: Tensor,
    full_matrices: bool,
    compute_uv: bool,
    driver: str | None,
    U: Tensor,
    S: Tensor,
    Vh: Tensor,
) -> Step:
    """`A` [..., M, N] as U diag(S) Vh, S falling; unless `compute_uv` U and Vh are empty. Allocates them."""
    spend_cubic(ctx, A)
    return evaluated(functools.partial(_svd, ctx, full_matrices, compute_uv), (A,), (U, S, Vh))


def _svd(ctx: PrepareContext, full: bool, vectors: bool, a: Array) -> tuple[Array, ...]:
    _check_finite(ctx, a, "A")
    none = np.empty(0, a.dtype)
    if 0 in a.shape:
        rows, columns = a.shape[-2:]
        least = min(rows, columns)
        s = np.zeros((*a.shape[:-2], least), a.real.dtype)
        if not vectors:
            return none, s, none
        u = np.eye(rows, rows if full else least, dtype=a.dtype)
        v = np.eye(columns if full else least, columns, dtype=a.dtype)
        return np.broadcast_to(u, (*a.shape[:-2], *u.shape)), s, np.broadcast_to(v, (*a.shape[:-2], *v.shape))
    try:
        if not vectors:
            return none, np.linalg.svd(a, compute_uv=False), none
        made = np.linalg.svd(a, full)
    except np.linalg.LinAlgError as problem:
        raise _singular(ctx, problem) from None
    return made[0], made[1], made[2]


@kernel("aten::_linalg_eigh.eigenvalues")
@inferred(rules.symmetric_eigenvalues, outs=2)
def linalg_eigh_out(
    ctx: PrepareContext, A: Tensor, UPLO: str, compute_v: bool, eigenvalues: Tensor, eigenvectors: Tensor
) -> Step:
    """Eigenvalues, rising, and eigenvectors of the Hermitian `A`, of which one triangle is read; unless
    `compute_v` the vectors are empty. Allocates them.
    """
    spend_cubic(ctx, A)
    return evaluated(
        functools.partial(_eigh, ctx, UPLO.upper(), compute_v), (A,), (eigenvalues, eigenvectors)
    )


def _eigh(ctx: PrepareContext, triangle: str, vectors: bool, a: Array) -> tuple[Array, Array]:
    _check_finite(ctx, a, "A")
    # Torch hands LAPACK the lower triangle of columns: of rows it is the upper one, conjugated.
    given = a if triangle == "L" else adjoint(a)
    try:
        if vectors:
            made = np.linalg.eigh(given, "L")
            return made[0], made[1]
        return np.linalg.eigvalsh(given, "L"), np.empty(0, a.dtype)
    except np.linalg.LinAlgError as problem:
        raise _singular(ctx, problem) from None


@kernel("aten::linalg_eig.out")
@inferred(rules.eigenvalues, outs=2)
def linalg_eig_out(ctx: PrepareContext, self: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> Step:
    """Eigenvalues and eigenvectors, complex, of general matrices. Allocates them."""
    spend_cubic(ctx, self)
    return evaluated(functools.partial(_eig, ctx), (self,), (eigenvalues, eigenvectors))


def _eig(ctx: PrepareContext, a: Array) -> tuple[Array, Array]:
    _check_finite(ctx, a, "self")
    try:
        made = np.linalg.eig(a)
    except np.linalg.LinAlgError as problem:
        raise _singular(ctx, problem) from None
    return made[0], made[1]
