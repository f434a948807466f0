"""Operators of torchvision on et-vm, against their definitions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import dev.torchvision_operators  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers them)
from et_ir import ExecutorchBackendConfig, to_edge
from et_vm.runtime import Runtime

torchvision: Any = torch.ops.torchvision
VM = ExecutorchBackendConfig(target="et-vm")


class Suppress(nn.Module):
    """The boxes that are kept, and their scores."""

    def __init__(self, threshold: float = 0.5) -> None:
        super().__init__()
        self.threshold = threshold

    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        kept = torchvision.nms(boxes, scores, self.threshold)
        return kept, scores[kept] * 2


def boxes_of(count: int, seed: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """Boxes that overlap, of few distinct scores."""
    generator = torch.Generator().manual_seed(seed)
    corners = torch.randint(0, 12, (count, 2), generator=generator).to(dtype)
    sizes = torch.randint(0, 9, (count, 2), generator=generator).to(dtype)
    scores = torch.randint(0, 8, (count,), generator=generator).to(dtype) / 8
    return torch.cat([corners, corners + sizes], 1), scores


def method(module: nn.Module, example: tuple[torch.Tensor, ...], shapes: Any = None) -> Any:
    program = torch.export.export(module, example, dynamic_shapes=shapes)
    made = to_edge(program).to_executorch(VM)
    return Runtime().load_program(made.buffer).load_method("forward")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 1.0])
def test_suppression(threshold: float, dtype: torch.dtype) -> None:
    module = Suppress(threshold)
    loaded = method(module, boxes_of(24, 0, dtype))
    for seed in range(4):
        example = boxes_of(24, seed, dtype)
        for ours, theirs in zip(loaded.execute(example), module(*example), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_numbers_of_boxes_known_at_run_time() -> None:
    """Memory is planned for all of them; none are none."""
    count = torch.export.Dim("count", min=2, max=64)
    module = Suppress()
    loaded = method(module, boxes_of(8, 0), ({0: count}, {0: count}))
    for size in (2, 64, 17):
        example = boxes_of(size, size)
        for ours, theirs in zip(loaded.execute(example), module(*example), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    assert loaded.metadata.output_tensor_meta(0).sizes() == (64,)


def test_undefined_scores_and_boxes() -> None:
    """NaN is the highest score; boxes without an area, and undefined ones, suppress nothing."""
    boxes = torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 4], [1, 1, 1, 1], [1, 1, 1, 1], [float("nan"), 0, 4, 4]])
    scores = torch.tensor([0.5, float("nan"), 0.7, 0.7, 0.9])
    found = method(Suppress(), (boxes, scores)).execute((boxes, scores))[0]
    assert found.tolist() == torchvision.nms(boxes, scores, 0.5).tolist() == [1, 4, 2, 3]


def test_the_stock_runtime_has_none() -> None:
    from et_ir.passes.verify.link_check import MissingKernels

    with pytest.raises(MissingKernels, match=r"torchvision::nms\.out.*\n.*fix: .*et-vm"):
        to_edge(torch.export.export(Suppress(), boxes_of(4, 0))).to_executorch()


def test_arguments_that_do_not_fit() -> None:
    from et_ops.dtypes import F32, F64
    from et_ops.inference import RULES
    from et_ops.inference.meta import Meta, Mismatch

    rule = RULES["torchvision.nms"]
    for boxes, scores in (
        (Meta((3, 5), F32), Meta((3,), F32)),
        (Meta((3,), F32), Meta((3,), F32)),
        (Meta((3, 4), F32), Meta((2,), F32)),
        (Meta((3, 4), F32), Meta((3, 1), F32)),
        (Meta((3, 4), F32), Meta((3,), F64)),
    ):
        with pytest.raises(Mismatch):
            rule(boxes, scores, 0.5)
