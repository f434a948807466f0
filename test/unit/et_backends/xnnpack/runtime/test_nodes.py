"""Each kind of node against a line of numpy, also those that the stock compiler does not make."""

import math

import numpy as np
import pytest
from support.xnnpack_graphs import Build, D, one

from et_backends.xnnpack.format import graph as schema
from et_backends.xnnpack.format.graph import XNodeUnion
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_backends.xnnpack.runtime.nodes import TRANSLATIONS
from et_schema.errors import Error, InvalidFile

RNG = np.random.default_rng(0)


def numbers(*sizes):
    return RNG.standard_normal(sizes).astype(np.float32)


def close(a, b, atol=1e-5):
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=atol)


def test_every_kind_has_a_translation():
    assert set(TRANSLATIONS) == set(XNodeUnion.__args__)


erf = np.vectorize(math.erf, otypes=[np.float32])
FUNCTIONS = {
    schema.XNNAbs: np.abs,
    schema.XNNCeiling: np.ceil,
    schema.XNNCopy: lambda x: x,
    schema.XNNCos: np.cos,
    schema.XNNExp: np.exp,
    schema.XNNFloor: np.floor,
    schema.XNNGelu: lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    schema.XNNHardswish: lambda x: x * np.clip(x + 3, 0, 6) / 6,
    schema.XNNNegate: np.negative,
    schema.XNNSigmoid: lambda x: 1 / (1 + np.exp(-x)),
    schema.XNNSin: np.sin,
    schema.XNNSoftmax: lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    schema.XNNSquare: np.square,
    schema.XNNTanh: np.tanh,
}
OF_POSITIVE = {
    schema.XNNLog: np.log,
    schema.XNNSquareRoot: np.sqrt,
    schema.XNNReciprocalSquareRoot: lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions(kind):
    x = numbers(3, 7) * 3
    close(one(kind, x), FUNCTIONS[kind](x))
    half = x.astype(np.float16)
    close(one(kind, half).astype(np.float32), FUNCTIONS[kind](half.astype(np.float32)), atol=4e-2)


@pytest.mark.parametrize("kind", OF_POSITIVE)
def test_functions_of_positive_numbers(kind):
    x = np.abs(numbers(3, 7)) + 0.1
    close(one(kind, x), OF_POSITIVE[kind](x))


def test_functions_of_many_blocks():
    x = numbers(5, 9001)
    close(one(schema.XNNSigmoid, x), 1 / (1 + np.exp(-x)))


def test_functions_with_a_number():
    x = numbers(4, 5) * 2
    close(one(schema.XNNELU, x, alpha=0.5), np.where(x > 0, x, 0.5 * np.expm1(x)))
    close(one(schema.XNNLeakyReLU, x, negative_slope=0.1), np.where(x > 0, x, 0.1 * x))
    close(one(schema.XNNLeakyReLU, x, negative_slope=2.0), np.where(x > 0, x, 2 * x))


@pytest.mark.parametrize(
    "limits", [(-1.0, 0.5), (0.0, math.inf), (-math.inf, 0.5), (-math.inf, math.inf), None]
)
def test_limits(limits):
    x = numbers(4, 5)
    expected = x if limits is None else np.clip(x, *limits)
    close(one(schema.XNNClamp, x, limits=limits), expected)
    close(one(schema.XNNNegate, -x, limits=limits), expected)
    close(one(schema.XNNCopy, x, limits=limits), expected)


def test_a_copy_with_limits_leaves_what_it_copies():
    build = Build()
    x, y, z = build.input(3), build.value(3), build.output(3)
    clamped = build.output(3)
    build.node(schema.XNNAbs(x, y))
    build.node(schema.XNNCopy(y, clamped), (0, 1))
    build.node(schema.XNNNegate(y, z))
    negated, limited = build.run(np.array([-2, 0.5, 3], np.float32))
    assert (negated.tolist(), limited.tolist()) == ([-2, -0.5, -3], [1, 0.5, 1])


BINARY = {
    schema.XNNAdd: np.add,
    schema.XNNSubtract: np.subtract,
    schema.XNNMultiply: np.multiply,
    schema.XNNDiv: np.divide,
    schema.XNNMinimum: np.minimum,
    schema.XNNMaximum: np.maximum,
    schema.XNNPReLU: lambda a, b: np.where(a > 0, a, a * b),
}


def two(kind, a, b, sizes, limits=None, **fields):
    build = Build()
    first, second, out = build.input(*a.shape), build.constant(b), build.output(*sizes)
    build.node(kind(first, second, out, **fields), limits)
    return build.run(a)


@pytest.mark.parametrize("slope", [np.inf, -np.inf, np.nan])
def test_slopes_that_change_nothing_above_0(slope):
    a = np.array([1, 200, 3e38], np.float32)
    found = two(schema.XNNPReLU, a, np.array([slope], np.float32), (3,))
    np.testing.assert_array_equal(np.reshape(found, -1), a)


@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize("shape", [(2, 3, 4), (4,), (3, 1), ()])
def test_binary(kind, shape):
    a, b = numbers(2, 3, 4), np.asarray(numbers(*shape))
    close(two(kind, a, b, (2, 3, 4)), BINARY[kind](a, b))


def test_products():
    a, b = numbers(2, 3, 4, 5), numbers(3, 5, 6)
    close(two(schema.XNNBatchMatrixMultiply, a, b, (2, 3, 4, 6)), a @ b)
    turned = np.ascontiguousarray(b.swapaxes(1, 2))
    close(two(schema.XNNBatchMatrixMultiply, a, turned, (2, 3, 4, 6), flags=1), a @ b)


@pytest.mark.parametrize("flags", [0, 1, 4])
def test_fully_connected(flags):
    x, weight, bias = numbers(2, 3, 8), numbers(5, 8), numbers(5)
    stored = weight.T.copy() if flags & 1 else weight
    build = Build()
    sizes = (6, 5) if flags & 4 else (2, 3, 5)
    ids = build.input(2, 3, 8), build.constant(stored), build.constant(bias), build.output(*sizes)
    build.node(schema.XNNFullyConnected(*ids, flags), (0.0, math.inf))
    close(build.run(x), np.maximum(x @ weight.T + bias, 0).reshape(sizes))


@pytest.mark.parametrize("masked", [False, True])
def test_attention(masked):
    q, k, v = numbers(2, 3, 5, 8), numbers(2, 3, 7, 8), numbers(2, 3, 7, 4)
    scale, mask = np.abs(numbers(8)), numbers(5, 7)
    build = Build()
    ids = [build.input(*array.shape) for array in (q, k, v)]
    added = build.constant(mask) if masked else NO_VALUE
    build.node(
        schema.XNNScaledDotProductAttention(*ids, build.constant(scale), added, build.output(2, 3, 5, 4))
    )
    scores = (q * scale) @ k.swapaxes(-1, -2) + (mask if masked else 0)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    close(build.run(q, k, v), weights / weights.sum(-1, keepdims=True) @ v)


def convolved(x, weight, bias, stride, padding, dilation, groups):
    """NHWC with weights (K, h, w, C / groups); padding top, right, bottom, left."""
    top, right, bottom, left = padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    filters, kh, kw, depth = weight.shape
    height = (x.shape[1] - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    width = (x.shape[2] - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    out = np.zeros((x.shape[0], height, width, filters), np.float64)
    each = filters // groups
    for i in range(height):
        for j in range(width):
            patch = x[:, i * stride[0] :, j * stride[1] :][:, : (kh - 1) * dilation[0] + 1 : dilation[0]]
            patch = patch[:, :, : (kw - 1) * dilation[1] + 1 : dilation[1]]
            for group in range(groups):
                part = patch[..., group * depth : (group + 1) * depth]
                kernel = weight[group * each : (group + 1) * each]
                out[:, i, j, group * each : (group + 1) * each] = np.einsum("nhwc,khwc->nk", part, kernel)
    return (out + (0 if bias is None else bias)).astype(np.float32)


CONVOLUTIONS = [
    # kernel, stride, padding, dilation, groups, inputs of a group, outputs of a group
    ((3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1, 3, 4),
    ((1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1, 3, 70),
    ((1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 1, 3, 4),
    ((3, 2), (2, 1), (0, 1, 2, 0), (1, 2), 1, 3, 4),
    ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 2, 2, 3),
]
DEPTHWISE = [
    ((3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 5),
    ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 5),
    ((5, 3), (1, 2), (0, 2, 1, 0), (2, 1), 300),
    ((3, 3), (1, 1), (4, 0, 0, 5), (1, 1), 4),
    ((3, 3), (3, 3), (2, 2, 2, 2), (2, 2), 4),
    ((2, 2), (1, 1), (0, 0, 0, 0), (1, 1), 1),
]


def conv_node(
    kind, ids, kernel, stride, padding, dilation, groups, inputs, outputs, adjustment=(0, 0), flags=0
):
    return kind(*padding, *kernel, *stride, *dilation, inputs, outputs, groups, *adjustment, *ids, flags)


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("biased", [False, True])
def test_convolutions(case, biased):
    kernel, stride, padding, dilation, groups, inputs, outputs = case
    x, weight = numbers(2, 9, 8, groups * inputs), numbers(groups * outputs, *kernel, inputs)
    bias = numbers(groups * outputs) if biased else None
    expected = np.clip(convolved(x, weight, bias, stride, padding, dilation, groups), -1, 1)
    build = Build()
    added = build.constant(bias) if biased else NO_VALUE
    ids = (build.input(*x.shape), build.constant(weight), added, build.output(*expected.shape))
    build.node(conv_node(schema.XNNConv2d, ids, *case), (-1, 1))
    close(build.run(x), expected)


@pytest.mark.parametrize("case", DEPTHWISE)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_depthwise(case, biased, dtype):
    kernel, stride, padding, dilation, channels = case
    x, weight = numbers(2, 13, 14, channels).astype(dtype), numbers(1, *kernel, channels).astype(dtype)
    bias = numbers(channels).astype(dtype) if biased else None
    expected = convolved(x, weight.transpose(3, 1, 2, 0), bias, stride, padding, dilation, channels)
    build = Build()
    kind = D.fp32 if dtype == np.float32 else D.fp16
    added = build.constant(bias) if biased else NO_VALUE
    ids = (build.input(*x.shape, datatype=kind), build.constant(weight), added,
           build.output(*expected.shape, datatype=kind))  # fmt: skip
    build.node(conv_node(schema.XNNDepthwiseConv2d, ids, *case, 1, 1), (-1, 1))
    close(
        build.run(x, outputs=[dtype]).astype(np.float32),
        np.clip(expected, -1, 1),
        1e-5 if kind == D.fp32 else 2e-2,
    )


def test_depthwise_with_several_outputs():
    x, weight = numbers(1, 6, 6, 3), numbers(1, 3, 3, 6)
    expected = convolved(x, weight.transpose(3, 1, 2, 0), None, (1, 1), (0,) * 4, (1, 1), 3)
    build = Build()
    ids = (build.input(*x.shape), build.constant(weight), NO_VALUE, build.output(*expected.shape))
    build.node(conv_node(schema.XNNDepthwiseConv2d, ids, (3, 3), (1, 1), (0,) * 4, (1, 1), 3, 1, 2))
    close(build.run(x), expected)


def test_same_padding():
    x, weight = numbers(1, 8, 7, 2), numbers(4, 3, 3, 2)
    expected = convolved(x, weight, None, (2, 2), (0, 1, 1, 1), (1, 1), 1)
    assert expected.shape == (1, 4, 4, 4)
    build = Build()
    ids = (build.input(*x.shape), build.constant(weight), NO_VALUE, build.output(1, 4, 4, 4))
    build.node(conv_node(schema.XNNConv2d, ids, (3, 3), (2, 2), (0,) * 4, (1, 1), 1, 2, 4, flags=4))
    close(build.run(x), expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed(groups):
    x, weight, bias = numbers(2, 4, 5, groups * 2), numbers(groups * 3, 3, 2, 2), numbers(groups * 3)
    full = np.zeros((2, 3 * 2 + 3, 4 * 2 + 2, groups * 3))
    for i in range(4):
        for j in range(5):
            for group in range(groups):
                part = x[:, i, j, group * 2 : group * 2 + 2]
                spread = np.einsum("nc,khwc->nhwk", part, weight[group * 3 : group * 3 + 3])
                full[:, i * 2 : i * 2 + 3, j * 2 : j * 2 + 2, group * 3 : group * 3 + 3] += spread
    full = np.pad(full, ((0, 0), (0, 1), (0, 0), (0, 0)))
    expected = (full[:, 1:-1, 0:] + bias).astype(np.float32)
    build = Build()
    ids = (build.input(*x.shape), build.constant(weight), build.constant(bias), build.output(*expected.shape))
    node = conv_node(
        schema.XNNConvTranspose2d, ids, (3, 2), (2, 2), (1, 0, 1, 0), (1, 1), groups, 2, 3, adjustment=(1, 0)
    )
    build.node(node)
    close(build.run(x), expected)


def pooled(x, kernel, stride, padding, dilation, function, fill):
    top, right, bottom, left = padding
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, (1, 2))[:, :: stride[0], :: stride[1]]
    return function(windows[..., :: dilation[0], :: dilation[1]], (-2, -1)).astype(np.float32)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [
        ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
        ((2, 3), (1, 2), (0, 1, 1, 0), (2, 1)),
        ((1, 1), (2, 2), (0,) * 4, (1, 1)),
    ],
)
def test_pooling(kernel, stride, padding, dilation):
    x = numbers(2, 7, 8, 3)
    most = pooled(x, kernel, stride, padding, dilation, np.max, -np.inf)
    fields = (*padding, *kernel, *stride, *dilation)
    build = Build()
    build.node(schema.XNNMaxPooling2d(*fields, build.input(*x.shape), build.output(*most.shape)))
    close(build.run(x), most)
    mean = pooled(x, kernel, stride, padding, (1, 1), np.nanmean, np.nan)
    build = Build()
    build.node(schema.XNNAvgPooling2d(*fields, build.input(*x.shape), build.output(*mean.shape)))
    close(build.run(x), mean)


def test_mean_of_channels():
    x = numbers(2, 5, 4, 3)
    close(one(schema.XNNGlobalAvgPooling2d, x, sizes=(2, 1, 1, 3)), x.mean((1, 2), keepdims=True))
    half = x.astype(np.float16)
    close(
        one(schema.XNNGlobalAvgPooling2d, half, sizes=(2, 1, 1, 3)).astype(np.float32),
        half.astype(np.float32).mean((1, 2), keepdims=True),
        1e-3,
    )


def test_places_of_the_greatest():
    x = numbers(2, 4, 6, 3)
    build = Build()
    ids = build.input(*x.shape), build.output(2, 2, 2, 3), build.output(2, 2, 2, 3, datatype=D.int32)
    build.node(schema.XNNArgMaxPooling2d(0, 0, 0, 0, 2, 3, *ids))
    values, places = build.run(x, outputs=[np.float32, np.int64])
    windows = x.reshape(2, 2, 2, 2, 3, 3).transpose(0, 1, 3, 5, 2, 4).reshape(2, 2, 2, 3, 6)
    close(values, windows.max(-1))
    assert (places == windows.argmax(-1)).all()


def test_moves():
    x = numbers(2, 3, 4)
    close(
        one(schema.XNNStaticTranspose, x, sizes=(4, 2, 3), num_dims=3, perm=[2, 0, 1]), x.transpose(2, 0, 1)
    )
    flat = x.reshape(1, 6, 4)
    close(
        one(schema.XNNStaticTranspose, flat, sizes=(6, 1, 4), num_dims=3, perm=[1, 0, 2]),
        flat.transpose(1, 0, 2),
    )
    close(one(schema.XNNStaticReshape, x, sizes=(6, 4), num_dims=2, new_shape=[6, 4]), x.reshape(6, 4))
    close(one(schema.XNNStaticReshape, x, sizes=(6, 4), num_dims=2, new_shape=[0, 4]), x.reshape(6, 4))
    build = Build()
    build.node(schema.XNNStaticSlice(3, [0, 1, 2], [2, 0, 1], build.input(2, 3, 4), build.output(2, 2, 1)))
    close(build.run(x), x[:, 1:, 2:3])
    around = {"pre_paddings": [1, 0, 0], "post_paddings": [0, 2, 0], "padding_value": 2.5}
    padded = one(schema.XNNStaticConstantPad, x, sizes=(3, 5, 4), **around)
    close(padded, np.pad(x, ((1, 0), (0, 2), (0, 0)), constant_values=2.5))


@pytest.mark.parametrize("axis", [1, 2**32 - 2])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_concatenate(axis, count):
    kind = getattr(schema, f"XNNConcatenate{count}")
    parts = [numbers(2, size + 1, 3) for size in range(count)]
    build = Build()
    ids = [build.input(*part.shape) for part in parts]
    whole = np.concatenate(parts, 1)
    names = {f"input{number}_id": used for number, used in enumerate(ids, 1)}
    build.node(kind(axis=axis, **names, output_id=build.output(*whole.shape)))
    close(build.run(*parts), whole)


def test_resize():
    x = numbers(1, 2, 2, 1)
    twice = one(schema.XNNStaticResizeBilinear2D, x, sizes=(1, 3, 3, 1), new_height=3, new_width=3, flags=8)
    close(twice[0, 1, 1], x.mean((1, 2))[0])
    close(twice[0, ::2, ::2], x[0])


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (lambda x, y: schema.XNNStaticTranspose(3, [0, 1, 1], x, y), "argument 'perm'"),
        (lambda x, y: schema.XNNStaticTranspose(2, [0, 1], x, y), "argument 'perm'"),
        (lambda x, y: schema.XNNStaticReshape(2, [5, 5], x, y), "argument 'new_shape'"),
        (lambda x, y: schema.XNNStaticReshape(2, [0, 2**31], x, y), "argument 'new_shape'"),
        (lambda x, y: schema.XNNStaticSlice(3, [0, 0, 9], [1, 1, 1], x, y), "argument 'sizes'"),
        (lambda x, y: schema.XNNStaticSlice(1, [0], [1], x, y), "argument 'offsets'"),
        (lambda x, y: schema.XNNStaticConstantPad([1], [1], 0.0, x, y), "argument 'pre_paddings'"),
        (lambda x, y: schema.XNNStaticResizeBilinear2D(2, 2, x, y), "argument 'input'"),
        (lambda x, y: schema.XNNConcatenate2(7, x, x, output_id=y), "argument 'axis'"),
        (lambda x, y: schema.XNNBatchMatrixMultiply(x, x, y), "argument 'input2'"),
        (lambda x, y: schema.XNNFullyConnected(x, x, NO_VALUE, y), "argument 'filter'"),
        (lambda x, y: schema.XNNMaxPooling2d(0, 0, 0, 0, 1, 1, 1, 1, 1, 1, x, y), "argument 'input'"),
        (
            lambda x, y: schema.XNNConv2d(input1_id=x, filter_id=x, bias_id=NO_VALUE, output_id=y),
            "argument 'filter'",
        ),
        (lambda x, y: schema.XNNScaledDotProductAttention(x, x, x, x, NO_VALUE, y), "argument 'query'"),
        (lambda x, y: schema.XNNGlobalAvgPooling2d(x, y), None),
    ],
)
def test_nodes_that_do_not_take_their_operands(node, message):
    build = Build()
    build.node(node(build.input(2, 3, 4), build.output(2, 3, 4)))
    if message is None:
        assert build.load().memory_report()["values"] > 0
        return
    with pytest.raises(InvalidFile, match=rf"{message}.* at xnodes\[0\]\.xnode_union") as caught:
        build.load()
    assert caught.value.code == Error.DelegateInvalidCompatibility


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((0, 0, 0, 0, 0, 3, 1, 1, 1, 1), "argument 'window'"),
        ((0, 0, 0, 0, 3, 3, 0, 1, 1, 1), "argument 'window'"),
        ((0, 0, 0, 0, 3, 3, 1, 1, 2**32 - 1, 1), "argument 'window'"),
        ((0, 0, 0, 0, 9, 9, 1, 1, 1, 1), "an image that the window fits in"),
    ],
)
def test_windows_that_make_no_sense(fields, message):
    build = Build()
    build.node(schema.XNNMaxPooling2d(*fields, build.input(1, 5, 5, 2), build.output(1, 3, 3, 2)))
    with pytest.raises(InvalidFile, match=message):
        build.load()
