"""The OpenVINO backend: which ops it takes, what its models compute, and its errors."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.programs import exported, operators, run
from support.quantized_nets import NETS, made
from torch import nn
from xdsl.dialects.func import FuncOp

from et_backends.openvino.compiler import OpenvinoPartitioner
from et_backends.openvino.compiler.blob import export_apart
from et_backends.openvino.compiler.partitioner import OpenvinoSupport
from et_backends.openvino.runtime import shared_core
from et_ir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from et_ir.backends import register_backend
from et_ir.delegation.backends_by_name import parse_backend
from et_ir.quantization import quantize
from et_schema.errors import Error, ExecutorchError
from et_schema.pte import read_pte
from et_vm.runtime import Runtime


class Net(nn.Module):
    """Layers of most families, with what the backend leaves between them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.layer_norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = nn.functional.hardswish(self.norm(self.stem(x)))
        y = nn.functional.max_pool2d(self.depthwise(y) + y, 2)
        y = nn.functional.gelu(self.up(y))
        rows = self.layer_norm(y.flatten(2).mean(1).reshape(-1, 16))
        return torch.softmax(self.head(rows), -1), y.argmax(1)


def file_of(module: nn.Module, *inputs: Any, **options: Any) -> bytes:
    program = exported(module, *inputs)
    return (
        to_edge_transform_and_lower(program, partitioner=OpenvinoPartitioner(**options))
        .to_executorch()
        .buffer
    )


def test_a_network() -> None:
    torch.manual_seed(0)
    net, x = Net(), torch.randn(2, 3, 16, 16)
    file = file_of(net, x)
    assert operators(file) == ["OpenvinoBackend", "aten::argmax.out"]
    expected = net(x)
    found = run(file, x, allow_native=True)
    torch.testing.assert_close(found[0], expected[0], rtol=1e-5, atol=1e-6)
    assert torch.equal(found[1], expected[1])


def test_the_same_bytes_each_time() -> None:
    """Names of nodes are numbers that OpenVINO counts through a process, unless they are given."""
    torch.manual_seed(0)
    net, x = Net(), torch.randn(2, 3, 16, 16)
    assert file_of(net, x) == file_of(net, x)


def test_compile_specs_are_those_of_upstream() -> None:
    (delegate,) = read_pte(file_of(nn.ReLU(), torch.randn(2))).program.execution_plan[0].delegates
    assert delegate.id == "OpenvinoBackend"
    assert {spec.key: bytes(spec.value) for spec in delegate.compile_specs} == {
        "device": b"CPU",
        "precision": b"f32",
    }


