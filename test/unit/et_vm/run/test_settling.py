"""After two executions at the same sizes, what cannot come out differently is left out; results stay what they were."""

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
from support.vm_programs import BOUND, STATIC, UNBOUND, Build, f32, load

import et_vm.kernels
from et_schema.errors import InputError, Trap
from et_schema.scalar_type import ScalarType
from et_vm.kernels.libraries import load_library
from et_vm.platform import Platform
from et_vm.program import Program as LoadedProgram
from et_vm.run.calls import LinkedCall
from et_vm.run.settling import Settling
from et_vm.values import Tensor

PORTABLE = load_library("portable")


def sized(platform=None):
    """y = view(relu(x), [size of x]) + relu(x): a size, a view, and calls on tensors of any size."""
    build = Build()
    x, a, y = (build.tensor(8, dynamism=BOUND) for _ in range(3))
    view = build.tensor(8, dynamism=BOUND, planned=False)
    n, zero, one = build.scalar(0), build.scalar(0), build.scalar(1)
    build.inputs(x)
    build.call("aten::relu.out", x, a, a)
    build.call("aten::sym_size.int", x, zero, n)
    build.call("executorch_prim::et_view.default", a, build.list_of(n), view)
    build.call("aten::add.out", a, view, one, y, y)
    build.outputs(y)
    program = LoadedProgram.load(build.file(), platform=platform)
    return program.load_method(build.plan.name, kernels=PORTABLE)


def selected():
    """y = relu(the elements of x that are true), and relu(x): the first is as long as the data says."""
    build = Build()
    x, a, y, z = (build.tensor(8, dynamism=BOUND) for _ in range(4))
    mask = build.tensor(8, dtype=ScalarType.BOOL, dynamism=BOUND)
    build.inputs(x, mask)
    build.call("aten::masked_select.out", x, mask, a, a)
    build.call("aten::relu.out", a, y, y)
    build.call("aten::relu.out", x, z, z)
    build.outputs(y, z)
    return load(build, kernels=PORTABLE)


def repeated(**options):
    """y = x doubled until its first element is 8 or more; z = relu(y), by way of a view as long as x."""
    build = Build()
    x, a, y, z = (build.tensor(8, dynamism=BOUND) for _ in range(4))
    view = build.tensor(8, dynamism=BOUND, planned=False)
    first = build.tensor(1, dynamism=STATIC)
    small = build.scalar(False)
    n, zero, one, number = build.scalar(0), build.scalar(0), build.scalar(1), build.scalar(0.0)
    build.inputs(x)
    build.call("aten::relu.out", x, a, a)
    build.call("aten::sym_size.int", x, zero, n)
    start = build.call("aten::add.out", a, a, one, y, y)
    build.call("aten::relu.out", y, a, a)
    build.call("aten::slice_copy.Tensor_out", a, zero, zero, one, one, first, first)
    build.call("aten::_local_scalar_dense", first, number)
    build.call("executorch_prim::ge.Scalar", number, build.scalar(8.0), small)
    build.jump_false(small, start)
    build.call("executorch_prim::et_view.default", y, build.list_of(n), view)
    build.call("aten::relu.out", view, z, z)
    build.outputs(z)
    return load(build, kernels=PORTABLE, **options)


def counted():
    """y = x + x, and how often `times` took it to count down: a number that the loop carries."""
    build = Build()
    x, y = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
    times = build.tensor(1, dtype=ScalarType.LONG, dynamism=STATIC)
    count, left, one = build.scalar(0), build.scalar(0), build.scalar(1)
    done = build.scalar(False)
    build.inputs(x, times)
    build.call("aten::_local_scalar_dense", times, left)
    start = build.call("aten::add.out", x, x, one, y, y)
    build.call("executorch_prim::add.Scalar", count, one, count)
    build.call("executorch_prim::ge.Scalar", count, left, done)
    build.jump_false(done, start)
    build.outputs(y, count)
    return load(build, kernels=PORTABLE)


def branched():
    """relu(x) or -x, as long as it or one shorter, as the flag says."""
    build = Build()
    x, y = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
    short, out = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
    flag = build.tensor(1, dtype=ScalarType.BOOL, dynamism=STATIC)
    n, zero, one, never = build.scalar(0), build.scalar(0), build.scalar(1), build.scalar(False)
    less = build.scalar(0)
    build.inputs(x, flag)
    build.call("aten::sym_size.int", x, zero, n)
    other = build.jump_false(flag, 0)
    build.call("aten::relu.out", x, y, y)
    leave = build.jump_false(never, 0)
    build.plan.chains[0].instructions[other].instr_args.destination_instruction = leave + 1
    build.call("executorch_prim::sub.Scalar", n, one, less)
    build.call("aten::slice_copy.Tensor_out", x, zero, zero, less, one, short, short)
    end = build.call("aten::neg.out", short, y, y)
    build.plan.chains[0].instructions[leave].instr_args.destination_instruction = end + 1
    build.call("aten::abs.out", y, out, out)
    build.outputs(y, out)
    return load(build, kernels=PORTABLE)


