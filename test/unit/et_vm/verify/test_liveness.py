"""Byte liveness, and premature overwrites in a plan."""

import pytest
from support import xnnpack_graphs
from support.vm_programs import Build, chain_of_adds

from et_backends.xnnpack.format.graph import XNNAbs
from et_schema.errors import Error, ExecutorchError
from et_vm.program import Program
from et_vm.run.validation import validate
from et_vm.verify.flow import Flow
from et_vm.verify.liveness import ByteLiveness, Clash, delegate_writes


def liveness(build: Build) -> ByteLiveness:
    program = Program.load(build.file())
    instructions = program.instructions(0)
    flow = Flow(build.plan, instructions, "execution_plan[0]")
    delegates = [delegate_writes(program.pte, delegate) for delegate in build.plan.delegates]
    return ByteLiveness(build.plan, instructions, flow.rebound, delegates)


def relus(count):
    """A blob for XNNPACK that computes `count` results of one input."""
    build = xnnpack_graphs.Build()
    x = build.input(4)
    for _ in range(count):
        build.node(XNNAbs(input_id=x, output_id=build.output(4)))
    return build.blob()


def spans(ranges):
    return [(found.start, found.end) for found in ranges]


class TestLiveness:
    def test_ranges(self):
        build = Build()
        x, y, out = build.tensor(4), build.tensor(4), build.tensor(4)
        build.add(x, x, y)
        build.add(y, y, out)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert [spans(ranges) for ranges in found.dead_after] == [[(0, 16)], [(16, 32)]]
        assert not found.state

    def test_results_are_overwritten_before_their_call_unless_it_reads_them(self):
        build = Build()
        x, y, out = build.tensor(4), build.tensor(4), build.tensor(4)
        build.add(x, x, y)
        build.add(y, x, y)
        build.call("test::increment_", y, y)
        build.add(y, y, out)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert [spans(ranges) for ranges in found.overwritten_by] == [[(16, 32)], [], [], [(32, 48)]]

    def test_neighbours_are_joined(self):
        build = Build()
        x, y, out = build.tensor(4), build.tensor(4), build.tensor(4)
        build.add(x, y, out)
        build.inputs(x, y)
        build.outputs(out)
        assert spans(liveness(build).dead_after[0]) == [(0, 32)]

    def test_neighbours_are_joined_beside_others(self):
        build = Build()
        x, _, y, z, out = (build.tensor(4) for _ in range(5))
        build.call("test::three.out", x, y, z, out, out)
        build.inputs(x, y, z)
        build.outputs(out)
        assert spans(liveness(build).dead_after[0]) == [(0, 16), (32, 64)]

    def test_overlap_in_part(self):
        build = Build()
        x, head, out = build.tensor(8), build.tensor(4, offset=0), build.tensor(8)
        build.add(x, x, out)
        build.add(head, head, out)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert [spans(ranges) for ranges in found.dead_after] == [[(16, 32)], [(0, 16)]]

    def test_elided_views_spare_their_source(self):
        build = Build()
        x, y, view, out = build.tensor(4), build.tensor(4), build.tensor(2, 2, offset=16), build.tensor(2, 2)
        build.add(x, x, y)
        build.add(y, x, x)
        build.add(view, view, out)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert [spans(ranges) for ranges in found.dead_after] == [[], [], [(16, 32)]]

    def test_elided_views_are_spared_for_their_source(self):
        """The view is read for the last time before what it is a view of."""
        build = Build()
        x, y, view, out = build.tensor(4), build.tensor(4), build.tensor(2, 2, offset=16), build.tensor(2, 2)
        build.add(x, x, y)
        build.add(view, view, out)
        build.add(y, x, x)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert [spans(ranges) for ranges in found.dead_after] == [[], [], [(16, 32)]]

    def test_state_is_what_is_read_before_it_is_written(self):
        build = Build()
        state, scratch = build.tensor(4), build.tensor(4)
        build.call("test::increment_", state, state)
        build.add(state, state, scratch)
        build.outputs(scratch)
        found = liveness(build)
        assert spans(found.state) == spans(found.written_state) == [(0, 16)]

    def test_only_named_or_written_state_is_a_mutable_buffer(self):
        build = Build()
        named, nameless, out = build.tensor(4, name="cache"), build.tensor(4), build.tensor(4)
        build.add(named, nameless, out)
        build.outputs(out)
        found = liveness(build)
        assert spans(found.state) == [(0, 32)]
        assert spans(found.written_state) == [(0, 16)]

    def test_named_state_is_state_as_a_whole(self):
        """One part is not used, the other is written before it is read: others may read both."""
        build = Build()
        build.tensor(8, name="cache")
        x, part, out = build.tensor(4), build.tensor(4, offset=0), build.tensor(4)
        build.add(x, x, part)
        build.add(part, x, out)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert spans(found.written_state) == [(0, 32)]
        assert [spans(ranges) for ranges in found.dead_after] == [[], [(32, 48)]]

    def test_lists_and_arenas(self):
        build = Build()
        x = build.tensor(4)
        a, b = build.tensor(2, memory_id=2), build.tensor(2, memory_id=2)
        pieces = build.tensors(a, b)
        out = build.tensor(2)
        build.call("test::split.out", x, pieces, pieces)
        build.add(a, b, out)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert [(item.memory_id, item.start, item.end) for ranges in found.dead_after for item in ranges] == [
            (1, 0, 16),
            (2, 0, 8),
            (2, 16, 24),
        ]


