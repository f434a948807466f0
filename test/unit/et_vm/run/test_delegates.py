import gc

import numpy as np
import pytest
from support import xnnpack_graphs
from support.vm_programs import Build, kernels

from et_backends.xnnpack.format import graph as xnnpack
from et_backends.xnnpack.format.nodes import NO_VALUE
from et_schema.backend_packages import Packages
from et_schema.errors import Error, ExecutorchError, MissingBackend, Trap
from et_schema.program import CompileSpec
from et_vm.backend import Backend, BackendRegistry
from et_vm.kernels.registry import KernelRegistry
from et_vm.program import Program
from et_vm.runtime import Runtime
from et_vm.tracer import RecordingTracer


class Acme(Backend):
    """Adds the number in its blob to the first tensor."""

    def __init__(self):
        self.destroyed = 0
        self.available = True
        self.specs = []
        self.arguments = ()

    @property
    def is_available(self):
        return self.available

    def init(self, context, processed, compile_specs):
        if processed[:1] != b"+":
            raise ExecutorchError(Error.DelegateInvalidCompatibility, "blob of another version")
        self.specs = compile_specs
        self.arguments = context.arguments
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


class Dividing(Acme):
    """Divides by the number in its blob."""

    def __init__(self, *, calculates):
        super().__init__()
        self.calculates = calculates
        self.given = []

    def execute(self, context, handle, args):
        source, target = args
        self.given.append(args)
        np.divide(source.array, handle, target.array, casting="same_kind")


def test_floating_point_errors_of_backends():
    """A backend that computes with numpy computes in silence; another one has the caller's surroundings."""
    one = np.array([1, 2], np.float32)
    with np.errstate(all="raise"):
        silent = load(delegated(b"+0"), BackendRegistry({"Acme": Dividing(calculates=True)}))
        assert silent.execute([one])[0].tolist() == [np.inf, np.inf]
        method = load(delegated(b"+0"), BackendRegistry({"Acme": Dividing(calculates=False)}))
        with pytest.raises(Trap, match="divide by zero"):
            method.execute([one])


def test_a_kernel_beside_a_backend_that_does_not_calculate():
    build = Build()
    x, mid, out = build.tensor(2), build.tensor(2), build.tensor(2)
    build.delegate("Acme", b"+1", x, mid)
    build.add(mid, mid, out)
    build.inputs(x)
    build.outputs(out)
    method = Program.load(build.file()).load_method(
        "forward", kernels=kernels(), backends=BackendRegistry({"Acme": Dividing(calculates=False)})
    )
    with np.errstate(all="raise"):
        assert method.execute([np.array([1, 3e38], np.float32)])[0].tolist() == [2, np.inf]


def test_arguments_that_stay_the_same_are_one_tuple():
    backend = Dividing(calculates=False)
    method = load(delegated(b"+1"), BackendRegistry({"Acme": backend}))
    for _ in range(3):
        method.execute([np.array([1, 2], np.float32)])
    assert isinstance(backend.given[0], tuple)
    assert all(args is backend.given[0] for args in backend.given)


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


class Odd(Acme):
    """Raises what is no error of the runtime's."""

    def __init__(self, *places):
        super().__init__()
        self.places = places

    def init(self, context, processed, compile_specs):
        if "init" in self.places:
            raise KeyError("tiles")
        return super().init(context, processed, compile_specs)

    def execute(self, context, handle, args):
        if "execute" in self.places:
            raise ZeroDivisionError("by zero")
        super().execute(context, handle, args)

    def destroy(self, handle):
        super().destroy(handle)
        if "destroy" in self.places:
            raise OSError("device is gone")


def test_whatever_a_backend_raises_at_load_names_it():
    with pytest.raises(ExecutorchError) as caught:
        load(delegated(), BackendRegistry({"Acme": Odd("init")}))
    assert caught.value.code == Error.Internal
    assert "init of the backend 'Acme' raised KeyError: 'tiles' (" in caught.value.message
    assert "test_delegates.py:" in caught.value.message
    assert caught.value.where == "execution_plan[0].delegates[0]"


def test_whatever_a_backend_raises_at_run_time_traps_and_the_method_is_usable():
    odd = Odd("execute")
    method = load(delegated(), BackendRegistry({"Acme": odd}))
    with pytest.raises(Trap, match="ZeroDivisionError: by zero"):
        method.execute([np.zeros(2, np.float32)])
    odd.places = ()
    assert method.execute([np.zeros(2, np.float32)])[0].tolist() == [1.5, 1.5]


def test_destroying_goes_on_after_a_failure(capsys):
    build = Build()
    x = build.tensor(2)
    build.delegate("Acme", b"+1.5", x, x)
    build.delegate("Acme", b"+2.5", x, x)
    odd = Odd("destroy")
    method = load(Program.load(build.file()), BackendRegistry({"Acme": odd}))
    del method
    gc.collect()
    assert odd.destroyed == 2
    assert capsys.readouterr().err.count("destroy of Odd raised OSError: device is gone (") == 2


def test_a_blob_can_be_released():
    class Releases(Acme):
        def init(self, context, processed, compile_specs):
            handle = super().init(context, processed, compile_specs)
            processed.release()
            return handle

    program = delegated()
    registry = BackendRegistry({"Acme": Releases()})
    for _ in range(2):
        assert load(program, registry).execute([np.zeros(2, np.float32)])[0].tolist() == [1.5, 1.5]


