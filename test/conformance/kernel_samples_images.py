"""Calls that resize and warp images and volumes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import torch

A = torch.ops.aten
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _normal(*shape: int, seed: int = 53) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def image_calls() -> Iterator[Callable[[], object]]:
    """With every mode, of every float type, at points inside of the image, outside and nowhere."""
    points, places = _normal(2, 4, 5, 2) * 0.9, _normal(2, 3, 2, 4, 3, seed=7) * 0.9
    points[0, 0, :, 0] = torch.tensor([1.0, -1.0, 0.0, 5.0, -3.0])
    places[0, 0, 0, :, 1] = torch.tensor([1.0, -1.0, 0.0, 5.0])
    nowhere = points.clone()
    nowhere[1, 2, 3, 0], nowhere[1, 0, 1, 1], nowhere[0, 1, 1, 1] = torch.nan, torch.inf, -torch.inf
    image, volume = _normal(2, 3, 6, 7), _normal(2, 3, 5, 4, 6)
    for dtype, padding, align in itertools.product(FLOATS, range(3), (False, True)):
        x, g = image.to(dtype), points.to(dtype)
        for mode in range(3):
            yield lambda x=x, g=g, m=mode, p=padding, a=align: A.grid_sampler_2d(x, g, m, p, a)
        x, g = volume.to(dtype), places.to(dtype)
        for mode in range(2):
            yield lambda x=x, g=g, m=mode, p=padding, a=align: A.grid_sampler_3d(x, g, m, p, a)
    for padding, align in itertools.product(range(3), (False, True)):
        for mode in range(2):
            yield lambda m=mode, p=padding, a=align: A.grid_sampler_2d(image, nowhere, m, p, a)
    thin = _normal(1, 2, 1, 1)
    for padding in range(3):
        yield lambda p=padding: A.grid_sampler_2d(thin, points[:1].contiguous(), 0, p, True)
    wide = _normal(1, 1, 3, 400).to(torch.bfloat16)
    yield lambda: A.grid_sampler_2d(wide, points[:1].to(torch.bfloat16), 0, 0, False)
    yield lambda: A.grid_sampler_3d(volume, places[:, :0], 0, 0, False)
    for dtype, align in itertools.product((*FLOATS[:2], torch.uint8), (False, True)):
        picture = (image.abs() * 80).to(dtype)
        # Of bytes torch itself fails to make one line.
        for size in ([4, 3], [9, 13], [6, 2], *([[1, 1]] if dtype.is_floating_point else [])):
            for function in (A._upsample_bilinear2d_aa, A._upsample_bicubic2d_aa):
                yield lambda f=function, x=picture, s=size, a=align: f(x, s, a)
        yield lambda x=picture, a=align: A._upsample_bicubic2d_aa(x, [4, 9], a, 0.7, 1.4)
