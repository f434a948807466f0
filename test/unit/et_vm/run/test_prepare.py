import numpy as np
import pytest
from support.vm_programs import BOUND, UNBOUND, Build, f32, load

from et_schema.errors import Error, InvalidFile, Trap
from et_schema.program import Frame
from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import KernelRegistry
from et_vm.step import NOTHING
from et_vm.tracer import RecordingTracer


class TestStaticCalls:
    def test_a_static_call_that_does_not_fit_fails_at_load(self):
        build = Build()
        x, wide, out = build.tensor(2), build.tensor(3), build.tensor(2)
        build.add(x, x, out)
        build.add(x, wide, out, frames=[Frame("model.py", 12, "forward", "return x + y")])
        build.inputs(x, wide)
        with pytest.raises(Trap) as caught:
            load(build)
        trap = caught.value
        assert (trap.instruction, trap.operator, trap.frames[0].lineno) == (1, "test::add.out", 12)
        assert "argument 'other': expected shape (2,), got (3,)" in str(trap)

    def test_an_output_of_the_wrong_shape(self):
        build = Build()
        x, out = build.tensor(2), build.tensor(3)
        build.add(x, x, out)
        build.inputs(x)
        with pytest.raises(Trap, match=r"cannot resize a tensor of shape \[3\] to \[2\]") as caught:
            load(build)
        assert caught.value.code == Error.NotSupported
        assert caught.value.operator == "test::add.out"

    def test_a_call_that_is_never_reached_does_not_matter(self, mode):
        build = Build()
        x, wide, false = build.tensor(2), build.tensor(3), build.scalar(False)
        build.jump_false(false, 2)
        build.add(x, wide, x)
        build.inputs(x)
        build.outputs(x)
        assert load(build, **mode).execute([f32(1, 2)])[0].tolist() == [1, 2]
        build[false].bool_val = True
        method = load(build, **mode)
        for _ in range(2):
            with pytest.raises(Trap, match="argument 'other'"):
                method.execute([f32(1, 2)])


class TestMoves:
    def test_share_the_bytes(self, mode):
        build = Build()
        x, alias, out = build.tensor(2), build.tensor(2, planned=False), build.tensor(2)
        build.move(x, alias)
        build.call("test::increment_", x, x)
        build.add(x, alias, out)
        build.inputs(x)
        build.outputs(out)
        assert load(build, **mode).execute([f32(1, 2)])[0].tolist() == [4, 6]

    def test_are_undone_before_the_next_execution(self, mode):
        build = Build()
        x, y, out = build.tensor(2), build.tensor(2), build.tensor(2)
        build.add(x, y, out)
        build.move(y, x)
        build.inputs(x, y)
        build.outputs(out)
        method = load(build, **mode)
        for _ in range(2):
            assert method.execute([f32(1, 2), f32(10, 20)])[0].tolist() == [11, 22]

    def test_none_over_a_tensor_input_is_an_error(self):
        build = Build()
        x, none, out = build.tensor(2), build.scalar(None), build.tensor(2)
        build.move(none, x)
        build.add(x, x, out)
        build.inputs(x)
        build.outputs(out)
        with pytest.raises(InvalidFile, match="expected Tensor, got Null") as caught:
            load(build)
        assert caught.value.code == Error.InvalidType

    def test_none_over_a_tensor_on_some_path_traps_there(self):
        build = Build()
        flag, x = build.tensor(dtype=ScalarType.BOOL), build.tensor(2)
        none, out = build.scalar(None), build.tensor(2)
        build.jump_false(flag, 2)
        build.move(none, x)
        build.add(x, x, out)
        build.inputs(flag, x)
        build.outputs(out)
        method = load(build)
        assert method.execute([np.array(False), f32(1, 2)])[0].tolist() == [2, 4]
        with pytest.raises(Trap, match="argument 'self': expected Tensor, got Null") as caught:
            method.execute([np.array(True), f32(1, 2)])
        assert caught.value.code == Error.InvalidType
        assert method.execute([np.array(False), f32(1, 2)])[0].tolist() == [2, 4]


