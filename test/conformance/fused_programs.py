"""Programs of one kernel each way that it can be fused with an operand: before and after, by every broadcast of that.

A program applies an operation, the anchor, to the sum of its input and another operand, or multiplies what it makes by
one. It has a result for each shape of the operand: a size of 1 in each set of dimensions, and leading dimensions left
out. Sizes are such that vectors have a rest, and that tiles do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["PROGRAMS", "Fused", "broadcasts"]

Shape = tuple[int, ...]


class Function(nn.Module):
    """A function of tensors, the first of which is given, and the others constants."""

    def __init__(self, function: Callable[..., Tensor], *constants: Tensor):
        super().__init__()
        self.function = function
        self.count = len(constants)
        for number, one in enumerate(constants):
            self.register_buffer(f"constant{number}", one)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, *(getattr(self, f"constant{number}") for number in range(self.count)))


class Anchor(NamedTuple):
    """An operation of one tensor, made for a shape, and the shapes that it is made for."""

    make: Callable[[Shape], nn.Module]
    shapes: Sequence[Shape]


ROWS: Final[Sequence[Shape]] = ((2, 4, 8), (3, 6, 37), (5, 1), (2, 3, 70))
PLANES: Final[Sequence[Shape]] = ((1, 4, 2, 3), (2, 6, 5, 7), (3, 4, 1, 17))
IMAGES: Final[Sequence[Shape]] = ((1, 4, 8, 8), (2, 6, 9, 11), (1, 17, 5, 6))
MATRICES: Final[Sequence[Shape]] = ((3, 4), (5, 5), (1, 7), (17, 33))
BATCHES: Final[Sequence[Shape]] = ((2, 3, 4), (3, 5, 5), (2, 17, 33))


def _of(function: Callable[..., Tensor]) -> Callable[[Shape], nn.Module]:
    return lambda shape: Function(function)


def _with(
    function: Callable[..., Tensor], *shapes: Callable[[Shape], Shape]
) -> Callable[[Shape], nn.Module]:
    """A function of constants too, of shapes by that of its input."""
    return lambda shape: Function(function, *(torch.randn(one(shape)) for one in shapes))


def _layer(make: Callable[[Shape], nn.Module]) -> Callable[[Shape], nn.Module]:
    """A layer whose parameters and statistics are random."""

    def made(shape: Shape) -> nn.Module:
        layer = make(shape)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.normal_()
            for name, buffer in layer.named_buffers():
                if buffer.is_floating_point():
                    buffer.uniform_(0.5, 2.0) if "var" in name else buffer.normal_()
        return layer

    return made


def _attended(x: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x, key, value)


def _of_bytes(x: Tensor, weight: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    restored = torch.ops.quantized_decomposed.dequantize_per_channel(
        weight, scales, zeros, 0, -127, 127, torch.int8
    )
    return F.linear(x, restored)


def _linear_of_bytes(shape: Shape) -> nn.Module:
    weight = torch.randint(-127, 128, (19, shape[-1]), dtype=torch.int8)
    return Function(_of_bytes, weight, torch.rand(19) * 0.01 + 0.001, torch.zeros(19, dtype=torch.int64))


ANCHORS: Final[dict[str, Anchor]] = {
    # rows
    "softmax": Anchor(_of(lambda x: x.softmax(-1)), ROWS),
    "softmax of the first": Anchor(_of(lambda x: x.softmax(0)), ROWS),
    "log_softmax": Anchor(_of(lambda x: x.log_softmax(1)), ROWS),
    "layer_norm": Anchor(_layer(lambda shape: nn.LayerNorm(shape[-1:])), ROWS[:2]),
    "layer_norm of two": Anchor(_layer(lambda shape: nn.LayerNorm(shape[-2:])), ROWS[:2]),
    "rms_norm": Anchor(_layer(lambda shape: nn.RMSNorm(shape[-1:])), ROWS[:2]),
    "group_norm": Anchor(_layer(lambda shape: nn.GroupNorm(2, shape[1])), (*ROWS[:2], *PLANES)),
    "group_norm of pairs": Anchor(_layer(lambda shape: nn.GroupNorm(2, shape[1])), ((3, 2), (2, 6))),
    "group_norm of volumes": Anchor(_layer(lambda shape: nn.GroupNorm(2, 4)), ((2, 4, 2, 3, 5),)),
    "instance_norm": Anchor(_layer(lambda shape: nn.InstanceNorm1d(shape[1], affine=True)), ROWS[:2]),
    "instance_norm of planes": Anchor(_of(F.instance_norm), PLANES),
    "batch_norm": Anchor(_layer(lambda shape: nn.BatchNorm2d(shape[1])), PLANES),
    "sum": Anchor(_of(lambda x: x.sum(-1)), ROWS),
    "sum of the first": Anchor(_of(lambda x: x.sum(0)), ROWS),
    "sum, kept": Anchor(_of(lambda x: x.sum(1, keepdim=True)), (*ROWS, *PLANES)),
    "sum of all": Anchor(_of(lambda x: x.sum()), ROWS),
    "mean of planes": Anchor(_of(lambda x: x.mean((-2, -1))), PLANES),
    "mean of planes, kept": Anchor(_of(lambda x: x.mean((-2, -1), keepdim=True)), PLANES),
    "mean of two apart": Anchor(_of(lambda x: x.mean((0, 2))), (*ROWS[:2], *PLANES)),
    "amax": Anchor(_of(lambda x: x.amax(-1)), ROWS),
    "var": Anchor(_of(lambda x: x.var(-1)), ROWS[:2]),
    "normalized": Anchor(_of(lambda x: F.normalize(x, dim=-1)), ROWS[:2]),
    # products
    "mm": Anchor(_with(torch.mm, lambda shape: (shape[1], 19)), MATRICES),
    "mm with a column": Anchor(_with(torch.mm, lambda shape: (shape[1], 1)), MATRICES),
    "mm of computed": Anchor(_of(lambda x: x @ x.mT), MATRICES),
    "linear": Anchor(_layer(lambda shape: nn.Linear(shape[-1], 19)), (*MATRICES, *BATCHES)),
    "linear of bytes": Anchor(_linear_of_bytes, MATRICES),
    "bmm": Anchor(_with(torch.bmm, lambda shape: (shape[0], shape[2], 5)), BATCHES),
    "bmm of computed": Anchor(_of(lambda x: x @ x.mT), BATCHES),
    "attention": Anchor(
        _with(
            _attended,
            lambda shape: (*shape[:-2], 9, shape[-1]),
            lambda shape: (*shape[:-2], 9, 6),
        ),
        (*BATCHES, (2, 3, 5, 8)),
    ),
    # images
    "convolution": Anchor(_layer(lambda shape: nn.Conv2d(shape[1], 5, 3, padding=1)), IMAGES),
    "convolution, strided": Anchor(_layer(lambda shape: nn.Conv2d(shape[1], 20, 3, 2)), IMAGES),
    "convolution of points": Anchor(_layer(lambda shape: nn.Conv2d(shape[1], 7, 1)), (*IMAGES, *PLANES)),
    "convolution to one channel": Anchor(_layer(lambda shape: nn.Conv2d(shape[1], 1, 3)), IMAGES),
    "depthwise": Anchor(
        _layer(lambda shape: nn.Conv2d(shape[1], shape[1], 3, padding=1, groups=shape[1])), IMAGES
    ),
    "convolution of groups": Anchor(
        _layer(lambda shape: nn.Conv2d(shape[1], 6, 3, groups=2)), ((2, 4, 6, 7), (1, 6, 9, 11))
    ),
    "convolution that repeats channels": Anchor(
        _layer(lambda shape: nn.Conv2d(shape[1], 2 * shape[1], 3, groups=shape[1])), IMAGES
    ),
    "convolution of lines": Anchor(_layer(lambda shape: nn.Conv1d(shape[1], 5, 3, padding=1)), ROWS[:2]),
    "convolution of volumes": Anchor(_layer(lambda shape: nn.Conv3d(4, 5, 2)), ((2, 4, 2, 3, 5),)),
    "transposed convolution": Anchor(_layer(lambda shape: nn.ConvTranspose2d(shape[1], 5, 3, 2)), IMAGES),
    "two convolutions": Anchor(
        _layer(
            lambda shape: nn.Sequential(
                nn.Conv2d(shape[1], 5, 3, padding=1), nn.ReLU(), nn.Conv2d(5, 6, 3, padding=1)
            )
        ),
        IMAGES,
    ),
    "max_pool": Anchor(_of(lambda x: F.max_pool2d(x, 3, 2, 1)), IMAGES),
    "avg_pool": Anchor(_of(lambda x: F.avg_pool2d(x, 2)), IMAGES),
    "adaptive_avg_pool": Anchor(_of(lambda x: F.adaptive_avg_pool2d(x, (2, 3))), IMAGES),
    "nearest": Anchor(_of(lambda x: F.interpolate(x, scale_factor=2)), IMAGES),
    "bilinear": Anchor(_of(lambda x: F.interpolate(x, (7, 12), mode="bilinear")), IMAGES),
    # elements that move
    "pixel_shuffle": Anchor(_of(lambda x: F.pixel_shuffle(x, 2)), ((1, 4, 3, 5), (2, 8, 2, 3))),
    "pad": Anchor(_of(lambda x: F.pad(x, (1, 2))), ROWS),
    "slice": Anchor(_of(lambda x: x[1:]), ROWS),
    "cat": Anchor(_of(lambda x: torch.cat([x, x * 2], -1)), ROWS),
    "gather": Anchor(_of(lambda x: x[:, [0, 0, -1]]), ROWS),
    "transpose": Anchor(_of(lambda x: x.transpose(0, -1)), (*ROWS, *PLANES)),
    "cumsum": Anchor(_of(lambda x: x.cumsum(-1)), ROWS),
    "sort": Anchor(_of(lambda x: x.sort(-1)[0]), ROWS),
    "elements": Anchor(_of(torch.sigmoid), (*ROWS, *PLANES)),
}
"""Operations by the kernel that computes them."""

KINDS: Final = ("given", "constant", "computed", "expanded")
"""Where the other operand comes from."""
PLACES: Final = ("before", "after")


def broadcasts(shape: Shape) -> Iterator[Shape]:
    """The shapes that are broadcast to one: each dimension as it is or of size 1, and leading ones left out."""
    found = dict.fromkeys(product(*((size, 1) for size in shape)))
    found.update(dict.fromkeys(shape[first:] for first in range(1, len(shape) + 1)))
    yield from found


class Fused(nn.Module):
    """An anchor with an operand of each shape, before or after it: as many results."""

    def __init__(self, anchor: nn.Module, place: str, kind: str, target: Shape):
        super().__init__()
        self.anchor, self.place, self.kind, self.target = anchor, place, kind, target
        self.shapes = list(broadcasts(target))
        if kind == "constant":
            for number, shape in enumerate(self.shapes):
                self.register_buffer(f"operand{number}", torch.randn(shape))

    def forward(self, x: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
        return tuple(self._result(x, self._operand(number, operands)) for number in range(len(self.shapes)))

    def _operand(self, number: int, operands: Sequence[Tensor]) -> Tensor:
        match self.kind:
            case "constant":
                return getattr(self, f"operand{number}")
            case "computed":
                return operands[number].tanh()
            case "expanded":
                return operands[number].expand(self.target)
            case _:
                return operands[number]

    def _result(self, x: Tensor, operand: Tensor) -> Tensor:
        return self.anchor(x + operand) if self.place == "before" else self.anchor(x) * operand

    def inputs(self, shape: Shape) -> tuple[Tensor, ...]:
        given = () if self.kind == "constant" else map(torch.randn, self.shapes)
        return (torch.randn(shape), *given)


def _program(anchor: Anchor, shape: Shape, place: str, kind: str) -> tuple[Fused, tuple[Tensor, ...]]:
    made = anchor.make(shape).eval()
    with torch.no_grad():
        target = shape if place == "before" else tuple(made(torch.randn(shape)).shape)
    program = Fused(made, place, kind, target)
    return program, program.inputs(shape)


def _programs() -> Iterator[tuple[str, Callable[[], tuple[Fused, tuple[Tensor, ...]]]]]:
    for name, anchor in ANCHORS.items():
        for shape, place, kind in product(anchor.shapes, PLACES, KINDS):
            sizes = "x".join(map(str, shape))
            yield (
                f"{name} of {sizes}, {kind} {place}",
                lambda anchor=anchor, shape=shape, place=place, kind=kind: _program(
                    anchor, shape, place, kind
                ),
            )


PROGRAMS: Final = dict(_programs())
"""By name: a module and its inputs."""
