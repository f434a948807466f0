"""The backend that writes graphs for ExecuTorch's Vulkan runtime: ops, results, storage."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.programs import Calls, operators, run
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # pyright: ignore[reportUnusedImport]  (registers)

from et_backends.vulkan_graph.compiler import VulkanGraphPartitioner
from et_backends.vulkan_graph.compiler.storage import BUFFER, CHANNELS, HEIGHT, WIDTH
from et_backends.vulkan_graph.format.blob import read_vkgraph
from et_backends.vulkan_graph.format.tables import (
    Double,
    ValueList,
    VkDataType,
    VkGraph,
    VkStorageType,
    VkTensor,
)
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_ir.delegation.errors import BackendError
from et_schema.names import KEY as NAMES
from et_schema.pte import read_pte
from et_vm.runtime import Runtime

CONFIG = ExecutorchBackendConfig(target="et-vm")


class Net(nn.Module):
    """Layers of most families."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.layer_norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.hardswish(self.norm(self.stem(x)))
        y = nn.functional.max_pool2d(self.depthwise(y) + y * 0.5, 2)
        y = torch.cat(nn.functional.gelu(self.up(y)).mean((2, 3), keepdim=True).split([1, 3], 1), 1)
        rows = self.layer_norm(y.reshape(-1, 4).repeat(1, 4))
        return torch.softmax(self.head(rows), -1)


def file_of(module: nn.Module, *inputs: Any, dynamic_shapes: Any = None, **options: Any) -> bytes:
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic_shapes)
    made = to_edge_transform_and_lower(program, partitioner=VulkanGraphPartitioner(**options))
    return made.to_executorch(CONFIG).buffer


def graph_of(file: bytes) -> VkGraph:
    pte = read_pte(file)
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.id == "VulkanBackend"
    assert delegate.processed is not None
    return read_vkgraph(pte.delegate_data(delegate.processed)).graph


def test_a_network() -> None:
    torch.manual_seed(0)
    net, x = Net(), torch.randn(1, 3, 16, 16)
    file = file_of(net, x)
    assert operators(file) == ["VulkanBackend"]
    torch.testing.assert_close(run(file, x)[0], net(x), rtol=1e-4, atol=1e-5)
    assert file_of(net, x) == file


def test_halves() -> None:
    """Floats have 16 bits on the device, and 32 outside; integers stay as they are."""
    torch.manual_seed(0)
    net, x = Net(), torch.randn(1, 3, 16, 16)
    file = file_of(net, x, storage="f16")
    torch.testing.assert_close(run(file, x)[0], net(x), rtol=0.02, atol=0.02)
    graph = graph_of(file)
    arguments = {*graph.input_ids, *graph.output_ids}
    for at, value in enumerate(graph.values):
        if isinstance(value.value, VkTensor):
            assert value.value.datatype in (VkDataType.FLOAT16, VkDataType.INT32)
            assert at not in arguments or value.value.staging_datatype is VkDataType.FLOAT32
    assert sum(one.length for one in graph.constants) * 2 == sum(
        one.length for one in graph_of(file_of(net, x)).constants
    )
    with pytest.raises(BackendError, match="unknown storage 'f64': expected f32 or f16"):
        make_partitioner("vulkan-graph:storage=f64")


def test_constants_beyond_halves() -> None:
    """They become the largest half, as ExecuTorch's compiler has it for masks of attention."""
    mask = torch.tensor([1e6, -torch.inf, 2.0])
    made = run(file_of(Calls(lambda x: x + mask), torch.zeros(3), storage="f16"), torch.zeros(3))
    assert np.asarray(made[0]).tolist() == [65504.0, -65504.0, 2.0]


def test_storage() -> None:
    """Convolutions have textures that pack channels, products rows; what is between is converted once."""
    torch.manual_seed(0)
    graph = graph_of(file_of(Net(), torch.randn(1, 3, 16, 16)))
    names = Counter(call.name for call in graph.chain)
    assert names["aten.convolution.default"] == 3
    assert names["aten.clone.default"] <= 4
    for call in graph.chain:
        tensors = [graph.values[arg].value for arg in call.args]
        held = {
            (one.storage_type, one.memory_layout)
            for one in tensors
            if isinstance(one, VkTensor) and one.constant_id < 0
        }
        if call.name == "aten.convolution.default":
            assert held == {CHANNELS}
        elif call.name == "aten.linear.default":
            assert held == {WIDTH}
        elif call.name not in ("aten.clone.default", "et_vk.prepack.default"):
            assert len(held) == 1


