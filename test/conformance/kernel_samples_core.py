"""Calls of the operators of Core ATen, and of random ones, that OpInfo does not reach or reaches slowly."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from kernel_oracle import Recorded

A = torch.ops.aten


def _normal(*shape: int, seed: int = 11) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def core_calls() -> Iterator[Callable[[], object]]:
    """Calls with results that are always the same."""
    yield from _embedding_calls()
    yield from _pooling_calls()
    yield from _gradient_calls()
    x = _normal(2, 3, 8)
    yield lambda: A.col2im(_normal(2, 12, 20), [5, 6], [2, 2], [1, 1], [0, 0], [1, 1])
    yield lambda: A.col2im(_normal(12, 4), [5, 6], [2, 2], [1, 2], [1, 0], [3, 2])
    yield lambda: A.im2col(_normal(2, 3, 5, 6), [2, 2], [1, 2], [1, 0], [3, 2])
    for dtype in (torch.int32, torch.uint8, torch.float64, torch.int64, torch.bfloat16, torch.bool):
        yield lambda d=dtype: A.view_copy.dtype(x.abs().to(torch.uint8).float(), d)
    yield lambda: A.view_copy.dtype(x.to(torch.bfloat16), torch.int16)
    yield lambda: A._conj_copy(torch.complex(x, x + 1))
    yield lambda: A._neg_view_copy(x)
    yield lambda: A._reshape_alias_copy(x, [6, 8], [8, 1])
    for dtype in (torch.int16, torch.uint8, torch.int64, torch.float32, torch.float64, torch.bfloat16):
        # The last of each meets whole numbers, from below or above as the step is rounded.
        for ends in ((4.3, 99), (0, 10), (5.9, 0.2), (120, 7)):
            for steps in (0, 1, 2, 7, 50, 100):
                yield lambda d=dtype, e=ends, n=steps: A.linspace(*e, n, dtype=d)
    yield lambda: A.linspace(28560, -2787, 100, dtype=torch.int32)


def _embedding_calls() -> Iterator[Callable[[], object]]:
    weight = _normal(7, 4)
    named, starts = torch.tensor([1, 2, 2, 0, 4]), torch.tensor([0, 2, 2])
    bounds = torch.tensor([0, 2, 2, 5])
    for function in (A._embedding_bag, A._embedding_bag_forward_only):
        for mode in range(3):
            for padding in (-1, 2):
                for dtype in (torch.float32, torch.float64, torch.float16):
                    yield lambda f=function, m=mode, p=padding, d=dtype: f(
                        weight.to(d), named, starts, False, m, False, None, False, p
                    )
            yield lambda f=function, m=mode: f(weight, named, bounds, False, m, False, None, True, -1)
            for padding in (-1, 1):
                for dtype in (torch.float32, torch.float64, torch.bfloat16):
                    # The last offset is before the last index.
                    yield lambda f=function, m=mode, p=padding, d=dtype: f(
                        weight.to(d), named, torch.tensor([0, 1, 3]), False, m, False, None, True, p
                    )
            yield lambda f=function, m=mode: f(weight, named.int(), starts.int(), False, m)
        yield lambda f=function: f(weight, named, starts, False, 0, False, _normal(5))


def _pooling_calls() -> Iterator[Callable[[], object]]:
    volume = _normal(2, 3, 5, 6, 7)
    holes = volume.clone()
    holes[0, 0, 2, 3, 1] = float("nan")
    holes[1, :, :4, :4, :4] = -float("inf")
    for image in (volume, holes, volume[0], volume.half(), (volume * 3).long()):
        yield lambda i=image: A.max_pool3d_with_indices(i, [2, 3, 2], [2, 2, 1], [1, 1, 0])
    yield lambda: A.max_pool3d_with_indices(volume, [2, 2, 2], [1, 2, 3], [1, 0, 1], [2, 2, 1], True)
    yield lambda: A.max_pool3d_with_indices(holes, [2, 2, 2], [1, 2, 3], [1, 0, 1], [2, 3, 2], False)
    for image in (volume[:, :, 0], holes[:, :, 2], volume[0, :, 0].bfloat16()):
        yield lambda i=image: A.adaptive_max_pool2d(i, [4, 3])
    for image in (volume, holes, volume[0].double()):
        yield lambda i=image: A.adaptive_max_pool3d(i, [2, 4, 3])
    yield lambda: A.fractional_max_pool2d(volume[:, :, 0], [2, 2], [3, 4], _normal(2, 3, 2).sigmoid())
    yield lambda: A.fractional_max_pool2d(volume[0, :, 0], [2, 3], [1, 4], _normal(1, 3, 2).sigmoid())
    yield lambda: A.fractional_max_pool3d(holes, [2, 2, 2], [3, 4, 2], _normal(2, 3, 3).sigmoid())
    places = torch.arange(0, 24, 2).expand(2, 3, 12).reshape(2, 3, 3, 4)
    yield lambda: A.max_unpool2d(_normal(2, 3, 3, 4), places, [4, 6])
    yield lambda: A.max_unpool3d(_normal(2, 3, 3, 4)[None], places[None], [3, 3, 4], [1, 1, 1], [0, 0, 0])


def _gradient_calls() -> Iterator[Callable[[], object]]:
    image = _normal(2, 3, 7, 6)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        yield lambda d=dtype: A._adaptive_avg_pool2d_backward(_normal(2, 3, 3, 4).to(d), image.to(d))
    for ceil, pad, override in ((False, True, None), (True, False, None), (True, True, 3)):
        arguments = ([3, 2], [2, 2], [1, 1], ceil, pad, override)
        grad = torch.ones_like(A.avg_pool2d(image, *arguments)) * _normal(1)
        yield lambda g=grad, a=arguments: A.avg_pool2d_backward(g, image, *a)
    named = torch.tensor([[1, 2, 2], [0, 4, 2]])
    for frequency in (False, True):
        yield lambda f=frequency: A.embedding_dense_backward(_normal(2, 3, 4), named, 6, 0, f)
    for weight, bias in ((_normal(6), _normal(6)), (None, None)):
        _, mean, rstd = A.native_layer_norm(image, [6], weight, bias, 1e-5)
        mask = [True, weight is not None, bias is not None]
        if weight is not None:
            yield lambda w=weight, b=bias, m=mean, r=rstd, k=mask: A.native_layer_norm_backward(
                _normal(2, 3, 7, 6), image, [6], m, r, w, b, k
            )
    channels = _normal(2, 6, 5)
    for group in (1, 3):
        _, mean, rstd = A.native_group_norm(channels, _normal(6), None, 2, 6, 5, group, 1e-5)
        yield lambda m=mean, r=rstd, g=group: A.native_group_norm_backward(
            _normal(2, 6, 5), channels, m, r, _normal(6), 2, 6, 5, g, [True, True, True]
        )


def named_otherwise() -> Iterator[Recorded]:
    """The call of an operator whose functional form has another name."""
    x = _normal(3, 4)
    yield Recorded("aten::normal.out", (x, 1.0, 2.0, None), (A.normal_functional(x, 1.0, 2.0),))


def random_calls() -> Iterator[Callable[[], object]]:
    """Calls with other results each time."""
    x, spread, chances = _normal(3, 4), _normal(3, 4).abs(), _normal(3, 4).sigmoid()
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        yield lambda d=dtype: A.rand([3, 4], dtype=d)
        yield lambda d=dtype: A.randn([3, 4], dtype=d)
        yield lambda d=dtype: A.rand_like(x, dtype=d)
        yield lambda d=dtype: A.randn_like(x, dtype=d)
    for dtype in (torch.int64, torch.uint8, torch.float32, torch.bool):
        yield lambda d=dtype: A.randint(2, [3, 4], dtype=d)
        yield lambda d=dtype: A.randint.low(1, 2, [3, 4], dtype=d)
        yield lambda d=dtype: A.randint_like(x, 2, dtype=d)
        yield lambda d=dtype: A.randint_like.low_dtype(x, 0, 2, dtype=d)
    yield lambda: A.randint_like.Tensor(x, torch.tensor(5))
    yield lambda: A.randperm(9)
    yield lambda: A.randperm(9, dtype=torch.float32)
    yield lambda: A.random(x)
    yield lambda: A.random.to(x, 5)
    yield lambda: getattr(A.random, "from")(x, 2, 5)
    yield lambda: A.bernoulli(chances)
    yield lambda: A.bernoulli.p(x, 0.25)
    yield lambda: A.bernoulli.Tensor(x, chances[0])
    yield lambda: A.multinomial(chances, 3)
    yield lambda: A.multinomial(chances[0], 9, True)
    yield lambda: A.normal.Tensor_float(x, 2.0)
    yield lambda: A.normal.float_Tensor(1.0, spread)
    yield lambda: A.normal.Tensor_Tensor(x, spread[0])
    yield lambda: A.normal.float_float(1.0, 2.0, [3, 4])
    yield lambda: A.uniform(x, 1.0, 2.0)
    yield lambda: A.exponential(x, 0.5)
    yield lambda: A.geometric(x, 0.5)
    yield lambda: A.cauchy(x, 1.0, 0.5)
    yield lambda: A.log_normal(x, 0.0, 0.5)
    yield lambda: A.poisson(spread)
    yield lambda: A.binomial(torch.full((3, 4), 5.0), chances)
    yield lambda: A._standard_gamma(spread)
    yield lambda: A.empty_strided([3, 4], [4, 1])
    yield lambda: A.new_empty_strided(x, [3, 4], [4, 1])
    yield lambda: A.new_empty(x, [2, 5])
    yield lambda: A.empty_permuted([3, 4], [0, 1])
