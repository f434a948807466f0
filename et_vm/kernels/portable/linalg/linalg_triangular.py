"""Equations with triangular matrices."""

from __future__ import annotations

from et_vm.kernels.portable.arguments import broadcast_shapes, check_same_type
from et_vm.kernels.portable.declare import kernel
from et_vm.kernels.portable.evaluate import evaluated
from et_vm.kernels.portable.linalg.factorization import solve_triangular
from et_vm.kernels.portable.linalg.linalg import check_matrix
from et_vm.kernels.registry import PrepareContext, Step
from et_vm.values import Array, Tensor


@kernel("aten::linalg_solve_triangular.out")
def linalg_solve_triangular_out(
    ctx: PrepareContext, self: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool, out: Tensor
) -> Step:
    """The X of A X = ``B`` (X A = ``B`` unless ``left``) with a triangular A = ``self``. Allocates the result."""
    n, _ = check_matrix(ctx, self, "self", square=True)
    check_matrix(ctx, B, "B")
    check_same_type(ctx, self, ("B", B), ("out", out))
    good = (B.sizes[-2] if left else B.sizes[-1]) == n
    ctx.check(good, arg="B", expected=f"{n} rows", got=list(B.sizes))
    out.resize((*broadcast_shapes(ctx, self.sizes[:-2], B.sizes[:-2]), *B.sizes[-2:]))

    def compute(a: Array, b: Array) -> Array:
        if left:
            return solve_triangular(a, b, upper, unitriangular)
        turned = solve_triangular(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, unitriangular)
        return turned.swapaxes(-1, -2)

    return evaluated(compute, (self, B), (out,))


@kernel("aten::triangular_solve.X")
def triangular_solve_out(
    ctx: PrepareContext,
    self: Tensor,
    A: Tensor,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    X: Tensor,
    M: Tensor,
) -> Step:
    """The X of ``A`` X = ``self`` with a triangular ``A``, or its transpose, and ``A`` for each matrix of X. Allocates
    the result.
    """
    n, _ = check_matrix(ctx, A, "A", square=True)
    check_matrix(ctx, self, "self")
    check_same_type(ctx, A, ("self", self), ("X", X), ("M", M))
    ctx.check(self.sizes[-2] == n, arg="self", expected=f"{n} rows", got=list(self.sizes))
    batch = broadcast_shapes(ctx, self.sizes[:-2], A.sizes[:-2])
    X.resize((*batch, *self.sizes[-2:]))
    M.resize((*batch, *A.sizes[-2:]))

    def compute(b: Array, a: Array) -> tuple[Array, Array]:
        factor = a.swapaxes(-1, -2) if transpose else a
        return solve_triangular(factor, b, upper != transpose, unitriangular), a

    return evaluated(compute, (self, A), (X, M))
