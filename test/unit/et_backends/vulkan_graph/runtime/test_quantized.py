"""Quantized operators of Vulkan graphs, against their definitions."""

import numpy as np
import pytest
from support.vulkan_graphs import Build, D, argument, empty

from et_backends.vulkan_graph.runtime.backend import VulkanGraphBackend
from et_schema.errors import InvalidFile
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import Platform

RANDOM = np.random.default_rng(0)


def run(build, *inputs):
    return run_all(build, *inputs)[0]


def run_all(build, *inputs):
    platform, backend = Platform(), VulkanGraphBackend()
    context = BackendInitContext(platform, None, "forward", {}, poison=True)
    handle = backend.init(context, memoryview(build.blob()), [])
    made = empty(build)
    backend.execute(BackendExecuteContext(platform, None, "forward"), handle, [*map(argument, inputs), *made])
    return [one.array for one in made]


def normal(*sizes):
    return RANDOM.standard_normal(sizes).astype(np.float32)


def integers(*sizes, least=-127, most=127):
    return RANDOM.integers(least, most + 1, sizes).astype(np.int8)


def packed(nibbles, *, high_first=False):
    """Signed 4-bit numbers, two in each byte."""
    raised = (nibbles + 8).astype(np.uint8)
    low, high = raised[:, ::2], raised[:, 1::2]
    return low << 4 | high if high_first else high << 4 | low


def quantized(x, scale, zero):
    return (np.rint(x / np.float32(scale)) + zero).clip(-128, 127).astype(np.int8)


def restored(x, scale, zero):
    return (x.astype(np.float32) - zero) * np.float32(scale)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_linear_layers_with_weights_in_groups(dynamic, bias):
    numbers, scales, added = integers(6, 8, least=-8, most=7), abs(normal(6, 2)), normal(6)
    build = Build()
    x = build.input(3, 8)
    weights = [build.constant(packed(numbers)), build.constant(np.ascontiguousarray(scales.T))]
    last = [build.literal(4), build.constant(added) if bias else build.literal(None)]
    given = normal(3, 8)
    taken = given
    if dynamic:
        steps, zeros = abs(normal(3)) / 20 + np.float32(0.01), integers(3, least=-20, most=20)
        chosen = [build.constant(steps), build.constant(zeros.astype(np.int32))]
        sums = build.constant(np.zeros(6, np.int32))
        args = [x, *chosen, weights[0], sums, weights[1], *last]
        build.call("et_vk.linear_dq8ca_q4gsw.default", *args, build.output(3, 6))
        columns = steps[:, None], zeros[:, None].astype(np.float32)
        integral = (np.rint(given * (1 / columns[0])) + columns[1]).clip(-128, 127)
        taken = (integral - columns[1]) * columns[0]
    else:
        build.call("et_vk.linear_q4gsw.default", x, *weights, *last, build.output(3, 6))
    exact = taken @ (numbers * np.repeat(scales, 4, axis=1)).T + (added if bias else 0)
    assert np.allclose(run(build, given), exact, atol=1e-4)


@pytest.mark.parametrize("mapping", ["ASYMMETRIC", "SYMMETRIC"])
def test_scales_of_rows(mapping):
    """As torchao chooses them: the zero point of a symmetric one is constant."""
    build = Build()
    x = build.input(3, 8)
    limits = build.literal(-128), build.literal(127)
    args = [x, build.literal(mapping), build.literal([1, 8]), build.literal(None), *limits]
    args += [build.literal(None)] * 3
    results = build.output(3), build.output(3, datatype=D.INT32)
    build.call("torchao.choose_qparams_affine.default", *args, build.values(*results))
    given = normal(3, 8)
    given[0] = abs(given[0])
    scale, zero = run_all(build, given)
    low, high = np.minimum(given.min(1), 0), np.maximum(given.max(1), 0)
    if mapping == "SYMMETRIC":
        assert np.allclose(scale, np.maximum(-low, high) / 127.5)
        assert zero.tolist() == [0, 0, 0]
    else:
        assert np.allclose(scale, (high - low) / 255)
        assert zero.tolist() == (-128 - np.rint(low / scale)).tolist()
        assert zero[0] == -128


