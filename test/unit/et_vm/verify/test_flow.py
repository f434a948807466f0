import tracemalloc

import pytest
from support.vm_programs import UNBOUND, Build

from et_schema.errors import InvalidFile
from et_vm.load.instructions import flatten
from et_vm.verify.flow import DATA, NO_DATA, Flow, describe


def flow(build: Build) -> Flow:
    return Flow(build.plan, flatten(build.plan, "plan"), "plan")


def check(build: Build) -> None:
    flow(build).check()


def test_states_have_names():
    assert describe(DATA) == "Tensor"
    assert describe(NO_DATA) == "Tensor without data"
    assert describe(DATA | NO_DATA | 1) == "Null or Tensor or Tensor without data"
    assert describe(0) == "nothing"


def test_rebound_registers():
    build = Build()
    x, y, z, view = (build.tensor(4) for _ in range(4))
    size, numel = build.ints(4), build.scalar(0)
    build.move(x, y)
    build.free(z)
    build.call("executorch_prim::et_view.default", x, size, view)
    build.call("aten::sym_numel", x, numel)
    build.add(x, x, x)
    assert flow(build).rebound == {y, z, view, numel}


def test_data_arrives_by_move():
    build = Build()
    x, y, out = build.tensor(4), build.tensor(4, planned=False), build.tensor(4)
    build.move(x, y)
    build.add(y, y, out)
    build.outputs(out)
    check(build)


def test_data_arrives_on_one_path_only():
    build = Build()
    x, y, out = build.tensor(4), build.tensor(4, planned=False), build.tensor(4)
    build.jump_false(build.scalar(True), 2)
    build.move(x, y)
    build.add(y, y, out)
    check(build)


def test_data_goes_with_the_move_of_a_freed_tensor():
    build = Build()
    x, y, out = build.tensor(4), build.tensor(4), build.tensor(4)
    build.free(x)
    build.move(x, y)
    build.add(y, y, out)
    with pytest.raises(InvalidFile, match="has no data here"):
        check(build)


def test_what_is_jumped_over_is_checked():
    build = Build()
    empty, out = build.tensor(4, planned=False), build.tensor(4)
    build.jump_false(build.scalar(False), 2)
    build.add(empty, empty, out)
    with pytest.raises(InvalidFile, match="has no data here"):
        check(build)


def test_loops_reach_a_fixed_point():
    build = Build()
    x, y, out = build.tensor(4), build.tensor(4, planned=False), build.tensor(4)
    build.jump_false(build.scalar(True), 2)
    build.add(y, y, out)
    build.move(x, y)
    build.jump_false(build.scalar(True), 1)
    check(build)


def many_jumps(count: int) -> Build:
    """As many blocks as registers that change."""
    build = Build()
    one, flag = build.scalar(1), build.scalar(True)
    for at in range(count):
        build.call("executorch_prim::add.Scalar", one, one, build.scalar(0))
        build.jump_false(flag, 2 * at + 2)
    return build


def test_many_jumps_between_many_registers():
    """The states at the starts of all blocks would be 4 million."""
    build = many_jumps(2000)
    empty, out = build.tensor(4, planned=False), build.tensor(4)
    tracemalloc.start()
    try:
        check(build)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
    build.add(empty, empty, out)
    check(build)
    build.free(out)
    build.add(out, out, out)
    with pytest.raises(InvalidFile, match="has no data here") as caught:
        check(build)
    assert caught.value.where == "plan.chains[0].instructions[4002].instr_args.args[0]"


def test_what_a_few_jumps_between_a_few_registers_leave():
    """States are followed where there is far more work than there are instructions and registers."""
    build = many_jumps(50)
    empty, out = build.tensor(4, planned=False), build.tensor(4)
    build.add(empty, empty, out)
    with pytest.raises(InvalidFile, match="has no data here"):
        check(build)


def test_tensors_in_lists():
    build = Build()
    x, empty = build.tensor(4), build.tensor(2, planned=False)
    pieces = build.tensors(empty)
    build.call("test::split.out", x, pieces, pieces)
    with pytest.raises(InvalidFile, match="has no data here"):
        check(build)


def test_outputs_without_data():
    build = Build()
    x, y = build.tensor(4), build.tensor(4)
    build.free(x)
    build.move(x, y)
    build.outputs(y)
    with pytest.raises(InvalidFile, match="is never set") as caught:
        check(build)
    assert caught.value.where == "plan.outputs[0]"


def test_outputs_that_nobody_places_are_owned():
    build = Build()
    x = build.tensor(4)
    owned, viewed, moved = (build.tensor(4, planned=False) for _ in range(3))
    build.add(x, x, owned)
    build.call("executorch_prim::et_view.default", x, build.ints(4), viewed)
    build.move(x, moved)
    build.outputs(owned, viewed, moved, x)
    check(build)
    assert flow(build).owned_outputs() == {owned}


def test_prims_state_their_results():
    build = Build()
    flag, number, x = build.scalar(None), build.scalar(1), build.tensor(1)
    build.call("executorch_prim::eq.Scalar", number, number, flag)
    build.jump_false(flag, 2)
    check(build)
    build.call("executorch_prim::add.Scalar", flag, number, number)
    with pytest.raises(InvalidFile, match="argument 'a': expected Int or Double, got Bool"):
        check(build)
    build.chain.instructions.pop()
    build.call("aten::sym_size.int", x, flag, number)
    with pytest.raises(InvalidFile, match="argument 'dim': expected Int, got Bool"):
        check(build)


def test_what_a_prim_writes_in_place_has_data():
    build = Build()
    stack, item = build.tensor(0, 4, planned=False, dynamism=UNBOUND), build.tensor(4)
    build.call("executorch_prim::et_copy_index.tensor", stack, item, build.scalar(0))
    build.add(stack, stack, build.tensor(1, 4))
    check(build)


def test_a_view_needs_a_tensor_to_fill():
    build = Build()
    build.call("executorch_prim::et_view.default", build.tensor(4), build.ints(4), build.scalar(1))
    with pytest.raises(InvalidFile, match="argument 'out': expected Tensor"):
        check(build)


def test_delegates_need_data():
    build = Build()
    build.delegate("Acme", b"", build.tensor(4), build.tensor(4, planned=False))
    with pytest.raises(InvalidFile, match="Acme: argument '1'"):
        check(build)


def test_condition_moved_over_by_something_else():
    build = Build()
    flag, other, none = build.scalar(True), build.scalar(False), build.scalar(None)
    build.jump_false(other, 2)
    build.move(flag, flag)
    build.move(none, flag)
    build.jump_false(flag, 0)
    with pytest.raises(InvalidFile):
        check(build)
