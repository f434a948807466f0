"""Poison shows lifetime bugs, and only those."""

import numpy as np
import pytest
from support.vm_programs import BOUND, Build, chain_of_adds, combine, kernels

from et_schema.errors import InvalidFile
from et_schema.scalar_type import ScalarType
from et_vm.program import Program
from et_vm.run.method import Method
from et_vm.run.poison import FLOAT_POISON, OTHER_POISON
from et_vm.runtime import Runtime


def load(build: Build, **options) -> Method:
    return Program.load(build.file()).load_method("forward", kernels=kernels(), poison=True, **options)


def f32(*items):
    return np.array(items, np.float32)


def test_two_live_tensors_in_the_same_bytes():
    """The planner's classic mistake: y is overwritten between its definition and its use."""
    build = Build()
    x, y = build.tensor(4), build.tensor(4)
    clash, other, out = build.tensor(4, offset=16), build.tensor(4), build.tensor(4)
    build.add(x, x, y)
    build.add(x, x, clash)
    build.add(clash, x, other)
    build.add(y, other, out)
    build.inputs(x)
    build.outputs(out)
    assert np.isnan(load(build).execute([f32(1, 1, 1, 1)])[0]).all()


def test_read_of_what_was_never_written():
    build = Build()
    x, y, out = build.tensor(4), build.tensor(4), build.tensor(4)
    build.add(x, y, out)
    build.inputs(x)
    build.outputs(out)
    assert np.isnan(load(build).execute([f32(1, 1, 1, 1)])[0]).all()


def test_integers_get_a_pattern_that_no_index_survives():
    build = Build()
    x, out = build.tensor(2, dtype=ScalarType.LONG), build.tensor(2, dtype=ScalarType.LONG)
    y = build.tensor(2, dtype=ScalarType.LONG)
    build.add(x, y, out)
    build.inputs(x)
    build.outputs(out)
    (found,) = load(build).execute([np.zeros(2, np.int64)])
    assert found.view(np.uint8).tolist() == [OTHER_POISON] * 16


def test_bytes_die_after_their_last_use():
    build = Build()
    x, y, out = build.tensor(4), build.tensor(4), build.tensor(4)
    build.add(x, x, y)
    build.add(y, y, out)
    build.inputs(x)
    build.outputs(out)
    memory = Program.load(build.file()).new_memory()
    method = load(build, memory=memory)
    assert method.execute([f32(1, 1, 1, 1)])[0].tolist() == [4] * 4
    arena = memory.bank(1, 48)
    assert set(arena[:32].tolist()) == {FLOAT_POISON}
    assert arena[32:48].view(np.float32).tolist() == [4] * 4


def test_in_place_results_stay():
    build = Build()
    x, y = build.tensor(4), build.tensor(4)
    build.add(x, x, y)
    build.add(y, y, y)
    build.inputs(x)
    build.outputs(y)
    assert load(build).execute([f32(1, 1, 1, 1)])[0].tolist() == [4] * 4


def test_result_in_the_bytes_of_an_operand():
    """The operand dies with this instruction, but only kernels that work element by element would not notice."""
    build = Build()
    x, y = build.tensor(4), build.tensor(4)
    clash = build.tensor(4, offset=16)
    build.add(x, x, y)
    build.add(y, x, clash)
    build.inputs(x)
    build.outputs(clash)
    assert np.isnan(load(build).execute([f32(1, 1, 1, 1)])[0]).all()


def test_views_keep_their_source_alive():
    build = Build()
    x, view = build.tensor(2, 2), build.tensor(4, planned=False)
    other, out = build.tensor(4), build.tensor(4)
    build.call("executorch_prim::et_view.default", x, build.ints(4), view)
    build.add(view, view, other)
    build.add(view, other, out)
    build.inputs(x)
    build.outputs(out)
    assert load(build).execute([f32(1, 1, 1, 1).reshape(2, 2)])[0].tolist() == [3] * 4


