"""Factorizations of batches of matrices [..., M, N], and solvers."""

from __future__ import annotations

from et_ops.dtypes import C64, C128, F32, F64, I32, DType, real_of
from et_ops.inference.meta import UNKNOWN, Meta, Mismatch, rule
from et_ops.inference.shapes import Shape, below, broadcast, differ, known, unlike
from et_ops.sizes import minimum

_PRECISE = (F32, F64, C64, C128)


def _matrix(
    arg: str, a: Meta, *, square: bool = False, types: tuple[DType, ...] = _PRECISE
) -> tuple[int, int]:
    """Rows and columns of matrices that LAPACK takes."""
    if a.rank < 2:
        raise Mismatch(arg, "a matrix or a batch of matrices", a)
    if types and a.dtype not in types:
        raise Mismatch(arg, "float32, float64 or complex", a.dtype.torch_name)
    rows, columns = a.shape[-2:]
    if square and differ(rows, columns):
        raise Mismatch(arg, "square matrices", a)
    return rows, columns


def _square(arg: str, a: Meta) -> int:
    return _matrix(arg, a, square=True)[0]


def _least(a: int, b: int) -> int:
    return minimum(a, b) if known(a, b) else min(a, b)


def _same_type(a: Meta, **others: Meta) -> None:
    for arg, other in others.items():
        if other.dtype is not a.dtype:
            raise Mismatch(arg, a.dtype.torch_name, other.dtype.torch_name)


def _pivots(arg: str, pivots: Meta, shape: Shape) -> None:
    if pivots.dtype is not I32:
        raise Mismatch(arg, "int32", pivots.dtype.torch_name)
    if unlike(pivots.shape, shape):
        raise Mismatch(arg, f"shape {list(shape)}", pivots)


def _rows_of(arg: str, b: Meta, rows: int, left: bool = True) -> None:
    _matrix(arg, b)
    if differ(b.shape[-2 if left else -1], rows):
        raise Mismatch(arg, f"{rows} {'rows' if left else 'columns'}", b)


