"""Checks of factorizations whose factors are not unique, by reconstruction of the matrix.

LAPACK leaves open by which sign or phase singular vectors, eigenvectors and the rows of R are multiplied, which basis
equal values get, and in what order eigenvalues come. What is unique (singular values, shapes, types) is held against
torch's. All functions take batches, and raise `AssertionError`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

Parts = Sequence[torch.Tensor]


def check_svd(matrix: torch.Tensor, got: Parts, expected: Parts) -> None:
    """U and Vh are unitary, and with S, which is torch's, make the matrix."""
    _alike(got, expected)
    u, s, vh = got
    count = s.shape[-1]
    _close(s, expected[1], matrix)
    _close((u[..., :count] * s.unsqueeze(-2)) @ vh[..., :count, :], matrix, matrix)
    _unitary(u)
    _unitary(vh.mH)


def check_low_rank(matrix: torch.Tensor, got: Parts, expected: Parts) -> None:
    """U and V are orthonormal and make the matrix the diagonal S; where torch's parts make the whole matrix, so do
    these. A matrix of a higher rank is approximated from random vectors, which say how well.
    """
    _alike(got, expected)
    u, s, v = got
    _close(u.mH @ matrix @ v, torch.diag_embed(s).to(u.dtype), matrix)
    _unitary(u)
    _unitary(v)
    whole = (expected[0] * expected[1].unsqueeze(-2)) @ expected[2].mH
    tolerance = _tolerance(u.dtype)
    if torch.allclose(whole, matrix, rtol=tolerance, atol=tolerance * max(1.0, float(matrix.abs().max()))):
        check_svd(matrix, (u, s, v.mH), (expected[0], expected[1], expected[2].mH))


def check_eigh(matrix: torch.Tensor, triangle: str, got: Parts, expected: Parts) -> None:
    """The vectors are orthonormal and the Hermitian matrix of which `triangle` (`L` or `U`) is given stretches
    them by the values, which are torch's.
    """
    _alike(got, expected)
    values, vectors = got
    half = matrix.tril(-1) if triangle == "L" else matrix.triu(1).mH
    whole = half + half.mH + torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1).real).to(matrix.dtype)
    _close(values, expected[0], whole)
    _close(whole @ vectors, vectors * values.unsqueeze(-2), whole)
    _unitary(vectors)


def check_eig(matrix: torch.Tensor, got: Parts, expected: Parts) -> None:
    """The matrix stretches the vectors, of length one, by the values, which are torch's in any order."""
    _alike(got, expected)
    values, vectors = got
    if not values.numel():
        return
    distances = (values.unsqueeze(-1) - expected[0].unsqueeze(-2)).abs()
    bound = _tolerance(values.dtype) * max(1.0, float(matrix.abs().max()))
    assert distances.amin(-1).max() < bound, "eigenvalues that torch does not have"
    assert distances.amin(-2).max() < bound, "eigenvalues of torch's are missing"
    _close(matrix.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2), matrix)
    _close(vectors.abs().square().sum(-2).sqrt(), torch.ones_like(values.real), None)


def check_qr(matrix: torch.Tensor, got: Parts, expected: Parts) -> None:
    """Q is unitary, R triangular, and their product the matrix; without Q, R has the products of the matrix's
    columns.
    """
    _alike(got, expected)
    q, r = got
    _close(r, r.triu(), matrix)
    if not q.numel() and matrix.numel():
        _close(r.mH @ r, matrix.mH @ matrix, matrix.mH @ matrix)
        return
    _close(q @ r, matrix, matrix)
    _unitary(q)


def _alike(got: Parts, expected: Parts) -> None:
    assert [(part.dtype, part.shape) for part in got] == [(part.dtype, part.shape) for part in expected]


def _unitary(columns: torch.Tensor) -> None:
    product = columns.mH @ columns
    _close(product, torch.eye(product.shape[-1], dtype=product.dtype).expand_as(product), None)


def _tolerance(dtype: torch.dtype) -> float:
    return 2e-5 if dtype in (torch.float32, torch.complex64) else 1e-11


def _close(got: torch.Tensor, expected: torch.Tensor, scale: torch.Tensor | None) -> None:
    """Equal up to rounding: that of a number of the size of the largest in `scale`, or of one."""
    tolerance = _tolerance(got.dtype)
    largest = 1.0 if scale is None or not scale.numel() else max(1.0, float(scale.abs().max()))
    torch.testing.assert_close(
        got, expected, rtol=tolerance, atol=tolerance * largest, check_stride=False, equal_nan=False
    )
