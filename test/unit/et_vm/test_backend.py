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
        self.options = {"threads": 1}
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

    def set_option(self, options):
        self.options.update(options)

    def get_option(self, key):
        return self.options[key]


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


def test_failure_while_executing_traps():
    class Failing(Acme):
        def execute(self, context, handle, args):
            raise ExecutorchError(Error.DelegateInvalidHandle, "handle is stale")

    with pytest.raises(Trap) as caught:
        load(delegated(), BackendRegistry({"Acme": Failing()})).execute([np.zeros(2, np.float32)])
    assert caught.value.code == Error.DelegateInvalidHandle
    assert caught.value.operator == "Acme"


class TestRegistry:
    def test_register(self):
        registry = BackendRegistry()
        registry.register("B", Acme())
        registry.register("A", Acme())
        assert registry.registered_backend_names == ["A", "B"]
        assert registry.is_available("A")
        assert not registry.is_available("C")
        with pytest.raises(ExecutorchError) as caught:
            registry.register("A", Acme())
        assert caught.value.code == Error.RegistrationAlreadyRegistered

    def test_options(self):
        registry = BackendRegistry({"A": Acme()})
        registry.set_option("A", {"threads": 4, "mode": "fast"})
        assert registry.get_option("A", "threads") == 4

    @pytest.mark.parametrize(
        ("backend", "options", "code"),
        [
            ("B", {}, Error.NotFound),
            ("A", {"k" * 65: 1}, Error.InvalidArgument),
            ("A", {"k": "v" * 257}, Error.InvalidArgument),
            ("A", {"k": 1.5}, Error.InvalidType),
        ],
    )
    def test_options_that_are_refused(self, backend, options, code):
        with pytest.raises(ExecutorchError) as caught:
            BackendRegistry({"A": Acme()}).set_option(backend, options)
        assert caught.value.code == code

    def test_a_backend_without_options(self):
        class Plain(Backend):
            def init(self, context, processed, compile_specs):
                return None

            def execute(self, context, handle, args): ...

        registry = BackendRegistry({"A": Plain()})
        for act in (lambda: registry.set_option("A", {"k": 1}), lambda: registry.get_option("A", "k")):
            with pytest.raises(ExecutorchError) as caught:
                act()
            assert caught.value.code == Error.NotFound
        registry.set_option("A", {})
        assert Plain().destroy(None) is None
