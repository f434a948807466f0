"""Calls of special functions, of functions of signs and bits, and of searches, at their corners."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

A = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
CORNERS = [
    float("nan"),
    float("inf"),
    -float("inf"),
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    3.5,
    -2.5,
    1e-3,
    30.0,
]


def _normal(*shape: int, seed: int = 21) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _integers(*shape: int, low: int = -9, high: int = 9) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(3))


def math_calls() -> Iterator[Callable[[], object]]:
    """Functions of numbers."""
    wide = _normal(60) * 8
    for dtype in FLOATS[:2]:
        x = torch.cat([torch.tensor(CORNERS), wide]).to(dtype)
        for function in (A.lgamma, A.digamma, A.erfc, A.special_erfcx, A.i0, A.special_i0e, A.special_i1):
            yield lambda f=function, v=x: f(v)
        for function in (A.special_i1e, A.special_log_ndtr, A.signbit, A.frac, A.angle):
            yield lambda f=function, v=x: f(v)
        yield lambda v=x: A.frexp(v[v.isfinite()])
        for n in range(5):
            yield lambda v=x, n=n: A.polygamma(n, v[v.isfinite()])
        unit = torch.cat(
            [torch.linspace(-1.1, 1.1, 45), torch.tensor([0.0, -0.0, 1.0, -1.0, 0.999999, 1e-6])]
        ).to(dtype)
        yield lambda v=unit: A.erfinv(v)
        yield lambda v=unit: A.special_ndtri(v)
        positive = x.abs()
        for function in (A.igamma, A.igammac):
            yield lambda f=function, v=positive: f(v[:20, None], v[None])
            yield lambda f=function, v=positive: f(v * 40 + 100, v.flip(0) * 40 + 100)
        yield lambda v=positive: A.special_zeta(v[:, None] + 0.25, v[None, :20])
        yield lambda v=x: A.special_zeta(v.new_tensor([3.0, 2.0])[:, None], v[None])
        yield lambda v=positive: A.special_zeta.self_scalar(2.5, v)
        yield lambda v=positive: A.special_zeta.other_scalar(v, 1.5)
        yield lambda v=x: A.complex(v, v.flip(0))
        yield lambda v=x: A.angle(torch.complex(v, v.flip(0)))
        for a, b in ((x, x.flip(0)), (x[:, None], x[None, :9])):
            for function in (
                A.fmax,
                A.fmin,
                A.hypot,
                A.copysign.Tensor,
                A.nextafter,
                A.logaddexp,
                A.heaviside,
            ):
                yield lambda f=function, a=a, b=b: f(a, b)
            yield lambda a=a, b=b: A.logaddexp2(a, b)
    for dtype in FLOATS[2:]:
        x = (_normal(40) * 2).to(dtype)
        for function in (A.lgamma, A.digamma, A.erfc, A.i0, A.special_i0e, A.signbit, A.frac, A.frexp):
            yield lambda f=function, v=x: f(v)
        for function in (A.fmax, A.fmin, A.hypot, A.copysign.Tensor, A.logaddexp):
            yield lambda f=function, v=x: f(v, v.flip(0))
    for dtype in FLOATS[:3]:
        zeros = torch.zeros(40, dtype=dtype)
        for function in (A.fmax, A.fmin):
            yield lambda f=function, v=zeros: A.signbit(f(v, -v))
            yield lambda f=function, v=zeros: A.signbit(f(-v, v))
    y = _normal(3, 4)
    yield lambda: A.copysign.Scalar(y, -0.0)
    yield lambda: A.copysign.Scalar(_integers(5), -2)
    yield lambda: A.lerp.Tensor(y, y + 1, y.sigmoid())
    yield lambda: A.lerp.Tensor(y[0], y + 1, y[:, :1].sigmoid())
    for dtype in INTEGERS:
        i, j = _integers(3, 4).abs().to(dtype), _integers(4).abs().to(dtype)
        for function in (A.gcd, A.fmax, A.fmin, A.copysign.Tensor, A.heaviside):
            yield lambda f=function, i=i, j=j: f(i, j if f is not A.heaviside else j.expand(3, 4))
        yield lambda i=i: A.signbit(i - 2)
        yield lambda i=i: A.lgamma(i)
        yield lambda i=i: A.angle(i)
