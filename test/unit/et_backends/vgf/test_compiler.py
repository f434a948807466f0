"""The VGF backend: files that Arm's converter makes, settings, and errors."""

from __future__ import annotations

import os
import struct
import warnings
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock, Thread
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from et_backends.vgf import runtime as vgf
from et_backends.vgf.compiler import VgfCompileSpec, VgfPartitioner, converter
from et_backends.vgf.format import (
    BindingSlot,
    Description,
    ModelResourceTable,
    ModelResourceTableEntry,
    ModelSequenceTable,
    read_vgf,
)
from et_backends.vgf.lines import vgf_lines
from et_ir import ExecutorchBackendConfig, to_edge_transform_and_lower
from et_ir.backends import make_partitioner
from et_ir.delegation.errors import BackendError
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.pte import read_pte
from et_schema.writer import encode
from et_vm.runtime import Runtime

needs_converter = pytest.mark.skipif(
    find_spec("model_converter") is None and "CI" not in os.environ,
    reason="needs the package ai_ml_sdk_model_converter, the extra 'vgf'",
)


def net() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5), nn.Softmax(-1)
    return nn.Sequential(*layers).eval(), torch.randn(1, 3, 8, 8)


def file_bytes(module: nn.Module, x: torch.Tensor, **options: Any) -> bytes:
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(module, (x,))
    edge = to_edge_transform_and_lower(program, partitioner=VgfPartitioner(VgfCompileSpec(**options)))
    config = ExecutorchBackendConfig(target="et-vm", extra_backends=["VgfBackend"])
    return edge.to_executorch(config).buffer


def file_of(module: nn.Module, x: torch.Tensor, **options: Any) -> Any:
    return read_pte(file_bytes(module, x, **options))


@needs_converter
def test_a_network() -> None:
    module, x = net()
    pte = file_of(module, x, tosa_spec="TOSA-1.0+FP", compiler_flags=["--emit-debug-info"])
    (delegate,) = pte.program.execution_plan[0].delegates
    specs = {spec.key: bytes(spec.value) for spec in delegate.compile_specs}
    assert delegate.id == "VgfBackend"
    assert specs == {
        "tosa_spec": b"TOSA-1.0+FP",
        "compile_flags": b"--emit-debug-info",
        "output_format": b"vgf",
    }
    blob = pte.delegate_data(delegate.processed)
    file = read_vgf(blob)
    weights = module[0].weight.detach().permute(0, 2, 3, 1).contiguous().numpy().tobytes()
    assert weights in bytes(file.sections["constants"])
    lines = vgf_lines(blob, specs, {})
    assert lines[0] == f"VGF {'.'.join(map(str, file.version))}, of TOSA-1.0+FP"
    assert lines[2] == "inputs: float32 [1, 3, 8, 8]; outputs: float32 [1, 5]"


