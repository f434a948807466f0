import numpy as np
import pytest
from support.vm_programs import Build, chain_of_adds, f32, load

from et_schema.errors import Error, Trap
from et_schema.program import Frame
from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import KernelRegistry
from et_vm.step import NOTHING
from et_vm.tracer import EventTracer


class TestStraightLine:
    def test_chain(self, mode):
        method = load(chain_of_adds(7), **mode)
        for scale in (1.0, 2.0):
            (out,) = method.execute([f32(1, 2, 3, 4) * scale])
            np.testing.assert_array_equal(out, f32(8, 16, 24, 32) * scale)

    def test_no_instructions(self):
        build = Build()
        x = build.tensor(2)
        build.inputs(x)
        build.outputs(x)
        assert load(build).execute([f32(1, 2)])[0].tolist() == [1, 2]

    def test_work_that_is_not_there_is_left_out(self):
        registry = KernelRegistry()
        registry.register("test::add.out", lambda ctx, a, b, out: NOTHING)
        build = chain_of_adds(3)
        assert load(build, kernels=registry).execute([f32(1, 1, 1, 1)])[0].tolist() == [0] * 4


class TestControlFlow:
    def branches(self) -> Build:
        """out = x + x if flag else x * 3, as the stock compiler lays a cond out."""
        build = Build()
        flag, x = build.tensor(dtype=ScalarType.BOOL), build.tensor(2)
        then, otherwise, result, out = (build.tensor(2) for _ in range(4))
        false, factor = build.scalar(False), build.scalar(3.0)
        build.jump_false(flag, 4)
        build.add(x, x, then)
        build.move(then, result)
        build.jump_false(false, 6)
        build.call("test::scale.out", x, factor, otherwise, otherwise)
        build.move(otherwise, result)
        build.add(result, x, out)
        build.inputs(flag, x)
        build.outputs(out)
        return build

    def test_cond(self, mode):
        method = load(self.branches(), **mode)
        for flag, expected in [(True, [3, 6]), (False, [4, 8]), (True, [3, 6])]:
            assert method.execute([np.array(flag), f32(1, 2)])[0].tolist() == expected

    def loop(self, turns: int) -> Build:
        """A state incremented `turns` times, counted in a register."""
        build = Build()
        state = build.tensor(1)
        counter, one, limit, done = (build.scalar(value) for value in (0, 1, turns, False))
        build.call("test::increment_", state, state)
        build.call("executorch_prim::add.Scalar", counter, one, counter)
        build.call("executorch_prim::eq.Scalar", counter, limit, done)
        build.jump_false(done, 0)
        build.outputs(state, counter)
        return build

    def test_loop_starts_afresh_in_each_execution(self, mode):
        method = load(self.loop(5), **mode)
        assert [value.item() if hasattr(value, "item") else value for value in method.execute()] == [5, 5]
        assert [value.item() if hasattr(value, "item") else value for value in method.execute()] == [10, 5]

    @pytest.mark.parametrize("options", [{}, {"tracer": EventTracer()}], ids=["plain", "observed"])
    def test_endless_loop(self, options):
        build = Build()
        build.jump_false(build.tensor(1, dtype=ScalarType.BOOL), 0)
        with pytest.raises(Trap, match="more than 1,000 instructions") as caught:
            load(build, instruction_limit=1000, **options).execute()
        assert caught.value.code == Error.InvalidProgram

    @pytest.mark.parametrize("options", [{}, {"tracer": EventTracer()}], ids=["plain", "observed"])
    def test_the_limit_holds_without_jumps(self, options):
        build = chain_of_adds(5)
        assert load(build, instruction_limit=5, **options).execute([f32(1, 1, 1, 1)])[0][0] == 6
        with pytest.raises(Trap, match="more than 4 instructions"):
            load(build, instruction_limit=4, **options).execute([f32(1, 1, 1, 1)])

    def test_condition_of_several_elements_is_true_when_all_are(self):
        build = Build()
        flags, x = build.tensor(3, dtype=ScalarType.BOOL), build.tensor(1)
        build.jump_false(flags, 2)
        build.call("test::increment_", x, x)
        build.inputs(flags, x)
        build.outputs(x)
        method = load(build)
        assert method.execute([np.array([True, True, True]), f32(0)])[0].item() == 1
        assert method.execute([np.array([True, False, True]), f32(0)])[0].item() == 0


class TestTraps:
    FRAMES = (Frame("model.py", 12, "forward", "return x + y"),)

    @pytest.mark.parametrize("jumps", [False, True])
    def test_what_a_kernel_raises_gets_its_place(self, mode, jumps):
        build = Build()
        x, out, true = build.tensor(2), build.tensor(2), build.scalar(True)
        if jumps:
            build.jump_false(true, 1)
        build.add(x, x, out)
        build.call("test::fail.out", x, out, out, frames=self.FRAMES)
        build.add(x, x, out)
        build.inputs(x)
        build.outputs(out)
        method = load(build, **mode)
        for _ in range(2):
            with pytest.raises(Trap, match="IndexError: no such row") as caught:
                method.execute([f32(1, 2)])
            trap = caught.value
            assert (trap.code, trap.instruction, trap.operator) == (
                Error.Internal,
                1 + jumps,
                "test::fail.out",
            )
            assert trap.frames == self.FRAMES
            assert isinstance(trap.__cause__, IndexError)

    def test_running_out_of_memory(self):
        registry = KernelRegistry()

        def greedy(ctx, self, out):
            def run():
                raise MemoryError

            return run, ()

        registry.register("test::fail.out", greedy)
        build = Build()
        x = build.tensor(2)
        build.call("test::fail.out", x, x, x)
        build.inputs(x)
        with pytest.raises(Trap) as caught:
            load(build, kernels=registry).execute([f32(1, 2)])
        assert caught.value.code == Error.MemoryAllocationFailed

    def test_prims_too(self):
        build = Build()
        a, b, out = build.scalar(1), build.scalar(0), build.scalar(0)
        build.call("executorch_prim::floordiv.Scalar", a, b, out)
        with pytest.raises(Trap, match="division by zero") as caught:
            load(build).execute()
        assert caught.value.operator == "executorch_prim::floordiv.Scalar"