def test_memory_objects_are_shared_by_tensors_that_do_not_meet() -> None:
    graph = graph_of(file_of(Calls(lambda x: x.exp().sin().cos().tanh().sqrt()), torch.rand(8)))
    tensors = [one.value for one in graph.values if isinstance(one.value, VkTensor)]
    assert [one.mem_obj_id for one in tensors] == [-1, 0, 1, 0, 1, -1]


def test_constants_are_there_once() -> None:
    weight = torch.randn(4, 4)

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Parameter(weight.clone()), nn.Parameter(weight.clone())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(nn.functional.linear(x, self.a), self.b)

    file = file_of(Twice(), torch.randn(2, 4))
    assert len(graph_of(file).constants) == 1
    assert len(read_pte(file).named_data().keys() - {NAMES}) == 1


def test_numbers_are_tensors_of_arithmetic() -> None:
    x = torch.randn(3)
    file = file_of(Calls(lambda x: (x * 2 + 1, x > 0.5)), x)
    names = [call.name for call in graph_of(file).chain if not call.name.startswith("et_vk")]
    assert names == ["aten.mul.Tensor", "aten.add.Tensor", "aten.gt.Scalar"]
    made = run(file, x)
    torch.testing.assert_close(made[0], x * 2 + 1)
    assert torch.equal(made[1], x > 0.5)


def test_places_of_64_bits() -> None:
    torch.manual_seed(0)
    table, tokens = nn.Embedding(9, 4), torch.tensor([[1, 8], [0, 3]])
    file = file_of(table, tokens)
    torch.testing.assert_close(run(file, tokens)[0], table(tokens))


def test_lists_of_results() -> None:
    graph = graph_of(file_of(Calls(lambda x: [y + 1 for y in x.split([1, 2])]), torch.randn(3, 2)))
    (call,) = [call for call in graph.chain if call.name.startswith("aten.split")]
    assert isinstance(graph.values[call.args[-1]].value, ValueList)


@pytest.mark.parametrize(
    ("function", "inputs", "left"),
    [
        (lambda x: x.sort()[0] + 1, (torch.randn(3),), "aten::sort.values"),
        (lambda x: x.mean(0) + 1, (torch.randn(3, 2),), "aten::mean.out"),
        (lambda x: x.mean((0, 2, 3), keepdim=True) + 1, (torch.randn(2, 2, 2, 2),), "aten::mean.out"),
        (lambda x: (x + 1).reshape(1, 2, 1, 2, 1).exp(), (torch.randn(4),), "aten::exp.out"),
        (
            lambda x, w: nn.functional.conv2d(x + 1, w),
            (torch.randn(1, 2, 4, 4), torch.randn(2, 2, 3, 3)),
            "aten::convolution.out",
        ),
        (
            lambda x, b: nn.functional.conv2d(x + 1, torch.ones(2, 2, 3, 3), b),
            (torch.randn(1, 2, 4, 4), torch.randn(2)),
            "aten::convolution.out",
        ),
    ],
)
def test_what_is_left(function: Callable[..., Any], inputs: tuple[Any, ...], left: str) -> None:
    file = file_of(Calls(function), *inputs)
    assert left in operators(file)
    torch.testing.assert_close(run(file, *inputs)[0], function(*inputs))


@pytest.mark.parametrize("bias", [False, True])
def test_biases(bias: bool) -> None:
    torch.manual_seed(0)
    layer, x = nn.Conv2d(2, 2, 3, bias=bias), torch.randn(1, 2, 4, 4)
    file = file_of(layer, x)
    assert operators(file) == ["VulkanBackend"]
    torch.testing.assert_close(run(file, x)[0], layer(x))


def test_a_batch_of_images_is_left() -> None:
    torch.manual_seed(0)
    layer, x = nn.Conv2d(2, 2, 1), torch.randn(2, 2, 3, 3)
    assert operators(file_of(layer, x)) == ["aten::convolution.out"]


def test_options() -> None:
    made = make_partitioner("vulkan-graph:without=mul,min=2")
    assert isinstance(made, VulkanGraphPartitioner)
    assert made.min_ops == 2
    with pytest.raises(BackendError, match="precision"):
        make_partitioner("vulkan-graph:precision=f16")
    file = file_of(Calls(lambda x: (x + 1) * x), torch.randn(3), without=["mul"])
    assert operators(file) == ["VulkanBackend", "aten::mul.out"]


