"""Calls of operators to try kernels on: a slice of torch's own OpInfo samples, and our own for what they do
not reach.
"""

from __future__ import annotations

import itertools
import random
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator

import torch
from kernel_oracle import Keep, Recorded, composite, first_dtype, record
from kernel_samples_core import core_calls, named_otherwise, random_calls
from kernel_samples_counts import count_calls
from kernel_samples_factors import factor_calls
from kernel_samples_images import image_calls
from kernel_samples_linalg import linalg_calls
from kernel_samples_math import math_calls
from kernel_samples_search import search_calls, search_composites
from kernel_samples_special import special_calls
from torch.testing._internal.common_methods_invocations import op_db

A = torch.ops.aten
DTYPES = (
    torch.float32,
    torch.int64,
    torch.bool,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int8,
    torch.float64,
    torch.complex64,
)
PER_OPINFO = 5
"""OpInfo samples recorded per entry and type."""
PER_OPERATOR = 8
"""Calls kept per operator and first tensor's type."""

# Entries that only repeat, slowly and by way of many small operators, what others reach.
_SKIPPED = (
    "fft",
    "grid_sampler_3d",
    "index_reduce",
    "jiterator",
    "linalg",
    "masked.",
    "mvlgamma",
    "ormqr",
    "pca_lowrank",
    "polygamma",
    "signal",
    "sparse",
    "special",
    "stft",
    "svd",
)
_REACHED_ONLY_HERE = (
    "fft.rfft",
    "fft.irfft2",
    "fft.hfft",
    "fft.fftn",
    "fft.ifft2",
    "fft.irfft",
    "linalg.vector_norm",
)

# Their samples view storage that is larger than the tensor, which no tensor of a program does.
_OWN_ONLY = {"aten::as_strided_copy.out"}


def _usable(call: Recorded) -> bool:
    tensors = [value for value in call.arguments if isinstance(value, torch.Tensor)]
    if any(isinstance(value, complex) for value in call.arguments):
        return False
    if any(tensor.dtype == torch.complex32 for tensor in (*tensors, *call.results)):
        return False
    return call.operator not in _OWN_ONLY


def _opinfo_calls(keep: Keep) -> Iterator[Recorded]:
    """Deterministic: every entry and type starts from its own seed."""
    for entry in op_db:
        if entry.name not in _REACHED_ONLY_HERE and entry.name.startswith(_SKIPPED):
            continue
        supported = entry.supported_dtypes("cpu")
        for dtype in DTYPES:
            if dtype not in supported:
                continue
            torch.manual_seed(0)
            random.seed(0)
            # The function itself: `entry.sample_inputs` walks the whole stack for every sample.
            samples = entry.sample_inputs_func(entry, "cpu", dtype, False)
            for sample in itertools.islice(samples, PER_OPINFO):
                try:
                    yield from record(lambda s=sample, e=entry: e(s.input, *s.args, **s.kwargs), keep)
                except (RuntimeError, NotImplementedError):
                    # OpInfo has samples for errors and for operators that inference mode lacks.
                    continue


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=_generator())


def _integers(*shape: int, low: int = -9, high: int = 9, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=_generator(), dtype=dtype)


