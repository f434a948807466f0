"""Reader and writer agree with each other on every table of the schema."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign

import pytest
from flatbuffers.builder import Builder

from et_schema import program as schema
from et_schema import writer
from et_schema.errors import Error, ExecutorchError, InvalidFile
from et_schema.program import (
    FILE_IDENTIFIER,
    AllocationDetails,
    BackendDelegateInlineData,
    Bool,
    Buffer,
    DataSegment,
    Double,
    EValue,
    ExecutionPlan,
    Int,
    IntList,
    Null,
    Operator,
    Program,
    Tensor,
)
from et_schema.pte import read_pte, serialize_pte
from et_schema.reader import Reader
from et_schema.writer import encode


def encoded(program: Program) -> bytes:
    return bytes(encode(program, FILE_IDENTIFIER))


def decode(data: bytes) -> Program:
    return Reader(data).root(Program, FILE_IDENTIFIER)


def with_value(value: schema.KernelTypes) -> Program:
    return Program(execution_plan=[ExecutionPlan(values=[EValue(value)])])


def test_every_table_round_trips(program: tuple[Program, list[list[bytes]]]) -> None:
    assert decode(encoded(program[0])) == program[0]


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_random_trees_round_trip(random_program: Callable[[int], Program], start: int) -> None:
    for seed in range(start, start + 20):
        tree = random_program(seed)
        data = encoded(tree)
        assert decode(data) == tree
        assert encoded(tree) == data


def test_defaults_take_no_space() -> None:
    assert len(encoded(with_value(Int(1)))) - len(encoded(with_value(Int(0)))) >= 8
    assert len(encoded(with_value(Bool(False)))) == len(encoded(with_value(Null())))


def test_negative_zero_is_not_the_default() -> None:
    plan = decode(encoded(with_value(Double(-0.0)))).execution_plan[0]
    value = plan.values[0].val
    assert isinstance(value, Double)
    assert copysign(1, value.double_val) == -1


def test_equal_strings_and_short_vectors_are_written_once() -> None:
    def operators(names: list[str]) -> int:
        return len(
            encoded(Program(execution_plan=[ExecutionPlan(operators=[Operator(n, "out") for n in names])]))
        )

    def lists(items: list[list[int]]) -> int:
        return len(
            encoded(Program(execution_plan=[ExecutionPlan(values=[EValue(IntList(i)) for i in items])]))
        )

    name, other = "aten::convolution_a", "aten::convolution_b"
    assert operators([name, name]) < operators([name, other])
    assert lists([[5, 6], [5, 6]]) < lists([[5, 6], [6, 5]])


def test_inline_data_is_aligned_and_a_view_of_the_file() -> None:
    tree = Program(
        constant_buffer=[Buffer(b"x" * n) for n in range(20)],
        backend_delegate_data=[BackendDelegateInlineData(b"y" * n) for n in range(20)],
    )
    data = serialize_pte(tree, tensor_alignment=64, delegate_alignment=128)
    decoded = read_pte(data).program
    assert decoded == tree
    for item in decoded.constant_buffer:
        assert isinstance(item.storage, memoryview)
        assert item.storage.obj is data
        assert item.storage.readonly
    for n in range(1, 20):
        assert data.index(b"x" * n) % 64 == 0
        assert data.index(b"y" * n) % 128 == 0


@pytest.mark.parametrize(
    ("table", "field"),
    [
        (Tensor(allocation_info=AllocationDetails(memory_id=-1)), "AllocationDetails.memory_id"),
        (Tensor(layout=128), "Tensor.layout"),
        (Int(2**63), "Int.int_val"),
    ],
)
def test_a_number_that_does_not_fit_names_its_field(table: schema.KernelTypes, field: str) -> None:
    with pytest.raises(ExecutorchError, match=field) as caught:
        encoded(with_value(table))
    assert caught.value.code == Error.InvalidArgument


def test_a_vector_element_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ExecutorchError, match=r"Tensor\.sizes has an element that does not fit"):
        encoded(with_value(Tensor(sizes=[2**31])))


def test_a_program_too_large_for_offsets_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MAX_SIZE", 1000)
    with pytest.raises(ExecutorchError, match="put constants and delegate data in segments"):
        encoded(Program(segments=[DataSegment()] * 1000))


def test_unknown_fields_of_a_newer_schema_are_ignored() -> None:
    builder = Builder()
    builder.StartObject(9)
    builder.PrependInt32Slot(0, 3, 0)
    builder.PrependInt32Slot(8, 77, 0)
    builder.Finish(builder.EndObject(), FILE_IDENTIFIER)
    assert decode(bytes(builder.Output())) == Program(version=3)


def test_absent_vectors_read_as_empty() -> None:
    builder = Builder()
    builder.StartObject(0)
    builder.Finish(builder.EndObject(), FILE_IDENTIFIER)
    assert decode(bytes(builder.Output())) == Program()


def test_growth_beyond_the_reach_of_offsets_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Builder, "MAX_BUFFER_SIZE", 4096)
    with pytest.raises(ExecutorchError, match="flatbuffer offsets reach 2 GiB") as caught:
        encoded(Program(constant_buffer=[Buffer(bytes(5000))]))
    assert caught.value.code == Error.NotSupported


def test_wrong_identifier() -> None:
    data = bytearray(encoded(Program()))
    data[4:8] = b"ET11"
    with pytest.raises(
        InvalidFile, match="file identifier b'ET11', expected b'ET12' at file identifier, byte 0x4"
    ):
        decode(bytes(data))
