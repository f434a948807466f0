"""Graphs of ExecuTorch's Vulkan backend: stock's schema and reader, and stock's files on the VM against eager."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any

import fbs
import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from executorch.backends.vulkan.op_registry import vulkan_supported_ops
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.backends.vulkan.patterns import HfRotaryEmbeddingPattern
    from executorch.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer
    from executorch.backends.vulkan.quantizer.vulkan_quantizer import (
        get_symmetric_quantization_config as weight_only_config,
    )
    from executorch.backends.vulkan.serialization.vulkan_graph_serialize import (
        extract_vk_flatbuffer,
        flatbuffer_to_vk_graph,
    )
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        get_symmetric_quantization_config as static_config,
    )
    from executorch.exir import to_edge_transform_and_lower
    from torch.utils import _pytree as pytree
    from torchao.core.config import AOBaseConfig
    from torchao.quantization import (
        Int8DynamicActivationIntxWeightConfig,
        IntxWeightOnlyConfig,
        quantize_,
    )
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from example_models import Model

from et_backends.vulkan_graph.compiler import VulkanGraphPartitioner
from et_backends.vulkan_graph.compiler.operators import RESIZED
from et_backends.vulkan_graph.format.blob import BACKEND, read_vkgraph, serialize_vkgraph
from et_backends.vulkan_graph.format.tables import FILE_IDENTIFIER, Double, VkGraph, VkStorageType, VkTensor
from et_ir import ExecutorchBackendConfig
from et_ir import to_edge_transform_and_lower as ours_to_edge
from et_schema.pte import read_pte
from et_vm.runtime import Runtime
from examples.artefacts import digest, keep

pytestmark = pytest.mark.filterwarnings("ignore")


def compiled(program: torch.export.ExportedProgram, **options: Any) -> bytes:
    """The file that stock's compiler makes with its Vulkan backend."""
    with warnings.catch_warnings(action="ignore"):
        edge = to_edge_transform_and_lower(program, partitioner=[VulkanPartitioner(options)])
        return edge.to_executorch().buffer


def blobs(file: bytes) -> list[memoryview]:
    pte = read_pte(file)
    delegates = pte.program.execution_plan[0].delegates
    return [
        pte.delegate_data(one.processed)
        for one in delegates
        if one.id == BACKEND and one.processed is not None
    ]


def check(file: bytes, inputs: list[Any], expected: list[torch.Tensor], tolerance: float = 1e-4) -> None:
    method = Runtime().load_program(file, poison=True).load_method("forward")
    for _ in range(2):
        for got, wanted in zip(method.execute(inputs), expected, strict=True):
            made = torch.as_tensor(np.asarray(got))
            assert made.shape == wanted.shape
            scale = wanted.float().std(correction=0).clamp(min=1e-3)
            assert (made.float() - wanted.float()).abs().max() <= tolerance * scale


def read_by_stock(blob: bytes | memoryview) -> Any:
    """A graph as stock's reader has it; None for one with infinite numbers, on which its JSON fails."""
    numbers = [
        one.value.double_val for one in read_vkgraph(blob).graph.values if isinstance(one.value, Double)
    ]
    if not all(map(isfinite, numbers)):
        return None
    return flatbuffer_to_vk_graph(extract_vk_flatbuffer(bytes(blob)))


def test_schemas_agree() -> None:
    """Same tables, by slot the same fields with the same types and defaults, same kinds of values."""
    theirs = fbs.stock("executorch.backends.vulkan.serialization", "schema.fbs")
    ours = fbs.ours(VkGraph, FILE_IDENTIFIER)
    assert ours.layouts == theirs.layouts
    assert list(ours.unions.values()) == list(theirs.unions.values())
    assert ours.enums == theirs.enums
    assert ours.identifier == theirs.identifier


class Small(torch.nn.Module):
    """A bounded convolution, a norm of rows, a product, integers, and several results."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.LayerNorm(8)
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        pooled = torch.nn.functional.relu6(self.convolution(x)).mean((2, 3))
        scores = torch.softmax(self.linear(self.norm(pooled)), -1)
        low, high = scores.split([1, 3], -1)
        return scores, torch.cat([high, low * 2], -1), scores.argmax(-1)


class Transformer(torch.nn.Module):
    """Root-mean-square norm, rotary embedding by halves, and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.RMSNorm(16)
        self.table = torch.nn.Embedding(10, 16)
        self.linear = torch.nn.Linear(16, 16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.table(tokens))
        heads = self.linear(x).unflatten(-1, (2, 8)).transpose(1, 2)
        mixed = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
        return mixed.transpose(1, 2).flatten(2)


