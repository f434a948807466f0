"""Initial contents of state go to the register of their place, and to no other."""

from dataclasses import replace

import pytest

from et_schema import reader
from et_schema.columns import Tables
from et_schema.initial_state import join_initial_state, split_initial_state
from et_schema.program import (
    AllocationDetails,
    Chain,
    EValue,
    ExecutionPlan,
    ExtraTensorInfo,
    Instruction,
    KernelCall,
    Null,
    Program,
    SubsegmentOffsets,
    Tensor,
    TensorDataLocation,
    TensorList,
)
from et_schema.pte import PteFile, read_pte, serialize_pte
from et_schema.scalar_type import ScalarType

STATE = Tensor(
    ScalarType.FLOAT,
    sizes=[4],
    dim_order=b"\0",
    data_buffer_idx=1,
    allocation_info=AllocationDetails(1, 16, 0),
    extra_tensor_info=ExtraTensorInfo(fully_qualified_name="s"),
)


def joined(*values: object, args: tuple[int, ...] = (0,)) -> list[object]:
    plan = ExecutionPlan(
        name="forward",
        values=[EValue(value) for value in values],
        chains=[Chain(instructions=[Instruction(KernelCall(0, list(args)))])],
    )
    program = Program(execution_plan=[plan], mutable_data_segments=[SubsegmentOffsets(0, [0, 0])])
    read = read_pte(serialize_pte(program, [[bytes(64)]]), columns=True)
    assert isinstance(read.program.execution_plan[0].values, Tables)
    join_initial_state(read)
    pte = PteFile(program, [], None)
    join_initial_state(pte)
    join_initial_state(pte)
    assert read.program.execution_plan == program.execution_plan
    return [value.val for value in plan.values]


@pytest.fixture(autouse=True)
def in_columns(monkeypatch) -> None:
    """Files are read as columns, however short their lists are."""
    monkeypatch.setattr(reader, "LEAST_COLUMN", 1)


def halves() -> tuple[Tensor, Tensor]:
    register = replace(STATE)
    contents = split_initial_state(register)
    return register, contents


def test_both_halves_make_the_register() -> None:
    register, contents = halves()
    assert (register.data_buffer_idx, contents.extra_tensor_info) == (0, None)
    assert joined(register, contents) == [STATE, Null()]
    register, contents = halves()
    assert joined(contents, register, args=(1,)) == [Null(), STATE]
    register, contents = halves()
    assert joined(register, replace(register), contents, args=(0, 1)) == [STATE, STATE, Null()]


def test_whole_registers_stay() -> None:
    assert joined(replace(STATE)) == [STATE]


def test_contents_that_something_uses_stay() -> None:
    register, contents = halves()
    assert joined(register, contents, args=(0, 1)) == [register, contents]
    assert joined(register, contents, TensorList([1]), args=(0, 2))[:2] == [register, contents]
    assert register.data_buffer_idx == 0


@pytest.mark.parametrize(
    "other",
    [
        replace(STATE, data_buffer_idx=0, allocation_info=AllocationDetails(1, 32, 0)),
        replace(STATE, data_buffer_idx=0, allocation_info=AllocationDetails(2, 16, 0)),
        replace(STATE, data_buffer_idx=0, allocation_info=AllocationDetails(1, 16, 1)),
        replace(STATE, data_buffer_idx=0, sizes=[3]),
        replace(STATE, data_buffer_idx=0, scalar_type=ScalarType.INT),
        replace(STATE, data_buffer_idx=0, extra_tensor_info=None),
        replace(STATE, data_buffer_idx=0, extra_tensor_info=ExtraTensorInfo(1, "s")),
        replace(
            STATE,
            data_buffer_idx=0,
            extra_tensor_info=ExtraTensorInfo(0, "s", TensorDataLocation.EXTERNAL),
        ),
        replace(STATE, data_buffer_idx=2),
    ],
)
def test_contents_of_something_else_stay(other: Tensor) -> None:
    _, contents = halves()
    wanted = [replace(other), replace(contents)]
    assert joined(other, contents) == wanted
