"""Padding of windows that move over images.

TOSA takes windows that end at the end of the padded image; what a stride leaves over is cut off first.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from et_backends.tosa.compiler.legalizer import Legalizer

__all__ = ["fitted"]


def fitted(
    t: Legalizer,
    image: SSAValue,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int] = (1, 1),
) -> tuple[SSAValue, list[int]]:
    """An image with its channels last, cut where no window reaches, and its padding above, below, left and right.

    `padding` is that on both sides of rows and of columns.
    """
    shape = list(t.shape_of(image))
    pads: list[int] = []
    for number in range(2):
        size = shape[1 + number]
        reach = (kernel[number] - 1) * dilation[number] + 1
        left = max(size + 2 * padding[number] - reach, 0) % stride[number]
        pads += [padding[number], max(padding[number] - left, 0)]
        shape[1 + number] = size - max(left - padding[number], 0)
    return t.slice(image, (0, 0, 0, 0), shape), pads
