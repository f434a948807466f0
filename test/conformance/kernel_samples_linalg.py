"""Calls of linear algebra, on single matrices and batches, tall and wide, singular and empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

A = torch.ops.aten
TYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def _normal(dtype: torch.dtype, *shape: int, seed: int = 31) -> torch.Tensor:
    kind = torch.complex128 if dtype.is_complex else torch.float64
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=kind).to(dtype)


def linalg_calls() -> Iterator[Callable[[], object]]:
    """Factorizations, solutions, determinants, singular values and eigenvalues."""
    for dtype in TYPES:
        square, batch = _normal(dtype, 5, 5), _normal(dtype, 2, 3, 4, 4)
        tall, wide = _normal(dtype, 2, 5, 3), _normal(dtype, 3, 5)
        singular = torch.ones(2, 3, 3, dtype=dtype)
        empty = torch.empty(0, 3, 3, dtype=dtype)
        hollow = torch.empty(2, 0, 0, dtype=dtype)
        for a in (square, batch, tall, wide, singular, empty):
            yield lambda a=a: A.linalg_lu_factor_ex(a)
            yield lambda a=a: A.linalg_lu(a)
            yield lambda a=a: A._linalg_svd(a, False, False)
            packed, pivots, _ = A.linalg_lu_factor_ex(a)
            yield lambda p=packed, q=pivots: A.lu_unpack(p, q)
            yield lambda p=packed, q=pivots: A.lu_unpack(p, q, False, True)
            yield lambda p=packed, q=pivots: A.lu_unpack(p, q, True, False)
        for mode in ("reduced", "complete", "r"):
            for a in (square, batch, tall, wide, empty):
                yield lambda a=a, m=mode: A.linalg_qr(a, m)
        for a in (square, batch, tall, wide, empty):
            yield lambda a=a: A._linalg_svd(a)
        yield lambda a=wide: A._linalg_svd(a, True)
        for a in (square, batch, singular, empty, hollow):
            yield lambda a=a: A._linalg_det(a)
            yield lambda a=a: A._linalg_slogdet(a)
        for a in (square, batch, empty):
            yield lambda a=a: A.linalg_inv_ex(a)
            hermitian = a + a.mH
            yield lambda h=hermitian: A._linalg_eigh(h, "L", False)
            yield lambda h=hermitian: A._linalg_eigh(h.tril(), "L")
            yield lambda h=hermitian: A._linalg_eigh(h.triu(), "U")
            positive = a @ a.mH + torch.eye(a.shape[-1], dtype=dtype)
            yield lambda p=positive: A.linalg_cholesky_ex(p)
            yield lambda p=positive: A.cholesky(p)
            yield lambda p=positive: A.cholesky(p, upper=True)
            yield lambda p=positive: A.linalg_cholesky_ex(p.triu(), upper=True)
            b = _normal(dtype, *a.shape[:-1], 2, seed=7)
            for left, right in ((True, b), (False, b.mT.contiguous())):
                yield lambda a=a, r=right, w=left: A._linalg_solve_ex(a, r, left=w)
                packed, pivots, _ = A.linalg_lu_factor_ex(a)
                for turned in (False, True):
                    yield lambda p=packed, q=pivots, r=right, w=left, t=turned: A.linalg_lu_solve(
                        p, q, r, left=w, adjoint=t
                    )
                for upper in (False, True):
                    for unit in (False, True):
                        yield lambda a=a, r=right, w=left, u=upper, n=unit: A.linalg_solve_triangular(
                            a, r, upper=u, left=w, unitriangular=n
                        )
            vector = b[..., 0].contiguous()
            yield lambda a=a, r=vector: A._linalg_solve_ex(a, r)
        yield lambda b=batch, s=square: A.linalg_solve_triangular(s[:4, :4].contiguous(), b, upper=True)
        yield lambda b=batch, s=square: A._linalg_solve_ex(s[:4, :4].contiguous(), b)
        yield lambda s=square: A.linalg_eig(s)
        indefinite = torch.diag(torch.tensor([2.0, 1.0, -1.0, 3.0])).to(dtype)
        yield lambda i=indefinite: A.linalg_cholesky_ex(i)
        yield lambda s=singular: A.linalg_inv_ex(s[0] * 0 + torch.eye(3, dtype=s.dtype))
