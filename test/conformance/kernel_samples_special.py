"""Calls of Bessel's functions and of orthogonal polynomials, at their corners and where their methods change."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

A = torch.ops.aten
BESSEL = (
    A.special_bessel_j0,
    A.special_bessel_j1,
    A.special_bessel_y0,
    A.special_bessel_y1,
    A.special_modified_bessel_i0,
    A.special_modified_bessel_i1,
    A.special_modified_bessel_k0,
    A.special_modified_bessel_k1,
    A.special_scaled_modified_bessel_k0,
    A.special_scaled_modified_bessel_k1,
    A.special_spherical_bessel_j0,
    A.special_airy_ai,
)
CHEBYSHEV = (
    A.special_chebyshev_polynomial_t,
    A.special_chebyshev_polynomial_u,
    A.special_chebyshev_polynomial_v,
    A.special_chebyshev_polynomial_w,
    A.special_shifted_chebyshev_polynomial_t,
    A.special_shifted_chebyshev_polynomial_u,
    A.special_shifted_chebyshev_polynomial_v,
    A.special_shifted_chebyshev_polynomial_w,
)
OTHERS = (
    A.special_hermite_polynomial_h,
    A.special_hermite_polynomial_he,
    A.special_laguerre_polynomial_l,
    A.special_legendre_polynomial_p,
)
CORNERS = [
    float("nan"),
    float("inf"),
    -float("inf"),
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-6,
    -1e-6,
    2.0,
    -2.5,
    800.0,
]
TURNS = [20.0, 20.001, 19.999, 8.0, 5.0, 2.0, 2.001, 25.0, 40.0, -9.5, -9.51, -10.2, -40.0, 103.0, 104.0]


def special_calls() -> Iterator[Callable[[], object]]:
    """Bessel's functions and relatives, then polynomials of whole and other degrees, of tensors and numbers."""
    for dtype in (torch.float32, torch.float64):
        near = torch.linspace(-15, 15, 121, dtype=torch.float64)
        x = torch.cat([torch.tensor(CORNERS + TURNS, dtype=torch.float64), near]).to(dtype)
        for function in BESSEL:
            yield lambda f=function, v=x: f(v)
            yield lambda f=function, v=x: f(v[3:15].reshape(3, 4).t())
        # Of a NaN torch leaves the result to chance.
        points = torch.cat([torch.tensor(CORNERS[1:]), torch.linspace(-1.5, 1.5, 31)]).to(dtype)
        degrees = torch.tensor([-2.0, -1, 0, 1, 2, 3, 4.7, 5, 6, 7, 8, 9, 12, 20], dtype=dtype)
        for function in (*CHEBYSHEV, *OTHERS):
            yield lambda f=function, v=points, n=degrees: f(v[:, None], n)
            yield lambda f=function, v=points: f.n_scalar(v, 5)
            yield lambda f=function, v=points: f.n_scalar(v, 11)
            yield lambda f=function, n=degrees: f.x_scalar(0.3, n)
            yield lambda f=function, v=points: f(v, torch.arange(len(v)))
            if dtype == torch.float64:
                yield lambda f=function, v=points, n=degrees: f(v[:, None], n * 60)
    for dtype in (torch.int64, torch.int8, torch.uint8, torch.bool):
        i = torch.tensor([0, 1, 2, 7, 3]).to(dtype)
        for function in BESSEL:
            yield lambda f=function, i=i: f(i)
        for function in (*CHEBYSHEV, *OTHERS):
            yield lambda f=function, i=i: f(i, i.flip(0))
            yield lambda f=function, i=i: f.n_scalar(i, 3)
            yield lambda f=function, i=i: f.x_scalar(2, i)
