"""Calls of what makes and uses packed factorisations (LDL, reflectors, Cholesky), and of the matrix exponential."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch

A = torch.ops.aten
TYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def _normal(dtype: torch.dtype, *shape: int, seed: int = 37) -> torch.Tensor:
    kind = torch.complex128 if dtype.is_complex else torch.float64
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=kind).to(dtype)


def factor_calls() -> Iterator[Callable[[], object]]:
    """On single matrices and batches, tall and wide, indefinite, singular and empty."""
    for dtype in TYPES:
        yield from _symmetric_calls(dtype)
        yield from _reflector_calls(dtype)
        yield from _triangular_calls(dtype)
        scaled = [_normal(dtype, 2, 3, 4, 4) * scale for scale in (0.01, 1.0, 4.0)]
        shaped = [_normal(dtype, *shape) for shape in ((1, 1), (0, 3, 3), (2, 0, 0), (7, 7))]
        for a in (*scaled, *shaped):
            yield lambda a=a: A.linalg_matrix_exp(a)
        nilpotent = torch.diag_embed(_normal(dtype, 3), 1) * 1000
        yield lambda n=nilpotent: A.linalg_matrix_exp(n)
    yield lambda: A.linalg_matrix_exp(torch.full((2, 2), float("nan")))


def _symmetric_calls(dtype: torch.dtype) -> Iterator[Callable[[], object]]:
    a = _normal(dtype, 2, 3, 6, 6)
    hollow = a.clone()
    hollow.diagonal(dim1=-2, dim2=-1).zero_()
    singular = torch.zeros(3, 3, dtype=dtype)
    large, single = _normal(dtype, 40, 40), _normal(dtype, 1, 1)
    empty = (torch.empty(0, 3, 3, dtype=dtype), torch.empty(2, 0, 0, dtype=dtype))
    for given, hermitian in itertools.product((a, hollow, large, single, singular, *empty), (False, True)):
        whole = given + (given.mH if hermitian else given.mT)
        yield lambda w=whole, h=hermitian: A.linalg_ldl_factor_ex(w, hermitian=h)
        yield lambda w=whole, h=hermitian: A.linalg_ldl_factor_ex(w.tril(), hermitian=h)
        if given is not singular:
            packed, pivots, _ = A.linalg_ldl_factor_ex(whole, hermitian=hermitian)
            b = _normal(dtype, *whole.shape[:-1], 2)
            yield lambda p=packed, q=pivots, b=b, h=hermitian: A.linalg_ldl_solve(p, q, b, hermitian=h)
            if whole.dim() == 2:
                more = _normal(dtype, 3, *b.shape)
                yield lambda p=packed, q=pivots, b=more, h=hermitian: A.linalg_ldl_solve(p, q, b, hermitian=h)


def _reflector_calls(dtype: torch.dtype) -> Iterator[Callable[[], object]]:
    shapes = ((5, 5), (2, 5, 3), (3, 5), (2, 1, 4, 4), (0, 3, 2), (4, 0), (2, 0, 3))
    for shape in shapes:
        a = _normal(dtype, *shape)
        yield lambda a=a: A.geqrf(a)
        packed, tau = A.geqrf(a)
        if shape[-2] >= shape[-1]:
            yield lambda p=packed, t=tau: A.linalg_householder_product(p, t)
            yield lambda p=packed, t=tau: A.linalg_householder_product(p, t[..., :2].contiguous())
            for left, transpose in itertools.product((True, False), (True, False)):
                other = _normal(dtype, *shape[:-2], *((shape[-2], 2) if left else (3, shape[-2])))
                yield lambda p=packed, t=tau, o=other, w=left, x=transpose: A.ormqr(p, t, o, w, x)


def _triangular_calls(dtype: torch.dtype) -> Iterator[Callable[[], object]]:
    batch, one = _normal(dtype, 2, 3, 4, 4), _normal(dtype, 4, 4)
    for a in (batch, one):
        diagonal = a.diagonal(dim1=-2, dim2=-1).abs() + 1
        factor = a.tril(-1) + torch.diag_embed(diagonal).to(dtype)
        right = _normal(dtype, *a.shape[:-1], 2)
        for upper in (False, True):
            given = factor.mT.contiguous() if upper else factor
            yield lambda g=given, u=upper: A.cholesky_inverse(g, u)
            yield lambda g=given, b=right, u=upper: A.cholesky_solve(b, g, u)
            yield lambda g=given, u=upper: A.cholesky_solve(
                _normal(g.dtype, 3, 4, 1), g[(0,) * (g.dim() - 2)], u
            )
            for transpose, unit in itertools.product((False, True), (False, True)):
                yield lambda g=given, b=right, u=upper, t=transpose, n=unit: A.triangular_solve(b, g, u, t, n)
        several = _normal(dtype, 2, 3, 4, 1)
        yield lambda g=factor, b=several: A.triangular_solve(b, g, False)
    empty = torch.empty(0, 3, 3, dtype=dtype)
    yield lambda: A.cholesky_inverse(empty)
    yield lambda: A.cholesky_solve(empty, empty)
    yield lambda: A.triangular_solve(empty, empty)