PROGRAMS: dict[str, Callable[[], tuple[torch.nn.Module, tuple[Any, ...]]]] = {
    "small": lambda: (Small(), (torch.randn(1, 3, 16, 16),)),
    "transformer": lambda: (Transformer(), (torch.randint(0, 10, (1, 5)),)),
}


def exported(name: str) -> tuple[torch.export.ExportedProgram, tuple[Any, ...], list[torch.Tensor]]:
    torch.manual_seed(0)
    module, inputs = PROGRAMS[name]()
    with torch.no_grad():
        expected = pytree.tree_leaves(module.eval()(*inputs))
    return torch.export.export(module, inputs), inputs, expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_stock(name: str) -> None:
    program, inputs, expected = exported(name)
    file = compiled(program)
    for blob in blobs(file):
        # Stock reads what is written here as what it has written.
        graph = read_vkgraph(blob)
        theirs = read_by_stock(blob)
        assert read_by_stock(serialize_vkgraph(graph.graph, bytes(graph.data))) == theirs
        if theirs is None:
            continue
        assert [call.name for call in theirs.chain] == [call.name for call in graph.graph.chain]
        assert asdict(theirs)["constants"] == [asdict(one) for one in graph.graph.constants]
    check(file, list(inputs), expected)


def test_halves() -> None:
    program, inputs, expected = exported("small")
    check(compiled(program, force_fp16=True), list(inputs), expected, tolerance=0.02)


class Layers(torch.nn.Module):
    """Convolutions, also depthwise, their sum, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(4, 8, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.last = torch.nn.Linear(8, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        return self.last((self.depthwise(y) + y).mean((2, 3)))


@pytest.mark.parametrize("static", [False, True])
def test_quantized_programs(static: bool) -> None:
    """Weights of 8 bits, and 8-bit activations: within some steps of the grid of eager."""
    torch.manual_seed(0)
    x = torch.randn(1, 4, 8, 8)
    quantizer: Any
    if static:
        quantizer = XNNPACKQuantizer().set_global(static_config(is_per_channel=True))
    else:
        quantizer = VulkanQuantizer().set_global(weight_only_config(is_dynamic=False, weight_bits=8))
    prepared = prepare_pt2e(torch.export.export(Layers().eval(), (x,)).module(), quantizer)
    prepared(x)
    quantized = convert_pt2e(prepared)
    file = compiled(torch.export.export(quantized, (x,)))
    names = {call.name for blob in blobs(file) for call in read_vkgraph(blob).graph.chain}
    assert any("q8ta" in name if static else "int8pack" in name or "q8" in name for name in names), names
    with torch.no_grad():
        check(file, [x], [quantized(x)], tolerance=0.1 if static else 1e-3)


class Enlarging(torch.nn.Module):
    """A transposed convolution, and channels as pixels, between convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(4, 8, 3, padding=1)
        self.up = torch.nn.ConvTranspose2d(8, 16, 2, stride=2)
        self.last = torch.nn.Conv2d(4, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.up(self.first(x)))
        return self.last(torch.nn.functional.pixel_shuffle(y, 2))


def test_quantized_enlargements() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 4, 8, 8)
    quantizer = XNNPACKQuantizer().set_global(static_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(Enlarging().eval(), (x,)).module(), quantizer)
    prepared(x)
    quantized = convert_pt2e(prepared)
    file = compiled(torch.export.export(quantized, (x,)))
    names = {call.name for blob in blobs(file) for call in read_vkgraph(blob).graph.chain}
    assert {"et_vk.q8ta_conv2d_transposed.default", "et_vk.q8ta_pixel_shuffle.default"} <= names
    with torch.no_grad():
        check(file, [x], [quantized(x)], tolerance=0.1)