def test_scalars_and_booleans_go_in_and_out() -> None:
    class Select(nn.Module):
        def forward(self, mask: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return torch.where(mask, x, y), (x > y) & mask, x.sum() * 2

    inputs = torch.tensor([True, False]), torch.tensor([1.0, 2.0]), torch.tensor(1.5)
    file = file_of(Select(), *inputs)
    assert operators(file) == ["OpenvinoBackend"]
    for found, expected in zip(run(file, *inputs, allow_native=True), Select()(*inputs), strict=True):
        assert torch.equal(found, expected)


class TestAbsoluteValues:
    """OpenVINO's transformation AbsSinking moves those of vectors onto the operands of a concatenation."""

    def test_the_fault_of_openvino(self) -> None:
        """The other uses of the concatenation get absolute values too; where this fails, `_absolute` can go."""
        openvino = import_module("openvino")
        nodes = import_module("openvino.opset13")
        x = np.array([-1.0, -2.0], np.float32)
        found: list[Any] = []
        for shape in ([2], [1, 2]):
            operand = nodes.parameter(shape, openvino.Type.f32)
            joined = nodes.concat([operand, operand], 0)
            outputs = [nodes.result(nodes.absolute(joined)), nodes.result(joined)]
            compiled = shared_core().compile_model(openvino.Model(outputs, [operand]), "CPU")
            found.append(compiled([x.reshape(shape)])[1].ravel().tolist())
        assert found == [[1, 2, 1, 2], [-1, -2, -1, -2]]

    @pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3)])
    def test_other_uses_of_a_concatenation(self, shape: tuple[int, ...]) -> None:
        class Both(nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
                stacked, joined = torch.stack([x, y, x]), torch.cat([x.reshape(-1), y.reshape(-1)])
                return stacked / (stacked.abs() + 0.5), joined, joined.view(2, -1).view(-1).abs() + joined

        inputs = torch.full(shape, -1.0), torch.full(shape, 2.0)
        file = file_of(Both(), *inputs)
        assert operators(file) == ["OpenvinoBackend"]
        for found, expected in zip(run(file, *inputs, allow_native=True), Both()(*inputs), strict=True):
            torch.testing.assert_close(found, expected)


ANY_INTEGERS = torch.tensor([0, 1, -1, 2**31, 2**32, -(2**32), 2**40, 2**24 + 1, 2**63 - 1, -(2**63), 0])


def test_conversions_of_64_bit_inputs() -> None:
    """OpenVINO's CPU device computes i64 in 32 bits, where 2**32 is 0."""

    class Masks(nn.Module):
        def forward(self, n: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            mask = n.to(torch.bool)
            return torch.where(mask, x, -1.0), n.to(torch.float32), mask & (x > 0)

    inputs = ANY_INTEGERS, torch.randn(len(ANY_INTEGERS))
    file = file_of(Masks(), *inputs)
    assert operators(file) == ["OpenvinoBackend"]
    for found, expected in zip(run(file, *inputs, allow_native=True), Masks()(*inputs), strict=True):
        assert torch.equal(found, expected)


def test_other_devices_may_have_32_bits() -> None:
    class Mask(nn.Module):
        def forward(self, n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.where(n.to(torch.bool), x, -1.0)

    program = exported(Mask(), ANY_INTEGERS, torch.randn(len(ANY_INTEGERS)))
    edge = to_edge_transform_and_lower(program)
    (method,) = (op for op in edge.module.body.block.ops if isinstance(op, FuncOp))
    (conversion,) = [op for op in method.walk() if op.name == "edge.dim_order_ops._to_dim_order_copy"]
    assert OpenvinoPartitioner().support(method).refusal(conversion) is None
    assert "64-bit" in str(OpenvinoPartitioner(device="GPU").support(method).refusal(conversion))


class TestQuantized:
    def test_layers_are_integer_kernels(self) -> None:
        """In OpenVINO's own description of what it runs."""
        torch.manual_seed(0)
        file = _quantized_file("image")
        pte = read_pte(file)
        (delegate,) = pte.program.execution_plan[0].delegates
        assert delegate.processed is not None
        data = bytes(pte.delegate_data(delegate.processed))
        compiled = shared_core().import_model(data, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        kinds = {
            op.get_rt_info()["layerType"].astype(str): op.get_rt_info()["runtimePrecision"].astype(str)
            for op in compiled.get_runtime_model().get_ordered_ops()
        }
        assert {kinds[name] for name in ("Convolution", "FullyConnected")} <= {"i8", "u8"}

    @pytest.mark.parametrize("name", NETS)
    def test_networks(self, name: str) -> None:
        """Within some steps of the quantized program in torch."""
        file = _quantized_file(name)
        assert "OpenvinoBackend" in operators(file)
        program, inputs = _quantized(name)
        with torch.no_grad():
            expected = program.module()(*inputs)
        assert (run(file, *inputs, allow_native=True)[0] - expected).abs().max() <= 0.05 * expected.std()

    def test_concatenations_are_left(self) -> None:
        """OpenVINO computes them wrong between convolutions in 8 bits."""
        assert "aten::cat.out" in operators(_quantized_file("concatenation"))

    @pytest.mark.parametrize("scale", [3e38, 1e37])
    def test_scales_whose_range_f32_does_not_hold(self, scale: float) -> None:
        class Steps(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, 0, -100, 100, torch.int8)

        x = torch.tensor([0.0, 1.0, -1e38])
        file = file_of(Steps(), x)
        assert "OpenvinoBackend" not in operators(file)
        assert torch.equal(run(file, x, allow_native=True)[0], Steps()(x))

    def test_integers_in_and_out(self) -> None:
        class Ends(nn.Module):
            def forward(self, q: torch.Tensor) -> torch.Tensor:
                q_ = torch.ops.quantized_decomposed
                x = q_.dequantize_per_tensor(q, 0.5, 3, -128, 127, torch.int8) * 2
                return q_.quantize_per_tensor(x, 0.5, 9, 0, 255, torch.uint8)

        q = torch.arange(-128, 128, dtype=torch.int8)
        file = file_of(Ends(), q)
        assert operators(file) == ["OpenvinoBackend"]
        assert torch.equal(run(file, q, allow_native=True)[0], Ends()(q))

    def test_numbers_that_integers_would_stand_for(self) -> None:
        """Steps of the results are smaller than those of the operand."""

        class Ends(nn.Module):
            def forward(self, q: torch.Tensor) -> tuple[torch.Tensor, ...]:
                q_ = torch.ops.quantized_decomposed
                x = q_.dequantize_per_tensor(q, 0.5, 3, -128, 127, torch.int8)
                results = (
                    x.clamp(-0.3, 0.7),
                    nn.functional.hardtanh(x, -0.3, 0.7),
                    torch.maximum(x, torch.tensor(0.3)),
                    torch.minimum(x, torch.tensor(0.3)),
                    nn.functional.pad(x, (1, 1), value=0.3),
                    nn.functional.avg_pool2d(x, 2, 2, 1),
                    nn.functional.avg_pool2d(x, 2, 2, 1, count_include_pad=False),
                    nn.functional.relu(x),
                    x * 2,
                )
                return tuple(q_.quantize_per_tensor(y, 0.25, 9, 0, 255, torch.uint8) for y in results)

        edge = to_edge(exported(Ends(), torch.zeros(1, 1, 4, 4, dtype=torch.int8)))
        (method,) = (op for op in edge.module.walk() if isinstance(op, FuncOp))
        support = OpenvinoSupport(method, "CPU")
        refusals = [(op.name, str(support.refusal(op) or "")) for op in method.walk()]
        found = [(name, text.split()[0]) for name, text in refusals if "of restored integers" in text]
        assert found == [
            ("edge.clamp", "bounds"),
            ("edge.hardtanh", "bounds"),
            ("edge.maximum", "bounds"),
            ("edge.minimum", "bounds"),
            ("edge.constant_pad_nd", "padding"),
            ("edge.avg_pool2d", "padding"),
        ]


def _quantized(name: str) -> tuple[torch.export.ExportedProgram, tuple[Any, ...]]:
    module, inputs = made(name)
    quantized = quantize(module, inputs, "int8", calibration=[inputs]).module
    return torch.export.export(quantized, inputs), inputs


def _quantized_file(name: str) -> bytes:
    edge = to_edge_transform_and_lower(_quantized(name)[0], partitioner=OpenvinoPartitioner())
    return edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer


@pytest.mark.parametrize(
    ("function", "inputs", "reason"),
    [
        (lambda x: x * 2, (torch.arange(4),), "element type"),
        (lambda x: x.to(torch.int32), (torch.arange(4),), "64-bit integers"),
        (lambda x: torch.sort(x)[0], (torch.randn(4),), "OpenVINO has no such node"),
        (lambda x: x.to(torch.int32), (torch.randn(4),), "conversion of floats to integers"),
        (lambda x: nn.functional.avg_pool2d(x, 2, ceil_mode=True), (torch.randn(1, 1, 5, 5),), "ceil_mode"),
        (lambda x: nn.functional.pad(x, (-1, 1)), (torch.randn(4),), "negative padding"),
        (lambda x: x + 1, (torch.randn(0, 4),), "empty tensor"),
        (
            lambda x: x + 1,
            (torch.randn(1, 2, 3, 3).contiguous(memory_format=torch.channels_last),),
            "dim order",
        ),
    ],
)
def test_refusals(function: Any, inputs: tuple[torch.Tensor, ...], reason: str) -> None:
    class Module(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return function(x)

    made = to_edge_transform_and_lower(exported(Module(), *inputs), partitioner=OpenvinoPartitioner())
    report = made.delegation
    assert report is not None
    assert reason in str(report), str(report)


def test_sizes_known_at_run_time_are_left() -> None:
    sizes = {"x": {0: torch.export.Dim("n", max=8)}}
    program = exported(nn.Linear(4, 4), torch.randn(3, 4))
    program = exported(
        nn.Sequential(nn.Linear(4, 4)), torch.randn(3, 4), dynamic_shapes=({0: sizes["x"][0]},)
    )
    file = to_edge_transform_and_lower(program, partitioner=OpenvinoPartitioner()).to_executorch().buffer
    assert "OpenvinoBackend" not in operators(file)


def test_options() -> None:
    backend, options = parse_backend("openvino:precision=fast,without=relu")
    partitioner = backend.partitioner(options)
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    made = to_edge_transform_and_lower(exported(module, torch.randn(2, 4)), partitioner=partitioner)
    assert operators(made.to_executorch().buffer) == ["OpenvinoBackend", "aten::relu.out"]
    with pytest.raises(ValueError, match="unknown precision 'f64'"):
        backend.partitioner({"precision": "f64"})
    register_backend(backend)


class TestRunning:
    def test_a_model_runs_only_where_the_user_allows_it(self) -> None:
        file = file_of(nn.ReLU(), torch.randn(2))
        with pytest.raises(ExecutorchError, match="holds a model for OpenVINO") as caught:
            Runtime().load_program(file).load_method("forward")
        assert caught.value.code == Error.NotSupported
        assert "allow_native=True" in str(caught.value.hint)

    def test_signals_after_models_are_released(self, tmp_path: Path) -> None:
        """On processors with AMX, OpenVINO may leave an alternate stack for signal handlers that is unmapped."""
        path = tmp_path / "relu.pte"
        path.write_bytes(file_of(nn.ReLU(), torch.randn(2)))
        script = (
            "import signal\n"
            "from et_vm.runtime import Runtime\n"
            f"load = lambda: Runtime().load_program({str(path)!r}, allow_native=True).load_method('forward')\n"
            "first, second = load(), load()\n"
            "del first\n"
            "del second\n"
            "signal.signal(signal.SIGINT, lambda *_: print('handled'))\n"
            "signal.raise_signal(signal.SIGINT)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "handled\n", "")

    def test_a_damaged_model(self) -> None:
        file = bytearray(file_of(nn.ReLU(), torch.randn(2)))
        at = file.index(b"RR_UPCVO")
        file[at : at + 400] = b"\0" * 400
        with pytest.raises(ExecutorchError, match="OpenVINO cannot import the model") as caught:
            Runtime().load_program(bytes(file), allow_native=True).load_method("forward")
        assert caught.value.code == Error.DelegateInvalidCompatibility

    @pytest.mark.parametrize("part", ["ov=20", "isa="])
    def test_a_model_of_another_version_or_processor(self, part: str) -> None:
        file = bytearray(file_of(nn.ReLU(), torch.randn(2)))
        at = file.index(part.encode()) + len(part)
        file[at : at + 2] = b"11"
        with pytest.raises(
            ExecutorchError, match=r"OpenVINO cannot import the model: current: .*ov="
        ) as caught:
            Runtime().load_program(bytes(file), allow_native=True).load_method("forward")
        assert "another version or processor" in str(caught.value.hint)

    def test_a_device_that_is_not_there(self) -> None:
        file = file_of(nn.ReLU(), torch.randn(2)).replace(b"CPU\0", b"NPU\0")
        with pytest.raises(ExecutorchError, match="OpenVINO cannot import the model"):
            Runtime().load_program(file, allow_native=True).load_method("forward")


@pytest.mark.parametrize("place", ["compiler", "runtime"])
def test_without_the_package(place: str, tmp_path: Any) -> None:
    path = tmp_path / "relu.pte"
    path.write_bytes(file_of(nn.ReLU(), torch.randn(2)))
    script = "import sys\nsys.modules['openvino'] = None\n" + (
        "from et_backends.openvino.compiler import OpenvinoPartitioner\nOpenvinoPartitioner()"
        if place == "compiler"
        else f"from et_vm.runtime import Runtime\n"
        f"Runtime().load_program({str(path)!r}, allow_native=True).load_method('forward')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the package openvino is not installed" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_a_blob_that_the_disk_has_no_room_for(tmp_path: Path) -> None:
    """OpenVINO's own writing to a file is silent about it, which would leave a blob that is cut short."""
    openvino: Any = import_module("openvino")
    parameter = openvino.opset13.parameter([2, 2], np.float32)
    openvino.serialize(
        openvino.Model([openvino.opset13.relu(parameter)], [parameter]), tmp_path / "model.xml"
    )
    export_apart(tmp_path / "model.xml", "CPU", tmp_path / "blob")
    assert (tmp_path / "blob").stat().st_size > 100
    with pytest.raises(ValueError, match=r"cannot compile the model for CPU: .*No space left on device"):
        export_apart(tmp_path / "model.xml", "CPU", Path("/dev/full"))


@pytest.mark.parametrize(("largest", "taken"), [(7.0, True), (1e9, False)])
def test_biases_beyond_the_integers_of_results(largest: float, taken: bool) -> None:
    """Of processors with AMX, OpenVINO's kernels convert results to integers before they bound them."""
    q = torch.ops.quantized_decomposed
    bounds = (-128, 127, torch.int8)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.ones(2, 3, 1, 1, dtype=torch.int8))
            self.register_buffer("bias", torch.tensor([0.5, largest]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.02, 0, *bounds), 0.02, 0, *bounds)
            weight = q.dequantize_per_tensor(self.weight, 0.01, 0, *bounds)
            made = torch.relu(nn.functional.conv2d(x, weight, self.bias))
            return q.dequantize_per_tensor(
                q.quantize_per_tensor(made, 0.05, -128, *bounds), 0.05, -128, *bounds
            )

    x = torch.randn(1, 3, 4, 4)
    edge = to_edge_transform_and_lower(torch.export.export(Net(), (x,)), partitioner=[OpenvinoPartitioner()])
    assert edge.delegation is not None
    left = [one for one in edge.delegation.left_out if one.subject == "edge.convolution"]
    reasons = [note.text for one in left for note in one.notes]
    wanted = "a bias beyond 32 bits in steps of the result, which OpenVINO may compute wrong"
    assert not reasons if taken else any(wanted in text for text in reasons), reasons
    buffer = edge.to_executorch(ExecutorchBackendConfig(target="et-vm")).buffer
    method = Runtime.get().load_program(buffer, allow_native=True).load_method("forward")
    assert (torch.as_tensor(method.execute([x])[0]) - Net()(x)).abs().max() <= 0.0501
