"""Convolutions of every shape against torch in float64."""

from __future__ import annotations

import random

import pytest
import torch
from kernel_oracle import Recorded, check, dim_order

OPERATOR = "aten::convolution.out"


def _geometry(seed: int) -> Recorded:
    """A random convolution: 1 to 3 dimensions, groups, strides, dilation, padding, transposed, layouts."""
    choose = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    space = choose.choice([1, 2, 2, 2, 3])
    groups = choose.choice([1, 1, 2, 3])
    channels, features = groups * choose.randint(1, 5), groups * choose.randint(1, 5)
    if choose.random() < 0.4:  # depthwise, narrow and wide
        groups = channels = choose.choice([2, 3, 8, 40, 300])
        features = groups * choose.choice([1, 1, 2])
    size = [choose.randint(5, 14) for _ in range(space)]
    kernel, padding = (
        [choose.randint(1, 4) for _ in range(space)],
        [choose.randint(0, 3) for _ in range(space)],
    )
    stride, dilation = (
        [choose.randint(1, 3) for _ in range(space)],
        [choose.randint(1, 2) for _ in range(space)],
    )
    if choose.random() < 0.3:
        kernel, padding = [1] * space, [0] * space
    transposed = choose.random() < 0.25
    shape = (channels, features // groups) if transposed else (features, channels // groups)
    image = torch.randn(choose.choice([1, 1, 2]), channels, *size, generator=generator)
    weight = torch.randn(*shape, *kernel, generator=generator)
    bias = torch.randn(features, generator=generator) if choose.random() < 0.6 else None
    extra = [choose.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)]
    rest = (stride, padding, dilation, transposed, extra if transposed else [0] * space, groups)
    exact = (image.double(), weight.double(), None if bias is None else bias.double())
    try:
        result = torch.ops.aten.convolution(*exact, *rest).float()
    except RuntimeError:
        # The padding of a transposed convolution can leave nothing of the image.
        return _geometry(seed + 1000)
    if space == 2:
        layouts = [torch.contiguous_format, torch.channels_last]
        weight = weight.contiguous(memory_format=choose.choice(layouts))
        layout = choose.choice(layouts)
        turned = [tensor.contiguous(memory_format=layout) for tensor in (image, result)]
        # The result has the layout of the image.
        if dim_order(turned[0]) == dim_order(turned[1]):
            image, result = turned
    return Recorded(OPERATOR, (image, weight, bias, *rest), (result,))


@pytest.mark.parametrize("library", ["portable", "aten"])
@pytest.mark.parametrize("constants", [False, True])
def test_random_geometries(library: str, constants: bool) -> None:
    for seed in range(150):
        check(library, _geometry(seed), constants=constants)


def test_large_images_go_in_parts() -> None:
    """Window matrices over the limit are gathered in parts, tiles of a depthwise image go one by one."""
    generator = torch.Generator().manual_seed(0)
    for channels, features, groups, size in ((24, 5, 1, 190), (3, 3, 3, 300), (40, 40, 40, 120)):
        image = torch.randn(2, channels, size, size, generator=generator)
        weight = torch.randn(features, channels // groups, 5, 5, generator=generator)
        rest = ([1, 1], [2, 2], [1, 1], False, [0, 0], groups)
        result = torch.ops.aten.convolution(image, weight, None, *rest)
        check("portable", Recorded(OPERATOR, (image, weight, None, *rest), (result,)))
        turned = [t.contiguous(memory_format=torch.channels_last) for t in (image, weight, result)]
        check("portable", Recorded(OPERATOR, (turned[0], turned[1], None, *rest), (turned[2],)))