@needs_converter
class TestRunning:
    """What is refused before there is a device; `test/conformance/test_vgf.py` runs files."""

    def test_graphs_run_only_where_the_user_allows_them(self) -> None:
        program = Runtime().load_program(file_bytes(*net()))
        with pytest.raises(
            ExecutorchError, match="a Vulkan driver compiles and runs outside et-vm's checks"
        ) as caught:
            program.load_method("forward")
        assert caught.value.code is Error.NotSupported

    def test_without_the_runner(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vgf, "find_spec", lambda name: None)
        program = Runtime().load_program(file_bytes(*net()), allow_native=True)
        with pytest.raises(ExecutorchError, match="ai_ml_sdk_scenario_runner is not installed") as caught:
            program.load_method("forward")
        assert caught.value.code is Error.NotFound

    def test_a_damaged_file(self) -> None:
        file = file_bytes(*net())
        program = Runtime().load_program(file.replace(b"VGF1", b"VGF2"), allow_native=True)
        with pytest.raises(InvalidFile, match="does not begin with VGF1"):
            program.load_method("forward")

    def test_constants_of_an_unknown_type(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The runner takes their size for what it is not, and ends the process."""
        monkeypatch.setattr(vgf, "find_spec", lambda name: name)
        monkeypatch.delitem(vgf.BYTES, 100)
        program = Runtime().load_program(file_bytes(*net()), allow_native=True)
        with pytest.raises(InvalidFile, match="a tensor of format 100"):
            program.load_method("forward")

    @pytest.mark.parametrize("size", [2**40, 0, -5])
    def test_other_tensors_than_the_programs(self, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """A device has memory for what a file says."""
        monkeypatch.setattr(vgf, "find_spec", lambda name: name)
        file = file_bytes(*net())
        sizes = struct.pack("<qq", 1, 5)
        assert file.count(sizes) == 1
        program = Runtime().load_program(file.replace(sizes, struct.pack("<qq", 1, size)), allow_native=True)
        with pytest.raises(ExecutorchError, match="takes other tensors than it is given") as caught:
            program.load_method("forward")
        assert caught.value.code is Error.InvalidArgument


def test_one_thread_at_a_time_changes_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise layers would be taken away from a device that is being opened."""
    manifests = tmp_path / "deploy/share/vulkan/explicit_layer.d"
    manifests.mkdir(parents=True)
    for name in ("VkLayer_Graph", "VkLayer_Tensor"):
        (manifests / f"{name}.json").write_text('{"layer": {"library_path": "lib.so"}}')
    package = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(vgf, "find_spec", lambda name: package)
    monkeypatch.delenv("VK_INSTANCE_LAYERS", raising=False)
    monkeypatch.setenv("VK_LAYER_PATH", "mine")
    seen: list[str | None] = []
    lock, waiting = Lock(), Event()

    class Tried:
        """A lock that says when somebody has to wait for it."""

        def __enter__(self) -> None:
            if not lock.acquire(blocking=False):
                waiting.set()
                lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    monkeypatch.setattr(vgf, "_ENVIRONMENT", Tried())

    def opens_a_device() -> None:
        try:
            with vgf._emulation():
                seen.append(os.environ["VK_LAYER_PATH"])
        finally:
            waiting.set()

    with vgf._emulation():
        first = os.environ["VK_LAYER_PATH"]
        other = Thread(target=opens_a_device)
        other.start()
        waiting.wait()
        assert not seen
        assert os.environ["VK_LAYER_PATH"] == first
    other.join()
    assert len(seen) == 1
    assert seen[0] not in (first, "mine")
    assert os.environ["VK_LAYER_PATH"] == "mine"
    assert "VK_INSTANCE_LAYERS" not in os.environ


def test_a_file_without_tables() -> None:
    """Sections of zeros."""
    places = b"".join(struct.pack("<QQ", 128 + 8 * number, 8) for number in range(4))
    blob = (b"VGF1" + bytes(12) + places).ljust(160, b"\0")
    with pytest.raises(InvalidFile) as caught:
        read_vgf(memoryview(blob))
    assert str(caught.value.where).startswith("resources")


def _file(resource: ModelResourceTableEntry, constants: bytes = b"", number: int = 0) -> memoryview:
    """A file whose input and output are both the resource of the number, and that has one resource."""
    slots = [BindingSlot(0, number), BindingSlot(1, number)]
    sections = (
        b"",
        bytes(encode(ModelSequenceTable(slots[:1], slots[1:]), bytes(4))),
        bytes(encode(ModelResourceTable([resource]), bytes(4))),
        constants,
    )
    places, data = b"", b""
    for section in sections:
        places += struct.pack("<QQ", 128 + len(data), len(section))
        data += section.ljust(-(-len(section) // 16) * 16, b"\0")
    return memoryview((b"VGF1" + bytes(12) + places).ljust(128, b"\0") + data)


def _constant(number: int = 0, sparse: int = -1, size: int = 24, offset: int = 0, count: int = 1) -> bytes:
    return struct.pack("<8sQIiQQ", b"CONST00", count, number, sparse, size, offset) + bytes(24)


FLOATS = ModelResourceTableEntry(100, 0, Description([2, 3]))


class TestTables:
    def test_arguments_and_constants(self) -> None:
        file = read_vgf(_file(FLOATS, _constant()))
        assert [(one.binding, one.shape) for one in (*file.inputs, *file.outputs)] == [
            (0, (2, 3)),
            (1, (2, 3)),
        ]
        assert [(one.format, one.shape) for one in file.constants] == [(100, (2, 3))]
        assert read_vgf(_file(FLOATS, b"CONST99\0" + bytes(40))).constants == ()

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({"number": 1}, "there is no tensor 1"),
            ({"offset": 1}, "24 bytes at 1 of 24"),
            ({"size": 2**64 - 1}, "18,446,744,073,709,551,615 bytes at 0 of 24"),
            ({"size": 20}, r"20 bytes for a tensor of sizes \[2, 3\]"),
            ({"count": 2**60}, "constants, of which there is room for 2"),
        ],
    )
    def test_constants_that_make_no_sense(self, entry: dict[str, int], message: str) -> None:
        """Their data is read by the size of the tensor."""
        with pytest.raises(InvalidFile, match=message) as caught:
            read_vgf(_file(FLOATS, _constant(**entry)))
        assert caught.value.code is Error.DelegateInvalidCompatibility

    @pytest.mark.parametrize("sizes", [[2, 0], [2, -3]])
    def test_sizes_of_constants(self, sizes: list[int]) -> None:
        for format in (100, 612):
            with pytest.raises(InvalidFile, match="bytes for a tensor of sizes"):
                read_vgf(_file(ModelResourceTableEntry(format, 3, Description(sizes)), _constant(size=0)))

    def test_many_dimensions(self) -> None:
        """Each of many arguments would have the shape again."""
        with pytest.raises(InvalidFile, match="tensor 0 has 1,000 dimensions"):
            read_vgf(_file(ModelResourceTableEntry(100, 0, Description([1] * 1000))))

    def test_arguments_that_are_not_there(self) -> None:
        with pytest.raises(InvalidFile, match="there is no tensor 7"):
            read_vgf(_file(FLOATS, number=7))


@needs_converter
def test_what_the_converter_refuses() -> None:
    module, x = net()
    with pytest.raises(Exception, match="the model converter cannot convert it"):
        file_of(module, x, compiler_flags=["--no-such-flag"])
    with pytest.raises(ValueError, match="the model converter cannot convert it"):
        converter.convert_tosa(b"nothing", ())


@needs_converter
def test_options() -> None:
    made = make_partitioner("vgf:spec=TOSA-1.0+INT,without=relu")
    assert isinstance(made, VgfPartitioner)
    assert str(made.compile_spec.tosa_spec) == "TOSA-1.0+INT"


def test_settings() -> None:
    assert str(VgfCompileSpec().tosa_spec) == "TOSA-1.0+INT+FP+int16+int4"
    with pytest.raises(ValueError, match="has a space"):
        VgfCompileSpec(compiler_flags=["a b"])
    with pytest.raises(ValueError, match="TOSA-9"):
        VgfCompileSpec("TOSA-9")


def test_a_converter_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converter, "find_spec", lambda name: None)
    with pytest.raises(BackendError, match="pip install ai_ml_sdk_model_converter, or the extra 'vgf'"):
        make_partitioner("vgf")


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"VGF1", "4 bytes, the header has 128"),
        (b"VGF2" + bytes(124), "does not begin with VGF1"),
        (b"VGF1" + bytes(4) + b"\1" + bytes(119), "version 1.0.0; versions 0.x"),
        (b"VGF1" + bytes(124), "0 bytes at 0 of 128 at modules"),
        (b"VGF1" + bytes(12) + b"\x80" + bytes(7) + b"\1" + bytes(103), "1 bytes at 128 of 128 at modules"),
    ],
)
def test_files_that_make_no_sense(blob: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_vgf(memoryview(blob))
    assert caught.value.code is Error.DelegateInvalidCompatibility