def own_calls() -> Iterator[Callable[[], object]]:
    """Calls of the operators that OpInfo does not reach, and of corners that it leaves out."""
    x, y, i, j = _normal(2, 3, 4), _normal(3, 4), _integers(3, 4), _integers(3, 4, low=1)
    b = i > 0
    special = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, 2.5, -0.5, -1.5])
    for overload in (A.bitwise_and.Scalar, A.bitwise_or.Scalar, A.bitwise_xor.Scalar):
        yield lambda f=overload: f(i, 6)
        yield lambda f=overload: f(b, True)
        yield lambda f=overload: f(i.to(torch.int8), 3)
    for overload in (A.bitwise_left_shift.Tensor_Scalar, A.bitwise_right_shift.Tensor_Scalar):
        yield lambda f=overload: f(i, 2)
        yield lambda f=overload: f(i, 70)
    for mode in ("floor", "trunc", None):
        for left, right in ((x, 0.7), (i, 2), (i, -4), (i, 1.5)):
            yield lambda m=mode, a=left, c=right: A.div.Scalar_mode(a, c, rounding_mode=m)
        yield lambda m=mode: A.div.Tensor_mode(i, j, rounding_mode=m)
        yield lambda m=mode: A.div.Tensor_mode(special, special.flip(0), rounding_mode=m)
    for value in (3, -3, 2.5):
        yield lambda v=value: A.floor_divide.Scalar(i, v)
        yield lambda v=value: A.fmod.Scalar(i, v)
        yield lambda v=value: A.fmod.Scalar(x, v)
        yield lambda v=value: A.remainder.Scalar(i, v)
        yield lambda v=value: A.remainder.Scalar_Tensor(v, j)
        yield lambda v=value: A.gt.Scalar(i, v)
        yield lambda v=value: A.clamp_max(i, v)
        yield lambda v=value: A.pow.Tensor_Scalar(x.abs(), v)
    for exponent in (0, 0.5, 1, 2, 3, -1, -0.5, -2, 2.2):
        yield lambda e=exponent: A.pow.Tensor_Scalar(special, e)
    for base in (2, 2.5, 1):
        yield lambda v=base: A.pow.Scalar(v, y)
        yield lambda v=base: A.pow.Scalar(v, j)
    yield lambda: A.pow.Tensor_Tensor(_integers(4, low=-2, high=3), torch.tensor([-3, -2, -1, 3]))
    yield lambda: A.add.Tensor(i, y, alpha=2)
    yield lambda: A.add.Tensor(i.to(torch.uint8), _integers(3, 4, dtype=torch.int8), alpha=3)
    yield lambda: A.add.Scalar(b, 2)
    yield lambda: A.add.Scalar(x, 3, 2)
    yield lambda: A.sub.Scalar(x, 3, 2)
    # Numbers that 16 bits do not hold, which some operators round first.
    for dtype in (torch.float16, torch.bfloat16):
        narrow = torch.tensor([0.3, 0.6, 0.9, -0.3, 1.5, 257.0]).to(dtype)
        for f in (
            A.eq,
            A.ne,
            A.lt,
            A.le,
            A.gt,
            A.ge,
            A.add,
            A.sub,
            A.rsub,
            A.mul,
            A.div,
            A.remainder,
            A.fmod,
        ):
            for value in (0.3, 257):
                yield lambda f=f, n=narrow, v=value: f.Scalar(n, v)
        for mode in (None, "floor", "trunc"):
            yield lambda n=narrow, m=mode: A.div.Scalar_mode(n, 0.3, rounding_mode=m)
        yield lambda n=narrow: A.remainder.Scalar_Tensor(0.3, n)
    yield lambda: A.add.Tensor(torch.tensor(2.0, dtype=torch.float64), y)
    yield lambda: A.rsub.Tensor(x, y, alpha=2)
    for f in (A.sign, A.round, A.ceil, A.trunc, A.abs, A.relu, A.isnan, A.sqrt, A.sigmoid, A.tanh, A.erf):
        yield lambda f=f: f(special)
    # Torch's gelu of a float32 infinity is NaN, of a float64 one infinity.
    yield lambda: A.gelu(special[~special.isinf()])
    for f in (A.silu, A.hardswish, A.mish, A.elu, A.leaky_relu, A.hardsigmoid, A.softplus):
        yield lambda f=f: f(special)
    for f in (A.gelu, A.silu, A.hardswish, A.mish, A.elu, A.leaky_relu, A.hardsigmoid, A.softplus):
        yield lambda f=f: f(_normal(5, 40001) * 4)
    for f in (A.erf, A.sigmoid, A.logit):
        yield lambda f=f: f(_normal(5, 40001))
    yield lambda: A.gelu(_normal(3, 50000) * 3, approximate="tanh")
    yield lambda: A.leaky_relu(special, 0.0)
    yield lambda: A.maximum(special, special.flip(0))
    yield lambda: A.clamp(special, -1.0, 1.0)
    yield lambda: A.clamp(y, 1.0, -1.0)
    yield lambda: A.threshold(special, 0.5, 3.0)
    yield lambda: A.round.decimals(_normal(50) * 100, decimals=2)
    yield lambda: A.round.decimals(_normal(50) * 1000, decimals=-2)
    yield lambda: A._conj_physical(torch.complex(y, y + 1))
    yield lambda: A.where.self(b, special.new_zeros(()), y)
    yield lambda: A.masked_fill.Tensor(y, b, torch.tensor(2.0))
    yield from _image_calls()
    yield from _moving_calls(x, y, i)
    yield from _network_calls()
    yield from _indexing_calls(x, i)
    yield from core_calls()
    yield from random_calls()
    yield from math_calls()
    yield from special_calls()
    yield from search_calls()
    yield from linalg_calls()
    yield from factor_calls()
    yield from count_calls()
    yield from image_calls()


