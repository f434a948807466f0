import threading

import numpy as np
import pytest
from vm_programs import BOUND, UNBOUND, Build, chain_of_adds, combine, kernels

from et_schema.errors import (
    Error,
    ExecutorchError,
    InputError,
    InvalidFile,
    MissingOperator,
    OutOfMemory,
    Trap,
)
from et_schema.generated.program import Frame
from et_schema.scalar_type import ScalarType
from et_vm.kernels.registry import NOTHING, KernelRegistry
from et_vm.memory import MemoryManager
from et_vm.method import Method
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.tracer import EventTracer, RecordingTracer


def load(build: Build, **options) -> Method:
    return Program.load(build.file()).load_method(
        build.plan.name, kernels=options.pop("kernels", kernels()), **options
    )


def f32(*items):
    return np.array(items, np.float32)


@pytest.fixture(params=["plain", "poisoned", "traced"])
def mode(request) -> dict[str, object]:
    """The options that choose each of the loops."""
    return {"plain": {}, "poisoned": {"poison": True}, "traced": {"tracer": RecordingTracer()}}[request.param]


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

    def test_constants_are_views_of_the_file(self, mode):
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        weight = build.constant(f32(10, 20))
        build.add(x, weight, out)
        build.inputs(x)
        build.outputs(out)
        assert load(build, **mode).execute([f32(1, 2)])[0].tolist() == [11, 22]

    def test_unaligned_constants_are_copied(self):
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        weight = build.constant(f32(10, 20))
        build.add(x, weight, out)
        build.inputs(x)
        build.outputs(out)
        for shift in range(4):
            program = Program.load(memoryview(bytes(shift) + build.file())[shift:])
            assert program.load_method("forward", kernels=kernels()).execute([f32(1, 2)])[0].tolist() == [
                11,
                22,
            ]

    def test_int_arguments_become_floats_where_the_schema_says_so(self):
        build = Build()
        x, out, factor = build.tensor(2), build.tensor(2), build.scalar(3)
        build.call("test::scale.out", x, factor, out, out)
        build.inputs(x)
        build.outputs(out)
        assert load(build).execute([f32(1, 2)])[0].tolist() == [3, 6]

    def test_lists_of_outputs(self, mode):
        build = Build()
        x, a, b = build.tensor(4), build.tensor(2), build.tensor(2)
        pieces, again = build.tensors(a, b), build.tensors(a, b)
        build.call("test::split.out", x, pieces, again)
        build.inputs(x)
        build.outputs(b, a, pieces)
        b_, a_, both = load(build, **mode).execute([f32(1, 2, 3, 4)])
        assert (a_.tolist(), b_.tolist()) == ([1, 2], [3, 4])
        assert [piece.tolist() for piece in both] == [[1, 2], [3, 4]]

    def test_unplanned_inputs_and_outputs_get_memory(self, mode):
        build = Build()
        x, out = build.tensor(2, planned=False), build.tensor(2, planned=False)
        build.add(x, x, out)
        build.inputs(x)
        build.outputs(out)
        method = load(build, **mode)
        given = f32(1, 2)
        assert method.execute([given])[0].tolist() == [2, 4]
        assert given.tolist() == [1, 2]
        assert method.memory_report()["unplanned inputs and outputs"] == 16

    def test_work_that_is_not_there_is_left_out(self):
        registry = KernelRegistry()
        registry.register("test::add.out", lambda ctx, a, b, out: NOTHING)
        build = chain_of_adds(3)
        assert load(build, kernels=registry).execute([f32(1, 1, 1, 1)])[0].tolist() == [0] * 4

    def test_kernels_by_key(self):
        registry = kernels()

        def for_longs(ctx, self, other, out):
            return np.subtract, (self.array, other.array, out.array)

        key = ((ScalarType.LONG, (0,)),) * 3
        registry.register("test::add.out", for_longs, key)
        build = Build()
        x, out = build.tensor(2, dtype=ScalarType.LONG), build.tensor(2, dtype=ScalarType.LONG)
        build.add(x, x, out)
        build.inputs(x)
        build.outputs(out)
        assert load(build, kernels=registry).execute([np.array([1, 2])])[0].tolist() == [0, 0]
        assert load(chain_of_adds(1), kernels=registry).execute([f32(1, 1, 1, 1)])[0].tolist() == [2] * 4


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


