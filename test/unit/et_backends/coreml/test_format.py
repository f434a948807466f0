"""Blobs of Core ML: what is written is read, and what makes no sense is refused with its place."""

from __future__ import annotations

import json
import random
import struct
from dataclasses import replace

import pytest

from et_backends.coreml.compiler.serialization import Weights, serialize_coreml
from et_backends.coreml.format import protobuf
from et_backends.coreml.format.blob import read_coreml
from et_backends.coreml.format.mil import MilOperation, MilProgram, MilType, MilTypeName, MilValue
from et_schema.errors import Error, InvalidFile

F32, I32, BOOL, STRING = MilTypeName.FLOAT32, MilTypeName.INT32, MilTypeName.BOOL, MilTypeName.STRING
X = MilType(F32, (2, 6))


def constant(name: str, type: MilType, data: bytes = b"", strings: tuple[str, ...] = ()) -> MilOperation:
    return MilOperation("const", {}, ((name, type),), MilValue(type, data, strings))


PROGRAM = MilProgram(
    inputs=(("x", X), ("n", MilType(I32, (1,)))),
    outputs=("y", "n2"),
    operations=(
        constant("weight", X, struct.pack("<12f", *range(12))),
        constant("again", X, struct.pack("<12f", *range(12))),
        constant("half", MilType(MilTypeName.FLOAT16, (3,)), struct.pack("<3e", 0.5, 1.5, -2)),
        constant("axes", MilType(I32, (2,)), struct.pack("<2i", -1, 70000)),
        constant("flag", MilType(BOOL), b"\1"),
        constant("mode", MilType(STRING), strings=("EXACT",)),
        MilOperation("mul", {"x": ("x",), "y": ("weight",)}, (("y", X),)),
        MilOperation("concat", {"values": ("n", "n"), "axis": ("axes",)}, (("n2", MilType(I32, (2,))),)),
    ),
    metadata={"source": "test"},
)


def test_what_is_written_is_read() -> None:
    blob = serialize_coreml(PROGRAM)
    found = read_coreml(blob)
    assert found.program == PROGRAM
    assert (found.inputs, found.outputs) == (("x", "n"), ("y", "n2"))
    assert found.identifier.startswith("executorch_")
    assert serialize_coreml(found.program) == blob


def test_equal_weights_are_stored_once() -> None:
    weights = Weights()
    value = PROGRAM.operations[0].value
    assert value is not None
    assert weights.place(value) == weights.place(value) == 64
    assert len(weights.file()) == 64 + 64 + 64


def test_varints() -> None:
    for number in (0, 1, 127, 128, 300, 1 << 40, -1, -(1 << 63)):
        assert protobuf.numbers(memoryview(protobuf.varint(number))) == [number]
    with pytest.raises(InvalidFile, match="ends within a number"):
        list(protobuf.fields(memoryview(b"\x80")))
    with pytest.raises(InvalidFile, match="more than ten bytes"):
        list(protobuf.fields(memoryview(b"\xff" * 11)))
    with pytest.raises(InvalidFile, match="of the kind 3"):
        list(protobuf.fields(memoryview(b"\x0b")))
    with pytest.raises(InvalidFile, match="9 bytes, 1 are left"):
        list(protobuf.fields(memoryview(b"\x0a\x09x")))


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        (PROGRAM.operations[6:], "mul: nothing computes 'weight' before"),
        ((*PROGRAM.operations, PROGRAM.operations[0]), "const: two values have the name 'weight'"),
        (
            (replace(PROGRAM.operations[0], outputs=(("weight", X), ("more", X))), *PROGRAM.operations[1:]),
            "const: no outputs, or a value of another type",
        ),
    ],
)
def test_programs_that_make_no_sense(operations: tuple[MilOperation, ...], message: str) -> None:
    with pytest.raises(InvalidFile, match=message) as caught:
        read_coreml(serialize_coreml(replace(PROGRAM, operations=operations)))
    assert caught.value.code is Error.DelegateInvalidCompatibility
    assert "model.mlmodel" in str(caught.value)


def tree(*nodes: object) -> bytes:
    return json.dumps({"nodes": nodes}).encode()[::-1]


def node(name: str, kind: int, children: dict[str, int], offset: int = 0, size: int = 0) -> dict[str, object]:
    region = {"offset": offset, "size": size}
    return {"name": name, "kind": kind, "children": children, "dataRegion": region}


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "does not end with a tree"),
        (b"CMJR{}", "the reference to a model has no version 1"),
        (b"[]"[::-1], "does not end with a tree"),
        (tree(), "does not end with a tree"),
        (tree(3), "does not end with a tree"),
        (tree({"kind": 1}), "node 0 of the tree is damaged"),
        (tree(node("x", 0, {}), node("", 1, {})), "node 0 of the tree is in no folder"),
        (tree(node("", 1, {"x": 0})), "has the child 0"),
        (tree(node("x", 0, {}, 0, 9999), node("", 1, {"x": 0})), "9,999 bytes at 0"),
        (tree(node("", 1, {})), "the file is missing at metadata.json"),
        (tree(node("model.mlmodelc", 0, {}), node("", 1, {"model.mlmodelc": 0})), "compiled on a Mac"),
        (
            b"[" * 100_000
            + tree(
                node("metadata.json", 0, {}, 0, 100_000),
                node("model", 0, {}),
                node(
                    "",
                    1,
                    {"metadata.json": 0, "model.mlpackage/Data/com.apple.CoreML/model.mlmodel": 1},
                ),
            ),
            "no JSON",
        ),
    ],
)
def test_trees_that_make_no_sense(blob: bytes, message: str) -> None:
    with pytest.raises(InvalidFile, match=message):
        read_coreml(blob)


def test_damaged_blobs() -> None:
    """A blob with other bytes, or cut off, is read or refused; nothing else happens."""
    blob = serialize_coreml(PROGRAM)
    choice = random.Random(0)
    for _ in range(3000):
        damaged = bytearray(blob)
        for _ in range(choice.randint(1, 4)):
            damaged[choice.randrange(len(damaged))] = choice.randrange(256)
        start = choice.choice([0, 0, choice.randrange(len(blob))])
        try:
            read_coreml(bytes(damaged[start:]))
        except InvalidFile:
            continue