class TestViews:
    def viewed(self, **options) -> Build:
        build = Build()
        x, out = build.tensor(2, 3), build.tensor(6)
        view = build.tensor(6, planned=False, **options)
        build.call("executorch_prim::et_view.default", x, build.ints(-1), view)
        build.add(view, view, out)
        build.inputs(x)
        build.outputs(out)
        return build

    @pytest.mark.parametrize("dynamism", [{}, {"dynamism": BOUND}], ids=["static", "dynamic"])
    def test_view(self, dynamism, mode):
        method = load(self.viewed(**dynamism), **mode)
        for scale in (1, 2):
            given = np.arange(6, dtype=np.float32).reshape(2, 3) * scale
            np.testing.assert_array_equal(method.execute([given])[0], given.reshape(-1) * 2)

    def test_static_views_cost_nothing(self):
        tracer = RecordingTracer()
        method = load(self.viewed())
        assert method._steps[0] is NOTHING
        del tracer

    def test_that_does_not_fit_traps(self):
        build = self.viewed()
        build[build.plan.chains[0].instructions[0].instr_args.args[1] - 1].int_val = 5
        with pytest.raises(Trap, match="cannot be viewed") as caught:
            load(build).execute([np.zeros((2, 3), np.float32)])
        assert caught.value.operator == "executorch_prim::et_view.default"


class TestFree:
    def test_then_grow_again(self, mode):
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        y = build.tensor(2, planned=False, dynamism=UNBOUND)
        build.add(x, x, y)
        build.add(x, y, out)
        build.free(y)
        build.inputs(x)
        build.outputs(out)
        method = load(build, **mode)
        for _ in range(2):
            assert method.execute([f32(1, 2)])[0].tolist() == [3, 6]

    def test_of_a_planned_tensor_lasts_until_the_next_execution(self, mode):
        build = Build()
        x, y, out = (build.tensor(2) for _ in range(3))
        build.add(x, x, y)
        build.add(x, y, out)
        build.free(y)
        build.inputs(x)
        build.outputs(out)
        method = load(build, **mode)
        for _ in range(2):
            assert method.execute([f32(1, 2)])[0].tolist() == [3, 6]

    def test_use_on_some_path_traps(self):
        build = Build()
        flag, x, out = build.tensor(dtype=ScalarType.BOOL), build.tensor(2), build.tensor(2)
        build.jump_false(flag, 2)
        build.free(x)
        build.add(x, x, out)
        build.inputs(flag, x)
        build.outputs(out)
        method = load(build)
        with pytest.raises(Trap, match="no data") as caught:
            method.execute([np.array(True), f32(1, 2)])
        assert caught.value.code == Error.InvalidState
        assert method.execute([np.array(False), f32(1, 2)])[0].tolist() == [2, 4]


class TestScratch:
    def test_earlier_steps_are_prepared_again_when_it_grows(self):
        registry = KernelRegistry()
        bound = {}

        def work(ctx, self, size: "int", out):
            bound[size] = ctx.scratch(size)
            return np.copyto, (out.array, self.array)

        registry.register("test::work.out", work)
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        for size in (10, 5000, 100):
            build.call("test::work.out", x, build.scalar(size), out, out)
        build.inputs(x)
        method = load(build, kernels=registry)
        assert np.shares_memory(bound[10], bound[5000])
        assert np.shares_memory(bound[10], bound[100])
        assert method.memory_report()["scratch"] == 5056

    def test_derived_constants_are_reported(self):
        registry = KernelRegistry()
        registry.register(
            "test::work.out",
            lambda ctx, self, out: (np.copyto, (out.array, ctx.memo("w", lambda: np.zeros(4)))),
        )
        build = Build()
        x = build.tensor(4)
        build.call("test::work.out", x, x, x)
        build.inputs(x)
        assert load(build, kernels=registry).memory_report()["derived constants"] == 32


def test_preparing_does_not_warn():
    """Of numbers that a type cannot hold, which kernels convert when they are prepared."""
    build = Build()
    x = build.tensor(4)
    build.call("test::scale.out", x, build.scalar(1e300), x, x)
    build.inputs(x)
    build.outputs(x)
    assert np.isinf(load(build).execute([f32(1, 2, 3, 4)])[0]).all()