class TestInputs:
    def passthrough(self, dtype=ScalarType.FLOAT, **options):
        build = Build()
        x = build.tensor(2, 3, dtype=dtype, **options)
        build.inputs(x)
        build.outputs(x)
        return load(build)

    @pytest.mark.parametrize(
        ("given", "code", "message"),
        [
            ([], Error.InvalidArgument, "takes 1 inputs, got 0"),
            (
                [np.zeros((2, 3), np.float64)],
                Error.InvalidArgument,
                "expected element type float32, got float64",
            ),
            ([np.zeros((3, 2), np.float32)], Error.NotSupported, r"expected shape \[2, 3\], got \[3, 2\]"),
            ([np.zeros(6, np.float32)], Error.NotSupported, r"expected shape \[2, 3\], got \[6\]"),
            ([[1.0, 2.0]], Error.InvalidArgument, "expected a float32 tensor, got list"),
            ([3], Error.InvalidArgument, "got int 3"),
            ([None], Error.InvalidArgument, "got NoneType"),
        ],
    )
    def test_that_do_not_fit(self, given, code, message):
        with pytest.raises(InputError, match=message) as caught:
            self.passthrough().execute(given)
        assert caught.value.code == code

    def test_of_any_stride(self):
        given = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2].T
        np.testing.assert_array_equal(self.passthrough().execute([given])[0], given)

    def test_bfloat16(self):
        import ml_dtypes

        given = np.ones((2, 3), ml_dtypes.bfloat16)
        assert self.passthrough(ScalarType.BFLOAT16).execute([given])[0].dtype == given.dtype

    @pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (0, 3)])
    def test_dynamic(self, shape):
        given = np.ones(shape, np.float32)
        assert self.passthrough(dynamism=BOUND).execute([given])[0].shape == shape

    def test_dynamic_beyond_its_bound(self):
        with pytest.raises(InputError, match="dimension 1 is 4, the most it may be is 3"):
            self.passthrough(dynamism=BOUND).execute([np.ones((1, 4), np.float32)])

    def test_unbound_of_any_size(self):
        given = np.ones((50, 60), np.float32)
        assert self.passthrough(dynamism=UNBOUND, planned=False).execute([given])[0].shape == (50, 60)

    @pytest.mark.parametrize("exported", [3, 2.5, True, "text", None])
    def test_scalars_must_be_as_exported(self, exported):
        build = Build()
        build.inputs(build.scalar(exported))
        method = load(build)
        method.execute([exported])
        for wrong in (4, 7.5, False, "other", ()):
            with pytest.raises(InputError, match="expected"):
                method.execute([wrong])

    def test_floats_may_be_nearly_as_exported(self):
        build = Build()
        build.inputs(build.scalar(2.5))
        method = load(build)
        method.execute([2.50001])
        method.execute([np.float64(2.5)])
        with pytest.raises(InputError):
            method.execute([2.51])

    def test_an_int_is_no_bool(self):
        build = Build()
        build.inputs(build.scalar(1))
        with pytest.raises(InputError, match="expected int 1, got bool True"):
            load(build).execute([True])

    def test_after_an_error_the_method_still_works(self):
        method = self.passthrough()
        with pytest.raises(InputError):
            method.execute([f32(1)])
        assert method.execute([np.ones((2, 3), np.float32)])[0].shape == (2, 3)


class TestState:
    def counter(self, **options):
        build = Build()
        state = build.state(np.array([5], np.int64), **options)
        build.call("test::increment_", state, state)
        build.outputs(state)
        return build

    def test_starts_as_the_file_says_and_persists(self, mode):
        method = load(self.counter(), **mode)
        assert [method.execute()[0].item() for _ in range(3)] == [6, 7, 8]

    def test_methods_have_their_own(self):
        program = Program.load(self.counter().file())
        first, second = (program.load_method("forward", kernels=kernels()) for _ in range(2))
        first.execute()
        assert second.execute()[0].item() == 6

    def test_shared_arenas_share_it(self):
        program = Program.load(self.counter().file())
        memory = program.new_memory()
        first = program.load_method("forward", kernels=kernels(), memory=memory)
        second = program.load_method("forward", kernels=kernels(), memory=memory)
        first.execute()
        assert second.execute()[0].item() == 7

    def test_without_a_start_it_is_zero(self, mode):
        build = Build()
        state = build.tensor(1, dtype=ScalarType.LONG)
        build.call("test::increment_", state, state)
        build.outputs(state)
        method = load(build, **mode)
        assert [method.execute()[0].item() for _ in range(2)] == [1, 2]


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
        """A state incremented ``turns`` times, counted in a register."""
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
    def test_endless_loop(self, options, monkeypatch):
        monkeypatch.setattr("et_vm.interpreter.MAX_INSTRUCTIONS", 1000)
        build = Build()
        build.jump_false(build.scalar(False), 0)
        with pytest.raises(Trap, match="more than 1,000 instructions") as caught:
            load(build, **options).execute()
        assert caught.value.code == Error.InvalidProgram

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

    def test_condition_moved_over_by_something_else(self):
        build = Build()
        flag, other, none = build.scalar(True), build.scalar(False), build.scalar(None)
        build.jump_false(other, 2)
        build.move(flag, flag)
        build.move(none, flag)
        build.jump_false(flag, 0)
        with pytest.raises(InvalidFile):
            load(build)

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


