"""Windows of convolutions and pools over images: sizes, steps and borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from et_backends.codegen.kernels.images import image_sizes, spatial_rank
from et_ir.dialects.schema import SchemaOp
from et_ir.dialects.schema.tensors import tensor_type

__all__ = ["Window", "window_of"]


@dataclass(frozen=True)
class Window:
    """A window that moves over images; all sizes are in pixels."""

    batch: int
    in_height: int
    in_width: int
    out_height: int
    out_width: int
    height: int
    width: int
    step_y: int
    step_x: int
    border_y: int
    """Pixels above the image that the first window covers."""
    border_x: int
    apart_y: int = 1
    """Distance of neighbors under the window."""
    apart_x: int = 1

    @property
    def is_point(self) -> bool:
        """Whether each pixel of the result is computed from the one at its place."""
        return (
            self.height == self.width == self.step_y == self.step_x == 1
            and self.border_y == self.border_x == 0
        )

    @property
    def padded_height(self) -> int:
        """Rows that windows cover, at least those of the image from the border on."""
        covered = (self.out_height - 1) * self.step_y + (self.height - 1) * self.apart_y + 1
        return max(covered, self.in_height + self.border_y)

    @property
    def padded_width(self) -> int:
        covered = (self.out_width - 1) * self.step_x + (self.width - 1) * self.apart_x + 1
        return max(covered, self.in_width + self.border_x)

    @property
    def needs_border(self) -> bool:
        """Whether a window covers what is outside of the image."""
        return (self.padded_height, self.padded_width) != (self.in_height, self.in_width)


def window_of(op: SchemaOp) -> Window:
    """The window of a convolution of one or two dimensions, or a pool of two; a signal is an image of one row."""
    batch, *read, _ = image_sizes(op, op.operands[0])
    _, *made, _ = image_sizes(op, op.results[0])
    if op.name == "edge.convolution" and spatial_rank(op) == 1:
        (in_width,), (out_width,), (width,) = read, made, tensor_type(op.arg("weight")).get_shape()[2:]
        step, border, apart = (int(op.arg(name)[0]) for name in ("stride", "padding", "dilation"))
        return Window(batch, 1, in_width, 1, out_width, 1, width, 1, step, 0, border, 1, apart)
    (in_height, in_width), (out_height, out_width) = read, made
    if op.name == "edge.convolution":
        height, width = tensor_type(op.arg("weight")).get_shape()[2:]
    else:
        height, width = _pair(op.arg("kernel_size"))
    steps = _pair(op.arg("stride")) if op.arg("stride") else (height, width)
    borders = _pair(op.arg("padding"))
    apart = (1, 1) if op.name == "edge.avg_pool2d" else _pair(op.arg("dilation"))
    return Window(batch, in_height, in_width, out_height, out_width, height, width, *steps, *borders, *apart)


def _pair(values: Any) -> tuple[int, int]:
    """A number for each direction, of a list in which one may stand for both."""
    found: Sequence[int] = [int(value) for value in values]
    return (found[0], found[-1])
