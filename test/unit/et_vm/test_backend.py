import pytest

from et_schema.errors import Error, ExecutorchError
from et_vm.backend import Backend, BackendRegistry


class Acme(Backend):
    """A backend with options."""

    def __init__(self):
        self.options = {"threads": 1}

    def init(self, context, processed, compile_specs):
        return None

    def execute(self, context, handle, args): ...

    def set_option(self, options):
        self.options.update(options)

    def get_option(self, key):
        return self.options[key]


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


class TestStandard:
    def test_names_and_lookup(self):
        registry = BackendRegistry.standard()
        assert "NestedProgramBackend" in registry.registered_backend_names
        first = registry.lookup("NestedProgramBackend")
        assert registry.lookup("NestedProgramBackend") is first
        assert BackendRegistry.standard().lookup("NestedProgramBackend") is not first
        assert registry.lookup("Npu") is None

    def test_names_are_taken(self):
        with pytest.raises(ExecutorchError) as caught:
            BackendRegistry.standard().register("NestedProgramBackend", Acme())
        assert caught.value.code == Error.RegistrationAlreadyRegistered