def _image_calls() -> Iterator[Callable[[], object]]:
    """Images, which are tried channels last as well."""
    image, line = _normal(2, 4, 5, 6), _normal(4, 1, 1)
    plane, mask = _normal(1, 1, 5, 6), image > 0
    for f in (A.relu, A.sigmoid, A.gelu, A.neg, A.exp, A.isnan, A.logical_not, A.silu, A.alias_copy):
        yield lambda f=f: f(image)
    for f in (A.add.Tensor, A.mul.Tensor, A.maximum, A.gt.Tensor, A.sub.Tensor, A.div.Tensor):
        for other in (line, plane, image.flip(0), image.double()):
            yield lambda f=f, o=other: f(image, o)
    yield lambda: A.where.self(mask, image, line)
    yield lambda: A.masked_fill.Scalar(image, mask, -1.0)
    yield lambda: A.hardtanh(image, 0.0, 6.0)
    yield lambda: A.clamp(image, -1.0, 1.0)
    yield lambda: A.glu(image, 1)
    yield lambda: A._to_copy(image, dtype=torch.float64)
    yield lambda: A.clone(image)
    yield lambda: A.cat([image, image * 2], 1)
    yield lambda: A.stack([image[0], image[1]], 1)
    yield lambda: A.slice_copy.Tensor(image, 1, 1, 3)
    yield lambda: A.split_copy.Tensor(image, 3, 1)
    yield lambda: A.permute_copy(image, [0, 2, 3, 1])
    yield lambda: A.view_copy(image, [2, 2, 10, 6])
    yield lambda: A.expand_copy(plane, [2, 4, 5, 6])
    yield lambda: A.unsqueeze_copy(image[0], 0)
    yield lambda: A.flip(image, [1, 3])
    yield lambda: A.roll(image, [2], [1])
    yield lambda: A.roll(image, [2])
    yield lambda: A.repeat(image, [1, 2, 1, 2])
    yield lambda: A.tril(image)
    yield lambda: A.pixel_shuffle(image, 2)
    yield lambda: A.pixel_unshuffle(_normal(2, 3, 4, 6), 2)
    yield lambda: A.constant_pad_nd(image, [1, 2, 0, 1, 1, 0], 3.0)
    yield lambda: A.reflection_pad2d(image, [2, 1, 0, 3])
    yield lambda: A.index_select(image, 1, torch.tensor([3, 0]))
    yield lambda: A.gather(image, 1, _integers(2, 2, 5, 6, low=0, high=4))
    yield lambda: A.scatter_add(image, 1, _integers(2, 4, 5, 6, low=0, high=4), image)
    yield lambda: A.index.Tensor(image, [None, torch.tensor([1, 2]), torch.tensor([0, -1])])
    yield lambda: A.select_scatter(image, _normal(2, 5, 6), 1, 2)
    yield lambda: A._softmax(image, 1, False)
    yield lambda: A._log_softmax(image, -1, False)
    yield lambda: A.cumsum(image, 1)
    yield lambda: A.mean.dim(image, [2, 3], True)
    yield lambda: A.amax(image, [1], True)
    yield lambda: A.max.dim(image, 1, True)
    yield lambda: A.var.correction(image, [1], keepdim=True)
    yield lambda: A.sort(image, 1)
    yield lambda: A.native_layer_norm(image, [5, 6], None, None, 1e-5)


