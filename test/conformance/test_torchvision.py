"""Operators of torchvision on et-vm, against their definitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from stock import StockRuntime
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import dev.torchvision_operators  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers them)
from et_ir import ExecutorchBackendConfig, to_edge
from et_ir.frontend.detection import FORMULAS
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [1, 24])
def test_suppression_on_the_stock_runtime(
    count: int, dtype: torch.dtype, stock: StockRuntime, tmp_path: Path
) -> None:
    """Of a known number of boxes, as a loop. A quotient of two numbers of f32 may be next to a threshold of f64."""
    for threshold in (0.0, 1 / 3, 0.7, 1.0):
        module = Suppress(threshold)
        path = tmp_path / "boxes.pte"
        to_edge(torch.export.export(module, boxes_of(count, 0, dtype))).to_executorch().save(path)
        loaded = Runtime().load_program(path, poison=True).load_method("forward")
        for seed in range(3):
            example = boxes_of(count, seed, dtype)
            for found in (stock.run(path, example), loaded.execute(example)):
                for ours, theirs in zip(found, module(*example), strict=True):
                    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_undefined_scores_and_boxes_on_the_stock_runtime(stock: StockRuntime, tmp_path: Path) -> None:
    boxes = torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 4], [1, 1, 1, 1], [1, 1, 1, 1], [float("nan"), 0, 4, 4]])
    scores = torch.tensor([0.5, float("nan"), 0.7, 0.7, 0.9])
    path = tmp_path / "boxes.pte"
    to_edge(torch.export.export(Suppress(), (boxes, scores))).to_executorch().save(path)
    assert stock.run(path, (boxes, scores))[0].tolist() == [1, 4, 2, 3]


def test_boxes_of_any_number_on_the_stock_runtime() -> None:
    from et_ir.passes.verify.link_check import MissingKernels

    count = torch.export.Dim("count", min=2, max=64)
    program = torch.export.export(Suppress(), boxes_of(4, 0), dynamic_shapes=({0: count}, {0: count}))
    with pytest.raises(MissingKernels, match=r"torchvision::nms\.out.*\n.*fix: .*et-vm"):
        to_edge(program).to_executorch()


# -- operators that are compiled as what torch has, for every runtime


class Aligned(nn.Module):
    """Averages of samples in the bins of boxes."""

    def __init__(self, samples: int, *, aligned: bool = True) -> None:
        super().__init__()
        self.samples = samples
        self.aligned = aligned

    def forward(self, x: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        return torchvision.roi_align(x, rois, 0.5, 3, 2, self.samples, self.aligned)


def regions(count: int, images: int = 2, seed: int = 0) -> torch.Tensor:
    """Boxes in an image of 14 by 18 and beyond its edges, of any size: none, negative, and larger than the image."""
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=generator) * 30 - 8
    scales = torch.tensor([3.0, 12.0, 40.0])[torch.arange(count) % 3]
    sizes = torch.rand(count, 2, generator=generator) * scales.unsqueeze(1)
    image = torch.randint(0, images, (count, 1), generator=generator).float()
    return torch.cat([image, corners, corners + sizes - 1], 1)


class Deformed(nn.Module):
    """A convolution with taps that move."""

    def __init__(self, groups: int, parts: int, *, masked: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 6, (3, 2), groups=groups)
        self.arguments = (2, 1, 1, 2, 1, 2, groups, parts, masked)

    def forward(self, x: torch.Tensor, offset: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torchvision.deform_conv2d(x, self.conv.weight, offset, mask, self.conv.bias, *self.arguments)


def deformed(groups: int, parts: int, *, masked: bool) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(0)
    offset, mask = (torch.randn(2, count * parts * 6, 3, 7, generator=generator) for count in (2, 1))
    offset[0, :, 0, 0] = 0
    offset[0, :, 1, 1] = torch.tensor([-1e9, 3e30, 2.0]).repeat(4 * parts)
    x = torch.randn(2, 4, 6, 5, generator=generator)
    return Deformed(groups, parts, masked=masked).eval(), (
        x,
        3 * offset,
        mask if masked else torch.zeros(2, 1),
    )


CASES = {
    **{
        f"roi_align of {samples} samples{'' if aligned else ', not aligned'}": (
            Aligned(samples, aligned=aligned),
            (torch.randn(2, 3, 7, 9, generator=torch.Generator().manual_seed(1)), regions(6)),
        )
        for samples in (-1, 1, 2, 5)
        for aligned in (True, False)
    },
    **{
        f"deform_conv2d of {groups} and {parts} groups{', masked' if masked else ''}": deformed(
            groups, parts, masked=masked
        )
        for groups, parts, masked in ((1, 1, False), (2, 1, True), (1, 2, True), (2, 4, False))
    },
}


def test_formulas() -> None:
    """They compute what the operators do, of all cases, before they are compiled."""

    class Formulas(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            formula = FORMULAS.get(func._schema.name)
            return func(*args, **(kwargs or {})) if formula is None else formula(func, *args)

    for name, (module, inputs) in CASES.items():
        with torch.no_grad():
            expected = (
                module(*(x.double() for x in inputs)) if isinstance(module, Aligned) else module(*inputs)
            )
            with Formulas():
                found = module(*inputs)
        torch.testing.assert_close(
            found, expected.float(), rtol=1e-5, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("name", CASES)
def test_samples(name: str, tmp_path: Path, stock: StockRuntime) -> None:
    module, inputs = CASES[name]
    expected = module(*(x.double() for x in inputs)) if isinstance(module, Aligned) else module(*inputs)
    path = tmp_path / "samples.pte"
    to_edge(torch.export.export(module, inputs)).to_executorch().save(path)
    runs = [
        Runtime().load_program(path, kernels=kernels, poison=True).load_method("forward").execute(inputs)
        for kernels in ("portable", "aten")
    ]
    for (found,) in (*runs, stock.run(path, inputs)):
        torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-5)


def test_samples_in_boxes_of_a_number_known_at_run_time() -> None:
    """Such as what a suppression leaves."""
    count = torch.export.Dim("count", min=2, max=40)
    x = CASES["roi_align of 2 samples"][1][0]
    for samples in (2, -1):
        module = Aligned(samples)
        loaded = method(module, (x, regions(8)), (None, {0: count}))
        for size in (2, 40, 9):
            rois = regions(size, seed=size)
            (found,) = loaded.execute((x, rois))
            torch.testing.assert_close(found, module(x.double(), rois.double()).float(), rtol=1e-5, atol=1e-5)


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