def _solution(factor: Meta, b: Meta) -> Meta:
    return Meta((*broadcast(factor.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype)


# -- LU


@rule("linalg_lu_factor_ex")
def lu_factor(A: Meta, pivot: bool, check_errors: bool) -> tuple[Meta, Meta, Meta]:
    least = _least(*_matrix("A", A))
    batch = A.shape[:-2]
    return Meta(A.shape, A.dtype), Meta((*batch, least), I32), Meta(batch, I32)


def _unpacked(packed: Meta, least: int) -> tuple[Meta, Meta, Meta]:
    (*batch, rows, columns), dtype = packed.shape, packed.dtype
    return (
        Meta((*batch, rows, rows), dtype),
        Meta((*batch, rows, least), dtype),
        Meta((*batch, least, columns), dtype),
    )


@rule("linalg_lu")
def lu(A: Meta, pivot: bool) -> tuple[Meta, Meta, Meta]:
    permutation, lower, upper = _unpacked(A, _least(*_matrix("A", A)))
    return permutation if pivot else Meta((0,), A.dtype), lower, upper


@rule("lu_unpack")
def lu_unpack(
    LU_data: Meta, LU_pivots: Meta, unpack_data: bool, unpack_pivots: bool
) -> tuple[Meta, Meta, Meta]:
    least = _least(*_matrix("LU_data", LU_data))
    _pivots("LU_pivots", LU_pivots, (*LU_data.shape[:-2], least))
    permutation, lower, upper = _unpacked(LU_data, least)
    none = Meta((0,), LU_data.dtype)
    return (
        permutation if unpack_pivots else none,
        lower if unpack_data else none,
        upper if unpack_data else none,
    )


@rule("linalg_lu_solve")
def lu_solve(LU: Meta, pivots: Meta, B: Meta, left: bool, adjoint: bool) -> Meta:
    rows = _square("LU", LU)
    _pivots("pivots", pivots, LU.shape[:-1])
    _same_type(LU, B=B)
    _rows_of("B", B, rows, left)
    return _solution(LU, B)


@rule("linalg_inv_ex")
def inverse(A: Meta, check_errors: bool) -> tuple[Meta, Meta]:
    _square("A", A)
    return A, Meta(A.shape[:-2], I32)


@rule("_linalg_solve_ex")
def solve(A: Meta, B: Meta, left: bool, check_errors: bool) -> tuple[Meta, Meta, Meta, Meta] | None:
    """`B` is a vector for each matrix when it has their shape without the last dimension."""
    rows = _square("A", A)
    _same_type(A, B=B)
    vector = B.rank == 1 or (A.rank - 1 == B.rank and not unlike(B.shape, A.shape[:-1]))
    if B.rank > 1 and vector and not known(*B.shape, *A.shape):
        return None
    if vector and not left:
        raise Mismatch("left", "True with vectors", left)
    matrices = Meta((*B.shape, 1), B.dtype) if vector else B
    _rows_of("B", matrices, rows, left)
    result = _solution(A, matrices)
    shape = result.shape[:-1] if vector else result.shape
    return Meta(shape, A.dtype), A, Meta(A.shape[:-1], I32), Meta(A.shape[:-2], I32)


@rule("_linalg_det")
def determinant(A: Meta) -> tuple[Meta, Meta, Meta]:
    _square("A", A)
    return Meta(A.shape[:-2], A.dtype), A, Meta(A.shape[:-1], I32)


@rule("_linalg_slogdet")
def log_determinant(A: Meta) -> tuple[Meta, Meta, Meta, Meta]:
    sign, packed, pivots = determinant(A)
    return sign, Meta(sign.shape, real_of(A.dtype)), packed, pivots


# -- triangular and symmetric matrices


@rule("linalg_solve_triangular")
def solve_triangular(self: Meta, B: Meta, upper: bool, left: bool, unitriangular: bool) -> Meta:
    rows = _square("self", self)
    _same_type(self, B=B)
    _rows_of("B", B, rows, left)
    return _solution(self, B)


@rule("triangular_solve")
def triangular_solve(
    self: Meta, A: Meta, upper: bool, transpose: bool, unitriangular: bool
) -> tuple[Meta, Meta]:
    rows = _square("A", A)
    _same_type(A, self=self)
    _rows_of("self", self, rows)
    return _solution(A, self), _solution(self, A)


@rule("cholesky", "cholesky_inverse")
def of_square(self: Meta, upper: bool) -> Meta:
    _square("self", self)
    return self


@rule("linalg_cholesky_ex")
def cholesky(self: Meta, upper: bool, check_errors: bool) -> tuple[Meta, Meta]:
    return of_square(self, upper), Meta(self.shape[:-2], I32)


@rule("cholesky_solve")
def cholesky_solve(self: Meta, input2: Meta, upper: bool) -> Meta:
    rows = _square("input2", input2)
    _same_type(self, input2=input2)
    _rows_of("self", self, rows)
    return _solution(input2, self)


@rule("linalg_ldl_factor_ex")
def ldl_factor(self: Meta, hermitian: bool, check_errors: bool) -> tuple[Meta, Meta, Meta]:
    _square("self", self)
    return self, Meta(self.shape[:-1], I32), Meta(self.shape[:-2], I32)


@rule("linalg_ldl_solve")
def ldl_solve(LD: Meta, pivots: Meta, B: Meta, hermitian: bool) -> Meta:
    rows = _square("LD", LD)
    _pivots("pivots", pivots, LD.shape[:-1])
    _same_type(LD, B=B)
    _rows_of("B", B, rows)
    return _solution(LD, B)


@rule("linalg_matrix_exp")
def matrix_exponential(self: Meta) -> Meta:
    _matrix("self", self, square=True, types=())
    return self


@rule("linalg_matrix_power", "matrix_power")
def matrix_power(self: Meta, n: int) -> Meta:
    _matrix("self", self, square=True, types=())
    # Torch's absolute value of the least integer is negative, and halving it never ends.
    if n != UNKNOWN and abs(n) >= 2**62:
        raise Mismatch("n", "a power between -2^62 and 2^62", n)
    return self


# -- reflectors


@rule("geqrf")
def reflectors(self: Meta) -> tuple[Meta, Meta]:
    return self, Meta((*self.shape[:-2], _least(*_matrix("self", self))), self.dtype)


def _factors(arg: str, tau: Meta, packed: Meta, most: int) -> None:
    _same_type(packed, **{arg: tau})
    batch = packed.shape[:-2]
    if tau.rank != len(batch) + 1 or any(map(differ, tau.shape, batch)) or below(most, tau.shape[-1]):
        raise Mismatch(arg, f"shape {[*batch, most]} or less", tau)


@rule("linalg_householder_product")
def householder_product(input: Meta, tau: Meta) -> Meta:
    rows, columns = _matrix("input", input)
    if below(rows, columns):
        raise Mismatch("input", "no more columns than rows", input)
    _factors("tau", tau, input, columns)
    return input


@rule("ormqr")
def multiply_reflectors(self: Meta, input2: Meta, input3: Meta, left: bool, transpose: bool) -> Meta:
    rows, columns = _matrix("self", self)
    _same_type(self, input3=input3)
    _rows_of("input3", input3, rows, left)
    _factors("input2", input2, self, _least(rows, columns))
    shape = (*self.shape[:-2], *input3.shape[-2:])
    if unlike(input3.shape, shape):
        raise Mismatch("input3", f"shape {list(shape)}", input3)
    return input3


# -- QR, singular values and eigenvalues


@rule("linalg_qr")
def qr(A: Meta, mode: str) -> tuple[Meta, Meta]:
    rows, columns = _matrix("A", A)
    if mode not in ("reduced", "complete", "r"):
        raise Mismatch("mode", "'reduced', 'complete' or 'r'", repr(mode))
    batch, inner = A.shape[:-2], rows if mode == "complete" else _least(rows, columns)
    return Meta((0,) if mode == "r" else (*batch, rows, inner), A.dtype), Meta(
        (*batch, inner, columns), A.dtype
    )


@rule("_linalg_svd")
def singular_values(
    A: Meta, full_matrices: bool, compute_uv: bool, driver: str | None
) -> tuple[Meta, Meta, Meta]:
    rows, columns = _matrix("A", A)
    if driver is not None:
        raise Mismatch("driver", "None, as drivers are of GPUs", repr(driver))
    batch, least = A.shape[:-2], _least(rows, columns)
    u = (*batch, rows, rows if full_matrices else least) if compute_uv else (0,)
    v = (*batch, columns if full_matrices else least, columns) if compute_uv else (0,)
    return Meta(u, A.dtype), Meta((*batch, least), real_of(A.dtype)), Meta(v, A.dtype)


@rule("_linalg_eigh")
def symmetric_eigenvalues(A: Meta, UPLO: str, compute_v: bool) -> tuple[Meta, Meta]:
    _square("A", A)
    if UPLO.upper() not in ("L", "U"):
        raise Mismatch("UPLO", "'L' or 'U'", repr(UPLO))
    return Meta(A.shape[:-1], real_of(A.dtype)), Meta(A.shape if compute_v else (0,), A.dtype)


@rule("linalg_eigvals")
def eigenvalues_alone(self: Meta) -> Meta:
    return eigenvalues(self)[0]


@rule("linalg_eig")
def eigenvalues(self: Meta) -> tuple[Meta, Meta]:
    _square("self", self)
    dtype = {F32: C64, F64: C128}.get(self.dtype, self.dtype)
    return Meta(self.shape[:-1], dtype), Meta(self.shape, dtype)
