"""Shuffles of pixels and channels, from channels innermost to channels innermost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Final, TypeAlias

from xdsl.ir import SSAValue

from et_backends.codegen.dialect import KernelOp
from et_backends.codegen.kernels.host import Host, Operand
from et_backends.codegen.kernels.images import image_sizes
from et_backends.codegen.kernels.pointwise_rules import anchor_of, operator_name
from et_backends.codegen.loop_builder import Index, LoopBuilder

__all__ = ["SHUFFLES", "shuffle_kernel"]

SHUFFLES: Final = frozenset({"channel_shuffle", "pixel_shuffle", "pixel_unshuffle"})
"""Operators with kernels of this form."""

MOST_UNROLLED: Final = 64
"""Elements up to which they are moved one after the other without a loop."""

SHORT: Final = 8
"""The size up to which a dimension is visited inside of longer ones."""

_Visit: TypeAlias = Callable[[Sequence[Index]], None]


def shuffle_kernel(host: Host, kernel: KernelOp) -> None:
    """Lower a kernel of one shuffle."""
    op = anchor_of(kernel)
    batch, *spatial, channels = image_sizes(op, op.operands[0])
    match operator_name(op):
        case "channel_shuffle":
            groups = int(op.arg("groups"))
            rows, pixels = batch * prod(spatial[:1]), prod(spatial[1:])
            sizes, permutation = [rows, pixels, groups, channels // groups], [0, 1, 3, 2]
        case "pixel_shuffle":
            factor = int(op.arg("upscale_factor"))
            height, width = spatial
            sizes = [batch * height, width, channels // factor**2, factor, factor]
            permutation = [0, 3, 1, 4, 2]
        case _:
            factor = int(op.arg("downscale_factor"))
            height, width = spatial
            sizes = [batch * height // factor, factor, width // factor, factor, channels]
            permutation = [0, 2, 4, 1, 3]
    source, target = host.buffer(kernel.inputs[0]), host.buffer(kernel.outputs[0])
    made = [sizes[dim] for dim in permutation]
    operands = [Operand(source, sizes, range(1, len(sizes))), Operand(target, made, range(1, len(made)))]

    def build(b: LoopBuilder, buffers: Sequence[SSAValue]) -> None:
        x, y = buffers

        def move(at: Sequence[Index]) -> None:
            b.set_element(b.element(x, at), y, [at[dim] for dim in permutation])

        with b.parallel(b.dim(x, 0)) as row:
            _visit(b, sizes, {0: row}, move)

    host.call("shuffle", operands, build)


def _visit(b: LoopBuilder, sizes: Sequence[int], at: dict[int, Index], visit: _Visit) -> None:
    """Visit all places of the dimensions that are not in `at`, the innermost and short ones without loops."""
    left = [dim for dim in range(len(sizes)) if dim not in at]
    if prod(sizes[dim] for dim in left) > MOST_UNROLLED:
        dim = next((dim for dim in left if sizes[dim] > SHORT), left[0])
        with b.for_(0, sizes[dim]) as loop:
            _visit(b, sizes, {**at, dim: loop.index}, visit)
        return
    for places in product(*(range(sizes[dim]) for dim in left)):
        found = {**at, **dict(zip(left, places, strict=True))}
        visit([found[dim] for dim in range(len(sizes))])
