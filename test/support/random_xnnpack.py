"""Random graphs for XNNPACK whose values have any sizes: images that padding has grown from small inputs."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any, Final

import numpy as np

from et_backends.xnnpack.format import graph as x
from et_backends.xnnpack.format.graph import PerChannelQuant
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime.nodes.windows import Axis
from support.xnnpack_graphs import Build, D

__all__ = ["random_xnnpack"]

_Value = tuple[int, tuple[int, ...]]
"""The id and the sizes of a value."""
_LARGE: Final = (1, 1, 1 << 10, 1 << 30)
"""What intermediate values are declared with, so that nothing but limits bounds them."""
_UNARY: Final = (x.XNNSigmoid, x.XNNHardswish, x.XNNAbs, x.XNNExp, x.XNNTanh, x.XNNGelu, x.XNNSquare)


def random_xnnpack(random: Random, *, nodes: int, elements: int) -> bytes:
    """A graph of so many nodes, whose values have up to so many elements. It has one input, and gives one element."""
    build: Any = Build()
    first = (1, random.randint(1, 4), random.randint(1, 4), random.randint(1, 4))
    made: list[_Value] = [(build.input(*first), first)]
    for _ in range(nodes):
        for _ in range(50):
            before = len(build.graph.xnodes)
            value = _random_node(build, random, made)
            if value is not None and 0 < prod(value[1]) <= elements:
                made.append(value)
                break
            del build.graph.xnodes[before:]
    last, sizes = made[-1]
    out = build.output(1, 1, 1, 1)
    build.node(x.XNNStaticSlice(4, [0] * 4, [1] * 4, last, out))
    del sizes
    return build.blob()


def _new(build: Any, random: Random) -> int:
    return build.value(*_LARGE, datatype=random.choice((D.fp32, D.fp32, D.fp16)))


def _filter(build: Any, random: Random, shape: tuple[int, ...], *, quantized: bool) -> int:
    """A constant, or what padding makes of one."""
    if prod(shape) <= 4096 and random.random() < 0.7:
        if quantized and random.random() < 0.5:
            scales = PerChannelQuant([0.5] * shape[0], 0)
            return build.constant(np.ones(shape, np.int8), D.qcint8, scales)
        return build.constant(np.ones(shape, np.float32))
    one = build.constant(np.ones([1] * len(shape), np.float32))
    made = build.value(*shape)
    build.node(x.XNNStaticConstantPad([0] * len(shape), [size - 1 for size in shape], 0.5, one, made))
    return made


def _axes(random: Random, sizes: tuple[int, ...]) -> tuple[Axis, Axis]:
    def axis(size: int) -> Axis:
        taps = random.choice((1, 2, 3, random.randint(1, 2 * size)))
        dilation = random.choice((1, 1, random.randint(1, 9)))
        before, after = (random.choice((0, 0, random.randint(0, 2 * size))) for _ in range(2))
        return Axis(size, taps, random.randint(1, 4), dilation, before, after)

    return axis(sizes[1]), axis(sizes[2])


def _random_node(build: Any, random: Random, made: list[_Value]) -> _Value | None:
    source, sizes = random.choice(made)
    channels = sizes[3]
    kind = random.randrange(13)
    if kind in (0, 1):
        before, after = ([random.choice((0, random.randint(0, 40))) for _ in sizes] for _ in range(2))
        out = _new(build, random)
        build.node(x.XNNStaticConstantPad(before, after, 0.5, source, out))
        return out, tuple(a + size + b for a, size, b in zip(before, sizes, after, strict=True))
    if kind == 2:
        out = _new(build, random)
        build.node(random.choice(_UNARY)(source, out))
        return out, sizes
    if kind == 3:
        other = _filter(build, random, (1, 1, 1, channels), quantized=False)
        out = _new(build, random)
        build.node(random.choice((x.XNNAdd, x.XNNMultiply, x.XNNMaximum))(source, other, out))
        return out, sizes
    if kind == 4:
        out, perm = _new(build, random), random.sample(range(4), 4)
        build.node(x.XNNStaticTranspose(4, perm, source, out))
        return out, tuple(sizes[dim] for dim in perm)
    if kind == 5:
        out, axis = _new(build, random), random.randrange(4)
        build.node(x.XNNConcatenate2(axis, input1_id=source, input2_id=source, output_id=out))
        return out, tuple(2 * size if dim == axis else size for dim, size in enumerate(sizes))
    if kind == 6:
        out = _new(build, random)
        build.node(x.XNNSoftmax(source, out))
        return out, sizes
    if kind == 7:
        height, width = random.randint(1, 200), random.randint(1, 200)
        out = _new(build, random)
        build.node(x.XNNStaticResizeBilinear2D(height, width, source, out, random.choice((0, 8))))
        return out, (sizes[0], height, width, channels)
    if kind == 8:
        rows = random.randint(1, 64)
        weight = _filter(build, random, (rows, channels), quantized=True)
        out = _new(build, random)
        build.node(x.XNNFullyConnected(source, weight, NO_VALUE, out))
        return out, (*sizes[:3], rows)
    axes = height, width = _axes(random, sizes)
    if kind in (9, 10):
        out = _new(build, random)
        pads = height.before, width.after, height.after, width.before
        node = x.XNNMaxPooling2d if kind == 9 else x.XNNAvgPooling2d
        build.node(node(*pads, height.taps, width.taps, height.stride, width.stride,
                        height.dilation, width.dilation, source, out))  # fmt: skip
        if kind == 10:
            axes = height, width = height._replace(dilation=1), width._replace(dilation=1)
        return _image(out, sizes, axes, channels)
    depthwise = kind == 11
    outputs = random.randint(1, 16)
    groups, inner, outer = (channels, 1, 1) if depthwise else (1, channels, outputs)
    shape = (
        (1, height.taps, width.taps, channels) if depthwise else (outputs, height.taps, width.taps, channels)
    )
    if prod(shape) > 1 << 16:
        return None
    weight = _filter(build, random, shape, quantized=not depthwise)
    out = _new(build, random)
    ids = {"input1_id": source, "filter_id": weight, "bias_id": NO_VALUE, "output_id": out}
    pads = height.before, width.after, height.after, width.before
    node = x.XNNDepthwiseConv2d if depthwise else x.XNNConv2d
    build.node(node(*pads, height.taps, width.taps, height.stride, width.stride, height.dilation, width.dilation,
                    inner, outer, groups, 0, 0, **ids))  # fmt: skip
    return _image(out, sizes, axes, channels if depthwise else outputs)


def _image(out: int, sizes: tuple[int, ...], axes: tuple[Axis, Axis], channels: int) -> _Value | None:
    rows, columns = (axis.out for axis in axes)
    return (out, (sizes[0], rows, columns, channels)) if min(rows, columns) > 0 else None
