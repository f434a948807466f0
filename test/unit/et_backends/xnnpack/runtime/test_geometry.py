"""Resource limits of XNNPACK nodes from declared sizes.

A size that the graph does not declare is refused before memory is taken.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.xnnpack_graphs import Build

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_schema.errors import Error, InvalidFile
from et_vm.platform import Platform

LARGE = 40_000


def convolution(
    *, padding: tuple[int, int, int, int] = (0, 0, 0, 0), stride: int = 1, dilation: int = 1,
    out: tuple[int, ...] = (1, 2, 2, 4),
) -> Build:  # fmt: skip
    build = Build()
    x, y = build.input(1, 4, 4, 2), build.output(*out)
    weight = build.constant(np.ones((4, 3, 3, 2), np.float32))
    ids = {"input1_id": x, "filter_id": weight, "bias_id": NO_VALUE, "output_id": y}
    build.node(
        schema.XNNConv2d(*padding, 3, 3, stride, stride, dilation, dilation, 2, 4, 1, 0, 0, **ids),
        (-math.inf, math.inf),
    )
    return build


def transposed() -> Build:
    build = Build()
    x, y = build.input(1, 4, 4, 2), build.output(1, 6, 6, 4)
    weight = build.constant(np.ones((4, 3, 3, 2), np.float32))
    ids = {"input1_id": x, "filter_id": weight, "bias_id": NO_VALUE, "output_id": y}
    build.node(
        schema.XNNConvTranspose2d(0, 0, 0, 0, 3, 3, LARGE, LARGE, 1, 1, 2, 4, 1, 0, 0, **ids),
        (-math.inf, math.inf),
    )
    return build


def pool(kind: type = schema.XNNMaxPooling2d, taps: int = 2, padding: int = 0, stride: int = 1) -> Build:
    build = Build()
    x, y = build.input(1, 4, 4, 2), build.output(1, 3, 3, 2)
    build.node(
        kind(
            padding,
            padding,
            padding,
            padding,
            taps,
            taps,
            stride,
            stride,
            1,
            1,
            input_id=x,
            output_id=y,
            flags=0,
        )
    )
    return build


def pad() -> Build:
    build = Build()
    x, y = build.input(4, 4), build.output(4, 4)
    build.node(schema.XNNStaticConstantPad([LARGE, 0], [LARGE, 0], 0.0, x, y, 0))
    return build


def resize() -> Build:
    build = Build()
    x, y = build.input(1, 4, 4, 2), build.output(1, 8, 8, 2)
    build.node(schema.XNNStaticResizeBilinear2D(LARGE, LARGE, x, y, 0))
    return build


def broadcast() -> Build:
    build = Build()
    x, z = build.input(3000, 1), build.input(1, 3000)
    build.node(schema.XNNAdd(x, z, build.output(1, 3000), 0))
    return build


NOT_DECLARED = {
    "convolution": lambda: convolution(padding=(LARGE,) * 4),
    "convolution to one side": lambda: convolution(padding=(0, LARGE, 0, 0)),
    "transposed convolution": transposed,
    "pooling": lambda: pool(padding=LARGE),
    "average pooling": lambda: pool(schema.XNNAvgPooling2d, padding=LARGE),
    "pad": pad,
    "resize": resize,
    "broadcast": broadcast,
}
"""Results that are larger than their values are declared."""

UNREAD = {
    "stride": lambda: convolution(padding=(LARGE,) * 4, stride=2 * LARGE),
    "dilation": lambda: convolution(padding=(LARGE,) * 4, dilation=LARGE),
    "pooling stride": lambda: pool(padding=LARGE, stride=2 * LARGE),
    "pooling window": lambda: pool(padding=LARGE, taps=2 * LARGE),
}
"""Results as small as they are declared, of a padding that is not."""


def refused(build: Build) -> InvalidFile:
    # Taking the memory would be another error.
    with pytest.raises(InvalidFile) as caught:
        build.load(platform=Platform(memory_limit=1 << 20))
    assert caught.value.code == Error.DelegateInvalidCompatibility
    assert caught.value.where == "xnodes[0].xnode_union"
    return caught.value


@pytest.mark.parametrize("name", NOT_DECLARED)
def test_results_that_are_not_declared(name):
    assert "declared" in refused(NOT_DECLARED[name]()).message


@pytest.mark.parametrize("name", UNREAD)
def test_padding_that_is_not_read(name):
    assert "elements" in refused(UNREAD[name]()).message


def test_padding_as_networks_have_it():
    """Wide dilations over small images pad them to many times their size."""
    build = convolution(padding=(36,) * 4, dilation=36, out=(1, 4, 4, 4))
    x = np.ones((1, 4, 4, 2), np.float32)
    # Only the tap in the middle falls on the image.
    assert build.run(x).tolist() == np.full((1, 4, 4, 4), 2.0).tolist()


def test_arguments_larger_than_declared():
    """Sizes are those of an example where a program is for any size."""
    build = convolution()
    assert build.run(np.ones((1, 8, 8, 2), np.float32)).shape == (1, 6, 6, 4)