def _moving_calls(x: torch.Tensor, y: torch.Tensor, i: torch.Tensor) -> Iterator[Callable[[], object]]:
    yield lambda: A.copy(x, y)
    yield lambda: A.copy(i, y)
    yield lambda: A._to_copy(_normal(9) * 100, dtype=torch.uint8)
    yield lambda: A._to_copy(y, dtype=torch.bool)
    yield lambda: A._to_copy(y, dtype=torch.bfloat16)
    yield lambda: A.fill.Tensor(x, torch.tensor(3.0))
    yield lambda: A.fill.Scalar(i, 3)
    yield lambda: A.as_strided(_normal(12), [2, 3], [1, 2], 4)
    yield lambda: A.as_strided(_normal(3, 4), [4, 3], [1, 4])
    yield lambda: A.view_copy(_normal(2, 6), [3, -1])
    yield lambda: A.unsafe_split_with_sizes(x, [1, 3], -1)
    yield lambda: A.unsafe_split.Tensor(x, 3, -1)
    yield lambda: A._unsafe_view(x, [4, 6])
    yield lambda: A.permute_copy(_normal(70, 300, 3), [1, 0, 2])
    yield lambda: A.t_copy(_normal(200, 300))
    yield lambda: A.reflection_pad2d(_normal(2, 5, 6), [3, 2, 4, 1])
    yield lambda: A.reflection_pad3d(_normal(1, 2, 3, 4, 5), [2, 2, 1, 3, 1, 0])
    yield lambda: A.replication_pad3d(_normal(1, 2, 3, 4, 5), [2, 2, 1, 3, 1, 0])
    yield lambda: A.replication_pad2d(_normal(2, 5, 6), [3, 2, 4, 1])
    yield lambda: A.constant_pad_nd(x, [1, -1, 0, 2], 0.5)
    yield lambda: A.roll(x, [1, -3], [0, 2])
    yield lambda: A.roll(x, [5])
    yield lambda: A.cat([x, torch.empty(0), x.double()], 1)
    yield lambda: A.channel_shuffle(_normal(1, 6, 2, 2), 3)
    yield lambda: A.arange.start_step(5, -3, -2)
    yield lambda: A.arange.start_step(0.0, 1.0, 0.1)
    yield lambda: A.new_full(x, [2, 2], 3.5)
    yield lambda: A.new_zeros(x, [2, 2])
    yield lambda: A.new_ones(x, [2, 2])
    yield lambda: A.eye(4)
    yield lambda: A.eye.m(3, 5)
    yield lambda: A.scalar_tensor(2.5)
    yield lambda: A.lift_fresh_copy(x)
    yield lambda: A.detach_copy(x)
    yield lambda: A.view_as_complex(_normal(3, 2))


