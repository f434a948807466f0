import numpy as np
import pytest
from support.vm_programs import add_out

from et_schema.errors import Error, ExecutorchError, Trap
from et_schema.program import Frame
from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import KernelRegistry, PrepareContext, Scratch, parameters_of
from et_vm.values import Tensor

F32 = ((ScalarType.FLOAT, (0,)),)


def other(ctx, self, out):
    return np.copyto, (out.array, self.array)


class TestRegistry:
    def test_exact_key_before_fallback(self):
        registry = KernelRegistry()
        registry.register("a::b.out", add_out)
        registry.register("a::b.out", other, F32)
        assert registry.lookup("a::b.out", F32) is other
        assert registry.lookup("a::b.out", ()) is add_out
        assert registry.is_keyed("a::b.out")

    def test_key_without_fallback(self):
        registry = KernelRegistry()
        registry.register("a::b.out", other, F32)
        assert registry.lookup("a::b.out", ()) is None

    def test_unknown_name(self):
        assert KernelRegistry().lookup("a::b.out", ()) is None

    def test_lazy_kernels_load_once(self):
        loads = []
        registry = KernelRegistry()
        registry.register_lazy("a::b.out", lambda: loads.append(1) or add_out)
        assert "a::b.out" in registry
        assert not loads
        assert registry.lookup("a::b.out", ()) is add_out
        assert registry.lookup("a::b.out", ()) is add_out
        assert loads == [1]

    def test_families_load_when_a_kernel_is_looked_up(self):
        loads = []
        registry = KernelRegistry()
        family = {"a::b.out": add_out, "a::b.x_out": other, "a::other.out": other}
        registry.register_family(["a::b"], lambda: loads.append(1) or family)
        assert not loads
        assert registry.lookup("a::b.out", ()) is add_out
        assert "a::b.x_out" in registry
        assert "a::other.out" not in registry
        assert "a::b.y_out" not in registry
        assert registry.names() == ["a::b.out", "a::b.x_out"]
        with pytest.raises(ExecutorchError, match="registered already"):
            registry.register("a::b.x_out", add_out)

    @pytest.mark.parametrize("lazy", [False, True])
    def test_twice_is_an_error(self, lazy):
        registry = KernelRegistry()
        registry.register_lazy("a::b.out", lambda: add_out)
        act = registry.register_lazy if lazy else registry.register
        with pytest.raises(ExecutorchError) as caught:
            act("a::b.out", add_out)
        assert caught.value.code == Error.RegistrationAlreadyRegistered

    def test_same_key_twice_is_an_error(self):
        registry = KernelRegistry()
        registry.register("a::b.out", other, F32)
        with pytest.raises(ExecutorchError, match="registered already"):
            registry.register("a::b.out", other, F32)

    def test_libraries_fill_an_instance(self):
        registry = KernelRegistry(
            [lambda target: target.register("z::z", other), lambda t: t.register("a::a", other)]
        )
        assert registry.names() == ["a::a", "z::z"]
        assert KernelRegistry().names() == []


class TestParameters:
    def test_annotations_are_the_schema(self):
        def kernel(
            ctx: PrepareContext,
            self: "Tensor",
            weight: "Tensor | None",
            alpha: "int | float",
            eps: "float",
            dim: "int | None",
            sizes: "list[int]",
            indices: "list[Tensor | None]",
            mode: "str",
            flag: "bool",
            anything,
        ): ...

        found = {param.name: set(param.kinds) for param in parameters_of(kernel)}
        assert found == {
            "self": {"Tensor"},
            "weight": {"Tensor", "Null"},
            "alpha": {"Int", "Double", "Bool"},
            "eps": {"Double", "Int"},
            "dim": {"Int", "Null"},
            "sizes": {"IntList"},
            "indices": {"TensorList", "OptionalTensorList"},
            "mode": {"String"},
            "flag": {"Bool"},
            "anything": set(),
        }
        assert [param.name for param in parameters_of(kernel) if param.is_float] == ["eps"]

    def test_unknown_annotations_take_anything(self):
        def kernel(ctx, self: "np.ndarray | Tensor"): ...

        assert parameters_of(kernel)[0].kinds == frozenset()

    def test_star_args_have_no_schema(self):
        def kernel(ctx, *args): ...

        assert parameters_of(kernel) is None
        assert parameters_of(print) is None


class TestScratch:
    def test_pieces_of_one_step_are_disjoint_and_aligned(self):
        scratch = Scratch()
        first, second = scratch.take(10), scratch.take(100)
        assert not np.shares_memory(first, second)
        assert first.ctypes.data % 64 == second.ctypes.data % 64 == 0

    def test_steps_share_the_buffer(self):
        scratch = Scratch()
        scratch.take(1000)
        scratch.restart()
        generation = scratch.generation
        first = scratch.take(500)
        scratch.restart()
        second = scratch.take(300)
        assert np.shares_memory(first, second)
        assert scratch.generation == generation
        assert scratch.nbytes == 1024

    def test_growth_replaces_the_buffer(self):
        scratch = Scratch()
        scratch.take(10)
        generation = scratch.generation
        scratch.restart()
        scratch.take(100)
        assert scratch.generation != generation

    def test_more_than_there_can_be(self):
        with pytest.raises(MemoryError):
            Scratch().take(2**63)

    def test_nothing_is_fine(self):
        assert Scratch().take(0).nbytes == 0


class TestContext:
    def test_scratch_has_shape_and_type(self):
        array = PrepareContext("a::b").scratch((2, 3), np.float64)
        assert array.shape == (2, 3)
        assert array.dtype == np.float64
        assert PrepareContext("a::b").scratch(5).shape == (5,)

    def test_memo_is_per_call(self):
        memo: dict[object, object] = {}
        first = PrepareContext("a::b", memo=memo, memo_key=1)
        second = PrepareContext("a::b", memo=memo, memo_key=2)
        assert first.memo("w", lambda: [1]) is first.memo("w", lambda: [2])
        assert second.memo("w", lambda: [3]) == [3]

    def test_trap_says_what_and_where(self):
        context = PrepareContext(
            "a::b.out", instruction=3, frames=[Frame("model.py", 12, "forward", "x + y")]
        )
        trap = context.trap(arg="other", expected="shape [2]", got="[3]")
        assert isinstance(trap, Trap)
        assert trap.code == Error.InvalidArgument
        text = str(trap)
        for part in (
            "argument 'other': expected shape [2], got [3]",
            "instruction 3: a::b.out",
            "model.py:12",
        ):
            assert part in text

    def test_check_raises_only_when_it_fails(self):
        context = PrepareContext("a::b.out")
        context.check(True, arg="x", expected=1, got=2)
        with pytest.raises(Trap, match="argument 'x': expected 1, got 2"):
            context.check(False, arg="x", expected=1, got=2)
