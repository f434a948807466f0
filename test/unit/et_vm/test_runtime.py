import io
import threading

import numpy as np
import pytest
import torch
from support.vm_programs import Build, chain_of_adds, combine, kernels

from et_schema.errors import Error, ExecutorchError, InputError, InvalidFile
from et_vm.backend import BackendRegistry
from et_vm.kernels.libraries import load_library
from et_vm.kernels.prims import PRIMS
from et_vm.load.loader import FileDataLoader
from et_vm.platform import Platform
from et_vm.run.memory import MemoryManager
from et_vm.runtime import Runtime, Verification
from et_vm.tracer import EventTracer, RecordingTracer


@pytest.fixture
def runtime():
    return Runtime()


def one_and_two() -> bytes:
    first, second = chain_of_adds(1), chain_of_adds(2, width=100)
    first.plan.name, second.plan.name = "one", "two"
    return combine(first, second)


def test_one_per_process():
    found = []
    threads = [threading.Thread(target=lambda: found.append(Runtime.get())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_registries(runtime):
    assert runtime.backend_registry.registered_backend_names == [
        "CoreMLBackend",
        "NativeBackend",
        "NestedProgramBackend",
        "OpenvinoBackend",
        "SpirvBackend",
        "TOSABackend",
        "VgfBackend",
        "VulkanBackend",
        "XnnpackBackend",
    ]
    names = runtime.operator_registry.operator_names
    assert "aten::add.out" in names
    assert set(PRIMS) <= names


@pytest.mark.parametrize("kind", ["path", "str", "bytes", "bytearray", "memoryview", "file"])
def test_load_from(runtime, tmp_path, kind):
    data = chain_of_adds(1).file()
    path = tmp_path / "model.pte"
    path.write_bytes(data)
    source = {
        "path": path,
        "str": str(path),
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "file": io.BytesIO(data),
    }[kind]
    program = runtime.load_program(source, kernels=kernels())
    assert program.method_names == {"forward"}
    (out,) = program.load_method("forward").execute([np.ones(4, np.float32)])
    assert out.tolist() == [2] * 4


def test_methods_are_cached_and_share_their_arenas(runtime):
    program = runtime.load_program(one_and_two(), kernels=kernels())
    assert program.load_method("one") is program.load_method("one")
    assert program._memory.sizes == {1: 1200}
    for name, width in (("one", 4), ("two", 100)):
        x = np.ones(width, np.float32)
        (out,) = program.load_method(name).execute([x], clone_outputs=False)
        assert np.shares_memory(out, program._memory.bank(1, 1200))
    assert program.core.method_names == ("one", "two")


def test_unknown_methods(runtime):
    program = runtime.load_program(one_and_two(), kernels=kernels())
    with pytest.raises(KeyError, match="no method 'three'; there are: one, two"):
        program.load_method("three")
    with pytest.raises(KeyError, match="there are: one, two, did you mean 'two'"):
        program.load_method("tow")
    with pytest.raises(ExecutorchError) as caught:
        program.metadata("three")
    assert caught.value.code == Error.InvalidArgument


@pytest.mark.parametrize("tensor", [np.ones(4, np.float32), torch.ones(4)])
def test_a_tensor_in_place_of_the_list_of_inputs(runtime, tensor):
    method = runtime.load_program(chain_of_adds(1).file(), kernels=kernels()).load_method("forward")
    for call in (method.execute, method.set_inputs):
        with pytest.raises(InputError, match=r"expected a list of inputs, got a tensor: pass \[x\]"):
            call(tensor)
    with pytest.raises(InputError, match="expected a list of inputs, got dict"):
        method.execute({"x": tensor})
    (out,) = method.execute((tensor,))
    assert out.tolist() == [2] * 4


def test_metadata(runtime):
    program = runtime.load_program(one_and_two())
    assert program.metadata("two").input_tensor_meta(0).sizes() == (100,)


def test_verification(runtime):
    build = Build()
    build.outputs(7)
    with pytest.raises(InvalidFile):
        runtime.load_program(build.file())
    program = runtime.load_program(build.file(), verification=Verification.Minimal)
    with pytest.raises(InvalidFile):
        program.load_method("forward")


def test_etdump_arguments(runtime):
    with pytest.raises(TypeError, match="not both"):
        runtime.load_program(one_and_two(), enable_etdump=True, tracer=EventTracer())
    with pytest.raises(ExecutorchError, match="-1 bytes"):
        runtime.load_program(one_and_two(), enable_etdump=True, debug_buffer_size=-1)
    program = runtime.load_program(one_and_two(), enable_etdump=False, debug_buffer_size=100)
    assert not program.has_etdump()


def test_data_of_tensors_comes_from_one_place():
    with pytest.raises(TypeError, match="not both"):
        Runtime().load_program(one_and_two(), data_path="a.ptd", external={})


def test_options_reach_the_methods():
    tracer = RecordingTracer()
    runtime = Runtime(backends=BackendRegistry())
    program = runtime.load_program(chain_of_adds(3).file(), kernels=kernels(), tracer=tracer, poison=True)
    (out,) = program.load_method("forward").execute([np.ones(4, np.float32)])
    assert out.tolist() == [4] * 4
    assert len(tracer.instructions) == 3


def test_display_and_calls():
    """Programs and methods say what they are; a method is called with its inputs as arguments."""
    program = Runtime(backends=BackendRegistry()).load_program(chain_of_adds(1).file(), kernels=kernels())
    method = program.load_method("forward")
    assert repr(program) == repr(program.core) == "<Program <bytes>: methods forward>"
    assert repr(method) == "<Method forward(float32[4]) -> (float32[4])>"
    assert program._repr_html_().startswith("<table><caption>&lt;bytes&gt;: ")
    assert method._repr_html_() == program.metadata("forward")._repr_html_()
    x = np.ones(4, np.float32)
    assert [one.tolist() for one in method(x)] == [one.tolist() for one in method.execute([x])]


def test_representations_have_no_addresses(tmp_path):
    path = tmp_path / "model.pte"
    path.write_bytes(chain_of_adds(1).file())
    assert repr(Runtime(backends=BackendRegistry())) == "<Runtime: no backends>"
    assert repr(Runtime().backend_registry).startswith("<BackendRegistry: CoreMLBackend, NativeBackend, ")
    assert (
        repr(kernels())
        == f"<KernelRegistry: {len({name.partition('.')[0] for name in kernels().names()})} operators>"
    )
    assert repr(FileDataLoader(path)) == f"<FileDataLoader {path}: {path.stat().st_size} bytes>"
    assert repr(Platform(work_limit=5)) == "Platform(log_level=ERROR, work_limit=5)"
    assert repr(MemoryManager({1: 64, 2: 1})) == "<MemoryManager: bank 1 of 64 bytes, bank 2 of 1 byte>"
    assert repr(EventTracer()) == "<EventTracer>"
    tracer = RecordingTracer()
    program = Runtime().load_program(path, kernels=kernels())
    program.core.load_method("forward", kernels=kernels(), tracer=tracer).execute([np.ones(4, np.float32)])
    assert repr(tracer) == "<RecordingTracer: 1 instruction, 1 execution>"
    assert repr(program.metadata("forward")) == "MethodMeta(forward: 1 input, 1 output)"


class TestLibraries:
    def test_by_name(self):
        assert "aten::add.out" in load_library("portable")

    def test_one_per_runtime(self, runtime):
        assert runtime.kernels("portable") is runtime.kernels("portable")
        assert runtime.kernels("portable") is not Runtime().kernels("portable")

    def test_unknown(self):
        with pytest.raises(ExecutorchError, match="the libraries are portable, aten") as caught:
            load_library("fast")
        assert caught.value.code == Error.NotFound

    def test_not_installed(self, monkeypatch):
        def missing(_):
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

        monkeypatch.setattr("et_vm.kernels.libraries.import_module", missing)
        with pytest.raises(ExecutorchError, match="need the package 'torch'") as caught:
            load_library("aten")
        assert caught.value.code == Error.NotSupported
