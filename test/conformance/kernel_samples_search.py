"""Calls of operators that sort, search and count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from kernel_oracle import Recorded, composite

A = torch.ops.aten
TYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.int8,
)


def _integers(*shape: int, low: int = -4, high: int = 5, seed: int = 13) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def _with_holes(dtype: torch.dtype) -> torch.Tensor:
    x = _integers(3, 7, 4).to(dtype)
    if dtype.is_floating_point:
        x[0, 2, 1] = x[0, 4, 1] = x[1, 0, 0] = float("nan")
        x[:, 3, 3] = float("nan")
    return x


def search_calls() -> Iterator[Callable[[], object]]:
    """Order statistics, places, histograms and distinct elements."""
    for dtype in TYPES:
        x = _with_holes(dtype)
        for dim in (0, 1, -1):
            for function in (A.median.dim, A.nanmedian.dim, A.cummax, A.cummin):
                yield lambda f=function, x=x, d=dim: f(x, d)
            # Among NaNs torch's own order is that of an unlucky sort.
            yield lambda d=dim, t=dtype: A.mode(_integers(3, 7, 4).to(t), d)
            yield lambda x=x, d=dim: A.median.dim(x, d, True)
            yield lambda x=x, d=dim: A.kthvalue(x, 2, d, True)
        for function in (A.median, A.nanmedian):
            yield lambda f=function, x=x: f(x)
        values, bounds = x[:, :, 0].contiguous(), _integers(9).to(dtype).sort().values
        for right in (False, True):
            yield lambda v=values, b=bounds, r=right: A.searchsorted.Tensor(b, v, right=r)
            yield lambda v=values, b=bounds, r=right: A.bucketize.Tensor(v, b, right=r, out_int32=True)
        order = _integers(3, 9, low=0).to(dtype).sort().values
        yield lambda v=values, o=order: A.searchsorted.Tensor(o, v, side="right")
        turn = torch.arange(8, -1, -1).expand(3, 9).contiguous()
        yield lambda o=order, t=turn: A.searchsorted.Tensor(o.flip(1), o[:, 2:4].contiguous(), sorter=t)
        yield lambda b=bounds: A.searchsorted.Scalar(b, 2)
        yield lambda b=bounds: A.bucketize.Scalar(1.5, b)
        for flags in ((True, True), (False, False)):
            yield lambda x=x, g=flags: A._unique2(x, True, *g)
            yield lambda x=x, g=flags: A.unique_consecutive(x, *g)
            plain = _integers(5, 2, low=0, high=2).to(dtype)
            yield lambda x=plain, g=flags: A.unique_dim(x, 0, True, *g)
            yield lambda x=plain, g=flags: A.unique_consecutive(x.sort(0).values, *g, dim=0)
            yield lambda x=plain, g=flags: A.unique_dim(x, 1, True, *g)
        yield lambda x=x: A.nonzero_static(x, size=9)
        yield lambda x=x: A.nonzero_static(x, size=200, fill_value=-3)
        if not dtype.is_floating_point:
            weights = torch.arange(12.0)
            for given in (None, weights, weights.double()):
                yield lambda w=given, d=dtype: A.bincount(_integers(12, low=0).to(d), w, 3)
    for dtype in TYPES[:2]:
        numbers = torch.arange(40, dtype=dtype).sin() * 5
        yield lambda n=numbers: A.histc(n, 7)
        yield lambda n=numbers: A.histc(n, 7, -2, 3)
        yield lambda n=numbers: A.histc(torch.ones_like(n), 5)
    for dtype in TYPES[:4]:
        yield lambda d=dtype: A._logcumsumexp(_integers(3, 7).to(d), 1)
        yield lambda d=dtype: A._logcumsumexp(_integers(3, 7).to(d), 0)
    places = _integers(3, 7, low=0, high=3)
    for dtype in TYPES:
        x, y = _integers(3, 7).to(dtype), _integers(4, 7, seed=3).to(dtype)
        for reduce in ("add", "multiply"):
            yield lambda x=x, r=reduce: A.scatter.reduce(x, 0, places, x.flip(0), reduce=r)
            yield lambda x=x, r=reduce: A.scatter.value_reduce(x, 0, places, 2, reduce=r)
        for reduce in ("prod", "mean", "amax", "amin"):
            for include in (True, False):
                yield lambda x=x, y=y, r=reduce, n=include: A.index_reduce(
                    x, 0, torch.tensor([2, 0, 2, 2]), y, r, include_self=n
                )
    empty = torch.empty(0, 3)
    yield lambda: A.unique_consecutive(empty, True, True)
    yield lambda: A.unique_consecutive(empty, dim=0)
    yield lambda: A.unique_dim(empty, 0)
    yield lambda: A.unique_consecutive(torch.tensor(3.0), True, True)
    yield lambda: A.cummax(torch.tensor(3.0), 0)
    yield lambda: A.median.dim(torch.tensor(3.0), 0)
    yield lambda: A.median(empty)
    yield lambda: A.nonzero_static(torch.tensor(1), size=2)
    for shape, wanted in (
        ((0, 0), (0, 0)),
        ((0, 3), (0, 2)),
        ((2, 0), (2, 3)),
        ((2, 3), (2, 0)),
        ((0,), (2, 3)),
    ):
        yield lambda s=shape, w=wanted: A.searchsorted.Tensor(torch.ones(s), torch.zeros(w), right=True)


def search_composites() -> Iterator[Recorded]:
    """Operators that torch takes apart before they could be recorded."""
    yield composite(A.logcumsumexp.default, _integers(3, 7).float(), 1)
    yield composite(A.cummax.default, _integers(3, 7).float(), 1)
    yield composite(A.cummin.default, _integers(3, 7).float(), 1)
    yield composite(A.median.dim, _with_holes(torch.float32), 1)
    yield composite(A.nanmedian.dim, _with_holes(torch.float32), 1)
    yield composite(A.kthvalue.default, _with_holes(torch.float32), 3, 1)
