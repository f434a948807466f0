"""Damaged graphs: each loads and runs, or a typed error says why not."""

from random import Random

import numpy as np
import pytest
from fuzz.blobs import REFUSALS
from support.vulkan_graphs import Build, argument, empty

from et_backends.vulkan_graph.runtime.backend import VulkanGraphBackend
from et_ops.library import OPERATORS
from et_schema.errors import Error, ExecutorchError
from et_vm.backend import BackendExecuteContext, BackendInitContext
from et_vm.platform import Platform

LOADED = {"ran", *REFUSALS}


def graph() -> Build:
    build = Build()
    x = build.input(1, 2, 4, 4)
    weight = build.call(
        "et_vk.prepack.default", build.constant(np.ones((3, 2, 3, 3), np.float32)), build.tensor(3, 2, 3, 3)
    )
    ones, zeros, no, one = (
        build.literal([1, 1]),
        build.literal([0, 0]),
        build.literal(False),
        build.literal(1),
    )
    y = build.call(
        "et_vk.conv_with_clamp.default",
        *(
            x,
            weight,
            build.literal(None),
            ones,
            ones,
            ones,
            no,
            zeros,
            one,
            build.literal(0.0),
            build.literal(6.0),
        ),
        build.tensor(1, 3, 4, 4, mem_obj_id=0),
    )
    z = build.call("aten.view_copy.default", y, build.literal([3, 16]), build.tensor(3, 16, mem_obj_id=1))
    sizes, dim = build.literal([4, 12]), build.literal(-1)
    parts = build.tensor(3, 4), build.tensor(3, 12)
    build.call("aten.split_with_sizes_copy.default", z, sizes, dim, build.values(*parts))
    build.call("aten._softmax.default", parts[0], dim, no, build.output(3, 4))
    rows = build.call("sym_size.int", z, build.literal(0), build.symint())
    build.call("aten.full.default", build.values(rows), one, *[build.literal(None)] * 4, build.output(3))
    return build


def attempt(damaged: bytes) -> str:
    platform, build = Platform(memory_limit=1 << 20, work_limit=10_000_000), graph()
    try:
        handle = VulkanGraphBackend().init(
            BackendInitContext(platform, None, "forward", {}), memoryview(damaged), []
        )
        args = [argument(np.ones((1, 2, 4, 4), np.float32)), *empty(build)]
        with np.errstate(all="ignore"):
            VulkanGraphBackend().execute(BackendExecuteContext(platform, None, "forward"), handle, args)
    except ExecutorchError as error:
        return error.code.name
    return "ran"


def test_the_graph_is_good():
    assert attempt(graph().blob()) == "ran"


@pytest.mark.parametrize("seed", range(8))
def test_bytes_that_are_others(seed):
    good, random = graph().blob(), Random(seed)
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(good)
        for _ in range(random.choice((1, 1, 2, 5))):
            damaged[random.randrange(len(damaged))] = random.choice(
                (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
            )
        outcomes.add(attempt(bytes(damaged)))
    assert "ran" in outcomes
    assert Error.DelegateInvalidCompatibility.name in outcomes
    assert outcomes <= LOADED


def test_graphs_that_are_cut_short():
    good = graph().blob()
    for length in range(0, len(good), 37):
        assert attempt(good[:length]) == Error.DelegateInvalidCompatibility.name


def load(build: Build, memory_limit: int = 1 << 20) -> None:
    platform = Platform(memory_limit=memory_limit)
    context = BackendInitContext(platform, None, "forward", {})
    VulkanGraphBackend().init(context, memoryview(build.blob()), [])


@pytest.mark.parametrize("name", ["linear", "_softmax", "amax", "repeat", "scatter.value", "cat", "any.dims"])
@pytest.mark.parametrize("kind", [None, 1.5, "text", [1, 2]])
def test_arguments_of_another_kind(name, kind):
    build = Build()
    args = [build.literal(kind) for _ in OPERATORS[name].schema.args]
    build.call(f"aten.{name}", *args, build.output(2))
    with pytest.raises(ExecutorchError) as caught:
        load(build)
    assert caught.value.code.name in LOADED


def grouped(weights, scales, group, columns=8):
    build = Build()
    x = build.input(3, columns)
    args = build.constant(weights), build.constant(scales), build.literal(group)
    build.call("et_vk.linear_q4gsw.default", x, *args, build.output(3, len(weights)))
    return build


@pytest.mark.parametrize("group", [1 << 20, 1 << 32, 2**63 - 1])
def test_groups_longer_than_rows(group):
    """They take no more memory than the rows, which would be 96 GiB for the second."""
    load(grouped(np.zeros((6, 4), np.uint8), np.ones((1, 6), np.float32), group))


def test_nibbles_of_floats():
    with pytest.raises(
        ExecutorchError, match=r"4-bit numbers in elements of type float32 at chain\[0\].args"
    ):
        load(grouped(np.zeros((6, 4), np.float32), np.ones((1, 6), np.float32), 8))


def test_scales_of_more_rows_than_there_are():
    """A row for each of the scales could be much more than the file has."""
    build = Build()
    weights, scales = build.constant(np.zeros((1, 8), np.int8)), build.constant(np.ones(6, np.float32))
    build.call("aten._weight_int8pack_mm.default", build.input(3, 8), weights, scales, build.output(3, 6))
    with pytest.raises(ExecutorchError, match=r"scales \[6, 1\] of numbers \[1, 8\] at chain\[0\].args"):
        load(build)


def test_restored_weights_count_as_memory():
    build = grouped(np.zeros((1024, 128), np.uint8), np.ones((1, 1024), np.float32), 256, 256)
    # 1 MB in float32, and four times as much while they are restored.
    load(build, 6 << 20)
    with pytest.raises(ExecutorchError) as caught:
        load(build, 4 << 20)
    assert caught.value.code is Error.MemoryAllocationFailed
