"""Pools, shuffles and memory formats as machine code, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from native_modules import SETS, as_module, check, compiled, run, sets
from torch import nn
from xdsl.dialects.func import FuncOp

from et_backends.native.compiler import NativePartitioner
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.dialects.schema import SchemaOp

FUNCTIONS = {
    "max-1d": (lambda x: F.max_pool1d(x, 3, 2, 1), (2, 5, 9)),
    "max-1d-unbatched": (lambda x: F.max_pool1d(x, 3, 2, 1, 2), (5, 9)),
    "max-unbatched": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), (19, 8, 9)),
    "max-3d": (lambda x: F.max_pool3d(x, (3, 2, 2), 2, 1), (2, 19, 5, 6, 7)),
    "max-3d-dilated": (lambda x: F.max_pool3d(x, 2, 1, 1, 2, ceil_mode=True), (1, 5, 5, 6, 7)),
    "max-3d-unbatched": (lambda x: F.max_pool3d(x, 3, 2, 1), (5, 5, 6, 7)),
    "average-1d": (lambda x: F.avg_pool1d(x, 3, 2, 1, True, False), (2, 5, 9)),
    "average-unbatched": (lambda x: F.avg_pool2d(x, 3, 2, 1), (19, 8, 9)),
    "adaptive-max": (lambda x: F.adaptive_max_pool2d(x, (3, 5)), (2, 19, 10, 7)),
    "adaptive-max-3d": (lambda x: F.adaptive_max_pool3d(x, (2, 3, 4)), (1, 5, 5, 7, 6)),
    "pixel-shuffle": (lambda x: F.pixel_shuffle(x, 2), (2, 20, 5, 3)),
    "pixel-shuffle-unbatched": (lambda x: F.pixel_shuffle(x, 3), (18, 5, 3)),
    "pixel-unshuffle": (lambda x: F.pixel_unshuffle(x, 3), (2, 5, 6, 9)),
    "channel-shuffle": (lambda x: torch.channel_shuffle(x, 3), (2, 18, 5, 4)),
    "global-average": (lambda x: F.adaptive_avg_pool2d(x, 1), (2, 19, 5, 7)),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pool_or_shuffle(name: str) -> None:
    function, shape = FUNCTIONS[name]
    torch.manual_seed(0)
    check(function, torch.randn(shape))


@pytest.mark.parametrize("size", [(2, 3), (5, 4)])
def test_adaptive_maximum_of_nan_and_infinity(size: tuple[int, int]) -> None:
    x = torch.randn(1, 3, 5, 6)
    x[0, 0, 1, 2], x[0, 1, 4, 4] = float("nan"), float("inf")
    x[0, 2] = float("-inf")
    check(lambda x: F.adaptive_max_pool2d(x, size), x)


class SuperResolution(nn.Module):
    """Convolutions with shuffles of pixels and channels between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 24, 3, padding=1), nn.Conv2d(6, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.pixel_shuffle(torch.channel_shuffle(torch.relu(self.first(x)), 4), 2))


def test_shuffles_between_convolutions() -> None:
    torch.manual_seed(0)
    check(SuperResolution().eval(), torch.randn(2, 3, 5, 6))


class Formats(nn.Module):
    """Results in two memory formats, and a constant in the one that is not contiguous."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(5, 18, 3).to(memory_format=torch.channels_last)
        field = torch.randn(2, 18, 4, 5).contiguous(memory_format=torch.channels_last)
        self.register_buffer("field", field)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = torch.relu(self.conv(x)) + self.field * y
        return z.to(memory_format=torch.channels_last) * 2


@pytest.mark.parametrize("last", [(False, False), (True, False), (True, True)])
def test_channels_last(last: tuple[bool, bool]) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(2, 5, 6, 7), torch.randn(2, 18, 4, 5)
    x = x.contiguous(memory_format=torch.channels_last) if last[0] else x
    y = y.contiguous(memory_format=torch.channels_last) if last[1] else y
    module = Formats().eval()
    expected = module(x, y)
    for name in sets():
        found = run(compiled(module, (x, y), name), (x, y))
        np.testing.assert_allclose(found, expected.detach().numpy(), rtol=0, atol=1e-4)


OTHER_FORMATS = {
    "flattened": lambda x: torch.flatten(x * 2, 1),
    "permuted": lambda x: (x * 2).permute(0, 2, 3, 1) + 1,
    "summed": lambda x: (x * 2).sum(1),
    "softmax": lambda x: torch.softmax(x * 2, 3),
    "joined": lambda x: torch.cat([x * 2, x], 2)[:, :, 1:],
    "contiguous": lambda x: (x * 2).contiguous(memory_format=torch.contiguous_format),
    "broadcast": lambda x: x * x[:, :, :1, :1] + x[0, 0],
    "product": lambda x: x @ x.transpose(2, 3),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", OTHER_FORMATS)
def test_operators_of_channels_last_tensors(name: str) -> None:
    x = torch.randn(2, 5, 6, 7).contiguous(memory_format=torch.channels_last)
    check(OTHER_FORMATS[name], x)


REFUSED = {
    "resize": lambda x: F.interpolate(x, size=(7, 9), mode="bilinear", antialias=True),
    "convolution": lambda x: F.conv_transpose2d(x, torch.ones(4, 3, 2, 2), stride=2),
    "groups": lambda x: F.conv_transpose2d(x, torch.ones(4, 2, 2, 2), groups=2),
    "pad": lambda x: F.pad(x, (1, 2)),
    "reflection": lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"),
    "pool": lambda x: F.adaptive_avg_pool2d(x, 3),
}


@pytest.mark.parametrize("empty", [True, False])
def test_refusal_of_empty_images_and_of_sizes_known_at_run_time(empty: bool) -> None:
    x = torch.randn(0 if empty else 2, 4, 5, 6)
    sizes = None if empty else {"arguments": ({0: torch.export.Dim("n", min=1, max=4)},)}
    together = as_module(lambda x: tuple(function(x) for function in REFUSED.values()))
    module = to_edge(torch.export.export(together, (x,), dynamic_shapes=sizes)).module
    method = next(op for op in module.walk() if isinstance(op, FuncOp))
    support = NativePartitioner(instruction_sets=[SETS[0]]).support(method)
    found = [support.refusal(op) for op in method.walk() if isinstance(op, SchemaOp) and op.operands]
    wanted = "empty tensor" if empty else "dynamic size"
    assert [one.message for one in found if one is not None] == [wanted] * len(REFUSED)


def test_pool_whose_indices_are_read() -> None:
    """It is decomposed, for there is no kernel that makes indices."""
    x = torch.randn(1, 3, 7, 8)
    module = as_module(lambda x: F.adaptive_max_pool2d(x * 2, (3, 4), return_indices=True)[1])
    program = torch.export.export(module, (x,))
    partitioner = NativePartitioner(instruction_sets=[SETS[0]])
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    np.testing.assert_array_equal(run(file, (x,)), module(x).numpy())
