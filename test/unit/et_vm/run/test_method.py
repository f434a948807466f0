import threading
from dataclasses import astuple

import numpy as np
import pytest
from support.vm_programs import Build, chain_of_adds, f32, kernels, load

from et_schema.errors import Error, ExecutorchError, InputError, Trap
from et_vm.kernels.registry import KernelRegistry
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.tracer import RecordingTracer


class TestOutputs:
    def test_are_copies(self):
        method = load(chain_of_adds(1))
        (first,) = method.execute([f32(1, 1, 1, 1)])
        method.execute([f32(2, 2, 2, 2)])
        assert first.tolist() == [2] * 4

    def test_are_views_when_asked(self):
        method = load(chain_of_adds(1))
        (first,) = method.execute([f32(1, 1, 1, 1)], clone_outputs=False)
        method.execute([f32(2, 2, 2, 2)])
        assert first.tolist() == [4] * 4

    def test_keep_their_layout(self):
        build = Build()
        x = build.tensor(1, 2, 3, 4, dim_order=(0, 2, 3, 1))
        build.inputs(x)
        build.outputs(x)
        given = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
        (out,) = load(build).execute([given])
        np.testing.assert_array_equal(out, given)
        assert out.strides == (96, 4, 32, 8)

    def test_of_every_kind(self):
        build = Build()
        tensor, absent = build.tensor(1), build.scalar(None)
        registers = [build.scalar(value) for value in (3, 2.5, True, "text")]
        registers += [absent, build.doubles(1.5), build.bools(True), build.ints(4, 5)]
        registers += [build.tensors(tensor, absent, -1, optional=True)]
        build.inputs(tensor)
        build.outputs(*registers)
        *plain, (held, none, missing) = load(build).execute([f32(7)])
        assert plain == [3, 2.5, True, "text", None, [1.5], [True], [4, 5]]
        assert held.tolist() == [7]
        assert none is missing is None

    def test_by_index(self):
        method = load(chain_of_adds(1))
        method.execute([f32(1, 1, 1, 1)])
        assert method.get_output(0).tolist() == [2] * 4
        with pytest.raises(ExecutorchError) as caught:
            method.get_output(1)
        assert caught.value.code == Error.InvalidArgument


