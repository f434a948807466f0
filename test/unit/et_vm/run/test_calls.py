import numpy as np
import pytest
from support.vm_programs import BOUND, Build, f32, kernels, load

from et_schema.errors import Error, Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.kernels.registry import KernelRegistry
from et_vm.run.calls import LinkedCall


def test_int_arguments_become_floats_where_the_schema_says_so():
    build = Build()
    x, out, factor = build.tensor(2), build.tensor(2), build.scalar(3)
    build.call("test::scale.out", x, factor, out, out)
    build.inputs(x)
    build.outputs(out)
    assert load(build).execute([f32(1, 2)])[0].tolist() == [3, 6]


def test_lists_of_outputs(mode):
    build = Build()
    x, a, b = build.tensor(4), build.tensor(2), build.tensor(2)
    pieces, again = build.tensors(a, b), build.tensors(a, b)
    build.call("test::split.out", x, pieces, again)
    build.inputs(x)
    build.outputs(b, a, pieces)
    b_, a_, both = load(build, **mode).execute([f32(1, 2, 3, 4)])
    assert (a_.tolist(), b_.tolist()) == ([1, 2], [3, 4])
    assert [piece.tolist() for piece in both] == [[1, 2], [3, 4]]


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

    def test_steps_for_the_numbers_of_a_loop_are_kept(self, monkeypatch):
        """Row by row, a loop adds a matrix up; each row is prepared once for a size."""
        prepared = []

        def prepare_now(call):
            prepared.append(call.instruction.name)
            return original(call)

        original = LinkedCall.prepare_now
        monkeypatch.setattr(LinkedCall, "prepare_now", prepare_now)
        build = Build()
        x = build.tensor(4, 3, dynamism=BOUND)
        row, total = build.tensor(3), build.tensor(3)
        at, one, zero, rows = build.scalar(0), build.scalar(1), build.scalar(0), build.scalar(0)
        done = build.scalar(False)
        build.call("aten::sym_size.int", x, zero, rows)
        build.call("aten::mul.Scalar_out", total, zero, total, total)
        start = build.call("aten::select_copy.int_out", x, zero, at, row, row)
        build.call("aten::add.out", total, row, one, total, total)
        build.call("executorch_prim::add.Scalar", at, one, at)
        build.call("executorch_prim::ge.Scalar", at, rows, done)
        build.jump_false(done, start)
        build.inputs(x)
        build.outputs(total)
        method = load(build, kernels=load_library("portable"))
        prepared.clear()
        counts = []
        for size in (4, 4, 4, 2, 2, 4):
            given = np.arange(size * 3, dtype=np.float32).reshape(size, 3)
            np.testing.assert_array_equal(method.execute([given])[0], given.sum(0))
            counts.append(prepared.count("aten::select_copy.int_out"))
            prepared.clear()
        assert counts == [4, 0, 0, 2, 0, 4]

    def test_an_output_that_is_an_argument_of_another_shape(self):
        registry = kernels()

        def add(ctx, self, other, out):
            out.resize(np.broadcast_shapes(self.sizes, other.sizes))
            return np.add, (self.array, other.array, out.array)

        registry.register("test::broadcast_add.out", add)
        build = Build()
        x, y = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
        sums = build.tensor(8, dynamism=BOUND)
        build.call("test::scale.out", x, build.scalar(2.0), sums, sums)
        build.call("test::broadcast_add.out", sums, y, sums, sums)
        build.inputs(x, y)
        build.outputs(sums)
        method = load(build, kernels=registry)
        assert method.execute([f32(1, 2, 3), f32(1, 1, 1)])[0].tolist() == [3, 5, 7]
        with pytest.raises(Trap, match=r"the shape \[1\] that it has as an argument") as raised:
            method.execute([f32(1), f32(1, 1, 1)])
        assert raised.value.code == Error.InvalidArgument

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