@pytest.mark.parametrize("bound", [float("inf"), float("nan")])
def test_scales_without_limits(bound):
    build = Build()
    limits = build.literal(-128.0), build.literal(bound)
    args = [
        build.input(3, 8),
        build.literal("SYMMETRIC"),
        build.literal([1, 8]),
        build.literal(None),
        *limits,
    ]
    args += [build.literal(None)] * 3
    results = build.output(3), build.output(3, datatype=D.INT32)
    build.call("torchao.choose_qparams_affine.default", *args, build.values(*results))
    with pytest.raises(InvalidFile, match=r"choose_qparams_affine.*cannot convert float"):
        run(build, normal(3, 8))


@pytest.mark.parametrize(("block", "mapping"), [([1, 4], "ASYMMETRIC"), ([1, 8], "NONE")])
def test_scales_of_what_is_unknown(block, mapping):
    build = Build()
    limits = build.literal(-128), build.literal(127)
    args = [build.input(3, 8), build.literal(mapping), build.literal(block), build.literal(None), *limits]
    args += [build.literal(None)] * 3
    results = build.output(3), build.output(3, datatype=D.INT32)
    build.call("torchao.choose_qparams_affine.default", *args, build.values(*results))
    with pytest.raises(InvalidFile, match="rows" if mapping == "ASYMMETRIC" else "mapping"):
        run(build, normal(3, 8))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("block", [[1, 6], [1, 3], [2, 2], [4, 6]])
def test_constants_in_blocks(block, zeros):
    numbers = integers(4, 6)
    counts = 4 // block[0], 6 // block[1]
    scales, offsets = abs(normal(*counts)), integers(*counts, least=-20, most=20)
    build = Build()
    none = build.literal(None)
    offset = build.constant(offsets) if zeros else none
    args = build.constant(numbers), build.literal(block), build.constant(scales), offset, none, none, none
    made = build.call("torchao.dequantize_affine.default", *args, none, build.tensor(4, 6))
    build.call("aten.add.Tensor", made, build.input(6), build.literal(1), build.output(4, 6))
    spread = np.ones(block, np.float32)
    exact = (numbers - np.kron(offsets * zeros, spread)) * np.kron(scales, spread)
    assert np.allclose(run(build, normal(6) * 0), exact)


@pytest.mark.parametrize("block", [[1, 4], [4], [0, 6]])
def test_constants_in_blocks_that_do_not_fit(block):
    build = Build()
    none, scale = build.literal(None), build.constant(normal(1))
    args = build.constant(integers(4, 6)), build.literal(block), scale, none, none, none, none
    build.call("torchao.dequantize_affine.default", *args, none, build.output(4, 6))
    with pytest.raises(InvalidFile, match="blocks of"):
        run(build)


def test_linear_layers_with_weights_of_4_bits():
    numbers, scales = integers(4, 6, least=-8, most=7), abs(normal(4))
    build = Build()
    x = build.input(2, 6)
    constants = build.constant(packed(numbers, high_first=True)), build.constant(scales)
    build.call("et_vk.linear_qcs4w.default", x, *constants, build.output(2, 4))
    given = normal(2, 6)
    assert np.allclose(run(build, given), given @ (numbers * scales[:, None]).T, rtol=1e-4, atol=1e-4)


