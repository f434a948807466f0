"""Calls that are alike are prepared once, for all methods of a program."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.vm_programs import Build, combine, f32, kernels

from et_schema import reader
from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.platform import Platform
from et_vm.program import Program
from et_vm.run.calls import LinkedCall
from et_vm.run.memory import MemoryManager

PORTABLE = load_library("portable")


@pytest.fixture(autouse=True, params=[1, 1 << 20], ids=["columns", "tables"])
def columns(monkeypatch, request) -> None:
    """Plans that are read as columns, and others."""
    monkeypatch.setattr(reader, "LEAST_COLUMN", request.param)


@pytest.fixture
def prepared(monkeypatch) -> list[str]:
    """The operators of the calls that are prepared."""
    names: list[str] = []
    original = LinkedCall.prepare_now

    def prepare_now(call: LinkedCall) -> Any:
        names.append(call.instruction.name)
        return original(call)

    monkeypatch.setattr(LinkedCall, "prepare_now", prepare_now)
    return names


def chain(length: int, call: Callable[[Build, int, int], object], sizes: Sequence[int] = (4,)) -> Build:
    """`length` calls, each on the result of the one before, in tensors of their own."""
    build = Build()
    at = build.tensor(*sizes)
    build.inputs(at)
    for _ in range(length):
        out = build.tensor(*sizes)
        call(build, at, out)
        at = out
    build.outputs(at)
    return build


def add_number(build: Build, x: int, out: int, number: float = 2) -> None:
    build.call("aten::add.Scalar_out", x, build.scalar(number), build.scalar(1), out, out)


def run(build: Build, *inputs: Any) -> list[float]:
    return Program.load(build.file()).load_method("forward", kernels=PORTABLE).execute(inputs)[0].tolist()


class TestOfOneMethod:
    @pytest.mark.parametrize("length", [3, 300])
    def test_equal_calls(self, prepared, length):
        assert run(chain(length, add_number), f32(1, 2, 3, 4)) == [one + 2 * length for one in (1, 2, 3, 4)]
        assert len(prepared) == 1

    def test_other_numbers(self, prepared):
        numbers = iter([0.0, -0.0, 1, 1.0, True, 0.0])
        run(chain(6, lambda build, x, out: add_number(build, x, out, next(numbers))), f32(1, 2, 3, 4))
        assert len(prepared) == 5

    def test_other_sizes_and_types(self, prepared):
        build = Build()
        for sizes, dtype in (
            ((4,), ScalarType.FLOAT),
            ((2, 2), ScalarType.FLOAT),
            ((4,), ScalarType.INT),
        ) * 2:
            x = build.tensor(*sizes, dtype=dtype)
            build.call("aten::relu.out", x, x, x)
        Program.load(build.file()).load_method("forward", kernels=PORTABLE)
        assert len(prepared) == 3

    def test_other_layouts(self, prepared):
        build = Build()
        for order in ((0, 1, 2, 3), (0, 2, 3, 1)) * 2:
            x, out = (build.tensor(1, 2, 3, 4, dim_order=order) for _ in range(2))
            build.call("aten::relu.out", x, out, out)
        Program.load(build.file()).load_method("forward", kernels=PORTABLE)
        assert len(prepared) == 2

    def test_lists(self, prepared):
        build = Build()
        dim = build.scalar(0)
        x, y = build.tensor(2), build.tensor(2)
        outs = []
        for pair in ((x, y), (y, x), (x, x), (y, y)):
            out = build.tensor(4)
            build.call("aten::cat.out", build.tensors(*pair), dim, out, out)
            outs.append(out)
        build.inputs(x, y)
        build.outputs(*outs)
        method = Program.load(build.file()).load_method("forward", kernels=PORTABLE)
        assert len(prepared) == 2
        found = [result.tolist() for result in method.execute([f32(1, 2), f32(3, 4)])]
        assert found == [[1, 2, 3, 4], [3, 4, 1, 2], [1, 2, 1, 2], [3, 4, 3, 4]]

    def test_common_bytes(self, prepared):
        """Results over their operands, so many bytes behind them: a kernel must not read what it wrote."""
        build = Build()
        x = build.tensor(8, offset=0)
        build.inputs(x)
        parts, outs = [], []
        for shift in (0, 4, 8, 4):
            source, target = build.tensor(4, offset=64 * len(parts) + 64), None
            target = build.tensor(4, offset=64 * len(parts) + 64 + shift)
            build.call(
                "aten::slice_copy.Tensor_out", x, *(build.scalar(n) for n in (0, 0, 4, 1)), source, source
            )
            build.call("aten::relu.out", source, target, target)
            parts.append(source)
            outs.append(target)
        build.outputs(*outs)
        method = Program.load(build.file()).load_method("forward", kernels=PORTABLE)
        assert prepared.count("aten::relu.out") == 3
        for result in method.execute([f32(1, 2, 3, 4, 5, 6, 7, 8)]):
            assert result.tolist() == [1, 2, 3, 4]

    def test_constants_that_a_kernel_looks_at(self, prepared):
        """Half-precision factors are converted once, each for its own calls."""
        build = Build()
        at = build.tensor(2)
        build.inputs(at)
        factors = [build.constant(np.array(pair, np.float16)) for pair in ((1, 2), (3, 4))]
        for factor in (*factors, *factors):
            out = build.tensor(2)
            build.call("aten::mul.out", at, factor, out, out)
            at = out
        build.outputs(at)
        assert run(build, f32(1, 1)) == [9, 64]
        assert len(prepared) == 2

    def test_other_constants(self, prepared):
        build = Build()
        at = build.tensor(2)
        build.inputs(at)
        for number in (1, 2, 3):
            out = build.tensor(2)
            build.call("aten::mul.out", at, build.constant(f32(number, 10)), out, out)
            at = out
        build.outputs(at)
        assert run(build, f32(1, 1)) == [6, 1000]
        assert len(prepared) == 1

    def test_the_same_constant_twice(self):
        """Two constants of the same bytes are not taken for one that is given twice, nor the other way round."""
        build = Build()
        first, second = build.constant(f32(1, 2)), build.constant(f32(10, 20))
        twin = build.tensor(2, planned=False, data=build[first].data_buffer_idx)
        one, outs = build.scalar(1), []
        for pair in ((first, first), (first, twin), (first, second), (second, first)):
            out = build.tensor(2)
            build.call("aten::sub.out", *pair, one, out, out)
            outs.append(out)
        build.outputs(*outs)
        method = Program.load(build.file()).load_method("forward", kernels=PORTABLE)
        assert [result.tolist() for result in method.execute()] == [[0, 0], [0, 0], [-9, -18], [9, 18]]

    def test_kernels_of_users_are_asked_each_time(self, prepared):
        build = chain(3, lambda build, x, out: build.add(x, x, out))
        Program.load(build.file()).load_method("forward", kernels=kernels())
        assert len(prepared) == 3

    def test_what_is_limited_is_counted_for_each(self, prepared):
        program = Program.load(chain(3, add_number).file(), platform=Platform(work_limit=10**9))
        program.load_method("forward", kernels=PORTABLE)
        assert len(prepared) == 3

    def test_in_banks_that_overlap(self, prepared):
        build = Build()
        x, y = build.tensor(4), build.tensor(4, memory_id=2)
        build.call("aten::relu.out", x, y, y)
        build.inputs(x)
        build.outputs(y)
        bytes_ = np.zeros(32, np.uint8)
        memory = MemoryManager({1: bytes_[:16], 2: bytes_[8:24]})
        program = Program.load(build.file())
        for _ in range(2):
            method = program.load_method("forward", kernels=PORTABLE, memory=memory)
            assert method.execute([f32(1, 2, 3, 4)])[0].tolist() == [1, 2, 3, 4]
        assert len(prepared) == 2


class TestOfFurtherMethods:
    def test_nothing_is_prepared(self, prepared):
        program = Program.load(chain(5, add_number).file())
        methods = [program.load_method("forward", kernels=PORTABLE) for _ in range(3)]
        assert len(prepared) == 1
        for at, method in enumerate(methods):
            assert method.execute([f32(at, 0, 0, 0)])[0].tolist() == [at + 10, 10, 10, 10]
        results = [method.execute([f32(0, 0, 0, 0)], clone_outputs=False)[0] for method in methods]
        assert not np.shares_memory(results[0], results[1])

    def test_a_call_like_no_other_is_prepared_for_each(self, prepared):
        numbers = iter([1.0, 2.0, 1.0])
        build = chain(3, lambda build, x, out: add_number(build, x, out, next(numbers)))
        program = Program.load(build.file())
        for _ in range(2):
            method = program.load_method("forward", kernels=PORTABLE)
            assert method.execute([f32(1, 2, 3, 4)])[0].tolist() == [5, 6, 7, 8]
        assert len(prepared) == 2 + 1

    def test_with_other_kernels(self, prepared):
        program = Program.load(chain(5, add_number).file())
        for registry in (PORTABLE, load_library("portable")):
            program.load_method("forward", kernels=registry)
        assert len(prepared) == 2

    def test_with_a_kernel_in_the_place_of_another(self):
        registry = load_library("portable")
        program = Program.load(chain(2, add_number).file())
        assert program.load_method("forward", kernels=registry).execute([f32(1, 1, 1, 1)])[0][0] == 5

        def prepare(ctx: Any, self: Any, other: float, alpha: float, out: Any) -> Any:
            return np.multiply, (self.array, np.float32(10), out.array)

        registry.register("aten::add.Scalar_out", prepare, replace=True)
        assert program.load_method("forward", kernels=registry).execute([f32(1, 1, 1, 1)])[0][0] == 100

    def test_state_and_views(self):
        build = Build()
        state = build.state(f32(1, 2, 3, 4), name="n")
        view, out = build.tensor(2, 2, planned=False), build.tensor(2, 2)
        build.call("executorch_prim::et_view.default", state, build.ints(2, 2), view)
        build.call("aten::relu.out", view, out, out)
        add_number(build, state, state, 1)
        build.outputs(out)
        program = Program.load(build.file())
        one, two = (program.load_method("forward", kernels=PORTABLE) for _ in range(2))
        for expected in ([[1, 2], [3, 4]], [[2, 3], [4, 5]]):
            assert one.execute()[0].tolist() == expected
        assert two.execute()[0].tolist() == [[1, 2], [3, 4]]

    def test_the_memory_of_a_method_goes_with_it(self):
        program = Program.load(chain(5, add_number).file())
        memory = program.new_memory()
        method = program.load_method("forward", kernels=PORTABLE, memory=memory)
        bank = weakref.ref(memory.bank(1, 16).base)
        del method, memory
        gc.collect()
        assert bank() is None
        assert program.load_method("forward", kernels=PORTABLE).execute([f32(1, 1, 1, 1)])[0][0] == 11

    def test_derived_data_is_reported_by_each(self):
        build = Build()
        x, out = build.tensor(2), build.tensor(2)
        build.call("aten::mul.out", x, build.constant(np.array([1, 2], np.float16)), out, out)
        build.inputs(x)
        build.outputs(out)
        program = Program.load(build.file())
        for _ in range(2):
            method = program.load_method("forward", kernels=PORTABLE)
            assert method.memory_report()["derived constants"] == 8

    def test_methods_of_other_names(self):
        first, second = chain(2, add_number), chain(2, add_number)
        second.plan.name = "second"
        program = Program.load(combine(first, second))
        for name in ("forward", "second"):
            assert program.load_method(name, kernels=PORTABLE).execute([f32(1, 1, 1, 1)])[0][0] == 5