class TestStepping:
    def test_one_instruction_at_a_time(self):
        method = load(chain_of_adds(2))
        method.set_inputs([f32(1, 1, 1, 1)])
        assert [method.step() for _ in range(3)] == [Error.Ok, Error.Ok, Error.EndOfMethod]
        assert method.step() == Error.EndOfMethod
        assert method.get_output(0).tolist() == [3] * 4
        method.reset_execution()
        method.set_input(0, f32(2, 2, 2, 2))
        while method.step() == Error.Ok:
            pass
        assert method.get_output(0).tolist() == [6] * 4

    def test_inputs_are_fixed_meanwhile(self):
        method = load(chain_of_adds(2))
        method.set_inputs([f32(1, 1, 1, 1)])
        method.step()
        for act in (
            lambda: method.set_inputs([f32(1, 1, 1, 1)]),
            lambda: method.set_input(0, f32(1, 1, 1, 1)),
            lambda: method.execute([f32(1, 1, 1, 1)]),
        ):
            with pytest.raises(ExecutorchError, match="middle of an execution") as caught:
                act()
            assert caught.value.code == Error.InvalidState
        method.reset_execution()
        method.execute([f32(1, 1, 1, 1)])

    def test_follows_jumps(self):
        build = Build()
        x, false = build.tensor(1), build.scalar(False)
        build.jump_false(false, 2)
        build.call("test::increment_", x, x)
        build.inputs(x)
        build.outputs(x)
        method = load(build)
        method.set_inputs([f32(3)])
        assert [method.step(), method.step()] == [Error.Ok, Error.EndOfMethod]
        assert method.get_output(0).item() == 3

    def test_a_trap_starts_over(self):
        build = Build()
        x = build.tensor(1)
        build.call("test::fail.out", x, x, x)
        build.inputs(x)
        method = load(build)
        method.set_inputs([f32(3)])
        with pytest.raises(Trap):
            method.step()
        method.set_inputs([f32(3)])

    def test_inputs_go_where_they_belong_after_a_move_over_one(self):
        build = Build()
        x, y, out = build.tensor(2), build.tensor(2), build.tensor(2)
        build.add(x, y, out)
        build.move(y, x)
        build.inputs(x, y)
        build.outputs(out)
        method = load(build)
        method.execute([f32(1, 2), f32(3, 4)])
        method.set_input(0, f32(5, 5))
        method.set_input(1, f32(10, 20))
        method.step()
        assert method.get_output(0).tolist() == [15, 25]

    def test_an_input_that_was_freed_keeps_its_memory(self):
        build = Build()
        x, y, out = build.tensor(2), build.tensor(2), build.tensor(2)
        build.add(x, y, out)
        build.free(x)
        build.inputs(x, y)
        build.outputs(out)
        method = load(build)
        method.execute([f32(1, 2), f32(3, 4)])
        method.set_input(1, f32(10, 20))
        method.set_input(0, f32(5, 5))
        method.step()
        assert method.get_output(0).tolist() == [15, 25]

    def test_is_traced_like_an_execution(self):
        class Everything(RecordingTracer):
            wants_values = True

            def __init__(self):
                super().__init__()
                self.values = []

            def on_value(self, method, index, register, value):
                self.values.append((index, register, value.array.tolist()))

        def events(tracer):
            return [event[:3] for event in map(astuple, tracer.instructions)], tracer.values

        executed, stepped = Everything(), Everything()
        load(chain_of_adds(3), tracer=executed).execute([f32(1, 2, 3, 4)])
        method = load(chain_of_adds(3), tracer=stepped)
        method.set_inputs([f32(1, 2, 3, 4)])
        while method.step() == Error.Ok:
            assert not stepped.executions
        assert method.step() == Error.EndOfMethod
        assert events(stepped) == events(executed)
        assert len(stepped.values) == 3
        ((start, end),) = stepped.executions
        assert start <= stepped.instructions[0].start <= stepped.instructions[-1].end <= end

    def test_without_instructions_is_an_execution_too(self):
        build, tracer = Build(), RecordingTracer()
        x = build.tensor(2)
        build.inputs(x)
        build.outputs(x)
        method = load(build, tracer=tracer)
        method.set_inputs([f32(1, 2)])
        assert method.step() == method.step() == Error.EndOfMethod
        assert len(tracer.executions) == 1

    def test_a_tracer_that_raises_starts_over(self):
        class Raising(RecordingTracer):
            def on_instruction(self, *event):
                raise KeyError("disk full")

        method = load(chain_of_adds(2), tracer=Raising())
        for act in (method.step, lambda: method.execute([f32(1, 1, 1, 1)])):
            method.set_inputs([f32(1, 1, 1, 1)])
            with pytest.raises(KeyError):
                act()
        method.set_inputs([f32(1, 1, 1, 1)])

    def test_poisons(self):
        build = Build()
        x, y = build.tensor(2), build.tensor(2)
        out = build.tensor(2, offset=16)
        build.add(x, x, y)
        build.add(y, x, out)
        build.inputs(x)
        build.outputs(out)
        method = load(build, poison=True)
        method.set_inputs([f32(1, 2)])
        while method.step() == Error.Ok:
            pass
        assert np.isnan(method.get_output(0)).all()

    def test_no_such_input(self):
        with pytest.raises(InputError, match="no input 1"):
            load(chain_of_adds(1)).set_input(1, f32(1))


def test_one_execution_at_a_time():
    entered, leave = threading.Event(), threading.Event()
    registry = KernelRegistry()

    def wait(ctx, self, out):
        def run():
            entered.set()
            leave.wait()

        return run, ()

    registry.register("test::wait.out", wait)
    build = Build()
    x = build.tensor(1)
    build.call("test::wait.out", x, x, x)
    build.inputs(x)
    method = load(build, kernels=registry)

    def execute():
        try:
            method.execute([f32(1)])
        finally:
            entered.set()  # also if it fails before

    thread = threading.Thread(target=execute)
    thread.start()
    try:
        entered.wait()
        for act in (lambda: method.execute([f32(1)]), lambda: method.set_inputs([f32(1)]), method.step):
            with pytest.raises(ExecutorchError, match="is executing") as caught:
                act()
            assert caught.value.code == Error.InvalidState
    finally:
        leave.set()
        thread.join()
    leave.set()
    method.execute([f32(1)])


def test_warnings_of_numpy_are_off():
    build = Build()
    x, out, factor = build.tensor(1), build.tensor(1), build.scalar(3e38)
    build.call("test::scale.out", x, factor, out, out)
    build.inputs(x)
    build.outputs(out)
    assert load(build).execute([f32(3e38)])[0].item() == np.inf


def test_the_platform_is_the_clock_and_the_memory():
    class Counting(Platform):
        def __init__(self):
            super().__init__()
            self.time = 0
            self.allocated = 0

        def ticks(self):
            self.time += 1
            return self.time

        def allocate(self, nbytes):
            self.allocated += nbytes
            return super().allocate(nbytes)

    platform, tracer = Counting(), RecordingTracer()
    program = Program.load(chain_of_adds(2).file(), platform=platform)
    program.load_method("forward", kernels=kernels(), tracer=tracer).execute([f32(1, 1, 1, 1)])
    assert platform.allocated == 48
    assert tracer.instructions[0].end < 20