@pytest.mark.parametrize(
    ("storage", "sizes", "fits"),
    [
        (WIDTH, [4 * 16384], True),
        (WIDTH, [4 * 16384 + 1], False),
        (HEIGHT, [4 * 16384, 16384], True),
        (CHANNELS, [4 * 2048, 3, 3], True),
        (CHANNELS, [2, 4 * 2048, 3, 3], False),
        (CHANNELS, [1, 1, 1, 1, 1], False),
        (BUFFER, [1, 1, 1, 1, 1], True),
        (BUFFER, [1 << 27], False),
    ],
)
def test_limits_of_storage(storage: Any, sizes: list[int], fits: bool) -> None:
    assert storage.holds(sizes) is fits


def test_large_tensors_are_buffers() -> None:
    graph = graph_of(file_of(Calls(lambda x: x + 1), torch.randn(70_000)))
    tensors = [one.value for one in graph.values if isinstance(one.value, VkTensor)]
    assert {one.storage_type for one in tensors if one.constant_id < 0} == {VkStorageType.BUFFER}


def test_constants_of_the_same_bytes_and_another_type() -> None:
    class Compare(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("floats", torch.zeros(4))
            self.register_buffer("integers", torch.zeros(4, dtype=torch.int32))

        def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
            return torch.logical_and(n > self.integers, x > self.floats)

    graph = graph_of(file_of(Compare(), torch.ones(4), torch.ones(4, dtype=torch.int32)))
    tensors = [one.value for one in graph.values if isinstance(one.value, VkTensor)]
    found = sorted(one.datatype.name for one in tensors if one.constant_id >= 0)
    assert found == ["FLOAT32", "INT32"]


@pytest.mark.parametrize(("number", "delegates"), [(2**31 - 1, 1), (2**40, 0)])
def test_constants_of_more_than_32_bits(number: int, delegates: int) -> None:
    class Least(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("bound", torch.tensor([number, 2]))

        def forward(self, n: torch.Tensor) -> torch.Tensor:
            return torch.minimum(n, self.bound)

    module, n = Least(), torch.tensor([5, 5])
    file = file_of(module, n)
    assert len(read_pte(file).program.execution_plan[0].delegates) == delegates
    assert torch.equal(run(file, n)[0], module(n))


def test_filters_larger_than_a_texture() -> None:
    """The operator packs them itself, so that only images have to fit one."""
    torch.manual_seed(0)
    net, x = nn.Conv2d(512, 512, 3, padding=1), torch.randn(1, 512, 2, 2)
    file = file_of(net, x)
    assert operators(file) == ["VulkanBackend"]
    torch.testing.assert_close(run(file, x)[0], net(x), rtol=1e-4, atol=1e-5)


def test_choice_by_a_condition() -> None:
    x = torch.randn(3, 4)
    file = file_of(Calls(lambda x: torch.where(x > 0, x, x * 0.1)), x)
    assert operators(file) == ["VulkanBackend"]
    assert "aten.where.self" in [call.name for call in graph_of(file).chain]
    torch.testing.assert_close(run(file, x)[0], torch.where(x > 0, x, x * 0.1))


@pytest.mark.parametrize(
    ("activation", "bounds"),
    [
        (torch.relu, (0.0, sys.float_info.max)),
        (nn.functional.relu6, (0.0, 6.0)),
        (lambda y: nn.functional.hardtanh(y, -0.5, 0.25), (-0.5, 0.25)),
    ],
)
def test_bounded_convolutions_are_one_call(activation: Any, bounds: tuple[float, float]) -> None:
    torch.manual_seed(0)
    layer, x = nn.Conv2d(2, 3, 3), torch.randn(1, 2, 6, 6)
    net = nn.Sequential(layer, Calls(activation))
    file = file_of(net, x)
    graph = graph_of(file)
    names = [call.name for call in graph.chain if call.name != "aten.clone.default"]
    assert names == ["et_vk.conv_with_clamp.default"]
    (call,) = (call for call in graph.chain if call.name in names)
    found = [graph.values[arg].value for arg in call.args[9:11]]
    assert [one.double_val for one in found if isinstance(one, Double)] == list(bounds)
    torch.testing.assert_close(run(file, x)[0], net(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [lambda y: (torch.relu(y), y + 1), lambda y: (torch.sigmoid(y),), lambda y: (y, torch.relu(y))],
)
def test_convolutions_that_others_read_are_not_bounded(function: Any) -> None:
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Conv2d(2, 3, 3), Calls(function)), torch.randn(1, 2, 6, 6)
    file = file_of(net, x)
    assert "aten.convolution.default" in [call.name for call in graph_of(file).chain]
    for found, expected in zip(run(file, x), net(x), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


class FourBits(nn.Module):
    """A linear layer with weights of 4 bits in groups."""

    def __init__(self, rows: int, columns: int, group: int, *, bias: bool = True) -> None:
        super().__init__()
        self.register_buffer("integers", torch.randint(-8, 8, (rows, columns), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(rows, columns // group) + 0.1)
        self.register_buffer("zeros", torch.zeros(rows, columns // group, dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(rows)) if bias else None
        self.group = group

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = torch.ops.quantized_decomposed.dequantize_per_channel_group(
            self.integers, self.scales, self.zeros, -8, 7, torch.int8, self.group, torch.float32
        )
        return nn.functional.linear(x, weight, self.bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("rows", "columns", "group"), [(8, 32, 8), (6, 12, 4), (3, 64, 32)])
def test_weights_of_4_bits(rows: int, columns: int, group: int, bias: bool) -> None:
    torch.manual_seed(0)
    net, x = nn.Sequential(FourBits(rows, columns, group, bias=bias), nn.ReLU()), torch.randn(2, 5, columns)
    file = file_of(net, x)
    assert operators(file) == ["VulkanBackend"]
    graph = graph_of(file)
    assert [call.name for call in graph.chain] == ["et_vk.linear_q4gsw.default", "aten.relu.default"]
    # Two numbers in a byte, of rows padded to a multiple of 8.
    assert min(constant.length for constant in graph.constants) <= rows * (-(-columns // 8) * 8) // 2
    torch.testing.assert_close(run(file, x)[0], net(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("columns", "group"), [(6, 2), (8, 2), (12, 6)])
def test_rows_and_groups_without_an_operator_are_left(columns: int, group: int) -> None:
    """The runtime takes those of multiples of 4 numbers."""
    torch.manual_seed(0)
    odd, x = FourBits(4, columns, group), torch.randn(2, columns)
    file = file_of(odd, x)
    assert "et_vk.linear_q4gsw.default" not in [call.name for call in graph_of(file).chain]
    torch.testing.assert_close(run(file, x)[0], odd(x), rtol=1e-4, atol=1e-4)


def test_weights_of_several_layers() -> None:
    """Of which the user may leave all out."""
    torch.manual_seed(0)

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = FourBits(8, 8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weight = torch.ops.quantized_decomposed.dequantize_per_channel_group(
                self.layer.integers, self.layer.scales, self.layer.zeros, -8, 7, torch.int8, 4, torch.float32
            )
            return nn.functional.linear(nn.functional.linear(x, weight), weight)

    twice, x = Twice(), torch.randn(2, 8)
    torch.testing.assert_close(run(file_of(twice, x), x)[0], twice(x), rtol=1e-4, atol=1e-4)
    left = file_of(FourBits(8, 8, 4), x, without=["linear"])
    assert "et_vk.linear_q4gsw.default" not in [call.name for call in graph_of(left).chain]


class TestSizesKnownAtRunTime:
    def test_graphs_follow_their_inputs(self) -> None:
        class Layers(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.convolution = nn.Conv2d(2, 4, 3, padding=1)
                self.linear = nn.Linear(4, 3)

            def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
                y = torch.relu(self.convolution(x))
                rows = self.linear(y.permute(0, 2, 3, 1))
                return torch.softmax(rows, -1), torch.cat([y, y * 2], 1), y.mean((2, 3), keepdim=True)

        torch.manual_seed(0)
        net = Layers()
        sizes = {2: torch.export.Dim("height", min=2, max=12), 3: torch.export.Dim("width", min=2, max=9)}
        file = file_of(net, torch.randn(1, 2, 6, 7), dynamic_shapes=(sizes,))
        assert operators(file) == ["VulkanBackend"]
        graph = graph_of(file)
        (image,) = [graph.values[number].value for number in graph.input_ids]
        assert isinstance(image, VkTensor)
        assert image.dims == [1, 2, 12, 9]
        method = Runtime().load_program(file, poison=True).load_method("forward")
        for height, width in ((2, 9), (12, 2), (5, 5)):
            x = torch.randn(1, 2, height, width)
            for found, expected in zip(method.execute([x]), net(x), strict=True):
                torch.testing.assert_close(torch.as_tensor(found), expected, rtol=1e-4, atol=1e-5)

    def test_operators_that_name_sizes_are_left(self) -> None:
        sizes = (({0: torch.export.Dim("rows", max=8)},),)
        net, x = Calls(lambda x: (x + 1).view(-1, 2, 2).exp()), torch.randn(3, 4)
        file = file_of(net, x, dynamic_shapes=sizes)
        assert "VulkanBackend" in operators(file)
        for rows in (8, 1):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(run(file, x)[0], net(x))
