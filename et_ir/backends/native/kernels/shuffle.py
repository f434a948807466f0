"""Shuffles of pixels and channels: transpositions of images whose channels and pixels are taken apart."""

from __future__ import annotations

from typing import Final

from et_ir.backends.native.kernels.host import Host
from et_ir.backends.native.kernels.images import image_sizes
from et_ir.backends.native.kernels.pointwise_rules import anchor_of, operator_name
from et_ir.backends.native.kernels.transpose import transpose_buffer
from et_ir.dialects.native import KernelOp

__all__ = ["SHUFFLES", "shuffle_kernel"]

SHUFFLES: Final = frozenset({"channel_shuffle", "pixel_shuffle", "pixel_unshuffle"})
"""Operators with kernels of this form."""


def shuffle_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel of one shuffle, from channels innermost to channels innermost."""
    op = anchor_of(kernel)
    batch, *spatial, channels = image_sizes(op, op.operands[0])
    match operator_name(op):
        case "channel_shuffle":
            groups = int(op.arg("groups"))
            pixels = batch
            for size in spatial:
                pixels *= size
            sizes, permutation = [pixels, groups, channels // groups], [0, 2, 1]
        case "pixel_shuffle":
            factor = int(op.arg("upscale_factor"))
            height, width = spatial
            sizes = [batch, height, width, channels // factor**2, factor, factor]
            permutation = [0, 1, 4, 2, 5, 3]
        case _:
            factor = int(op.arg("downscale_factor"))
            height, width = spatial
            sizes = [batch, height // factor, factor, width // factor, factor, channels]
            permutation = [0, 1, 3, 5, 2, 4]
    source, target = host.buffer(kernel.inputs[0]), host.buffer(kernel.outputs[0])
    transpose_buffer(host, source, target, sizes, permutation)