CONFIGURATIONS: dict[str, tuple[Any, str, float]] = {
    "activations of 8 bits, weights of 4 in groups": (
        Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(16)),
        "et_vk.linear_dq8ca_q4gsw.default",
        1e-3,
    ),
    # Stock's compiler removes what rounds activations, so that eager's are others.
    "activations of 8 bits, weights of 8 by row": (
        Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8, weight_granularity=PerAxis(0)),
        "torchao.dequantize_affine.default",
        0.05,
    ),
    "weights of 4 bits in groups": (
        IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(16)),
        "et_vk.linear_q4gsw.default",
        1e-4,
    ),
    "weights of 8 bits in groups": (
        IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerGroup(16)),
        "torchao.dequantize_affine.default",
        1e-4,
    ),
    "weights of 4 bits by row": (
        weight_only_config(is_dynamic=False, weight_bits=4),
        "et_vk.linear_qcs4w.default",
        1e-4,
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_quantized_layers(name: str) -> None:
    """Of torchao's configurations, and of the backend's own quantizer."""
    torch.manual_seed(0)
    configuration, operator, tolerance = CONFIGURATIONS[name]
    net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).eval()
    x = torch.randn(3, 32)
    if isinstance(configuration, AOBaseConfig):
        quantize_(net, configuration)
        quantized: Any = net
    else:
        quantizer = VulkanQuantizer().set_global(configuration)
        prepared = prepare_pt2e(torch.export.export(net, (x,)).module(), quantizer)
        prepared(x)
        quantized = convert_pt2e(prepared)
    file = compiled(torch.export.export(quantized, (x,)))
    assert operator in {call.name for blob in blobs(file) for call in read_vkgraph(blob).graph.chain}
    with torch.no_grad():
        check(file, [x], [quantized(x)], tolerance)


def test_rotations_of_halves() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(1, 5, 4, 32), torch.randn(1, 5, 2, 32), torch.randn(5, 32), torch.randn(5, 32)
    file = compiled(torch.export.export(HfRotaryEmbeddingPattern(), inputs))
    names = [call.name for blob in blobs(file) for call in read_vkgraph(blob).graph.chain]
    assert "et_vk.apply_rotary_emb_hf.default" in names
    check(file, list(inputs), list(HfRotaryEmbeddingPattern()(*inputs)))


def test_sizes_known_at_run_time() -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Softmax(-1)
    )
    rows = torch.export.Dim("rows", max=9)
    program = torch.export.export(module, (torch.randn(4, 6),), dynamic_shapes=({0: rows},))
    file = compiled(program)
    for count in (1, 9, 4):
        x = torch.randn(count, 6)
        with torch.no_grad():
            check(file, [x], [module(x)])


def stock_features() -> dict[str, Any]:
    """What stock's registry says of each operator, by the name that graphs call it by."""
    return {
        key if isinstance(key, str) else key.__name__: features
        for key, features in vulkan_supported_ops.items()
    }


def check_against_registry(graph: VkGraph) -> None:
    """Operators are stock's, and their tensors are stored as these take them."""
    known = stock_features()
    for call in graph.chain:
        if call.name == "et_vk.prepack.default":
            continue
        features = known[call.name]
        variables = [
            (at, one)
            for at, arg in enumerate(call.args[:-1])
            if isinstance(one := graph.values[arg].value, VkTensor) and one.constant_id < 0
        ]
        if features.pick_io_storage_fn is not None:
            continue
        for at, one in variables:
            allowed = features.inputs_storage[at]
            held = (
                allowed.valid_buffer_layouts
                if one.storage_type is VkStorageType.BUFFER
                else allowed.valid_texture_layouts
            )
            assert int(one.memory_layout) in {int(layout) for layout in held}, call


@pytest.mark.sweep
def test_models_of_ours(model: Model) -> None:
    """Graphs of the example models: on the VM against eager, and by stock's reader and registry."""
    edge = ours_to_edge(model.program, partitioner=VulkanGraphPartitioner())
    file = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    found = blobs(file)
    assert found
    for blob in found:
        check_against_registry(read_vkgraph(blob).graph)
        read_by_stock(blob)
    check(file, model.inputs, model.expected, tolerance=1e-3)


def test_resized_operators() -> None:
    """Whose sizes may be known at run time only, here and by stock's registry."""
    features = stock_features()
    for name in RESIZED:
        base, _, overload = name.partition(".")
        found = features.get(f"aten.{base}.{overload or 'default'}")
        # Numbers are tensors in arithmetic.
        assert found is None or found.supports_resize, name


@pytest.mark.sweep
@pytest.mark.slow
def test_models_of_stock(model: Model, pytestconfig: pytest.Config) -> None:
    path = pytestconfig.cache.mkdir("vulkan_graphs") / f"{model.name}.pte"

    def draft(place: Path) -> dict[str, Any]:
        place.write_bytes(compiled(copy.deepcopy(model.program)))
        return {}

    keep(path, digest(model.content(), version("executorch"), version("torch")), draft)
    file = path.read_bytes()
    assert blobs(file)
    check(file, model.inputs, model.expected, tolerance=1e-3)
