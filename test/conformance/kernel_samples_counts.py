"""Calls of histograms, reductions of segments, writes by place, and arithmetic of whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

A = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _normal(*shape: int, seed: int = 43) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _integers(*shape: int, low: int, high: int, seed: int = 47) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


def count_calls() -> Iterator[Callable[[], object]]:
    """Of whole and broken numbers, of nothing, and at the edges."""
    yield from _histogram_calls()
    yield from _segment_calls()
    yield from _put_calls()
    for dtype in INTEGERS:
        i, j = _integers(5, 12, low=-50, high=120).to(dtype), _integers(12, low=-9, high=100).to(dtype)
        extremes = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max, 0, 1, 1, 6]).to(dtype)
        yield lambda i=i, j=j: A.lcm(i, j)
        yield lambda e=extremes: A.lcm(e, e.flip(0))
        yield lambda i=i: A.lcm(i, torch.tensor(6, dtype=torch.int8))
    for kind, low in ((torch.int8, -128), (torch.uint8, 0)):
        for m, k, n in ((2, 3, 4), (20, 16, 8), (5, 300, 3), (1, 1, 1), (2, 0, 3), (0, 4, 2)):
            a = _integers(m, k, low=low, high=128).to(kind)
            b = _integers(k, n, low=-128, high=128, seed=3).to(torch.int8)
            yield lambda a=a, b=b: A._int_mm(a, b)


def _histogram_calls() -> Iterator[Callable[[], object]]:
    for dtype in FLOATS[:2]:
        x = _normal(3, 17).to(dtype)
        weight = x.flip(0).abs()
        for density in (False, True):
            for given in (None, weight):
                options = {"weight": given, "density": density}
                yield lambda x=x, o=options: A.histogram.bin_ct(x, 7, **o)
                yield lambda x=x, o=options: A.histogram.bin_ct(x, 5, range=[-0.5, 0.75], **o)
                edges = torch.tensor([-1.0, -0.25, 0.0, 0.0, 2.0], dtype=dtype)
                yield lambda x=x, o=options, e=edges: A.histogram.bins_tensor(x, e, **o)
        steps = torch.arange(12, dtype=dtype) / 10
        yield lambda s=steps: A.histogram.bin_ct(s, 11)
        yield lambda s=steps: A.histogram.bin_ct(s, 4, range=[0.3, 0.3])
        yield lambda s=steps: A.histogram.bin_ct(s * 0 + 2, 4)
        yield lambda d=dtype: A.histogram.bin_ct(torch.empty(0, dtype=d), 3)
        yield lambda s=steps: A.histogram.bins_tensor(s, s.flip(0))
        hole = torch.where(steps > 0.5, torch.nan, steps)
        yield lambda h=hole, s=steps: A.histogram.bins_tensor(h, s[::3].contiguous())
        yield lambda h=hole: A.histogram.bin_ct(h, 3, range=[0, 1])


def _segment_calls() -> Iterator[Callable[[], object]]:
    for dtype in FLOATS:
        rows = _normal(2, 6, 3).to(dtype)
        rows[1, 2, 0] = float("nan")
        for reduce in ("sum", "mean", "max", "min", "prod"):
            for initial in (None, 2):
                options = {"reduce": reduce, "initial": initial}
                lengths, offsets = torch.tensor([2, 0]), torch.tensor([0, 1, 1, 2])
                yield lambda r=rows, n=lengths, o=options: A.segment_reduce(r, lengths=n, **o)
                yield lambda r=rows, n=offsets, o=options: A.segment_reduce(r, offsets=n, **o)
                within = torch.tensor([[1, 3, 0, 2], [2, 2, 1, 1]])
                yield lambda r=rows, n=within, o=options: A.segment_reduce(r, lengths=n, axis=1, **o)
                narrow = within.int()
                yield lambda r=rows, n=narrow, o=options: A.segment_reduce(r, lengths=n, axis=1, **o)
    yield lambda: A.segment_reduce(torch.arange(5.0), "sum", lengths=torch.tensor([3, 1]), unsafe=True)


def _put_calls() -> Iterator[Callable[[], object]]:
    places = torch.tensor([[0, -1, 4], [4, 2, -12]])
    for dtype in (*FLOATS, *INTEGERS, torch.bool, torch.complex64):
        x = (_normal(3, 4) * 5).to(dtype)
        source = (_normal(2, 3, seed=5) * 5).to(dtype)
        for accumulate in (False, True):
            yield lambda x=x, s=source, a=accumulate: A.put(x, places, s, a)
    image = _normal(2, 3, 4, 5)
    yield lambda: A.put(image, torch.tensor([0, 17, 60, -1]), torch.arange(4.0))
    yield lambda: A.put(torch.tensor(3.0), torch.tensor(0), torch.tensor(5.0))
    yield lambda: A.put(torch.empty(0), torch.empty(0, dtype=torch.int64), torch.empty(0))
