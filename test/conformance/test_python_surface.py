"""The Python surface of `executorch.runtime`, name by name: what it has, `et_vm.runtime` has, called the same way.

What is below it, the classes of the extension module, has an equivalent that is named here. Both are enumerated from
the installed package, so a release with more names fails until the tables have them.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from stock import compile_stock

from et_ir import to_edge
from et_schema.errors import Error, ExecutorchError
from et_vm import runtime as ours

CLASSES = ("BackendRegistry", "Method", "OperatorRegistry", "Program", "Runtime")
"""The names of `executorch.runtime`; it is the same list of names in both modules."""

PYBIND = {
    "ExecuTorchMethod": "only named in annotations: et_vm.runtime.Method is the class itself",
    "ExecuTorchProgram": "only named in annotations: et_vm.runtime.Program is the class itself",
}

# The classes of the extension module: where theirs is in et_vm.
EQUIVALENTS = {
    "BundledModule.verify_result_with_bundled_expected_output": "et_vm.devtools.bundled:BundledProgram.verify",
    "ExecuTorchMethod.call": "et_vm.runtime:Method.execute",
    "ExecuTorchMethod.execute": "et_vm.runtime:Method.step",
    "ExecuTorchMethod.get_attribute": "et_vm.runtime:Method.get_attribute",
    "ExecuTorchMethod.get_outputs": "et_vm.runtime:Method.get_outputs",
    "ExecuTorchMethod.method_meta": "et_vm.runtime:Method.metadata",
    "ExecuTorchMethod.set_inputs": "et_vm.runtime:Method.set_inputs",
    "ExecuTorchModule.forward": "et_vm.runtime:Method.execute",
    "ExecuTorchModule.has_etdump": "et_vm.runtime:Program.has_etdump",
    "ExecuTorchModule.method_meta": "et_vm.runtime:Program.metadata",
    "ExecuTorchModule.method_names": "et_vm.runtime:Program.method_names",
    "ExecuTorchModule.plan_execute": "et_vm.runtime:Method.execute",
    "ExecuTorchModule.run_method": "et_vm.runtime:Method.execute",
    "ExecuTorchModule.write_etdump_result_to_file": "et_vm.runtime:Program.write_etdump_result_to_file",
    "ExecuTorchProgram.get_method_name": "et_vm.runtime:Program.method_names",
    "ExecuTorchProgram.has_etdump": "et_vm.runtime:Program.has_etdump",
    "ExecuTorchProgram.load_method": "et_vm.runtime:Program.load_method",
    "ExecuTorchProgram.method_meta": "et_vm.runtime:Program.metadata",
    "ExecuTorchProgram.num_methods": "et_vm.runtime:Program.method_names",
    "ExecuTorchProgram.write_etdump_result_to_file": "et_vm.runtime:Program.write_etdump_result_to_file",
    "MethodMeta.attribute_tensor_meta": "et_vm.runtime:MethodMeta.attribute_tensor_meta",
    "MethodMeta.input_tensor_meta": "et_vm.runtime:MethodMeta.input_tensor_meta",
    "MethodMeta.name": "et_vm.runtime:MethodMeta.name",
    "MethodMeta.num_attributes": "et_vm.runtime:MethodMeta.num_attributes",
    "MethodMeta.num_inputs": "et_vm.runtime:MethodMeta.num_inputs",
    "MethodMeta.num_outputs": "et_vm.runtime:MethodMeta.num_outputs",
    "MethodMeta.output_tensor_meta": "et_vm.runtime:MethodMeta.output_tensor_meta",
    "TensorInfo.dtype": "et_vm.runtime:TensorInfo.dtype",
    "TensorInfo.is_memory_planned": "et_vm.runtime:TensorInfo.is_memory_planned",
    "TensorInfo.nbytes": "et_vm.runtime:TensorInfo.nbytes",
    "TensorInfo.sizes": "et_vm.runtime:TensorInfo.sizes",
    "Verification.InternalConsistency": "et_vm.runtime:Verification.InternalConsistency",
    "Verification.Minimal": "et_vm.runtime:Verification.Minimal",
    "Verification.name": "et_vm.runtime:Verification.Minimal.name",
    "Verification.value": "et_vm.runtime:Verification.Minimal.value",
    "_create_profile_block": "et_vm:RecordingTracer",
    "_dump_profile_results": "et_vm:RecordingTracer",
    "_get_operator_names": "et_vm.runtime:OperatorRegistry.operator_names",
    "_get_registered_backend_names": "et_vm.runtime:BackendRegistry.registered_backend_names",
    "_is_available": "et_vm.runtime:BackendRegistry.is_available",
    "_load_bundled_program_from_buffer": "et_vm.devtools.bundled:BundledProgram.load",
    "_load_for_executorch": "et_vm.runtime:Runtime.load_program",
    "_load_for_executorch_from_buffer": "et_vm.runtime:Runtime.load_program",
    "_load_for_executorch_from_bundled_program": "et_vm.devtools.bundled:BundledProgram.load",
    "_load_for_executorch_from_data_loader": "et_vm:DataLoader",
    "_load_program": "et_vm.runtime:Runtime.load_program",
    "_load_program_from_buffer": "et_vm.runtime:Runtime.load_program",
    "_reset_profile_results": "et_vm:RecordingTracer",
}

NO_EQUIVALENT = {
    "_threadpool_get_thread_count": "the threads are those of numpy's BLAS and of torch, which have their own settings",
    "_unsafe_reset_threadpool": "as above",
}


def stock(name: str = "executorch.runtime") -> Any:
    with warnings.catch_warnings(action="ignore"):  # about its own use of deprecated functions
        return importlib.import_module(name)


def extension() -> Any:
    return stock("executorch.extension.pybindings._C")


def public(item: Any) -> set[str]:
    return {name for name in dir(item) if not name.startswith("_")}


def test_the_names_of_the_module() -> None:
    module = stock()
    own = {
        name
        for name in public(module)
        if inspect.isclass(getattr(module, name))
        and getattr(module, name).__module__.startswith("executorch.")
    }
    assert own == {*CLASSES, *PYBIND, "MethodMeta", "Verification"}
    assert (own - set(PYBIND)) <= set(ours.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_the_members_of_its_classes(name: str) -> None:
    theirs, mine = getattr(stock(), name), getattr(ours, name)
    for member in public(theirs):
        static = inspect.getattr_static(theirs, member)
        assert hasattr(mine, member), member
        if isinstance(static, property):
            assert isinstance(inspect.getattr_static(mine, member), property), member
        else:
            assert_takes(getattr(mine, member), getattr(theirs, member))


def assert_takes(mine: Any, theirs: Any) -> None:
    """Every call of `theirs` is one of `mine`: the same parameters in the same order with the same defaults, and of
    what is more a default.
    """
    wanted, found = inspect.signature(theirs).parameters, dict(inspect.signature(mine).parameters)
    assert [name for name in found if name in wanted] == list(wanted), (mine, theirs)
    for name, parameter in wanted.items():
        same = found.pop(name)
        assert same.kind == parameter.kind, (mine, name)
        default = parameter.default
        if default is not inspect.Parameter.empty:
            assert same.default is not inspect.Parameter.empty, (mine, name)
            values = (getattr(value, "value", value) for value in (default, same.default))
            assert len({None if value is None else int(value) for value in values}) == 1, (mine, name)
    for name, parameter in found.items():
        assert parameter.default is not inspect.Parameter.empty, (mine, name)


def test_what_is_below_it_has_an_equivalent() -> None:
    module = extension()
    names: set[str] = set()
    for name in dir(module):
        item = getattr(module, name)
        if inspect.isclass(item):
            names |= {f"{name}.{member}" for member in public(item)}
        elif callable(item) and not name.startswith("__"):
            names.add(name)
    assert names == EQUIVALENTS.keys() | NO_EQUIVALENT.keys()
    for path in EQUIVALENTS.values():
        where, _, attributes = path.partition(":")
        found: Any = importlib.import_module(where)
        for attribute in attributes.split("."):
            assert hasattr(found, attribute), path
            found = getattr(found, attribute)


class State(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.total.add_(x)
        return self.total + y, x * y


@pytest.fixture(scope="module")
def program() -> bytes:
    return compile_stock(torch.export.export(State(), (torch.ones(2), torch.ones(2))))


def test_the_same_script_says_the_same(program: bytes) -> None:
    """Everything that a script can ask of both, with the import changed."""

    def script(module: Any) -> list[object]:
        runtime = module.Runtime.get()
        assert runtime is module.Runtime.get()
        assert runtime.backend_registry.is_available("Nowhere") is False
        assert {"aten::add.out", "executorch_prim::add.Scalar"} <= runtime.operator_registry.operator_names
        loaded = runtime.load_program(program, verification=module.Verification.Minimal)
        method = loaded.load_method("forward")
        assert loaded.load_method("forward") is method
        said: list[object] = [sorted(loaded.method_names)]
        for meta in (method.metadata, loaded.metadata("forward")):
            said += [meta.name(), meta.num_inputs(), meta.num_outputs(), meta.num_attributes()]
            tensors = [meta.input_tensor_meta(at) for at in range(2)]
            tensors += [meta.output_tensor_meta(at) for at in range(2)]
            said += [(info.sizes(), int(info.dtype()), info.nbytes()) for info in tensors]
        for _ in range(2):
            outputs = method.execute([torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])])
            said += [type(outputs[0]).__name__, *(output.tolist() for output in outputs)]
        for wrong in ("backward", 0):
            with pytest.raises(KeyError):
                loaded.load_method(wrong)
        with pytest.raises(TypeError):
            runtime.load_program(7)
        return said

    assert script(ours) == script(stock())


def test_outputs(program: bytes) -> None:
    method = ours.Runtime().load_program(program).load_method("forward")
    x = np.ones(2, np.float32)
    method.execute([x, 2 * x])
    assert [output.tolist() for output in method.get_outputs()] == [[3, 3], [2, 2]]
    assert np.shares_memory(*(method.get_outputs(clone_outputs=False)[1] for _ in range(2)))
    assert not np.shares_memory(*(method.get_outputs()[1] for _ in range(2)))


def test_state_by_name() -> None:
    exported = torch.export.export(State(), (torch.ones(2), torch.ones(2)))
    method = ours.Runtime().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    x = np.ones(2, np.float32)
    assert method.metadata.num_attributes() == 1
    name = method.metadata.attribute_tensor_meta(0).name()
    assert name == "total"
    state = method.get_attribute(name)
    assert method.execute([x, x])[0].tolist() == [2, 2]
    assert state.tolist() == [1, 1]
    state[:] = 10
    assert method.execute([x, x])[0].tolist() == [12, 12]
    with pytest.raises(ExecutorchError, match="the buffers are total") as caught:
        method.get_attribute("sum")
    assert caught.value.code == Error.InvalidArgument


def test_no_etdump(program: bytes, tmp_path: Any) -> None:
    loaded = ours.Runtime().load_program(program)
    assert not loaded.has_etdump()
    with pytest.raises(ExecutorchError, match="enable_etdump") as caught:
        loaded.write_etdump_result_to_file(str(tmp_path / "a"), str(tmp_path / "b"))
    assert caught.value.code == Error.InvalidState
