"""The Vulkan backend: which ops it takes, what its shaders are and compute, and its errors."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.vulkan_device import check_shaders, require_device
from torch import nn

from et_backends.vulkan.compiler import VulkanPartitioner
from et_backends.vulkan.format.blob import (
    BACKEND,
    MAX_WORDS,
    VulkanProgram,
    VulkanTensor,
    capabilities_of,
    read_vulkan,
)
from et_backends.vulkan.format.spirv import Capability
from et_backends.vulkan.runtime.device import open_device
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.delegation.backends_by_name import parse_backend
from et_ir.frontend.experts import grouped_linear
from et_ir.quantization import quantize
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.pte import read_pte
from et_schema.scalar_type import ScalarType
from et_vm.program import Program
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
        y = nn.functional.max_pool2d(self.depthwise(y) + y, 2)
        y = nn.functional.gelu(self.up(y))
        rows = self.layer_norm(y.flatten(2).mean(1).reshape(-1, 16))
        return torch.softmax(self.head(rows), -1)


def lowered(module: nn.Module, *inputs: Any, **options: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module.eval(), inputs)
    return to_edge_transform_and_lower(program, partitioner=VulkanPartitioner(**options))


def file_of(module: nn.Module, *inputs: Any, **options: Any) -> bytes:
    return lowered(module, *inputs, **options).to_executorch(CONFIG).buffer


def blob_of(file: bytes) -> memoryview:
    pte = read_pte(file)
    (delegate,) = pte.program.execution_plan[0].delegates
    assert delegate.processed is not None
    return pte.delegate_data(delegate.processed)


def shaders_of(file: bytes) -> VulkanProgram:
    return read_vulkan(blob_of(file))


def load(file: bytes, **options: Any) -> Any:
    return Runtime().load_program(file, **{"allow_native": True, **options}).load_method("forward")


class Counted:
    """A loader that counts the objects that there are, by kind, and one function of which fails."""

    def __init__(self, loader: Any, failing: str) -> None:
        self._loader = loader
        self._failing = failing
        self.live: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._loader, name)
        verb = re.match(r"vk(Create|Destroy|Allocate|Free)(?:Compute)?(\w+?)s?$", name)

        def call(*arguments: Any) -> Any:
            if name == self._failing:
                return -2
            result = function(*arguments)
            # What is allocated in a pool ends with it.
            if verb is not None and verb[2] not in ("CommandBuffer", "DescriptorSet"):
                self.live[verb[2]] += 1 if verb[1] in ("Create", "Allocate") else -1
            return result

        return call


def net() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return Net().eval(), torch.randn(2, 3, 16, 16)


def test_a_network(tmp_path: Path) -> None:
    module, x = net()
    file = file_of(module, x)
    assert [one.name for one in Program.load(file).instructions(0)] == [BACKEND]
    check_shaders(shaders_of(file), tmp_path)
    require_device()
    method = load(file, poison=True)
    for _ in range(2):
        torch.testing.assert_close(method.execute([x])[0], module(x), rtol=1e-4, atol=1e-6)


def test_floats_stored_as_halves(tmp_path: Path) -> None:
    module, x = net()
    file, whole = file_of(module, x, storage="f16"), shaders_of(file_of(module, x))
    halves = shaders_of(file)
    check_shaders(halves, tmp_path)
    assert Capability.StorageBuffer16BitAccess in capabilities_of(halves)
    assert halves.arena_size < 0.6 * whole.arena_size
    assert sum(one.nbytes for one in halves.constants) < 0.6 * sum(one.nbytes for one in whole.constants)
    assert [one.is_half for one in (*halves.inputs, *halves.outputs)] == [True, True]
    require_device()
    method = load(file, poison=True)
    for _ in range(2):
        torch.testing.assert_close(method.execute([x])[0], module(x), rtol=1e-2, atol=2e-3)


def test_numbers_that_halves_do_not_hold() -> None:
    """Constants become the largest half; what is computed becomes infinite. Integers are left alone."""
    require_device()
    mask = torch.tensor([0.0, torch.finfo(torch.float32).min])

    class Masked(nn.Module):
        def forward(
            self, x: torch.Tensor, n: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            return torch.softmax(x + mask, -1), x * 1e5, n + 70_000

    x, n = torch.ones(2), torch.tensor([1, 2], dtype=torch.int32)
    weights, large, numbers = load(file_of(Masked(), x, n, storage="f16")).execute([x, n])
    assert weights.tolist() == [1, 0]
    assert large.tolist() == [float("inf")] * 2
    assert numbers.tolist() == [70_001, 70_002]


def test_the_same_bytes_each_time() -> None:
    module, x = net()
    assert file_of(module, x) == file_of(module, x)


class Rounded(nn.Module):
    """Arithmetic of bytes and of 64 bits, and masks."""

    def forward(self, x: torch.Tensor, n: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        some = mask & (n > 2**33 + 3)
        y = torch.where(some, x, -x)
        return y, torch.where(some, n * 3 + 1, n), some, torch.fmod(y, 0.3)


def test_capabilities_are_those_of_what_is_computed(tmp_path: Path) -> None:
    inputs = torch.randn(9), torch.arange(2**33, 2**33 + 9), torch.arange(9) % 2 == 0
    file = file_of(Rounded(), *inputs)
    program = shaders_of(file)
    check_shaders(program, tmp_path)
    assert {"Int64", "Int8", "Float64"} <= {
        one.name for one in map(_capability, capabilities_of(program)) if one is not None
    }
    require_device()
    for found, expected in zip(load(file).execute([*inputs]), Rounded()(*inputs), strict=True):
        torch.testing.assert_close(torch.as_tensor(found), expected)


def _capability(number: int) -> Any:
    from et_backends.vulkan.format.spirv import Capability

    return Capability(number)


def test_signs_of_a_number_that_is_the_same_for_all_invocations() -> None:
    class Powers(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.pow(x, y)

    inputs = torch.tensor(2.0), torch.tensor([-3.0, -1.0, 3.0, -2.0])
    file = file_of(Powers(), *inputs)
    require_device()
    torch.testing.assert_close(torch.as_tensor(load(file).execute([*inputs])[0]), Powers()(*inputs))


def test_more_invocations_than_a_row_of_workgroups() -> None:
    x = torch.randn(3, 1 << 20)
    file = file_of(nn.ReLU(), x)
    (dispatch,) = shaders_of(file).dispatches
    assert dispatch.invocations == x.numel()
    require_device()
    assert torch.equal(torch.as_tensor(load(file).execute([x])[0]), x.relu())


def test_indices_out_of_range_are_reported() -> None:
    file = file_of(nn.Embedding(4, 8), torch.tensor([0, 3]))
    require_device()
    method = load(file)
    method.execute([torch.tensor([1, 2])])
    with pytest.raises(ExecutorchError, match="embedding") as caught:
        method.execute([torch.tensor([1, 4])])
    assert caught.value.code == Error.InvalidArgument


def test_more_sizes_than_can_be_pushed() -> None:
    class Sum(nn.Module):
        def forward(self, *rows: torch.Tensor) -> torch.Tensor:
            total = rows[0]
            for row in rows[1:]:
                total = total * row + row
            return total

    # Each is broadcast over other dimensions.
    inputs = [
        torch.randn(*(2 if number >> dim & 1 else 1 for dim in range(4))) for number in range(15, 0, -1)
    ]
    file = file_of(Sum(), *inputs)
    program = shaders_of(file)
    assert all(len(one.words) <= MAX_WORDS for one in program.dispatches)
    assert "sizes" in program.shaders[0].name
    require_device()
    torch.testing.assert_close(torch.as_tensor(load(file).execute(inputs)[0]), Sum()(*inputs))


def test_options() -> None:
    backend, options = parse_backend("vulkan:without=relu")
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module.eval(), (torch.randn(2, 4),))
    made = to_edge_transform_and_lower(program, partitioner=backend.partitioner(options))
    file = made.to_executorch(CONFIG).buffer
    assert [one.name for one in Program.load(file).instructions(0)] == [BACKEND, "aten::relu.out"]


def test_quantized_numbers_are_left() -> None:
    """So are ops on what is restored of them; other ops on floats are taken."""
    require_device()
    module, x = net()
    quantized = quantize(module, (x,), "int8", calibration=[(x,)]).module
    edge = to_edge_transform_and_lower(torch.export.export(quantized, (x,)), partitioner=VulkanPartitioner())
    assert "there are no shaders of quantized numbers" in str(edge.delegation)
    file = edge.to_executorch(CONFIG).buffer
    (result,) = load(file).execute([x])
    torch.testing.assert_close(torch.as_tensor(result), quantized(x), rtol=0, atol=0.02)


def test_windows_of_several_sizes() -> None:
    """Antialiased resizes are left, pools taken apart: a driver may end loops that nothing bounds."""
    require_device()

    class Windows(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            pooled = nn.functional.adaptive_max_pool2d(x, 3)
            return nn.functional.interpolate(pooled, (5, 5), mode="bilinear", antialias=True)

    x = torch.randn(1, 2, 7, 8)
    edge = lowered(Windows(), x)
    assert "there are no shaders of windows of several sizes" in str(edge.delegation)
    (result,) = load(edge.to_executorch(CONFIG).buffer).execute([x])
    torch.testing.assert_close(torch.as_tensor(result), Windows()(x))


def test_iterations_of_a_loop_whose_end_another_loop_finds() -> None:
    """Attention skips the keys that a mask leaves out at the end: how many there are, a loop over the mask tells."""

    class Masked(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    file = file_of(Masked(), torch.randn(1, 2, 32, 16), torch.zeros(32, 32))
    assert max(one.steps for one in shaders_of(file).dispatches) < 65_536


def test_groups_of_rows_are_products_of_all_rows() -> None:
    """Loops over a group are bounded by numbers that are read; operators that are in shaders take the place of it."""

    class Groups(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(12, 4))

        def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
            return grouped_linear(x, self.weight, ends)

    x, ends = torch.randn(5, 4), torch.tensor([1, 1, 4])
    module = Groups()
    file = file_of(module, x, ends)
    require_device()
    torch.testing.assert_close(torch.as_tensor(load(file).execute([x, ends])[0]), module(x, ends))


def test_sorts_are_left() -> None:
    class Largest(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.topk(x * 2, 2)[0] + 1

    program = torch.export.export(Largest(), (torch.randn(3, 4),))
    report = to_edge_transform_and_lower(program, partitioner=VulkanPartitioner()).delegation
    assert "there are no shaders of sorts" in str(report)


def test_sizes_known_at_run_time_are_left() -> None:
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(
            nn.ReLU(), (torch.randn(3, 4),), dynamic_shapes=({0: torch.export.Dim("n", max=8)},)
        )
    report = to_edge_transform_and_lower(program, partitioner=VulkanPartitioner()).delegation
    assert "dynamic size" in str(report)


class TestRunning:
    def test_shaders_run_only_where_the_user_allows_it(self) -> None:
        with pytest.raises(ExecutorchError, match="the file holds shaders") as caught:
            load(file_of(nn.ReLU(), torch.randn(2)), allow_native=False)
        assert caught.value.code == Error.NotSupported
        assert "allow_native=True" in str(caught.value.hint)

    def test_a_loop_that_a_driver_ends_early(self) -> None:
        """Mesa's llvmpipe ends loops after so many iterations, without a word."""
        require_device()

        class Sum(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x.sum()

        x = torch.ones(300_000)
        file = file_of(Sum(), x)
        assert max(one.steps for one in shaders_of(file).dispatches) >= 65_536
        if open_device().most_steps is None:
            assert float(load(file).execute([x])[0]) == 300_000
            return
        with pytest.raises(ExecutorchError, match="ends loops after") as caught:
            load(file)
        assert caught.value.code == Error.NotSupported

    @pytest.mark.parametrize(
        "failing",
        [
            *("vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory", "vkCreatePipelineLayout"),
            *("vkCreateShaderModule", "vkCreateComputePipelines", "vkCreateCommandPool"),
            *("vkAllocateCommandBuffers", "vkBeginCommandBuffer", "vkAllocateDescriptorSets"),
            *("vkEndCommandBuffer", "vkCreateFence"),
        ],
    )
    def test_a_failure_while_loading_leaves_nothing(
        self, failing: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        require_device()
        device = open_device()
        file = file_of(nn.ReLU(), torch.randn(2))
        gc.collect()  # models of other tests, whose objects would be destroyed while these are counted
        counted = Counted(device._vk, failing)
        monkeypatch.setattr(device, "_vk", counted)
        with pytest.raises(ExecutorchError, match="out of device memory") as caught:
            load(file)
        assert caught.value.code == Error.MemoryAllocationFailed
        assert not any(counted.live.values()), counted.live

    def test_another_version(self) -> None:
        file = file_of(nn.ReLU(), torch.randn(2))
        blob = blob_of(file)
        program = read_vulkan(blob)
        program.version += 1
        from et_backends.vulkan.format.blob import serialize_vulkan

        with pytest.raises(InvalidFile, match="this runtime knows version") as caught:
            read_vulkan(serialize_vulkan(program))
        assert caught.value.code == Error.DelegateInvalidCompatibility

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda one: setattr(one.dispatches[0], "shader", 9), "shader 9 of 1"),
            (lambda one: setattr(one.dispatches[0], "words", [0] * 33), "33 words"),
            (lambda one: setattr(one.dispatches[0], "invocations", 0), "no invocations"),
            (lambda one: setattr(one.dispatches[0].buffers[0], "number", 7), "input 7 of 1"),
            (lambda one: setattr(one.dispatches[0].buffers[0], "nbytes", 64), "64 bytes from 0 on of 8"),
            (lambda one: setattr(one.dispatches[0].buffers[0], "offset", 4), "from 4 on of 8"),
            (lambda one: setattr(one.shaders[0], "code", b"\0" * 20), "starts with 0x00000000"),
            (
                lambda one: setattr(one.shaders[0], "code", bytes(one.shaders[0].code)[:-4]),
                "ends of functions",
            ),
            (lambda one: setattr(one.shaders[0], "code", b"\0" * 7), "a shader of 7 bytes"),
            (lambda one: setattr(one.inputs[0], "dim_order", b"\1"), "dim order"),
            (lambda one: one.inputs.append(VulkanTensor(ScalarType.INT, [], b"", True)), "INT as halves"),
            (lambda one: setattr(one, "dispatches", []), "nothing is dispatched"),
            (lambda one: setattr(one, "arena_size", (1 << 64) - 1), "more bytes than there are addresses"),
            (
                lambda one: one.dispatches.append(replace(one.dispatches[0], words=[0] * 30)),
                "30 words for a shader that has been given 2",
            ),
        ],
    )
    def test_damaged(self, damage: Any, message: str) -> None:
        from et_backends.vulkan.format.blob import serialize_vulkan

        program = shaders_of(file_of(nn.ReLU(), torch.randn(2)))
        damage(program)
        with pytest.raises(InvalidFile, match=message) as caught:
            read_vulkan(serialize_vulkan(program))
        assert caught.value.code == Error.DelegateInvalidCompatibility

    @pytest.mark.parametrize(
        ("setup", "message"),
        [
            (
                "import ctypes\n"
                "def missing(name, *rest, **options):\n"
                "    raise OSError(name)\n"
                "ctypes.CDLL = missing\n",
                "the Vulkan loader (libvulkan.so.1) is not installed",
            ),
            ("import os\nos.environ['VK_ICD_FILENAMES'] = '/none.json'\n", "no Vulkan d"),
            (
                "import os\nos.environ['ET_VM_VULKAN_DEVICE'] = 'Voodoo'\n",
                "no Vulkan device matching ET_VM_VULKAN_DEVICE=Voodoo",
            ),
        ],
    )
    def test_without_a_device(self, setup: str, message: str, tmp_path: Path) -> None:
        if "CDLL" not in setup:
            require_device()
        path = tmp_path / "relu.pte"
        path.write_bytes(file_of(nn.ReLU(), torch.randn(2)))
        script = (
            f"{setup}from et_vm.runtime import Runtime\n"
            f"Runtime().load_program({str(path)!r}, allow_native=True).load_method('forward')"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "VK_LOADER_DEBUG": ""},
        )
        assert done.returncode == 1
        assert message in done.stderr
        assert "apt-get install libvulkan1 mesa-vulkan-drivers" in done.stderr