def test_moves_keep_their_source_alive():
    build = Build()
    x, alias, other, out = build.tensor(4), build.tensor(4), build.tensor(4), build.tensor(4)
    build.add(x, x, other)
    build.move(other, alias)
    build.add(other, other, out)
    build.add(alias, out, out)
    build.inputs(x)
    build.outputs(out)
    assert load(build).execute([f32(1, 1, 1, 1)])[0].tolist() == [6] * 4


def test_what_the_other_branch_needs_stays():
    build = Build()
    flag, x = build.tensor(dtype=ScalarType.BOOL), build.tensor(2)
    y, out = build.tensor(2), build.tensor(2)
    false = build.scalar(False)
    build.add(x, x, y)
    build.jump_false(flag, 4)
    build.add(y, y, out)
    build.jump_false(false, 5)
    build.add(x, y, out)
    build.inputs(flag, x)
    build.outputs(out)
    method = load(build)
    for _ in range(2):
        assert method.execute([np.array(True), f32(1, 2)])[0].tolist() == [4, 8]
        assert method.execute([np.array(False), f32(1, 2)])[0].tolist() == [3, 6]


def test_what_the_next_turn_of_a_loop_needs_stays():
    build = Build()
    x, total = build.tensor(2), build.tensor(2)
    counter, one, limit, done = (build.scalar(value) for value in (0, 1, 3, False))
    build.add(x, x, total)
    build.add(total, x, total)
    build.call("executorch_prim::add.Scalar", counter, one, counter)
    build.call("executorch_prim::eq.Scalar", counter, limit, done)
    build.jump_false(done, 1)
    build.inputs(x)
    build.outputs(total)
    assert load(build).execute([f32(1, 2)])[0].tolist() == [5, 10]


def test_mutable_buffers_start_at_zero_and_persist():
    build = Build()
    x, state, out = build.tensor(2), build.tensor(2), build.tensor(2)
    build.add(x, state, out)
    build.call("test::increment_", state, state)
    build.inputs(x)
    build.outputs(out)
    method = load(build)
    assert [method.execute([f32(5, 5)])[0].tolist() for _ in range(3)] == [[5, 5], [6, 6], [7, 7]]


def test_mutable_buffers_keep_what_the_method_does_not_read():
    build = Build()
    x, state = build.tensor(2), build.tensor(2, name="state")
    build.tensor(2, name="unused")
    build.add(x, x, state)
    build.inputs(x)
    method = load(build)
    method.execute([f32(1, 2)])
    assert {name: array.tolist() for name, array in method.state.items()} == {
        "state": [2, 4],
        "unused": [0, 0],
    }


def test_constants_cannot_be_written():
    build = Build()
    x, weight = build.tensor(2), build.constant(f32(1, 2))
    build.add(x, x, weight)
    build.inputs(x)
    with pytest.raises(InvalidFile, match="a constant"):
        load(build)


def test_dynamic_shapes():
    build = Build()
    x, y, out = (build.tensor(8, dynamism=BOUND) for _ in range(3))
    build.add(x, x, y)
    build.add(y, x, out)
    build.inputs(x)
    build.outputs(out)
    method = load(build)
    for length in (3, 8, 1):
        assert method.execute([np.ones(length, np.float32)])[0].tolist() == [3] * length


def test_methods_that_share_arenas_keep_their_state():
    first = Build("first")
    state = first.tensor(2)
    first.call("test::increment_", state, state)
    first.outputs(state)
    second = chain_of_adds(3, width=2)
    second.plan.name = "second"
    for value in second.plan.values:
        value.val.allocation_info.memory_offset_low += 16
    second.plan.non_const_buffer_sizes[1] += 16
    program = Runtime().load_program(combine(first, second), kernels=kernels(), poison=True)
    one, two = program.load_method("first"), program.load_method("second")
    for turn in range(1, 4):
        assert one.execute()[0].tolist() == [turn, turn]
        assert two.execute([f32(1, 2)])[0].tolist() == [4, 8]