def _network_calls() -> Iterator[Callable[[], object]]:
    image, vector = _normal(2, 6, 9, 8), _normal(6)
    spread = vector.abs() + 0.5
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        cast = [t.to(dtype) for t in (image, vector, vector, vector, spread)]
        yield lambda c=cast: A._native_batch_norm_legit_no_training(*c, 0.1, 1e-5)
    yield lambda: A._native_batch_norm_legit_no_training(image, None, None, vector, spread, 0.1, 1e-5)
    yield lambda: A._native_batch_norm_legit.no_stats(image, vector, None, True, 0.1, 1e-5)
    yield lambda: A.native_group_norm(image, vector, None, 2, 6, 72, 3, 1e-5)
    yield lambda: A.native_layer_norm(image, [9, 8], None, _normal(9, 8), 1e-5)
    yield lambda: A.native_layer_norm(_normal(300, 700) * 5 + 20, [700], None, None, 1e-5)
    yield lambda: A.native_layer_norm(_normal(3, 5000) * 5 + 20, [5000], None, None, 1e-5)
    yield lambda: A.native_dropout(image, 0.5, False)
    yield lambda: A.addmm(_normal(4), _normal(3, 5), _normal(5, 4), beta=0.5, alpha=2)
    yield lambda: A.addmm(torch.full((4,), float("nan")), _normal(3, 5), _normal(5, 4), beta=0)
    yield lambda: A.mm(_normal(3, 0), _normal(0, 4))
    yield lambda: A.bmm(_integers(2, 3, 4), _integers(2, 4, 5))
    yield lambda: A.mv(_normal(3, 4), _normal(4))
    yield lambda: A.avg_pool2d(image, [3, 2], [2, 2], [1, 1], True, False, None)
    yield lambda: A.avg_pool2d(image, [9, 8])
    yield lambda: A.avg_pool2d(image, [2, 2], [1, 1], [0, 0], False, True, 3)
    yield lambda: A._adaptive_avg_pool2d(image, [3, 4])
    yield lambda: A._adaptive_avg_pool2d(image, [4, 5])
    holes = image.clone()
    holes[0, 0, 2, 3] = float("nan")
    holes[1, :, :4, :4] = -float("inf")
    yield lambda: A.max_pool2d_with_indices(holes, [3, 3], [2, 2], [1, 1])
    yield lambda: A.max_pool2d_with_indices(holes, [3, 2], [1, 2], [1, 0], [2, 2], True)
    yield lambda: A.max_pool2d_with_indices(_normal(1, 2, 30, 30), [13, 13], [3, 3])
    # Two blocks of planes that have one in common.
    yield lambda: A.max_pool2d_with_indices(_normal(2, 3, 250, 250), [3, 3], [2, 2], [1, 1])
    for half in (image.half(), image.bfloat16()):
        yield lambda h=half: A.max_pool2d_with_indices(h, [3, 3], [2, 2], [1, 1])
    yield lambda: A.max_pool2d_with_indices(image.round().long(), [2, 2])
    yield lambda: A.max_pool2d_with_indices(
        _integers(1, 2, 6, 6, low=-2, high=2).float(), [3, 3], [1, 1], [1, 1]
    )
    for onesided, dims in ((True, [1]), (False, [0, 1]), (True, [0, 1])):
        yield lambda o=onesided, d=dims: A._fft_r2c(_normal(6, 7), d, 1, o)
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        yield lambda p=p: A._cdist_forward(_normal(2, 5, 3), _normal(2, 4, 3), p, None)
        yield lambda p=p: A._pdist_forward(_normal(5, 3), p)
    for mode in range(3):
        for padding in range(3):
            grid = _normal(2, 4, 5, 2) * 1.5
            yield lambda m=mode, p=padding, g=grid: A.grid_sampler_2d(image, g, m, p, False)
    yield lambda: A._upsample_bilinear2d_aa(image, [4, 3], False)
    yield lambda: A._upsample_bilinear2d_aa(image, [4, 13], True)
    yield lambda: A.upsample_bilinear2d(image, [13, 5], True)
    yield lambda: A.upsample_nearest2d(image, [5, 17])
    # Factors that keep or double a size.
    size = list(image.shape[2:])
    yield lambda: A._upsample_bilinear2d_aa(image, [size[0], 4], False, 1.05, None)
    yield lambda: A._upsample_bicubic2d_aa(image, [size[0], 4], False, 1.05, None)
    yield lambda: A.upsample_bilinear2d(image, size, False, 1.05, 1.1)
    yield lambda: A.upsample_nearest2d(image, [2 * size[0], size[1]], 2.05, 1.1)
    for transposed in (False, True):
        yield lambda t=transposed: _convolution_backward(t)
    yield lambda: A.max_pool2d_with_indices_backward(
        _normal(2, 6, 4, 4),
        image,
        [2, 2],
        [2, 2],
        [0, 0],
        [1, 1],
        False,
        A.max_pool2d_with_indices(image, [2, 2])[1],
    )


def _convolution_backward(transposed: bool) -> object:
    image, filters = _normal(2, 4, 6, 7), _normal(4, 3, 3, 2) if transposed else _normal(6, 2, 3, 2)
    geometry = ([2, 1], [1, 1], [1, 2], transposed, [1, 0] if transposed else [0, 0], 2)
    result = A.convolution(image, filters, None, *geometry)
    grad = torch.randn(result.shape, generator=_generator())
    return A.convolution_backward(grad, image, filters, [6], *geometry, [True, True, True])


