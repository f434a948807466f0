"""Damaged files give `InvalidFile` or decode; nothing else comes out, at a cost in proportion to the file."""

from __future__ import annotations

import random
from collections.abc import Callable
from struct import pack_into

import pytest
from support.cost import lines_of

from et_schema import flat_tensor
from et_schema import program as schema
from et_schema.errors import Error, InvalidFile
from et_schema.program import (
    FILE_IDENTIFIER,
    Bool,
    BoolList,
    EValue,
    ExecutionPlan,
    Null,
    Operator,
    Program,
    String,
    Tensor,
)
from et_schema.ptd import read_ptd, serialize_ptd
from et_schema.pte import read_pte, serialize_pte
from et_schema.reader import Reader
from et_schema.scalar_type import ScalarType
from et_schema.writer import Writer

Segments = list[list[bytes]]


def survives(read: Callable[[bytes], object], data: bytes) -> bool:
    try:
        read(data)
    except InvalidFile:
        return False
    return True


def test_every_truncation_of_a_file_with_segments_is_rejected(program: tuple[Program, Segments]) -> None:
    data = serialize_pte(*program)
    for size in range(len(data)):
        assert not survives(read_pte, data[:size]), size


def test_every_truncation_of_a_file_without_segments_is_handled() -> None:
    data = serialize_pte(Program(execution_plan=[ExecutionPlan("forward", operators=[Operator("a", "b")])]))
    for size in range(len(data)):
        survives(read_pte, data[:size])


def test_every_byte_changed_once(program: tuple[Program, Segments]) -> None:
    data = serialize_pte(*program)
    end = read_pte(data).header
    assert end is not None
    rejected = 0
    for at in range(end.program_size):
        for value in (0x00, 0xFF, data[at] ^ 0x80, data[at] ^ 0x04):
            damaged = bytearray(data)
            damaged[at] = value
            rejected += not survives(read_pte, bytes(damaged))
    assert rejected > end.program_size // 2


def test_random_damage(program: tuple[Program, Segments]) -> None:
    data = serialize_pte(*program)
    rng = random.Random(0)
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 2, 8))):
            at = rng.randrange(0, len(data) - 8)
            if rng.random() < 0.5:
                damaged[at] = rng.randrange(256)
            else:
                pack_into(
                    "<I",
                    damaged,
                    at & ~3,
                    rng.choice((0, 4, 0x7FFFFFFF, 0xFFFFFFFF, rng.randrange(len(data)))),
                )
        survives(read_pte, bytes(damaged))


def test_random_damage_to_ptd() -> None:
    layout = flat_tensor.TensorLayout(ScalarType.FLOAT, [2], b"\x00")
    tensors = flat_tensor.FlatTensor(
        named_data=[flat_tensor.NamedData("a", 0, layout), flat_tensor.NamedData("b", 0)]
    )
    data = serialize_ptd(tensors, [[b"12345678"]])
    for size in range(len(data)):
        assert not survives(read_ptd, data[:size])
    for at in range(len(data)):
        for value in (0x00, 0xFF, data[at] ^ 0x80):
            damaged = bytearray(data)
            damaged[at] = value
            survives(read_ptd, bytes(damaged))


def test_noise_behind_a_good_start() -> None:
    rng = random.Random(1)
    for _ in range(300):
        survives(read_pte, b"\x10\x00\x00\x00ET12" + rng.randbytes(200))


def table_of_one(writer: Writer, slot: int, position: int) -> int:
    """A table with nothing but an offset to what is at `position` already."""
    writer.builder.StartObject(slot + 1)
    writer.builder.PrependUOffsetTRelativeSlot(slot, position, 0)
    return writer.builder.EndObject()


def test_shared_tables_cannot_blow_up() -> None:
    count = 20_000
    writer = Writer()
    value = writer.table(EValue(Tensor(sizes=list(range(15)))))
    plan = table_of_one(writer, 2, writer.tables([value] * count))
    root = table_of_one(writer, 1, writer.tables([plan] * count))
    data = bytes(writer.finish(root, FILE_IDENTIFIER))

    def read() -> None:
        with pytest.raises(InvalidFile, match="expands to more than the file can mean"):
            Reader(data).root(Program, FILE_IDENTIFIER)

    assert lines_of(read) < 24 * len(data)


def test_shared_long_strings_are_decoded_once() -> None:
    text = "x" * 100_000
    tree = Program(execution_plan=[ExecutionPlan(values=[EValue(String(text)) for _ in range(5000)])])
    data = serialize_pte(tree)
    assert len(data) < 250_000
    decoded = read_pte(data).program.execution_plan[0].values
    assert len({id(item.val.string_val) for item in decoded if isinstance(item.val, String)}) == 1


def one_value(value: schema.KernelTypes) -> bytes:
    return serialize_pte(
        Program(execution_plan=[ExecutionPlan("forward", values=[EValue(Null()), EValue(value)])])
    )


def damaged(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) == 1
    return data.replace(old, new)


WHERE = r"execution_plan\[0\]\.values\[1\]\.val"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            damaged(one_value(String("needle")), b"needle\0", b"needle!"),
            rf"lacks its NUL at {WHERE}\.string_val, byte 0x",
        ),
        (
            damaged(one_value(String("needle")), b"needle", b"need\xff\xff"),
            rf"UTF-8: .* at {WHERE}\.string_val",
        ),
        (
            damaged(one_value(BoolList([True] * 5)), b"\5\0\0\0" + b"\1" * 5, b"\5\0\0\0" + b"\1\1\2\1\1"),
            rf"bool is neither 0 nor 1 at {WHERE}\.items",
        ),
        (
            damaged(one_value(Tensor(sizes=[7, 8, 9])), b"\3\0\0\0\7\0\0\0", b"\3\0\0\x40\7\0\0\0"),
            rf"vector of 1073741827 elements runs past the end at {WHERE}\.sizes",
        ),
    ],
)
def test_messages_name_the_place(data: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_pte(data)
    assert caught.value.code == Error.InvalidProgram


def table_start(data: bytes, kind: type, index: int) -> int:
    locations = read_pte(data, locate=True).locations
    assert locations is not None
    return next(place.offset for place in locations.values() if place.path.endswith(f"values[{index}].val"))


def test_unknown_enum_and_union_numbers() -> None:
    data = one_value(Tensor(ScalarType.FLOAT))
    at = table_start(data, Tensor, 1)
    scalar_type = data.index(b"\x06", at)
    with pytest.raises(InvalidFile, match=rf"unknown ScalarType 99 at {WHERE}\.scalar_type") as caught:
        read_pte(data[:scalar_type] + b"\x63" + data[scalar_type + 1 :])
    assert caught.value.offset == scalar_type

    data = one_value(Bool(True))
    locations = read_pte(data, locate=True).locations
    assert locations is not None
    evalue = next(place.offset for place in locations.values() if place.path.endswith("values[1]"))
    union_type = data.index(b"\x03", evalue + 4)
    with pytest.raises(InvalidFile, match=rf"unknown KernelTypes 99 at {WHERE}"):
        read_pte(data[:union_type] + b"\x63" + data[union_type + 1 :])
