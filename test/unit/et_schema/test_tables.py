"""Table declarations: wire format, and invalid declarations."""

from __future__ import annotations

import threading
from enum import IntEnum
from typing import Annotated, TypeAlias

import pytest

from et_backends.xnnpack.format import graph as xnnpack_graph
from et_schema import bundled_program, flat_tensor, program
from et_schema.reader import Reader
from et_schema.tables import (
    I16,
    Aligned,
    At,
    Bytes,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    OmitEmpty,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    fields_of,
    table,
    tables_below,
)
from et_schema.writer import encode

ROOTS = (
    program.Program,
    flat_tensor.FlatTensor,
    bundled_program.BundledProgram,
    xnnpack_graph.XNNGraph,
)


class Colour(IntEnum):
    RED = 0
    FAR = -300


@table
class Leaf:
    number: UInt16 = 7


@table
class Other:
    text: str = ""


Member: TypeAlias = Leaf | Other


@table
class Everything:
    a: Int8 = 0
    b: UInt8 = 0
    c: Int16 = 0
    d: UInt16 = 0
    e: Int32 = -1
    f: UInt32 = 0
    g: Int64 = 0
    h: UInt64 = 0
    i: Float32 = 0.0
    j: Float64 = 0.0
    k: bool = True
    member: Member | None = None
    leaf: Leaf | None = None
    colour: Annotated[Colour, I16] = Colour.RED
    late: Annotated[UInt8, At(20)] = 0
    bytes_: list[Int8] = []
    shorts: list[Int16] = []
    longs: list[UInt64] = []
    floats: list[Float32] = []
    flags: list[bool] = []
    leaves: OmitEmpty[list[Leaf]] = []
    copied: bytes = b""
    viewed: Annotated[Bytes, Aligned(64)] = b""


@table
class Vectors:
    items: list[bytes] = []


@table
class Plain:
    number: int = 0


@table
class Mixed:
    member: Leaf | str | None = None


@table
class Nested:
    within: Inner | None = None


@table
class Inner:
    leaves: list[Leaf] = []


@pytest.mark.parametrize("root", ROOTS)
def test_no_table_contains_itself(root: type) -> None:
    """So that the depth of the reader's calls is bounded whatever a file says."""

    def visit(cls: type, above: tuple[type, ...]) -> None:
        assert cls not in above
        for item in fields_of(cls):
            if item.default is None or item.default == []:
                for child in item.types:
                    visit(child, (*above, cls))

    visit(root, ())
    assert len(tables_below(root)) == len(set(tables_below(root)))


def test_slots_follow_each_other() -> None:
    slots = {item.name: item.slot for item in fields_of(Everything)}
    assert (slots["a"], slots["k"], slots["member"], slots["leaf"], slots["colour"]) == (0, 10, 11, 13, 14)
    assert (slots["late"], slots["bytes_"]) == (20, 21)


def test_every_type_is_read_as_it_was_written() -> None:
    value = Everything(
        *(-128, 255, -(2**15), 2**16 - 1, -(2**31), 2**32 - 1, -(2**63), 2**64 - 1, 0.5, -0.1, False),
        *(Other("größe"), Leaf(8), Colour.FAR, 3, [-1, 1], [-300], [2**64 - 1], [0.25], [True, False]),
        *([Leaf(), Leaf(1)], b"abc", b"defg"),
    )
    data = bytes(encode(value, b"TEST"))
    read = Reader(data).root(Everything, b"TEST")
    assert read == value
    assert data.index(b"defg") % 64 == 0
    assert isinstance(read.viewed, memoryview)
    assert Reader(bytes(encode(Everything(), b"TEST"))).root(Everything, b"TEST") == Everything()


def test_lists_are_of_each_instance() -> None:
    one, other = Inner(), Inner()
    one.leaves.append(Leaf())
    assert other == Inner([])


def test_problems_below_a_single_table_are_placed() -> None:
    """Also where the vector of tables is not in an element of another."""
    data = bytearray(encode(Nested(Inner([Leaf(1), Leaf(2)])), b"TEST"))
    places = Reader(bytes(data), locate=True)
    second = places.root(Nested, b"TEST").within
    assert second is not None
    assert places.offsets is not None
    at = places.offsets[id(second.leaves[1])]
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    with pytest.raises(
        Exception, match=r"vtable of Leaf is out of bounds or misaligned at within\.leaves\[1\], byte"
    ):
        Reader(bytes(data)).root(Nested, b"TEST")


@pytest.mark.parametrize(
    ("cls", "declared"),
    [(Vectors, r"Vectors\.items: .* list\[bytes\]"), (Plain, r"Plain\.number"), (Mixed, r"Leaf \| str")],
)
def test_types_that_no_file_holds(cls: type, declared: str) -> None:
    with pytest.raises(TypeError, match=declared):
        fields_of(cls)


def test_a_table_may_be_met_first_by_several_threads() -> None:
    @table
    class Fresh(Inner): ...

    data = bytes(encode(Inner([Leaf(n) for n in range(50)]), b"TEST"))
    start, found = threading.Barrier(8), list[Inner]()

    def read() -> None:
        start.wait()
        found.append(Reader(data).root(Fresh, b"TEST"))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [item.leaves for item in found] == [[Leaf(n) for n in range(50)]] * 8
