"""Programs of kernels that are fused with operands of every broadcast.

A program applies an operation, the anchor, to the sum of its input and the operand, or multiplies what the anchor makes
by it. It has a result for each of some shapes of the operand: those with a size of 1 in each set of dimensions, and
with leading dimensions left out. Sizes are such that neither vectors nor tiles come out even.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import cycle, product
from typing import Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["PROGRAMS", "broadcasts"]

import_module("torch.ao.quantization.fx._decomposed")  # registers the operators
_quantized = torch.ops.quantized_decomposed

Shape = tuple[int, ...]
_Make = Callable[[Shape], nn.Module]
_Program = tuple[nn.Module, tuple[Tensor, ...]]

RESULTS: Final = 10
"""Results of a program at most."""
STEP: Final = 0.0625
"""The scale of quantized numbers: a power of two, so that quotients by it are exact."""


class Function(nn.Module):
    """A function of tensors and of constants."""

    def __init__(self, function: Callable[..., Tensor], *constants: Tensor):
        super().__init__()
        self.function = function
        self.count = len(constants)
        for number, one in enumerate(constants):
            self.register_buffer(f"constant{number}", one)

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*inputs, *(getattr(self, f"constant{number}") for number in range(self.count)))


class Anchor(NamedTuple):
    """An operation of a tensor, by the shape of that, shapes that there are programs of, and how many dimensions the
    result has less. With `target`, it is one of another operand too, by the shape that this is broadcast to.
    """

    make: _Make
    shapes: Sequence[Shape]
    reduced: int = 0
    target: Callable[[Shape], Shape] | None = None

    @property
    def places(self) -> Sequence[str]:
        """Where the other operand may be."""
        return ("before", "after") if self.target is None else ("inside",)


ROWS: Final[Sequence[Shape]] = ((2, 4, 8), (3, 6, 37), (5, 1), (2, 3, 70))
PLANES: Final[Sequence[Shape]] = ((1, 4, 2, 3), (2, 6, 5, 7), (3, 4, 1, 17))
IMAGES: Final[Sequence[Shape]] = ((1, 4, 8, 8), (2, 6, 9, 11), (1, 17, 5, 6))
MATRICES: Final[Sequence[Shape]] = ((3, 4), (5, 5), (1, 7), (17, 33))
BATCHES: Final[Sequence[Shape]] = ((2, 3, 4), (3, 5, 5), (2, 17, 33))


def _of(function: Callable[..., Tensor]) -> _Make:
    return lambda shape: Function(function)


def _with(function: Callable[..., Tensor], *shapes: Callable[[Shape], Shape]) -> _Make:
    """A function of constants too, whose shapes depend on that of its input."""
    return lambda shape: Function(function, *(torch.randn(one(shape)) for one in shapes))


def _norm(make: _Make) -> _Make:
    """A normalization whose parameters and statistics are random."""

    def made(shape: Shape) -> nn.Module:
        layer = make(shape)
        with torch.no_grad():
            for tensor in (*layer.parameters(), *layer.buffers()):
                if tensor.is_floating_point():
                    tensor.uniform_(0.5, 2.0)
        return layer

    return made


def _attended(x: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(x, key, value)


def _masked(x: Tensor, mask: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return (x @ key.mT * 0.5 + mask).softmax(-1) @ value


def _excluded(x: Tensor, mask: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return (x @ key.mT).masked_fill(mask > 1.0, -1e9).softmax(-1) @ value


def _normalized_twice(x: Tensor, weight: Tensor) -> Tensor:
    """A group norm whose weight is an operand beside it too."""
    return F.group_norm(x * weight, 2, weight, weight) - weight


def _weight_of_bytes(weight: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    return _quantized.dequantize_per_channel(weight, scales, zeros, 0, -127, 127, torch.int8)


def _bytes_of(x: Tensor) -> Tensor:
    stored = _quantized.quantize_per_tensor(x, STEP, 3, -128, 127, torch.int8)
    return _quantized.dequantize_per_tensor(stored, STEP, 3, -128, 127, torch.int8)


def _with_bytes(function: Callable[[Tensor, Tensor], Tensor], shape_of: Callable[[Shape], Shape]) -> _Make:
    """A function of weights of i8 with a scale for each channel."""

    def run(x: Tensor, *weight: Tensor) -> Tensor:
        return function(x, _weight_of_bytes(*weight))

    def make(shape: Shape) -> nn.Module:
        weight = torch.randint(-127, 128, shape_of(shape), dtype=torch.int8)
        scales = torch.rand(len(weight)) * 0.01 + 0.001
        return Function(run, weight, scales, torch.zeros(len(weight), dtype=torch.int64))

    return make


KEYS: Final = (lambda shape: (*shape[:-2], 9, shape[-1]), lambda shape: (*shape[:-2], 9, 6))
"""The shapes of keys and values, by that of queries."""

ANCHORS: Final[dict[str, Anchor]] = {
    # rows
    "softmax": Anchor(_of(lambda x: x.softmax(-1)), ROWS),
    "softmax of columns": Anchor(_of(lambda x: x.softmax(0)), ROWS),
    "log_softmax": Anchor(_of(lambda x: x.log_softmax(1)), ROWS),
    "layer_norm": Anchor(_norm(lambda shape: nn.LayerNorm(shape[-1:])), ROWS[:2]),
    "layer_norm of two": Anchor(_norm(lambda shape: nn.LayerNorm(shape[-2:])), ROWS[:2]),
    "rms_norm": Anchor(_norm(lambda shape: nn.RMSNorm(shape[-1:])), ROWS[:2]),
    "group_norm": Anchor(_norm(lambda shape: nn.GroupNorm(2, shape[1])), (*ROWS[:2], *PLANES)),
    "group_norm of pairs": Anchor(_norm(lambda shape: nn.GroupNorm(2, shape[1])), ((3, 2), (2, 6))),
    "group_norm of volumes": Anchor(_norm(lambda shape: nn.GroupNorm(2, shape[1])), ((2, 4, 2, 3, 5),)),
    "group_norm with its weight": Anchor(
        _with(_normalized_twice, lambda shape: shape[1:2]), ((2, 4, 4), (3, 6, 6))
    ),
    "instance_norm": Anchor(_norm(lambda shape: nn.InstanceNorm1d(shape[1], affine=True)), ROWS[:2]),
    "instance_norm of planes": Anchor(_of(F.instance_norm), PLANES),
    "batch_norm": Anchor(_norm(lambda shape: nn.BatchNorm2d(shape[1])), PLANES),
    "sum": Anchor(_of(lambda x: x.sum(-1)), ROWS, 1),
    "sum of columns": Anchor(_of(lambda x: x.sum(0)), ROWS, 1),
    "sum, kept": Anchor(_of(lambda x: x.sum(1, keepdim=True)), (*ROWS, *PLANES)),
    "sum of all": Anchor(_of(lambda x: x.sum()), ((2, 4, 8), (3, 6, 37), (2, 3, 70)), 3),
    "mean of planes": Anchor(_of(lambda x: x.mean((-2, -1))), PLANES, 2),
    "mean of planes, kept": Anchor(_of(lambda x: x.mean((-2, -1), keepdim=True)), PLANES),
    "mean of two apart": Anchor(_of(lambda x: x.mean((0, 2))), (*ROWS[:2], *PLANES), 2),
    "amax": Anchor(_of(lambda x: x.amax(-1)), ROWS, 1),
    "var": Anchor(_of(lambda x: x.var(-1)), ROWS[:2], 1),
    "normalize": Anchor(_of(lambda x: F.normalize(x, dim=-1)), ROWS[:2]),
    # products
    "mm": Anchor(_with(torch.mm, lambda shape: (shape[1], 19)), MATRICES),
    "mm with a column": Anchor(_with(torch.mm, lambda shape: (shape[1], 1)), MATRICES),
    "mm of computed matrices": Anchor(_of(lambda x: x @ x.mT), MATRICES),
    "linear": Anchor(lambda shape: nn.Linear(shape[-1], 19), (*MATRICES, *BATCHES)),
    "linear of bytes": Anchor(_with_bytes(F.linear, lambda shape: (19, shape[-1])), MATRICES),
    "linear of bytes alone": Anchor(
        _with_bytes(lambda x, weight: F.linear(_bytes_of(x), weight), lambda shape: (19, shape[-1])), MATRICES
    ),
    "bmm": Anchor(_with(torch.bmm, lambda shape: (shape[0], shape[2], 5)), BATCHES),
    "bmm of computed matrices": Anchor(_of(lambda x: x @ x.mT), BATCHES),
    "attention": Anchor(
        _with(_attended, *KEYS),
        (*BATCHES, (2, 3, 5, 8)),
    ),
    "attention with a mask": Anchor(
        _with(_masked, *KEYS), ((2, 3, 5, 8), *BATCHES), target=lambda shape: (*shape[:-1], 9)
    ),
    "attention with keys left out": Anchor(
        _with(_excluded, *KEYS), ((2, 3, 5, 8), *BATCHES), target=lambda shape: (*shape[:-1], 9)
    ),
    "addmm": Anchor(
        _with(
            lambda x, bias, y: torch.addmm(bias, x, y, beta=0.5, alpha=2).relu(), lambda shape: (shape[1], 19)
        ),
        MATRICES,
        target=lambda shape: (shape[0], 19),
    ),
    "addmm to a square": Anchor(
        _with(lambda x, bias, y: torch.addmm(bias, x, y), lambda shape: (shape[1], shape[0])),
        ((5, 4), (17, 3)),
        target=lambda shape: (shape[0], shape[0]),
    ),
    "baddbmm": Anchor(
        _with(lambda x, bias, y: torch.baddbmm(bias, x, y, alpha=2), lambda shape: (shape[0], shape[2], 5)),
        BATCHES,
        target=lambda shape: (*shape[:2], 5),
    ),
    # images
    "convolution": Anchor(lambda shape: nn.Conv2d(shape[1], 5, 3, padding=1), IMAGES),
    "convolution with strides": Anchor(lambda shape: nn.Conv2d(shape[1], 20, 3, 2), IMAGES),
    "convolution of points": Anchor(lambda shape: nn.Conv2d(shape[1], 7, 1), (*IMAGES, *PLANES)),
    "convolution to one channel": Anchor(lambda shape: nn.Conv2d(shape[1], 1, 3), IMAGES),
    "convolution of bytes": Anchor(
        _with_bytes(
            lambda x, weight: F.conv2d(_bytes_of(x), weight, padding=1), lambda shape: (5, shape[1], 3, 3)
        ),
        IMAGES,
    ),
    "depthwise": Anchor(lambda shape: nn.Conv2d(shape[1], shape[1], 3, 1, 1, groups=shape[1]), IMAGES),
    "depthwise of bytes": Anchor(
        _with_bytes(
            lambda x, weight: F.conv2d(_bytes_of(x), weight, padding=1, groups=len(weight)),
            lambda shape: (shape[1], 1, 3, 3),
        ),
        IMAGES,
    ),
    "convolution of groups": Anchor(
        lambda shape: nn.Conv2d(shape[1], 6, 3, groups=2), ((2, 4, 6, 7), (1, 6, 9, 11))
    ),
    "convolution that repeats channels": Anchor(
        lambda shape: nn.Conv2d(shape[1], 2 * shape[1], 3, groups=shape[1]), IMAGES
    ),
    "convolution of lines": Anchor(lambda shape: nn.Conv1d(shape[1], 5, 3, padding=1), ROWS[:2]),
    "convolution of volumes": Anchor(lambda shape: nn.Conv3d(shape[1], 5, 2), ((2, 4, 2, 3, 5),)),
    "transposed convolution": Anchor(lambda shape: nn.ConvTranspose2d(shape[1], 5, 3, 2), IMAGES),
    "convolutions": Anchor(
        lambda shape: nn.Sequential(nn.Conv2d(shape[1], 5, 1), nn.ReLU(), nn.Conv2d(5, 5, 3, groups=5)),
        IMAGES,
    ),
    "max_pool": Anchor(_of(lambda x: F.max_pool2d(x, 3, 2, 1)), IMAGES),
    "avg_pool": Anchor(_of(lambda x: F.avg_pool2d(x, 2)), IMAGES),
    "adaptive_avg_pool": Anchor(_of(lambda x: F.adaptive_avg_pool2d(x, (2, 3))), IMAGES),
    "nearest": Anchor(_of(lambda x: F.interpolate(x, scale_factor=2)), IMAGES),
    "bilinear": Anchor(_of(lambda x: F.interpolate(x, (7, 12), mode="bilinear")), IMAGES),
    # elements
    "pixel_shuffle": Anchor(_of(lambda x: F.pixel_shuffle(x, 2)), ((1, 4, 3, 5), (2, 8, 2, 3))),
    "pad": Anchor(_of(lambda x: F.pad(x, (1, 2))), ROWS),
    "slice": Anchor(_of(lambda x: x[1:]), ROWS),
    "cat": Anchor(_of(lambda x: torch.cat([x, x * 2], -1)), ROWS),
    "gather": Anchor(_of(lambda x: x[:, [0, 0, -1]]), ROWS),
    "transpose": Anchor(_of(lambda x: x.transpose(0, -1)), (*ROWS, *PLANES)),
    "cumsum": Anchor(_of(lambda x: x.cumsum(-1)), ROWS),
    "sort": Anchor(_of(lambda x: x.sort(-1)[0]), ROWS),
    "sigmoid": Anchor(_of(torch.sigmoid), (*ROWS, *PLANES)),
}
"""Operations, at least one for each form of kernels."""

KINDS: Final = ("given", "constant", "computed", "expanded", "permuted", "outer")
"""Origins of an operand; `outer` is the sum of one along some dimensions and one along the others."""


def broadcasts(shape: Shape) -> list[Shape]:
    """The shapes that are broadcast to one: each dimension as it is or of size 1, and leading ones left out."""
    found = dict.fromkeys(product(*((size, 1) for size in shape)))
    found.update(dict.fromkeys(shape[first:] for first in range(1, len(shape) + 1)))
    return list(found)


def _rest(shape: Shape, target: Shape) -> Shape:
    """The shape with the dimensions that another one has as 1."""
    padded = (1,) * (len(target) - len(shape)) + shape
    return tuple(size if one == 1 else 1 for one, size in zip(padded, target, strict=True))


class Fused(nn.Module):
    """An anchor with an operand of each of some shapes, before or after it: as many results."""

    def __init__(self, anchor: nn.Module, place: str, kind: str, target: Shape, shapes: Sequence[Shape]):
        super().__init__()
        self.anchor, self.place, self.kind, self.target, self.shapes = anchor, place, kind, target, shapes
        if kind == "constant":
            for number, shape in enumerate(shapes):
                self.register_buffer(f"operand{number}", torch.randn(shape))

    def forward(self, x: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
        return tuple(self._result(number, x, operands) for number in range(len(self.shapes)))

    def _result(self, number: int, x: Tensor, operands: Sequence[Tensor]) -> Tensor:
        operand = self._operand(number, operands)
        if self.place == "inside":
            return self.anchor(x, operand)
        if self.place == "after":
            return self.anchor(x) * operand
        return self.anchor(operand if self.kind == "outer" else x + operand)

    def _operand(self, number: int, operands: Sequence[Tensor]) -> Tensor:
        match self.kind:
            case "constant":
                return getattr(self, f"operand{number}")
            case "computed":
                return operands[number].tanh()
            case "expanded":
                return operands[number].expand(self.target)
            case "permuted":
                return operands[number].permute(tuple(reversed(range(operands[number].dim()))))
            case "outer":
                return operands[2 * number] + operands[2 * number + 1]
            case _:
                return operands[number]

    def inputs(self, shape: Shape) -> tuple[Tensor, ...]:
        """The anchor's input, and what operands are made of."""
        given: list[Shape] = []
        for one in () if self.kind == "constant" else self.shapes:
            given.append(one[::-1] if self.kind == "permuted" else one)
            if self.kind == "outer":
                given.append(_rest(one, self.target))
        return (torch.randn(shape), *map(torch.randn, given))