class TestDynamicShapes:
    def test_calls_follow_the_shapes(self, mode):
        build = Build()
        x, out = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
        build.add(x, x, out)
        build.inputs(x)
        build.outputs(out)
        method = load(build, **mode)
        for length in (3, 3, 8, 1, 0):
            assert method.execute([np.ones(length, np.float32)])[0].tolist() == [2] * length

    def test_steps_are_prepared_once_for_a_shape(self):
        prepared = []
        registry = KernelRegistry()

        def add(ctx, self, other, out):
            prepared.append(self.sizes)
            out.resize(self.sizes)
            return np.add, (self.array, other.array, out.array)

        registry.register("test::add.out", add)
        build = Build()
        x, out = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
        build.add(x, x, out)
        build.inputs(x)
        method = load(build, kernels=registry)
        for length in (3, 3, 3, 5, 5):
            method.execute([np.ones(length, np.float32)])
        assert prepared == [(3,), (5,)]

    def test_shapes_that_depend_on_data(self, mode):
        build = Build()
        x = build.tensor(4)
        found = build.tensor(4, 1, dtype=ScalarType.LONG, dynamism=BOUND)
        twice = build.tensor(4, 1, dtype=ScalarType.LONG, dynamism=BOUND)
        build.call("test::nonzero.out", x, found, found)
        build.add(found, found, twice)
        build.inputs(x)
        build.outputs(twice)
        method = load(build, **mode)
        for given in ([0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]):
            expected = np.flatnonzero(given)[:, None] * 2
            np.testing.assert_array_equal(method.execute([f32(*given)])[0], expected)

    def test_scalars_are_read_again(self, mode):
        build = Build()
        x = build.tensor(4, 6, dynamism=BOUND)
        flat = build.tensor(24, dynamism=BOUND)
        rows, columns, numel = (build.scalar(0) for _ in range(3))
        zero, one = build.scalar(0), build.scalar(1)
        build.call("aten::sym_size.int", x, zero, rows)
        build.call("aten::sym_size.int", x, one, columns)
        build.call("executorch_prim::mul.Scalar", rows, columns, numel)
        build.call("test::reshape.out", x, build.list_of(numel), flat, flat)
        build.inputs(x)
        build.outputs(flat, numel)
        method = load(build, **mode)
        for shape in ((2, 3), (4, 6), (1, 1)):
            given = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            flat_, numel_ = method.execute([given])
            np.testing.assert_array_equal(flat_, given.reshape(-1))
            assert numel_ == given.size

    def test_a_trap_leaves_no_stale_step(self):
        build = Build()
        x, y = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
        out = build.tensor(8, dynamism=BOUND)
        build.add(x, y, out)
        build.inputs(x, y)
        build.outputs(out)
        method = load(build)
        two, three = np.ones(2, np.float32), np.ones(3, np.float32)
        assert method.execute([two, two])[0].tolist() == [2, 2]
        with pytest.raises(Trap, match="argument 'other'"):
            method.execute([two, three])
        assert method.execute([three, three])[0].tolist() == [2, 2, 2]

    def test_negative_zero_is_another_scalar(self):
        seen = []
        registry = KernelRegistry()

        def scale(ctx, self, factor: "float", out):
            seen.append(np.signbit(factor))
            return np.multiply, (self.array, factor, out.array)

        registry.register("test::scale.out", scale)
        build = Build()
        x, factor = build.tensor(1), build.scalar(0.0)
        build.call("aten::_local_scalar_dense", x, factor)
        build.call("test::scale.out", x, factor, x, x)
        build.inputs(x)
        method = load(build, kernels=registry)
        method.execute([f32(0.0)])
        method.execute([f32(-0.0)])
        assert seen == [False, True]


