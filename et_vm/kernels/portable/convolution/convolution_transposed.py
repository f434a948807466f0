"""Transposed convolution: one product of the image with the weights, its result added up tap by tap where
the taps fall (col2im).
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from et_vm.kernels.portable.image.geometry import Window
from et_vm.kernels.portable.linalg.matmul import product
from et_vm.kernels.portable.movement.move import contiguous
from et_vm.kernels.portable.steps import call, copy, filled
from et_vm.kernels.registry import PrepareContext
from et_vm.step import Step
from et_vm.values import Array


def transposed(
    ctx: PrepareContext,
    image: Array,
    weight: Array,
    bias: Array | None,
    out: Array,
    window: Window,
    groups: int,
) -> list[Step]:
    """Calls that store the transposed convolution of `image` (N, C, space...) with `weight` (C, K /
    groups, space...) into `out`.

    Scratch, for one sample: the product (K * taps, places), the sum with its padding (K, space...), and the
    image if it is not contiguous.
    """
    samples, channels = image.shape[:2]
    filters = weight.shape[1]
    taps = math.prod(window.kernel)
    places = math.prod(window.size)
    calls, weight = contiguous(ctx, weight)
    matrix = weight.reshape(groups, channels // groups, filters * taps).swapaxes(1, 2)
    spread = ctx.scratch((groups, filters * taps, places), image.dtype)
    extents = [
        max((size - 1) * step + (count - 1) * far + 1, pad + end)
        for size, step, count, far, pad, end in zip(
            window.size,
            window.stride,
            window.kernel,
            window.dilation,
            window.padding,
            window.out,
            strict=True,
        )
    ]
    total = ctx.scratch((groups * filters, *extents), image.dtype)
    scattered = spread.reshape(groups * filters, *window.kernel, *window.size)
    inside = total[
        (slice(None), *(slice(pad, pad + end) for pad, end in zip(window.padding, window.out, strict=True)))
    ]
    column = None if bias is None else bias.reshape(-1, *(1,) * len(window.out))
    packed = None if image.flags.c_contiguous else ctx.scratch(image.shape[1:], image.dtype)
    ctx.hold(calls=samples * (taps + 4))
    for sample in range(samples):
        source = image[sample]
        if packed is not None:
            calls.append(copy(source, packed))
            source = packed
        calls += product(ctx, matrix, source.reshape(groups, channels // groups, places), spread)
        calls.append(copy(filled(image.dtype, 0), total))
        for tap in itertools.product(*(range(count) for count in window.kernel)):
            place = total[
                (
                    slice(None),
                    *(
                        slice(at * far, at * far + (size - 1) * step + 1, step)
                        for at, far, size, step in zip(
                            tap, window.dilation, window.size, window.stride, strict=True
                        )
                    ),
                )
            ]
            calls.append(call(np.add, place, scattered[(slice(None), *tap)], place))
        calls.append(
            copy(inside, out[sample]) if column is None else call(np.add, inside, column, out[sample])
        )
    return calls