def steps_left(method):
    loop = method._settling.loop
    if loop is None:
        return None
    steps, _ = loop.args
    return len(steps)


def test_calls_alone_are_left():
    method = sized()
    for size in (4, 8, 3):
        left = []
        for _ in range(4):
            x = np.random.default_rng(size).standard_normal(size, np.float32)
            np.testing.assert_array_equal(method.execute([x])[0], 2 * np.maximum(x, 0))
            left.append(steps_left(method))
        assert left == [None, 2, 2, 2]


def test_sizes_that_alternate():
    method = sized()
    for size in (4, 2, 2, 2, 5, 2, 2):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(method.execute([x])[0], 2 * x)


def prepared_by(method, inputs):
    """The outputs of an execution, and the number of calls that it prepares."""
    count = 0

    def event(frame, event, argument):
        nonlocal count
        count += event == "call" and frame.f_code is LinkedCall.prepare_now.__code__

    sys.setprofile(event)
    try:
        outputs = method.execute(inputs)
    finally:
        sys.setprofile(None)
    return outputs, count


@pytest.mark.parametrize("jumps", [False, True])
def test_sizes_seen_twice_prepare_nothing(jumps):
    method = repeated() if jumps else sized()
    repeats = 1 + jumps  # with jumps, a method settles in the second of two runs in a row
    counts = []
    for round_ in range(4):
        for size in (4, 2, 8, 3):
            for _ in range(repeats):
                x = np.random.default_rng(10 * round_ + size).standard_normal(size, np.float32)
                x[0] = 5
                outputs, count = prepared_by(method, [x])
                np.testing.assert_array_equal(outputs[0], 2 * np.maximum(x, 0))
                counts.append(count)
    assert all(counts[: 4 * repeats : repeats])
    assert not any(counts[8:])


def test_the_number_of_sizes_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(Settling, "MOST", 2)
    method = sized()
    for size in (4, 4, 2, 2, 8, 8):
        method.execute([np.ones(size, np.float32)])
    assert len(method._settling._kept) == 2
    for size, prepares in ((2, False), (8, False), (4, True), (8, False), (2, True)):
        outputs, count = prepared_by(method, [np.ones(size, np.float32)])
        np.testing.assert_array_equal(outputs[0], np.full(size, 2, np.float32))
        assert bool(count) == prepares


def test_steps_for_memory_that_has_grown_are_prepared_again():
    build = Build()
    x, y = (build.tensor(2, dynamism=UNBOUND, planned=False) for _ in range(2))
    build.inputs(x)
    build.call("aten::relu.out", x, y, y)
    build.outputs(y)
    method = load(build, kernels=PORTABLE)
    for size in (2, 2, 2, 9, 9, 2, 2, 9, 2, 11, 9, 2):
        x = np.random.default_rng(size).standard_normal(size, np.float32)
        np.testing.assert_array_equal(method.execute([x])[0], np.maximum(x, 0))
        growing = [value for value in method._registers if isinstance(value, Tensor)]
        assert all(value.array.base is not None and value.nbytes <= value.storage.nbytes for value in growing)
    assert prepared_by(method, [x])[1] == 0


def test_where_memory_is_limited_one_size_is_kept():
    method = sized(platform=Platform(memory_limit=1 << 20))
    for size in (4, 4, 2, 2):
        method.execute([np.ones(size, np.float32)])
    assert not any(method._settling._kept.values())
    assert prepared_by(method, [np.ones(4, np.float32)])[1] > 0


def test_what_depends_on_data_is_left():
    method = selected()
    x = f32(-1, 2, -3, 4)
    for mask in ([1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]):
        chosen = np.array(mask, bool)
        y, z = method.execute([x, chosen])
        np.testing.assert_array_equal(y, np.maximum(x[chosen], 0))
        np.testing.assert_array_equal(z, np.maximum(x, 0))
    assert steps_left(method) == 3