def _program(anchor: Anchor, shape: Shape, place: str, kind: str, part: int, parts: int) -> _Program:
    made = anchor.make(shape).eval()
    if anchor.target is not None:
        target = anchor.target(shape)
    elif place == "before":
        target = shape
    else:
        with torch.no_grad():
            target = tuple(made(torch.randn(shape)).shape)
    program = Fused(made, place, kind, target, broadcasts(target)[part::parts])
    return program, program.inputs(shape)


def _programs() -> Iterator[tuple[str, Callable[[], _Program]]]:
    """Each anchor, place and kind has one of the anchor's shapes in turn."""
    for name, anchor in ANCHORS.items():
        for (place, kind), shape in zip(product(anchor.places, KINDS), cycle(anchor.shapes), strict=False):
            rank = len(shape) - (anchor.reduced if place == "after" else 0)
            parts = -(-len(broadcasts((2,) * rank)) // RESULTS)
            for part in range(parts):
                numbers = f", {part + 1} of {parts}" if parts > 1 else ""
                yield (
                    f"{name} of {'x'.join(map(str, shape))}, {kind} {place}{numbers}",
                    partial(_program, anchor, shape, place, kind, part, parts),
                )


PROGRAMS: Final = dict(_programs())
"""By name: a module and its inputs."""