def test_linear_layers_with_weights_of_8_bits():
    numbers, scales = integers(4, 5), abs(normal(4))
    build = Build()
    x = build.input(2, 5)
    build.call(
        "aten._weight_int8pack_mm.default",
        x,
        build.constant(numbers),
        build.constant(scales),
        build.output(2, 4),
    )
    given = normal(2, 5)
    assert np.allclose(run(build, given), given @ (numbers * scales[:, None]).T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_linear", [False, True])
def test_tables_in_groups(is_linear):
    numbers, scales = integers(5, 8, least=-8, most=7), abs(normal(5, 2))
    build = Build()
    constants = build.constant(packed(numbers, high_first=not is_linear)), build.constant(scales)
    indices = build.input(3, datatype=D.INT32)
    args = *constants, build.literal(4), indices, build.literal(is_linear)
    build.call("et_vk.embedding_q4gsw.default", *args, build.output(3, 8))
    rows = np.array([4, 0, 2], np.int32)
    assert np.allclose(run(build, rows), (numbers * np.repeat(scales, 4, axis=1))[rows])


def grid(build, scale, zero):
    return build.literal(scale), build.literal(zero)


@pytest.mark.parametrize("activation", ["none", "relu"])
def test_linear_layers_of_8_bits(activation):
    """Weights and biases may be padded."""
    numbers, scales, added = integers(8, 8), abs(normal(8)) / 50, normal(8)
    build = Build()
    x = build.input(2, 6, datatype=D.INT8)
    sums = build.constant(np.zeros(8, np.int32))
    constants = build.constant(numbers), sums, build.constant(scales)
    args = (
        x,
        *grid(build, 0.05, 3),
        *constants,
        *grid(build, 0.5, -4),
        build.constant(added),
        build.literal(activation),
    )
    build.call("et_vk.q8ta_linear.default", *args, build.output(2, 5, datatype=D.INT8))
    given = integers(2, 6)
    exact = restored(given, 0.05, 3) @ (numbers[:5, :6] * scales[:5, None]).T + added[:5]
    exact = np.maximum(exact, 0) if activation == "relu" else exact
    assert np.abs(run(build, given).astype(int) - quantized(exact, 0.5, -4)).max() <= 1


@pytest.mark.parametrize("depthwise", [False, True])
def test_convolutions_of_8_bits(depthwise):
    inner = 1 if depthwise else 4
    numbers, scales, added = integers(4, inner, 3, 3), abs(normal(4)) / 50, normal(4)
    build = Build()
    x = build.input(1, 4, 5, 5, datatype=D.INT8)
    order = numbers[:, 0].transpose(1, 2, 0) if depthwise else numbers.transpose(0, 2, 3, 1).reshape(4, -1)
    sums = build.constant(np.zeros(4, np.int32))
    constants = build.constant(np.ascontiguousarray(order)), sums, build.constant(scales)
    three, ones = build.literal([3, 3]), build.literal([1, 1])
    name = "et_vk.q8ta_conv2d_dw.default" if depthwise else "et_vk.q8ta_conv2d.default"
    build.call(
        name,
        *(x, *grid(build, 0.05, 3), *constants, *grid(build, 0.5, -4), build.constant(added)),
        *(three, ones, ones, ones, build.literal(4 if depthwise else 1), build.literal("relu")),
        build.output(1, 4, 5, 5, datatype=D.INT8),
    )
    given = integers(1, 4, 5, 5)
    image = np.pad(restored(given, 0.05, 3)[0], ((0, 0), (1, 1), (1, 1)))
    exact = np.empty((4, 5, 5), np.float32)
    for channel in range(4):
        taken = image[channel : channel + 1] if depthwise else image
        for y in range(5):
            for z in range(5):
                products = taken[:, y : y + 3, z : z + 3] * numbers[channel] * scales[channel]
                exact[channel, y, z] = products.sum() + added[channel]
    wanted = quantized(np.maximum(exact, 0), 0.5, -4)
    assert np.abs(run(build, given)[0].astype(int) - wanted).max() <= 1


@pytest.mark.parametrize("bias", [False, True])
def test_linear_layers_of_8_bits_to_floats(bias):
    numbers, scales, added = integers(8, 8), abs(normal(8)) / 50, normal(8)
    build = Build()
    x = build.input(2, 6, datatype=D.INT8)
    constants = build.constant(numbers), build.constant(np.zeros(8, np.int32)), build.constant(scales)
    last = build.constant(added) if bias else build.literal(None)
    args = x, *grid(build, 0.05, 3), *constants, last
    build.call("et_vk.linear_q8ta_q8csw.default", *args, build.output(2, 5))
    given = integers(2, 6)
    exact = restored(given, 0.05, 3) @ (numbers[:5, :6] * scales[:5, None]).T + (added[:5] if bias else 0)
    assert np.allclose(run(build, given), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions_of_8_bits(groups):
    """Rows of weights are of one output; groups share their scales, which may be padded."""
    each, inner = 4, 4 // groups
    numbers, scales = integers(groups, each, 2, 2, inner), abs(normal(each)) / 50
    added = normal(groups * each)
    build = Build()
    x = build.input(1, 4, 3, 3, datatype=D.INT8)
    order = np.ascontiguousarray(numbers.reshape(groups * each, -1))
    sums = build.constant(np.zeros(groups * each, np.int32))
    constants = build.constant(order), sums, build.constant(scales)
    two, ones, zeros = build.literal([2, 2]), build.literal([1, 1]), build.literal([0, 0])
    build.call(
        "et_vk.q8ta_conv2d_transposed.default",
        *(x, *grid(build, 0.05, 3), *constants, *grid(build, 0.5, -4), build.constant(added)),
        *(two, two, zeros, zeros, ones, build.literal(groups), build.literal("none")),
        build.output(1, groups * each, 6, 6, datatype=D.INT8),
    )
    given = integers(1, 4, 3, 3)
    image = restored(given, 0.05, 3)[0].reshape(groups, inner, 3, 3)
    exact = np.einsum("gihw,goyzi,o->gohywz", image, numbers.astype(np.float32), scales)
    exact = exact.reshape(groups * each, 6, 6) + added[:, None, None]
    assert np.abs(run(build, given)[0].astype(int) - quantized(exact, 0.5, -4)).max() <= 1


def test_channels_of_8_bits_as_pixels():
    build = Build()
    x = build.input(1, 4, 2, 2, datatype=D.INT8)
    args = x, *grid(build, 0.1, 1), *grid(build, 1 / 0.2, -2), build.literal(2)
    build.call("et_vk.q8ta_pixel_shuffle.default", *args, build.output(1, 1, 4, 4, datatype=D.INT8))
    given = integers(1, 4, 2, 2)
    exact = restored(given, 0.1, 1).reshape(2, 2, 2, 2).transpose(2, 0, 3, 1).reshape(1, 1, 4, 4)
    assert np.abs(run(build, given).astype(int) - quantized(exact, 0.2, -2)).max() <= 1


def test_sums_and_positive_parts_of_8_bits():
    build = Build()
    a, b = (build.input(7, datatype=D.INT8) for _ in range(2))
    total = build.tensor(7, datatype=D.INT8)
    grids = *grid(build, 0.1, 1), *grid(build, 0.2, -2), *grid(build, 0.3, 5)
    build.call("et_vk.q8ta_add.default", a, b, *grids, build.literal(1), total)
    args = *grid(build, 0.3, 5), *grid(build, 0.25, 0)
    build.call("et_vk.q8ta_relu.default", total, *args, build.output(7, datatype=D.INT8))
    x, y = integers(7), integers(7)
    summed = quantized(restored(x, 0.1, 1) + restored(y, 0.2, -2), 0.3, 5)
    wanted = quantized(np.maximum(restored(summed, 0.3, 5), 0), 0.25, 0)
    assert np.abs(run(build, x, y).astype(int) - wanted).max() <= 1


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("aten._weight_int8pack_mm.default", 3),
        ("et_vk.linear_q4gsw.default", 5),
        ("et_vk.linear_dq8ca_q4gsw.default", 8),
        ("et_vk.embedding_q4gsw.default", 5),
        ("et_vk.q8ta_linear.default", 10),
        ("et_vk.q8ta_conv2d.default", 15),
        ("et_vk.q8ta_conv2d_dw.default", 15),
        ("et_vk.q8ta_add.default", 9),
        ("et_vk.q8ta_relu.default", 5),
        ("et_vk.linear_qcs4w.default", 3),
        ("et_vk.linear_q8ta_q8csw.default", 6),
        ("et_vk.q8ta_conv2d_transposed.default", 16),
        ("et_vk.q8ta_pixel_shuffle.default", 6),
        ("torchao.choose_qparams_affine.default", 9),
        ("torchao.dequantize_affine.default", 7),
    ],
)
@pytest.mark.parametrize("missing", [0, 1])
def test_arguments_that_make_no_sense(name, count, missing):
    build = Build()
    x = build.input(2, 2)
    build.call(name, *[x] * (count - missing), build.output(2, 2))
    with pytest.raises(InvalidFile) as caught:
        run(build, normal(2, 2))
    assert caught.value.where.startswith("chain[0]")
