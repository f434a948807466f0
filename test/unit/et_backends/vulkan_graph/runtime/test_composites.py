"""Fused operators of Vulkan graphs, against their definitions."""

import math
import sys

import numpy as np
import pytest
from support.vulkan_graphs import Build, D, argument, empty

from et_backends.vulkan_graph.runtime.backend import VulkanGraphBackend
from et_schema.errors import InvalidFile
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import Platform


def run(build, *inputs, dynamic=False):
    platform, backend = Platform(), VulkanGraphBackend()
    context = BackendInitContext(platform, None, "forward", {}, poison=True)
    handle = backend.init(context, memoryview(build.blob()), [])
    made = empty(build)
    for one in made:
        one.dynamism = int(dynamic)
    backend.execute(BackendExecuteContext(platform, None, "forward"), handle, [*map(argument, inputs), *made])
    return [one.array for one in made]


def normal(*sizes, seed=0):
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("least", "most"),
    [(-0.5, 0.75), (0, sys.float_info.max), (-sys.float_info.max, sys.float_info.max), (None, 0.75)],
)
def test_a_bounded_convolution(least, most):
    build = Build()
    x = build.input(1, 2, 4, 4)
    weight, bias = build.constant(normal(3, 2, 1, 1)), build.constant(normal(3, seed=1))
    ones, zeros = build.literal([1, 1]), build.literal([0, 0])
    no, one, low, high = build.literal(False), build.literal(1), build.literal(least), build.literal(most)
    build.call(
        "et_vk.conv_with_clamp.default",
        *(x, weight, bias, ones, zeros, ones, no, zeros, one, low, high),
        build.output(1, 3, 4, 4),
    )
    given = normal(1, 2, 4, 4, seed=2)
    (made,) = run(build, given)
    exact = np.einsum("oc,bchw->bohw", normal(3, 2), given) + normal(3, seed=1)[:, None, None]
    assert np.allclose(made, exact.astype(np.float64).clip(least, most), atol=1e-6)


