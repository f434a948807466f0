"""Transposed convolutions of dynamic size as convolutions, on et-vm's kernels, against eager."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from support.accuracy import assert_accurate, truth_of
from support.programs import exported
from torch import nn
from torch.export import Dim

from et_backends.codegen.passes.transposed_to_convolutions import TransposedToConvolutionsPass
from et_ir import ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime

LAYERS = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def arguments(seed: int, rank: int) -> dict[str, Any]:
    """Arguments of a layer; what is added to the end is less than the stride or the dilation."""
    draw = random.Random(seed)

    def each(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw.randint(least, most) for _ in range(rank))

    kernel, stride, dilation = each(1, 5), each(1, 4), each(1, 3)
    padding = tuple(
        draw.randint(0, (size - 1) * apart + 1) for size, apart in zip(kernel, dilation, strict=True)
    )
    more = tuple(draw.randrange(max(step, apart)) for step, apart in zip(stride, dilation, strict=True))
    return {
        "kernel_size": kernel,
        "stride": stride,
        "dilation": dilation,
        "padding": padding,
        "output_padding": more,
        "groups": draw.choice((1, 1, 2)),
        "bias": draw.random() < 0.7,
    }


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rank", LAYERS)
def test_any_arguments(rank: int, seed: int) -> None:
    torch.manual_seed(seed)
    module = LAYERS[rank](4, 6, **arguments(seed, rank)).eval()
    sizes = {2 + dim: Dim(f"s{dim}", min=8, max=20) for dim in range(rank)}
    x = torch.randn(2, 4, *(9, 11, 8)[:rank])
    edge = to_edge(exported(module, x, dynamic_shapes=({0: Dim("batch", max=3), **sizes},)))
    edge = edge.transform([TransposedToConvolutionsPass()])
    assert [op.arg("transposed") for op in edge.module.walk() if op.name == "edge.convolution"] == [False]
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime().load_program(file, poison=True).load_method("forward")
    for given in (x, torch.randn(1, 4, *(20, 8, 9)[:rank])):
        (got,) = method.execute([given])
        assert_accurate(got, truth_of(module, given))