def test_steps_and_errors_start_over():
    method = sized()
    x = f32(1, 2, 3)
    for _ in range(3):
        method.execute([x])
    with pytest.raises(InputError):
        method.execute([f32(*range(9))])
    np.testing.assert_array_equal(method.execute([x])[0], 2 * x)
    method.set_input(0, x + 1)
    while method.step().name == "Ok":
        pass
    method.reset_execution()
    np.testing.assert_array_equal(method.get_output(0), 2 * x + 2)
    np.testing.assert_array_equal(method.execute([x])[0], 2 * x)


def blocks_left(method):
    """The steps of each block that is left of a method with jumps."""
    loop = method._settling.loop
    if loop is None:
        return None
    rest = dict(zip(loop.__code__.co_freevars, loop.__closure__, strict=True))["rest"].cell_contents
    cells = dict(zip(rest.__code__.co_freevars, rest.__closure__, strict=True))
    return [
        [getattr(function, "__name__", "") for function, _ in block.steps]
        for block in cells["blocks"].cell_contents
    ]


def test_loops_are_left_with_calls_and_data():
    method = repeated()
    for size in (4, 8, 3):
        left = []
        for first in (1, 3, 8, 1, 5):
            x = np.full(size, first, np.float32)
            x[-1] = -1
            times = 1
            while first * 2**times < 8:
                times += 1
            np.testing.assert_array_equal(method.execute([x])[0], np.maximum(x, 0) * 2**times)
            left.append(blocks_left(method))
        assert left[0] is None
        # No size, no view, and no call that looks at its arguments first.
        assert [len(block) for block in left[1]] == [1, 5, 1]
        assert "run" not in {name for block in left[1] for name in block}
        assert left[1] == left[2] == left[4]


def test_numbers_that_loops_carry_start_over():
    method = counted()
    for size in (4, 2):
        for times in (1, 5, 3, 3, 1, 2):
            x = np.arange(size, dtype=np.float32)
            y, count = method.execute([x, np.array([times])])
            np.testing.assert_array_equal(y, 2 * x)
            assert count == times


def test_ways_that_were_not_taken_before():
    method = branched()
    x = f32(-1, 2, -3, 4)
    for size in (4, 3):
        for flag in (True, True, True, False, False, True, False, True):
            y, out = method.execute([x[:size], np.array([flag])])
            wanted = np.maximum(x[:size], 0) if flag else -x[: size - 1]
            np.testing.assert_array_equal(y, wanted)
            np.testing.assert_array_equal(out, np.abs(wanted))


def test_a_loop_that_traps_starts_over():
    method = repeated(instruction_limit=100)
    x = f32(1, 1)
    for _ in range(3):
        method.execute([x])
    with pytest.raises(Trap, match="instructions in one execution"):
        method.execute([f32(0, 0)])
    np.testing.assert_array_equal(method.execute([x])[0], f32(8, 8))


def test_kernels_of_others_may_do_anything():
    build = Build()
    x, y = build.tensor(8, dynamism=BOUND), build.tensor(8, dynamism=BOUND)
    build.inputs(x)
    build.call("test::abs.out", x, y, y)
    build.outputs(y)
    from et_vm.kernels.registry import KernelRegistry

    def absolute(ctx, self, out):
        out.resize(self.sizes)
        return np.abs, (self.array, out.array)

    registry = KernelRegistry()
    registry.register("test::abs.out", absolute)
    method = load(build, kernels=registry)
    for _ in range(4):
        np.testing.assert_array_equal(method.execute([f32(-1, 2)])[0], f32(1, 2))
    call = method._steps[0][0].__self__
    assert call.settled is None


def _own(node):
    """The nodes of a function, without those of nested functions."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef):
            yield inner
            yield from _own(inner)


def _resizing_functions(tree):
    """Functions that return nothing and give outputs their shapes, and are no part of preparing, which has a ctx."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            takes_ctx = any(argument.arg == "ctx" for argument in node.args.args)
            calls = [inner.func for inner in _own(node) if isinstance(inner, ast.Call)]
            resizes = any(isinstance(call, ast.Attribute) and call.attr == "resize" for call in calls)
            runs = node.name.startswith("_run") or not takes_ctx
            if resizes and runs and ast.unparse(node.returns) == "None":
                yield node


def test_steps_that_resize_are_marked():
    found = {}
    kernels = Path(et_vm.kernels.__file__).parent
    for path in (path for library in ("portable", "aten") for path in (kernels / library).rglob("*.py")):
        for node in _resizing_functions(ast.parse(path.read_text())):
            found[f"{path.stem}.{node.name}"] = [ast.unparse(mark) for mark in node.decorator_list]
    assert found
    assert [name for name, marks in found.items() if marks != ["resizing"]] == []