class TestClashes:
    def test_none(self):
        build = Build()
        x, y, out = build.tensor(4), build.tensor(4), build.tensor(4)
        build.add(x, x, y)
        build.add(y, y, y)
        build.add(y, x, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_a_live_tensor_is_overwritten(self):
        build = Build()
        x, y = build.tensor(4), build.tensor(4)
        clash, out = build.tensor(2, offset=24), build.tensor(4)
        build.add(x, x, y)
        build.add(x, x, clash)
        build.add(y, clash, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == [Clash(1, clash, y)]

    def test_an_operand_is_overwritten_by_the_result(self):
        build = Build()
        x, out = build.tensor(4), build.tensor(4, offset=8)
        build.add(x, x, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == [Clash(0, out, x)]

    def test_two_inputs(self):
        build = Build()
        x, y, out = build.tensor(4), build.tensor(4, offset=0), build.tensor(4)
        build.add(x, y, out)
        build.inputs(x, y)
        build.outputs(out)
        assert liveness(build).clashes() == [Clash(-1, x, y)]

    def test_an_output_that_dies_too_soon(self):
        build = Build()
        x, first, second = build.tensor(4), build.tensor(4), build.tensor(4, offset=16)
        build.add(x, x, first)
        build.add(x, x, second)
        build.inputs(x)
        build.outputs(first, second)
        assert liveness(build).clashes() == [Clash(1, second, first)]

    def test_what_only_one_branch_uses_may_share(self):
        build = Build()
        x, flag, false = build.tensor(4), build.scalar(True), build.scalar(False)
        then, other, out = build.tensor(4), build.tensor(4, offset=16), build.tensor(4)
        result = build.tensor(4)
        build.jump_false(flag, 4)
        build.add(x, x, then)
        build.move(then, result)
        build.jump_false(false, 6)
        build.add(x, x, other)
        build.move(other, result)
        build.add(result, x, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_what_a_view_that_was_planned_away_still_reads(self):
        """The view has the bytes of `y`, which is all that a plan says; `clash` covers some of them, and others."""
        build = Build()
        x, y, view = build.tensor(4), build.tensor(4), build.tensor(2, 2, offset=16)
        clash, out, more = build.tensor(4, offset=24), build.tensor(2, 2), build.tensor(4)
        build.add(x, x, y)
        build.add(x, x, clash)
        build.add(clash, clash, more)
        build.add(view, view, out)
        build.inputs(x)
        build.outputs(out, more)
        assert liveness(build).clashes() == [Clash(1, clash, view)]

    def test_a_view_that_was_planned_away(self):
        build = Build()
        x, y, view = build.tensor(4), build.tensor(4), build.tensor(2, 2, offset=16)
        build.add(x, x, y)
        build.inputs(x)
        build.outputs(view)
        assert liveness(build).clashes() == []

    def test_a_part_that_is_written_in_place(self):
        build = Build()
        x, part = build.tensor(4), build.tensor(2, offset=24)
        y, out = build.tensor(4, offset=16), build.tensor(4)
        build.add(x, x, y)
        build.call("test::increment_", part, part)
        build.add(y, y, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_parts_that_make_up_a_whole(self):
        """Though another value of the same size has been there."""
        build = Build()
        x, before = build.tensor(4), build.tensor(8, offset=16)
        first, second = build.tensor(4, offset=16), build.tensor(4, offset=32)
        whole, out = build.tensor(2, 4, offset=16), build.tensor(8)
        build.add(x, x, before)
        build.add(before, before, out)
        build.add(x, x, first)
        build.add(x, first, second)
        build.add(whole, whole, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_a_piece_of_a_whole_that_was_written_over_in_place(self):
        """It has bytes of both parts, and lies where another tensor did."""
        build = Build()
        x, before = build.tensor(4), build.tensor(4, offset=24)
        first, second = build.tensor(4, offset=16), build.tensor(4, offset=32)
        whole, piece, out = build.tensor(8, offset=16), build.tensor(4, offset=24), build.tensor(4)
        build.add(x, x, before)
        build.add(before, before, x)
        build.add(x, x, first)
        build.add(x, first, second)
        build.add(whole, whole, whole)
        build.add(piece, piece, out)
        build.inputs(x)
        build.outputs(out)
        assert [clash for clash in liveness(build).clashes() if clash.needed == piece] == []

    def test_a_part_that_reaches_beyond_the_whole(self):
        build = Build()
        x, before = build.tensor(4), build.tensor(8, offset=16)
        first, second = build.tensor(4, offset=16), build.tensor(8, offset=32)
        whole, out = build.tensor(2, 4, offset=16), build.tensor(8)
        build.add(x, x, before)
        build.add(before, before, out)
        build.add(x, x, first)
        build.add(x, first, second)
        build.add(whole, whole, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == [Clash(2, first, whole), Clash(3, second, whole)]

    def test_a_part_of_state_that_is_written_in_place(self):
        build = Build()
        state, part, out = build.tensor(4, name="cache"), build.tensor(2, offset=8), build.tensor(4)
        build.call("test::increment_", part, part)
        build.add(state, state, out)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_state(self):
        """It lives from one execution to the next."""
        build = Build()
        state, x = build.tensor(4, name="cache"), build.tensor(4)
        clash = build.tensor(2, offset=8)
        build.call("test::increment_", state, state)
        build.add(x, x, clash)
        build.inputs(x)
        build.outputs(clash)
        assert liveness(build).clashes() == [Clash(1, clash, state)]

    def test_a_backend_may_be_called_like_a_prim(self):
        """Its delegates read their arguments all the same."""
        build = Build()
        x, y, clash, out = build.tensor(4), build.tensor(4), build.tensor(4, offset=16), build.tensor(4)
        build.add(x, x, y)
        build.add(x, x, clash)
        build.delegate("executorch_prim::et_view.default", b"", y, x, out)
        build.inputs(x)
        build.outputs(clash)
        assert Clash(1, clash, y) in liveness(build).clashes()


UNKNOWN, XNNPACK = ("Elsewhere", lambda _: b"?"), ("XnnpackBackend", relus)


@pytest.mark.parametrize(("backend", "blob"), [UNKNOWN, XNNPACK], ids=["unknown", "xnnpack"])
class TestDelegates:
    """The formats of some blobs say how many outputs there are; of others nothing is known."""

    def test_a_result_in_parts_of_dead_tensors(self, backend, blob):
        build = Build()
        x, first, second = build.tensor(4), build.tensor(4), build.tensor(4)
        result, out = build.tensor(4, offset=24), build.tensor(4)
        build.add(x, x, first)
        build.add(x, first, second)
        build.add(first, second, x)
        build.delegate(backend, blob(1), x, result)
        build.delegate(backend, blob(1), result, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_results_that_make_up_a_whole(self, backend, blob):
        """One of them where a larger tensor was."""
        build = Build()
        x, before = build.tensor(4), build.tensor(4, offset=16)
        first, second = build.tensor(4, offset=16), build.tensor(4, offset=32)
        whole, out = build.tensor(2, 4, offset=16), build.tensor(2, 4)
        build.add(x, x, before)
        build.add(before, before, out)
        build.delegate(backend, blob(2), x, first, second)
        build.add(whole, whole, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_a_view_among_the_arguments(self, backend, blob):
        build = Build()
        x, y, view, out = build.tensor(4), build.tensor(8), build.tensor(4, offset=32), build.tensor(4)
        build.add(x, x, y)
        build.delegate(backend, blob(1), view, out)
        build.add(y, out, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []

    def test_a_result_that_is_overwritten(self, backend, blob):
        build = Build()
        x, result = build.tensor(4), build.tensor(4)
        clash, out, more = build.tensor(4, offset=24), build.tensor(4), build.tensor(4)
        build.delegate(backend, blob(1), x, result)
        build.add(x, x, clash)
        build.add(clash, clash, more)
        build.add(result, result, out)
        build.inputs(x)
        build.outputs(out, more)
        assert [found.written for found in liveness(build).clashes()] == [clash]


class TestKnownDelegates:
    def test_a_result_over_a_live_tensor(self):
        build = Build()
        x, y = build.tensor(4), build.tensor(4)
        clash, out = build.tensor(4, offset=24), build.tensor(4)
        build.add(x, x, y)
        build.delegate("XnnpackBackend", relus(1), x, clash)
        build.add(y, clash, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == [Clash(1, clash, y)]

    def test_a_result_over_an_operand(self):
        build = Build()
        x, out = build.tensor(4), build.tensor(4, offset=8)
        build.delegate("XnnpackBackend", relus(1), x, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == [Clash(0, out, x)]

    def test_results_are_no_state(self):
        build = Build()
        x, out = build.tensor(4), build.tensor(4)
        build.delegate("XnnpackBackend", relus(1), x, out)
        build.inputs(x)
        build.outputs(out)
        found = liveness(build)
        assert not found.state
        assert [spans(ranges) for ranges in found.overwritten_by] == [[(16, 32)]]

    def test_a_blob_of_more_results_than_the_call_has_arguments(self):
        build = Build()
        x, out = build.tensor(4), build.tensor(4)
        build.delegate("XnnpackBackend", relus(3), x, out)
        build.inputs(x)
        build.outputs(out)
        assert liveness(build).clashes() == []


@pytest.mark.parametrize("limit", ["MAX_STATE", "MAX_WORK"])
def test_what_is_too_large_to_follow(monkeypatch, limit):
    """Is said to be, by a report of the file as well."""
    build = chain_of_adds(20)
    assert validate(memoryview(build.file())).problems == []
    monkeypatch.setattr(f"et_vm.verify.liveness.{limit}", 50)
    with pytest.raises(ExecutorchError, match="3 values in 20 instructions exceed the limit") as caught:
        liveness(build)
    assert caught.value.code == Error.OutOfResources
    (problem,) = validate(memoryview(build.file())).problems
    assert (problem.code, problem.where) == (Error.OutOfResources, "execution_plan[0]")
    assert problem.offset is not None