class TestTraps:
    FRAMES = (Frame("model.py", 12, "forward", "return x + y"),)

    def test_a_static_call_that_does_not_fit_fails_at_load(self):
        build = Build()
        x, wide, out = build.tensor(2), build.tensor(3), build.tensor(2)
        build.add(x, x, out)
        build.add(x, wide, out, frames=self.FRAMES)
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

    def test_warnings_of_numpy_are_off(self):
        build = Build()
        x, out, factor = build.tensor(1), build.tensor(1), build.scalar(3e38)
        build.call("test::scale.out", x, factor, out, out)
        build.inputs(x)
        build.outputs(out)
        assert load(build).execute([f32(3e38)])[0].item() == np.inf


class TestLinking:
    def test_all_missing_operators_are_named(self):
        build = Build()
        x = build.tensor(2)
        build.call("test::one.out", x, x, x)
        build.call("test::two", x, x)
        build.call("test::one.out", x, x, x)
        build.inputs(x)
        with pytest.raises(MissingOperator) as caught:
            load(build)
        assert caught.value.operators == ("test::one.out", "test::two")
        assert caught.value.code == Error.OperatorMissing

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            ("x x out", Error.InvalidProgram, "takes 3 arguments and its outputs again, got 3"),
            ("x x out out out", Error.InvalidProgram, "got 5"),
            ("x x out x2", Error.InvalidProgram, "is not one of its outputs"),
            ("x number out out", Error.InvalidType, "argument 'other': expected Tensor, got Int"),
            ("none x out out", Error.InvalidType, "argument 'self': expected Tensor, got Null"),
            ("pair x out out", Error.InvalidType, "argument 'self': expected Tensor, got TensorList"),
        ],
    )
    def test_calls_that_do_not_fit_the_schema(self, arguments, code, message):
        build = Build()
        names = {"x": build.tensor(2), "out": build.tensor(2), "x2": build.tensor(2)}
        names |= {"number": build.scalar(1), "none": build.scalar(None)}
        names["pair"] = build.tensors(names["x"], names["x2"])
        build.call("test::add.out", *(names[name] for name in arguments.split()))
        build.inputs(names["x"], names["x2"])
        with pytest.raises(InvalidFile, match=message) as caught:
            load(build)
        assert caught.value.code == code
        assert caught.value.offset is not None

    @pytest.mark.parametrize("items", [(), (3,)])
    def test_lists_of_the_wrong_kind(self, items):
        build = Build()
        x, out = build.tensor(1), build.tensor(1, dynamism=BOUND)
        size = build.doubles(*map(float, items))
        build.call("test::reshape.out", x, size, out, out)
        build.inputs(x)
        if items:
            with pytest.raises(InvalidFile, match="expected IntList, got DoubleList"):
                load(build)
        else:
            with pytest.raises(Trap, match="rank is fixed"):
                load(build).execute([f32(1)])

    def test_prims_with_the_wrong_number_of_arguments(self):
        build = Build()
        a = build.scalar(1)
        build.call("executorch_prim::add.Scalar", a, a)
        with pytest.raises(InvalidFile, match="takes 3 arguments, got 2"):
            load(build)


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


