import gc

import numpy as np
import pytest
from vm_programs import Build

from et_schema.errors import Error, ExecutorchError, MissingBackend, Trap
from et_schema.generated.program import CompileSpec
from et_vm.backend import Backend, BackendRegistry
from et_vm.kernels.registry import KernelRegistry
from et_vm.program import Program


class Acme(Backend):
    """Adds the number in its blob to the first tensor."""

    def __init__(self):
        self.destroyed = 0
        self.available = True
        self.specs = []

    @property
    def is_available(self):
        return self.available

    def init(self, context, processed, compile_specs):
        if processed[:1] != b"+":
            raise ExecutorchError(Error.DelegateInvalidCompatibility, "blob of another version")
        self.specs = compile_specs
        assert context.method_name == "forward"
        assert dict(context.named_data) == {}
        return float(bytes(processed[1:]))

    def execute(self, context, handle, args):
        del context
        source, target = args
        target.resize(source.sizes)
        np.add(source.array, handle, target.array, casting="same_kind")

    def destroy(self, handle):
        self.destroyed += 1


def delegated(blob=b"+1.5") -> Program:
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    build.delegate("Acme", blob, x, out, specs=[CompileSpec("level", b"3")])
    build.inputs(x)
    build.outputs(out)
    return Program.load(build.file())


def load(program, backends, **options):
    return program.load_method("forward", kernels=KernelRegistry(), backends=backends, **options)


@pytest.mark.parametrize("poison", [False, True])
def test_delegates_execute(poison):
    acme = Acme()
    method = load(delegated(), BackendRegistry({"Acme": acme}), poison=poison)
    assert method.execute([np.array([1, 2], np.float32)])[0].tolist() == [2.5, 3.5]
    assert [(spec.key, bytes(spec.value)) for spec in acme.specs] == [("level", b"3")]


def test_handles_are_destroyed_with_the_method():
    acme = Acme()
    method = load(delegated(), BackendRegistry({"Acme": acme}))
    del method
    gc.collect()
    assert acme.destroyed == 1


def test_unknown_backend():
    with pytest.raises(MissingBackend) as caught:
        load(delegated(), BackendRegistry())
    assert caught.value.code == Error.NotFound
    assert caught.value.where == "execution_plan[0].delegates[0].id"


def test_backend_that_is_not_available():
    acme = Acme()
    acme.available = False
    registry = BackendRegistry({"Acme": acme})
    assert not registry.is_available("Acme")
    with pytest.raises(MissingBackend):
        load(delegated(), registry)


def test_incompatible_blob():
    with pytest.raises(ExecutorchError) as caught:
        load(delegated(b"?"), BackendRegistry({"Acme": Acme()}))
    assert caught.value.code == Error.DelegateInvalidCompatibility


def test_handles_are_destroyed_when_another_delegate_fails():
    build = Build()
    x = build.tensor(2)
    build.delegate("Acme", b"+1.5", x, x)
    build.delegate("Acme", b"?", x, x)
    acme = Acme()
    with pytest.raises(ExecutorchError):
        load(Program.load(build.file()), BackendRegistry({"Acme": acme}))
    gc.collect()
    assert acme.destroyed == 1


def test_failure_while_executing_traps():
    class Failing(Acme):
        def execute(self, context, handle, args):
            raise ExecutorchError(Error.DelegateInvalidHandle, "handle is stale")

    with pytest.raises(Trap) as caught:
        load(delegated(), BackendRegistry({"Acme": Failing()})).execute([np.zeros(2, np.float32)])
    assert caught.value.code == Error.DelegateInvalidHandle
    assert caught.value.operator == "Acme"
