"""Resizes by factors and to sizes: each way of interpolation, with sizes that are kept, shrink and grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

__all__ = ["OF_RUN_TIME_SIZES", "PROGRAMS", "Sized"]

FACTORS: Final = (0.2, 0.7, 1.1, 1.3, 1.5, 1.9, 2.0, 2.2)
"""Some keep a size of few elements, some give twice the size though they are not 2, and some give no whole sizes."""

MODES: Final = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
    "area": (1, 2, 3),
}
"""Numbers of spatial dimensions of each mode."""

SHAPES: Final = {1: (1, 2, 6), 2: (1, 2, 5, 7), 3: (1, 1, 3, 4, 5)}


class Resizes(nn.Module):
    """An image in several sizes."""

    def __init__(self, options: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.options = options

    def forward(self, x: Tensor) -> list[Tensor]:
        return [F.interpolate(x, **one) for one in self.options]


def _fits(shape: Sequence[int], factors: Sequence[float]) -> bool:
    return all(int(size * factor) for size, factor in zip(shape[2:], factors, strict=True))


def _groups() -> Iterator[tuple[str, tuple[int, ...], list[dict[str, Any]]]]:
    """Names, shapes and arguments of `interpolate`."""
    for mode, dims in MODES.items():
        for rank in dims:
            shape = SHAPES[rank]
            name = f"resize, {mode} {rank}d"
            # One direction by the factor, the others by the next ones.
            given = [[FACTORS[(n + d) % len(FACTORS)] for d in range(rank)] for n in range(len(FACTORS))]
            given += [[factor] * rank for factor in FACTORS]
            factors = [one for one in given if _fits(shape, one)]
            sizes = [shape[2:], [1] * rank, [4, 9, 2][:rank], [2 * one for one in shape[2:]]]
            ways: list[dict[str, Any]] = [{"mode": mode}]
            if mode.endswith(("linear", "cubic")):
                ways = [{"mode": mode, "align_corners": aligned} for aligned in (False, True)]
            if mode in ("bilinear", "bicubic"):
                ways.append({"mode": mode, "antialias": True})
            for way in ways:
                if way.get("antialias"):
                    # Torch's filters are wrong along the height of images one pixel wide, and right when transposed.
                    factors = [one for one in factors if int(shape[-1] * one[-1]) > 1]
                    sizes = [one for one in sizes if one[-1] > 1]
                which = "".join(
                    f", {text}"
                    for key, text in (("align_corners", "corners"), ("antialias", "filtered"))
                    if way.get(key)
                )
                yield f"{name}{which}, sizes", shape, [way | {"size": size} for size in sizes]
                yield f"{name}{which}, factors", shape, [way | {"scale_factor": one} for one in factors]
            yield (
                f"{name}, sizes of factors",
                shape,
                [
                    ways[0] | {"scale_factor": one, "recompute_scale_factor": True}
                    for one in factors[: len(FACTORS)]
                ],
            )


def _program(
    shape: tuple[int, ...], options: Sequence[dict[str, Any]]
) -> Callable[[], tuple[nn.Module, Sequence[Tensor]]]:
    return lambda: (Resizes(options), [torch.rand(shape)])


LAST_CHANNELS: Final = {
    "channels last": (1, 5, 3, 110),
    "two images with channels last": (2, 4, 40, 50),
    "three channels last": (1, 3, 3, 110),
    "volumes with channels last": (1, 5, 2, 3, 60),
}
"""Shapes of images and volumes whose channels are last in memory: torch takes another kernel for the nearest pixels
of four channels and more.
"""


class _LaidOut(Resizes):
    """Resizes of what has its channels last in memory."""

    def forward(self, x: Tensor) -> list[Tensor]:
        last = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
        return super().forward(x.relu().contiguous(memory_format=last))


def _channels_last(
    shape: tuple[int, ...], mode: str, is_input: bool
) -> Callable[[], tuple[nn.Module, Sequence[Tensor]]]:
    options = [{"scale_factor": factor, "mode": mode} for factor in (1.3, 1.005, 2.01, 0.7)]

    def make() -> tuple[nn.Module, Sequence[Tensor]]:
        image = torch.rand(shape)
        if not is_input:
            return _LaidOut(options), [image]
        return Resizes(options), [image.contiguous(memory_format=torch.channels_last)]

    return make


PROGRAMS: Final[dict[str, Callable[[], tuple[nn.Module, Sequence[Tensor]]]]] = {
    **{name: _program(shape, options) for name, shape, options in _groups()},
    # Torch takes another kernel for the nearest pixels of large images, which goes by the factor alone.
    "resize, nearest of a large image": _program(
        (1, 1, 100, 40), [{"scale_factor": (1.005, 1.1)}, {"scale_factor": (1.1, 2.01)}]
    ),
    **{
        f"resize, {mode} of {kind}, {where}": _channels_last(shape, mode, is_input)
        for kind, shape in LAST_CHANNELS.items()
        for mode in ("nearest", "nearest-exact")
        for where, is_input in (("as it comes", True), ("laid out so", False))
        # The stock runtime takes no volumes with channels last.
        if len(shape) == 4 or not is_input
    },
}
"""By name: what makes a module and its inputs."""


class Sized(NamedTuple):
    """Resizes of images whose last size is known at run time only, and shapes that it takes."""

    options: Sequence[dict[str, Any]]
    dims: int
    lengths: Sequence[int]

    def module(self) -> nn.Module:
        return Resizes(self.options)

    def inputs(self) -> list[tuple[Tensor]]:
        return [(torch.rand(*SHAPES[self.dims][:-1], length),) for length in self.lengths]

    @property
    def dynamic_shapes(self) -> Any:
        return ({self.dims + 1: Dim("n", min=4, max=12)},)


OF_RUN_TIME_SIZES: Final = {
    f"resize, {mode} {dims}d": Sized(
        [
            {"mode": mode, "scale_factor": factor}
            for factor in (1.1, 1.5, 2.0, 0.5)
            if mode != "area" or factor == 2.0
        ],
        dims,
        (6, 4, 12, 9),
    )
    for mode, ranks in MODES.items()
    for dims in ranks
    if mode != "area"
}
"""By name; a factor keeps the size of short ones."""
