"""Columns accept what the reader accepts, and nothing else, and decode the same tables."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from support.vm_programs import UNBOUND, Build

from et_schema import reader
from et_schema.columns import Columns, IrregularError, Tables
from et_schema.errors import InvalidFile
from et_schema.program import EValue, ExecutionPlan, Frame
from et_schema.pte import PteFile, read_pte
from et_schema.scalar_type import ScalarType
from et_vm.load.code import Code
from et_vm.verify.flow import Flow
from et_vm.verify.plan import Verifier


@pytest.fixture(autouse=True)
def in_columns(monkeypatch) -> None:
    monkeypatch.setattr(reader, "LEAST_COLUMN", 1)


def sample(frames: bool = False) -> bytes:
    """A program with values and instructions of all kinds, and optional fields that some tables have."""
    build = Build()
    x = build.tensor(2, 3)
    build.inputs(x)
    kept = [build.tensor(2, 3, dim_order=(1, 0)), build.tensor(0, 3), build.tensor(), build.tensor(6)]
    for value in (1, True, 2.5, "text", None, False, -(2**62)):
        build.scalar(value)
    build.ints(1, 2)
    build.ints()
    build.doubles(0.5)
    build.bools(True, False)
    build.tensors(x, kept[0])
    build.tensors(x, -1, optional=True)
    weight = build.constant(np.ones((2, 3), np.float32))
    build.constant(np.array([True, False]))
    state = build.state(np.ones((2, 3), np.float32), name="state")
    grown = build.tensor(2, 3, planned=False, dynamism=UNBOUND)
    view, condition = build.tensor(6, planned=False), build.scalar(True)
    options = {"frames": [Frame("f.py", 3, "forward", "x + y")]} if frames else {}
    out = x
    for at in range(6):
        before, out = out, build.tensor(2, 3, offset=64 * at)
        build.add(before, weight if at % 2 else state, out, **options)
    build.add(x, x, grown)
    build.call("executorch_prim::et_view.default", out, build.ints(6), view)
    build.call("executorch_prim::add.Scalar", build.scalar(1), build.scalar(2), build.scalar(0))
    build.jump_false(condition, 9)
    build.move(x, build.tensor(2, 3, planned=False))
    build.free(grown)
    build.outputs(out, view)
    return build.file()


def result(data: bytes, columns: bool) -> tuple[object, ...]:
    """What loading finds in a file: the fault, or what it knows of the instructions."""
    try:
        pte = read_pte(data, columns=columns)
        verifier = Verifier(pte, len(data))
        verifier.verify_program()
        (plan,) = pte.program.execution_plan
        instructions = verifier.verify_plan(0)
        assert instructions is not None
        flow = Flow(plan, instructions, "execution_plan[0]")
        flow.check()
        assert len(instructions) == len(list(instructions))
    except InvalidFile as error:
        return "fault", error.code, error.where, error.message
    listed = [repr(instruction) for instruction in instructions]
    return listed, flow.rebound, flow.owned_outputs(), flow.work, verifier.__dict__["_mentions_left"]


def plan_of(pte: PteFile) -> ExecutionPlan:
    return pte.program.execution_plan[0]


class TestTables:
    @pytest.mark.parametrize("frames", [False, True])
    def test_are_those_that_the_reader_decodes(self, frames):
        data = sample(frames)
        whole, plan = plan_of(read_pte(data)), plan_of(read_pte(data, columns=True))
        assert isinstance(plan.values, Tables)
        assert isinstance(plan.chains[0].instructions, Tables)
        assert plan.values == whole.values
        assert whole.values == list(plan.values)
        assert plan == whole
        assert plan.values[-1] is plan.values[len(plan.values) - 1]
        assert plan.values[1:3] == whole.values[1:3]
        assert repr(plan.values) == repr(whole.values)

    def test_are_lists_where_they_are_short(self, monkeypatch):
        monkeypatch.setattr(reader, "LEAST_COLUMN", 48)
        assert isinstance(plan_of(read_pte(sample(), columns=True)).values, list)

    def test_nothing_is_decoded_before_it_is_asked_for(self, monkeypatch):
        decoded, data = [], sample()
        make = EValue.__init__
        monkeypatch.setattr(
            EValue, "__init__", lambda self, val=None: (decoded.append(1), make(self, val))[1]
        )
        plan = plan_of(read_pte(data, columns=True))
        assert decoded == []
        assert plan.values[0].val is not None
        assert plan.values[0].val is not None
        assert decoded == [1]

    def test_fields(self):
        plan = plan_of(read_pte(sample(), columns=True))
        assert isinstance(plan.values, Tables)
        kinds = [0 if value.val is None else type(value.val).__name__ for value in plan.values]
        members = plan.values.columns.members("val")
        which, tensors = members.members[5]
        assert [kinds[at] for at in which] == ["Tensor"] * len(which)
        assert isinstance(tensors, Columns)
        tables = [plan.values[at].val for at in which]
        assert tensors.numbers("scalar_type").tolist() == [int(one.scalar_type) for one in tables]
        sizes = tensors.lists("sizes")
        assert sizes.counts.tolist() == [len(one.sizes) for one in tables]
        assert sizes.items.tolist() == [size for one in tables for size in one.sizes]
        places, arenas = tensors.tables("allocation_info")
        planned = [one for one in tables if one.allocation_info is not None]
        assert [tables[at] for at in places] == planned
        assert arenas.numbers("memory_id").tolist() == [one.allocation_info.memory_id for one in planned]


class TestDamage:
    """Files with damage in each word of the tables: what columns say of them is what the reader says."""

    @pytest.mark.parametrize("part", range(8))
    def test_is_seen_by_both(self, part):
        data = sample()
        random = Random(part)
        accepted = 0
        for _ in range(60):
            changed = bytearray(data)
            at = random.randrange(len(data))
            changed[at] = random.choice((0, 1, changed[at] ^ (1 << random.randrange(8)), 255, 128))
            expected = result(bytes(changed), False)
            assert result(bytes(changed), True) == expected, (at, changed[at])
            accepted += expected[0] != "fault"
        assert accepted

    def test_of_numbers_is_seen_by_both(self):
        """Each table's fields in turn, with numbers at the borders."""
        data = sample()
        pte = read_pte(data, locate=True)
        plan = plan_of(pte)
        places = [pte.locations[id(part.val)].offset for part in plan.values if part.val is not None]
        random = Random(0)
        for place in places:
            changed = bytearray(data)
            at = place + random.choice((4, 8, 12))
            changed[at : at + 4] = random.choice(
                (b"\xff" * 4, b"\x00" * 4, b"\x00\x00\x00\x80", b"\x11\0\0\0")
            )
            assert result(bytes(changed), True) == result(bytes(changed), False), at

    def test_tables_that_share_what_they_refer_to(self):
        """The budgets for hostile files are the same."""
        data = sample()
        plan = plan_of(read_pte(data, columns=True))
        assert isinstance(plan.values, Tables)
        one = reader.Reader(data, in_columns={EValue: Tables.at})
        one.budget = 3
        with pytest.raises(IrregularError):
            Tables(one, reader.decoder(EValue), np.array([0]))


def test_code_makes_the_instructions_that_are_looked_at():
    build = Build()
    x, out = build.tensor(2), build.tensor(2)
    for _ in range(50):
        build.add(x, x, out)
    build.move(x, build.tensor(2, planned=False))
    build.inputs(x)
    build.outputs(out)
    pte = read_pte(build.file(), columns=True)
    code = Verifier(pte, 10_000).verify_plan(0)
    assert isinstance(code, Code)
    assert len(code) == 51
    Flow(plan_of(pte), code, "execution_plan[0]").check()
    assert len(code._made) <= 2  # the move, and the last one
    assert code[3] is code[3]
    assert code[-1].name == "move"
    assert [one.index for one in code[10:12]] == [10, 11]
    with pytest.raises(IndexError):
        code[51]


def test_types_of_tensors_that_no_program_holds():
    build = Build()
    x = build.tensor(2)
    build[x].scalar_type = ScalarType.BITS8
    build.inputs(x)
    build.add(x, x, x)
    assert result(build.file(), True) == result(build.file(), False)