class TestMemory:
    def test_the_caller_owns_the_arena(self):
        arena = np.zeros(64, np.uint8)
        method = load(chain_of_adds(1), memory=MemoryManager({1: arena}))
        method.execute([f32(1, 1, 1, 1)])
        assert arena[16:32].view(np.float32).tolist() == [2] * 4

    def test_too_small(self):
        with pytest.raises(OutOfMemory, match="has 16 bytes, the method needs 48") as caught:
            load(chain_of_adds(1), memory=MemoryManager({1: 16}))
        assert (caught.value.needed, caught.value.available) == (48, 16)

    def test_too_large_for_the_machine(self):
        build = Build()
        build.inputs(build.tensor(1))
        build.plan.non_const_buffer_sizes[1] = 2**62
        with pytest.raises(OutOfMemory):
            load(build)

    def test_empty_arenas_need_no_bank(self):
        build = Build()
        build.inputs(build.tensor(0))
        build.plan.non_const_buffer_sizes = [0, 0]
        load(build, memory=MemoryManager({})).execute([np.zeros(0, np.float32)])

    def test_external_data(self):
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        weight, state = build.external("w", 2), build.external("s", 2, planned=True)
        build.add(weight, state, out)
        build.inputs(x)
        build.outputs(out)
        data = {"w": memoryview(f32(1, 2).tobytes()), "s": memoryview(f32(10, 20).tobytes())}
        assert load(build, external=data).execute([f32(0, 0)])[0].tolist() == [11, 22]
        for broken in ({}, {**data, "w": memoryview(b"1234")}):
            with pytest.raises(InvalidFile) as caught:
                load(build, external=broken)
            assert caught.value.code == Error.InvalidExternalData


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

    def test_no_such_input(self):
        with pytest.raises(InputError, match="there is no input 1"):
            load(chain_of_adds(1)).set_input(1, f32(1))


class TestThreads:
    def test_one_execution_at_a_time(self):
        entered, leave = threading.Event(), threading.Event()
        registry = KernelRegistry()

        def wait(ctx, self, out):
            def run():
                entered.set()
                leave.wait(10)

            return run, ()

        registry.register("test::wait.out", wait)
        build = Build()
        x = build.tensor(1)
        build.call("test::wait.out", x, x, x)
        build.inputs(x)
        method = load(build, kernels=registry)
        thread = threading.Thread(target=method.execute, args=([f32(1)],))
        thread.start()
        try:
            assert entered.wait(10)
            for act in (lambda: method.execute([f32(1)]), lambda: method.set_inputs([f32(1)]), method.step):
                with pytest.raises(ExecutorchError, match="is executing") as caught:
                    act()
                assert caught.value.code == Error.InvalidState
        finally:
            leave.set()
            thread.join()
        leave.set()
        method.execute([f32(1)])

    def test_methods_of_one_program_in_parallel(self):
        program = Program.load(chain_of_adds(50).file())
        failures = []

        def work(seed):
            method = program.load_method("forward", kernels=kernels())
            for turn in range(20):
                (out,) = method.execute([f32(1, 2, 3, 4) * (seed + turn)])
                if out.tolist() != (f32(1, 2, 3, 4) * (seed + turn) * 51).tolist():
                    failures.append((seed, turn))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures


class TestTracing:
    def test_events(self):
        tracer = RecordingTracer()
        method = load(chain_of_adds(2), tracer=tracer)
        assert [phase for phase, _, _ in tracer.loads] == ["registers", "delegates", "link", "prepare"]
        assert ("arena 1", 48) in tracer.allocations
        method.execute([f32(1, 1, 1, 1)])
        assert [(event.index, event.opcode, event.name) for event in tracer.instructions] == [
            (0, "call", "test::add.out"),
            (1, "call", "test::add.out"),
        ]
        assert all(event.start <= event.end for event in tracer.instructions)
        assert len(tracer.executions) == 1

    def test_values(self):
        class Values(EventTracer):
            wants_values = True

            def __init__(self):
                self.seen = []

            def on_value(self, method, index, register, value):
                self.seen.append(
                    (index, register, value.array.tolist() if hasattr(value, "array") else value)
                )

        build = Build()
        x, out, numel, copy = build.tensor(2), build.tensor(2), build.scalar(0), build.scalar(0)
        build.add(x, x, out)
        build.call("aten::sym_numel", x, numel)
        build.move(numel, copy)
        build.inputs(x)
        tracer = Values()
        load(build, tracer=tracer).execute([f32(1, 2)])
        assert tracer.seen == [(0, out, [2, 4]), (1, numel, 2), (2, copy, 2)]

    def test_the_platform_is_the_clock_and_the_memory(self):
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


def test_methods_by_name():
    first, second = chain_of_adds(1), chain_of_adds(2)
    first.plan.name, second.plan.name = "one", "two"
    program = Program.load(combine(first, second))
    assert program.method_names == ("one", "two")
    assert program.load_method("two", kernels=kernels()).execute([f32(1, 1, 1, 1)])[0].tolist() == [3] * 4
    with pytest.raises(ExecutorchError, match="no method named 'three'; the methods are one, two") as caught:
        program.load_method("three", kernels=kernels())
    assert caught.value.code == Error.InvalidArgument