def test_memory_of_delegates():
    class Holds(Acme):
        def init(self, context, processed, compile_specs):
            if processed.nbytes > 4:
                processed.release()
            return 0.0

        def memory_report(self, handle):
            return {"tiles": 100}

    build = Build()
    x = build.tensor(2)
    for blob in (b"+1.5", b"+1.5", b"+20.5"):
        build.delegate("Acme", blob, x, x)
    program = Program.load(build.file())
    report = load(program, BackendRegistry({"Acme": Acme()})).memory_report()
    assert sum(report.values()) == report["arena 1"] + report["delegate blobs"]
    report = load(program, BackendRegistry({"Acme": Holds()})).memory_report()
    # Blobs that are released lie in the file alone.
    assert report["delegate blobs"] == 8
    assert report["delegates' tiles"] == 300
    # Nobody else is told of delegates.
    assert "delegate blobs" not in load(Program.load(Build().file()), BackendRegistry()).memory_report()


def test_a_backend_that_does_not_know_its_memory():
    class Forgets(Acme):
        def memory_report(self, handle):
            raise KeyError("tiles")

    method = load(delegated(), BackendRegistry({"Acme": Forgets()}))
    with pytest.raises(ExecutorchError, match=r"Forgets raised KeyError: 'tiles' .*test_delegates.py"):
        method.memory_report()
    assert method.execute([np.zeros(2, np.float32)])[0].tolist() == [1.5, 1.5]


def test_backends_tell_of_their_events():
    class Tells(Acme):
        def execute(self, context, handle, args):
            start = context.platform.ticks()
            super().execute(context, handle, args)
            context.log("add_7", "add", start, context.platform.ticks())

    tracer = RecordingTracer()
    load(delegated(), BackendRegistry({"Acme": Tells()}), tracer=tracer).execute([np.zeros(2, np.float32)])
    (event,) = tracer.delegates
    assert (event.index, event.identifier, event.name) == (0, "add_7", "add")
    (call,) = tracer.instructions
    assert call.start <= event.start <= event.end <= call.end
    # Without a tracer nobody is told.
    load(delegated(), BackendRegistry({"Acme": Tells()})).execute([np.zeros(2, np.float32)])


def test_named_data_of_data_files():
    class Reads(Acme):
        def init(self, context, processed, compile_specs):
            return float(bytes(context.named_data["bias"]))

    method = load(delegated(), BackendRegistry({"Acme": Reads()}), external={"bias": memoryview(b"4.5")})
    assert method.execute([np.zeros(2, np.float32)])[0].tolist() == [4.5, 4.5]


def test_a_missing_backend_says_which_there_are():
    with pytest.raises(MissingBackend, match="backends are: Other; add one with Runtime"):
        load(delegated(), BackendRegistry({"Other": Acme()}))


def test_each_runtime_has_backends_of_its_own():
    build = Build()
    x = build.tensor(2)
    build.delegate("Acme", b"+1.5", x, x)
    build.inputs(x)
    build.outputs(x)
    one, other = Runtime(), Runtime()
    one.backend_registry.register("Acme", Acme())
    method = one.load_program(build.file()).load_method("forward")
    assert method.execute([np.zeros(2, np.float32)])[0].tolist() == [1.5, 1.5]
    with pytest.raises(MissingBackend):
        other.load_program(build.file()).load_method("forward")


def test_backends_are_told_of_the_tensors_of_the_first_call():
    acme = Acme()
    method = load(delegated(), BackendRegistry({"Acme": acme}))
    source, target = acme.arguments
    method.execute([np.array([1, 2], np.float32)])
    assert (source.array.tolist(), target.array.tolist()) == ([1, 2], [2.5, 3.5])


def test_constants_that_overflow_when_they_are_loaded():
    """A scale of a file is no reason for numpy to warn of."""
    graph = xnnpack_graphs.Build()
    x, y = graph.input(1, 2), graph.output(1, 2)
    scales = xnnpack.PerChannelQuant([3e38, 3e38], 0)
    kind = xnnpack_graphs.D.qcint8
    weight = graph.constant(np.full((2, 2), 127, np.int8), kind, scales)
    graph.node(xnnpack.XNNFullyConnected(x, weight, NO_VALUE, y, 0))
    build = Build()
    x, out = build.tensor(1, 2), build.tensor(1, 2)
    build.delegate("XnnpackBackend", graph.blob(), x, out)
    build.inputs(x)
    build.outputs(out)
    method = Program.load(build.file()).load_method("forward")
    assert method.execute([np.ones((1, 2), np.float32)])[0].tolist() == [[np.inf, np.inf]]


def test_a_missing_backend_says_which_packages_fail(monkeypatch):
    packages = Packages({}, {"acme": "it cannot be loaded from acme:PACKAGE: KeyError: 'tiles'"})
    monkeypatch.setattr("et_vm.backend.backend_packages", lambda: packages)
    with pytest.raises(MissingBackend, match="'acme' cannot be used: it cannot be loaded from acme:PACKAGE"):
        load(delegated(), BackendRegistry.standard())