def _indexing_calls(x: torch.Tensor, i: torch.Tensor) -> Iterator[Callable[[], object]]:
    a, c = torch.tensor([[1, 0], [-1, 1]]), torch.tensor([2, -3])
    mask = x > 0
    for index in (
        [a],
        [None, c],
        [a, None, c],
        [a, c],
        [None, a, c],
        [mask],
        [None, mask[0]],
        [a.int(), c.int()],
    ):
        yield lambda n=index: A.index(x, n)
    yield lambda: A.index(x, [torch.tensor(1), None, torch.tensor([], dtype=torch.int64)])
    for accumulate in (False, True):
        yield lambda t=accumulate: A.index_put(x, [torch.tensor([0, 1]), c], _normal(4), t)
        yield lambda t=accumulate: A.index_put(x, [mask], torch.tensor(1.5), t)
        yield lambda t=accumulate: A.index_put(i, [None, c], torch.tensor(2), t)
    places = _integers(2, 3, 4, low=0, high=2)
    yield lambda: A.scatter.value(x, 0, places, 2.5)
    yield lambda: A.scatter.src(x, 0, places.sort(0).values, torch.zeros_like(x))
    yield lambda: A.scatter_add(x, 0, places, torch.ones_like(x))
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include in (True, False):
            yield lambda r=reduce, n=include: A.scatter_reduce.two(x, 0, places, x, r, include_self=n)
    yield lambda: A.gather(x, 1, _integers(2, 2, 3, low=0, high=3))
    yield lambda: A.embedding(_normal(10, 4), _integers(2, 3, low=0, dtype=torch.int32))
    yield lambda: A.index_select(x, 1, torch.tensor(2))
    yield lambda: A.topk(_normal(3, 5000), 7)
    yield lambda: A.topk(_normal(3, 5000), 7, -1, False)
    yield lambda: A.sort.stable(i, stable=True, dim=0, descending=True)
    yield lambda: A.argmax(torch.tensor([1.0, float("nan"), 3.0, float("nan")]))
    yield lambda: A.amax(torch.tensor([[1.0, float("nan")], [3.0, 2.0]]), [1])
    yield lambda: A.select_scatter(x, _normal(2, 4), 1, -1)
    yield lambda: A.slice_scatter(x, _normal(2, 3, 2), 2, 0, 4, 2)
    yield lambda: A.repeat_interleave.Tensor(torch.tensor([2, 0, 3]))


def composite_calls() -> Iterator[Recorded]:
    image, x = _normal(2, 6, 9, 8), _normal(2, 3, 4)
    yield composite(A.linear.default, _normal(2, 3, 5), _normal(4, 5), _normal(4))
    yield composite(A.linear.default, _normal(3, 5).half(), _normal(4, 5).half(), _normal(4).half())
    yield composite(A.conj_physical.default, torch.complex(x, x + 1))
    yield composite(A.conj_physical.default, x)
    yield composite(A.avg_pool1d.default, _normal(2, 3, 9), [3], [2], [1])
    yield composite(A.avg_pool1d.default, _normal(2, 3, 9), [3], [2], [1], True, False)
    yield composite(A.upsample_bilinear2d.vec, image, None, False, [1.5, 2.0])
    yield composite(A.upsample_bilinear2d.vec, image, [5, 6], True, None)
    yield composite(A.upsample_nearest2d.vec, image, [5, 17], None)
    yield composite(A.upsample_nearest2d.vec, image, None, [1.3, 0.6])
    yield composite(A.upsample_nearest2d.vec, image, None, [1.1, 2.1])
    yield composite(A.upsample_nearest2d.vec, _normal(1, 1, 120, 9), None, [1.0, 1.1])
    yield composite(A.upsample_bilinear2d.vec, image, None, False, [1.1, 1.05])
    yield composite(A.var.dim, x, [1], False)
    yield composite(A.var.dim, x, [0, 2], True, True)
    yield composite(A.view_as_real.default, torch.complex(x, x + 1))
    yield composite(A.adaptive_avg_pool1d.default, _normal(2, 3, 9), [4])
    yield composite(A.adaptive_avg_pool1d.default, _normal(2, 3, 9).half(), [3])
    yield from named_otherwise()
    yield from search_composites()


def collect(operators: Collection[str]) -> dict[str, list[Recorded]]:
    """Calls of `operators`: ours, then up to PER_OPERATOR of OpInfo's per type."""
    found: dict[str, list[Recorded]] = defaultdict(list)
    counts: dict[tuple[str, torch.dtype | None], int] = defaultdict(int)

    def keep(operator: str, dtype: torch.dtype | None) -> bool:
        return operator in operators and counts[operator, dtype] < PER_OPERATOR

    # What torch warns of, that it is in beta or will be removed, differs from release to release.
    with warnings.catch_warnings(action="ignore"):
        for call in itertools.chain(composite_calls(), *(record(function) for function in own_calls())):
            found[call.operator].append(call)
        for call in _opinfo_calls(keep):
            if _usable(call):
                counts[call.operator, first_dtype(call.arguments)] += 1
                found[call.operator].append(call)
    return found