def test_a_pool_without_places():
    build = Build()
    two, zeros, ones = build.literal([2, 2]), build.literal([0, 0]), build.literal([1, 1])
    x = build.input(1, 1, 4, 4)
    build.call(
        "aten.max_pool2d.default", x, two, two, zeros, ones, build.literal(False), build.output(1, 1, 2, 2)
    )
    (made,) = run(build, np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    assert made.reshape(-1).tolist() == [5, 7, 13, 15]


@pytest.mark.parametrize("datatype", [D.FLOAT32, D.FLOAT16])
def test_root_mean_square_norm(datatype):
    build = Build()
    half = {"datatype": datatype, "staging_datatype": D.FLOAT32}
    weight = build.constant(normal(6))
    build.call(
        "et_vk.rms_norm.default",
        build.input(2, 6, **half),
        weight,
        build.literal(1e-5),
        build.output(2, 6, **half),
    )
    given = normal(2, 6, seed=1)
    (made,) = run(build, given)
    exact = given / np.sqrt((given**2).mean(-1, keepdims=True) + 1e-5) * normal(6)
    assert np.allclose(made.astype(np.float32), exact, atol=1e-6 if datatype == D.FLOAT32 else 5e-3)


@pytest.mark.parametrize("batch", [(2,), (2, 3)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("scale", [None, 0.25])
def test_attention(batch, masked, scale):
    build = Build()
    sizes = [(*batch, 4, 8), (*batch, 5, 8), (*batch, 5, 6)]
    q, k, v = (build.input(*one) for one in sizes)
    mask = build.constant(normal(4, 5, seed=9)) if masked else build.literal(None)
    build.call("et_vk.sdpa.default", q, k, v, mask, build.literal(scale), build.output(*batch, 4, 6))
    x, y, z = (normal(*one, seed=seed) for seed, one in enumerate(sizes))
    (made,) = run(build, x, y, z)
    scores = x @ y.swapaxes(-1, -2) * (scale or 1 / math.sqrt(8)) + (normal(4, 5, seed=9) if masked else 0)
    assert np.allclose(made, softmax(scores) @ z, atol=1e-6)


def test_attention_of_fewer_queries():
    """Sizes are upper bounds."""
    build = Build()
    q, k, v = (build.input(1, 2, 8, 4) for _ in range(3))
    none = build.literal(None)
    build.call("et_vk.sdpa.default", q, k, v, none, none, build.output(1, 2, 8, 4))
    x, y, z = (normal(1, 2, 3, 4, seed=seed) for seed in range(3))
    (made,) = run(build, x, y, z, dynamic=True)
    del made
    platform, backend = Platform(), VulkanGraphBackend()
    handle = backend.init(BackendInitContext(platform, None, "f", {}), memoryview(build.blob()), [])
    outputs = empty(build)
    outputs[0].dynamism = 1
    backend.execute(BackendExecuteContext(platform, None, "f"), handle, [*map(argument, (x, y, z)), *outputs])
    assert np.allclose(outputs[0].array, softmax(x @ y.swapaxes(-1, -2) / 2) @ z, atol=1e-6)


def test_attention_of_no_elements():
    build = Build()
    q, k, v = (build.input(1, 2, 3, 0) for _ in range(3))
    none = build.literal(None)
    build.call("et_vk.sdpa.default", q, k, v, none, none, build.output(1, 2, 3, 0))
    with pytest.raises(InvalidFile, match=r"sdpa.*division by zero"):
        run(build, *[normal(1, 2, 3, 0)] * 3)


def test_rotations_of_pairs():
    build = Build()
    q, k = build.input(1, 3, 2, 4), build.input(1, 3, 1, 4)
    cos, sin = build.constant(normal(3, 2)), build.constant(normal(3, 2, seed=1))
    results = build.output(1, 3, 2, 4), build.output(1, 3, 1, 4)
    build.call("et_vk.apply_rotary_emb.default", q, k, cos, sin, build.values(*results))
    given = normal(1, 3, 2, 4, seed=2), normal(1, 3, 1, 4, seed=3)
    turn = (normal(3, 2) + 1j * normal(3, 2, seed=1))[:, None]
    for made, x in zip(run(build, *given), given, strict=True):
        exact = (x[..., ::2] + 1j * x[..., 1::2]) * turn
        assert np.allclose(made[..., ::2], exact.real, atol=1e-6)
        assert np.allclose(made[..., 1::2], exact.imag, atol=1e-6)


@pytest.mark.parametrize("rotated", [4, 6])
def test_rotations_of_halves(rotated):
    """Elements beyond the columns of the tables stay as they are; rows of the tables are taken from a position on."""
    build = Build()
    q, k = build.input(1, 3, 2, 6), build.input(1, 3, 1, 6)
    angles = normal(5, rotated), normal(5, rotated, seed=1)
    results = build.output(1, 3, 2, 6), build.output(1, 3, 1, 6)
    args = q, k, *map(build.constant, angles), build.literal(2)
    build.call("et_vk.apply_rotary_emb_hf.default", *args, build.values(*results))
    given = normal(1, 3, 2, 6, seed=2), normal(1, 3, 1, 6, seed=3)
    cos, sin = (angle[2:5, None] for angle in angles)
    for made, x in zip(run(build, *given), given, strict=True):
        low, high = x[..., : rotated // 2], x[..., rotated // 2 : rotated]
        turned = x[..., :rotated] * cos + np.concatenate([-high, low], -1) * sin
        assert np.allclose(made, np.concatenate([turned, x[..., rotated:]], -1), atol=1e-6)


def test_an_element_as_a_number():
    build = Build()
    at = build.input(2, datatype=D.INT32)
    start = build.call(
        "et_vk.select_as_symint.default", at, build.literal(0), build.literal(1), build.symint()
    )
    x = build.input(4)
    none, zero, one = build.literal(None), build.literal(0), build.literal(1)
    build.call("aten.slice_copy.Tensor", x, zero, start, none, one, last := build.tensor(4))
    axes = build.literal([0])
    build.call("aten.sum.dim_IntList", last, axes, build.literal(False), none, build.output())
    (made,) = run(build, np.array([0, 2], np.int32), np.arange(4, dtype=np.float32))
    assert made == 5


def test_a_variable_that_is_packed_is_copied():
    build = Build()
    build.call("et_vk.prepack.default", build.input(2), build.output(2))
    assert run(build, np.array([1, 2], np.float32))[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("et_vk.conv_with_clamp.default", 11),
        ("aten.max_pool2d.default", 6),
        ("et_vk.rms_norm.default", 3),
        ("et_vk.sdpa.default", 3),
        ("et_vk.apply_rotary_emb.default", 4),
        ("et_vk.apply_rotary_emb_hf.default", 5),
        ("et_vk.select_as_symint.default", 3),
    ],
)
@pytest.mark.parametrize("missing", [0, 1])
def test_arguments_that_make_no_sense(name, count, missing):
    build = Build()
    word = build.literal("x")
    build.call(name, *[word] * (count - missing), build.output(2, 2))
    with pytest.raises(InvalidFile) as caught:
        run(build)
    assert caught.value.where.startswith("chain[0]")
