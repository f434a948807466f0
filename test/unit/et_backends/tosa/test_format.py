"""TOSA files: what is written is read, and what makes no sense is refused with its place."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from et_backends.tosa.compiler.serialization import graph_of, module_of
from et_backends.tosa.format.blob import block_of, read_tosa, serialize_tosa
from et_backends.tosa.format.graph import (
    AddAttribute,
    ConstAttribute,
    DType,
    Op,
    ReduceSumAttribute,
    TosaBasicBlock,
    TosaGraph,
    TosaOperator,
    TosaRegion,
    TosaTensor,
    Version,
)
from et_schema.errors import Error, InvalidFile


def graph() -> TosaGraph:
    """The sum of an input and a constant, and of that the sum of its rows."""
    data = np.arange(3, dtype=np.float32).tobytes() + b"\0" * 4
    block = TosaBasicBlock(
        "main",
        [
            TosaOperator(Op.CONST, ConstAttribute(), [], ["c"]),
            TosaOperator(Op.ADD, AddAttribute(), ["x", "c"], ["y"]),
            TosaOperator(Op.REDUCE_SUM, ReduceSumAttribute(0), ["y"], ["z"]),
        ],
        [
            TosaTensor("x", [2, 3], DType.FP32),
            TosaTensor("c", [1, 3], DType.FP32, data),
            TosaTensor("y", [2, 3], DType.FP32),
            TosaTensor("z", [1, 3], DType.FP32),
        ],
        ["x"],
        ["z"],
    )
    return TosaGraph(Version(1, 0, 0, False), [TosaRegion("main", [block])])


def test_what_is_written_is_read() -> None:
    blob = serialize_tosa(graph())
    assert serialize_tosa(read_tosa(blob)) == blob
    assert [op.op for op in block_of(read_tosa(blob)).operators] == [Op.CONST, Op.ADD, Op.REDUCE_SUM]


def test_a_file_as_a_module() -> None:
    """Which verifies, and is written as the same file, but for the names of its tensors."""
    module = module_of(graph())
    module.verify()
    made, block = graph_of(module), block_of(graph())
    assert serialize_tosa(graph_of(module_of(made))) == serialize_tosa(made)
    assert [(op.op, op.attribute) for op in block_of(made).operators] == [
        (op.op, op.attribute) for op in block.operators
    ]
    assert [(one.shape, one.type, one.data) for one in block_of(made).tensors] == [
        (one.shape, one.type, one.data) for one in block.tensors
    ]


def _tensor(number: int, **fields: object) -> Callable[[TosaGraph], None]:
    def change(made: TosaGraph) -> None:
        for name, value in fields.items():
            setattr(block_of(made).tensors[number], name, value)

    return change


def _operator(number: int, **fields: object) -> Callable[[TosaGraph], None]:
    def change(made: TosaGraph) -> None:
        for name, value in fields.items():
            setattr(block_of(made).operators[number], name, value)

    return change


FAULTS: dict[str, tuple[Callable[[TosaGraph], None], str, str]] = {
    "version": (
        lambda made: setattr(made, "version", Version(2, 0, 0, False)),
        "TOSA version 2.0",
        "version",
    ),
    "regions": (lambda made: made.regions.append(TosaRegion("other")), "2 regions", "regions"),
    "names": (_tensor(2, name="x"), "two tensors are named 'x'", "tensors[2]"),
    "data": (_tensor(1, data=b"\0" * 8), "8 bytes of data of a constant [1, 3] FP32", "tensors[1]"),
    "no data": (_tensor(1, data=None), "the constant 'c' has no data", "operators[0]"),
    "variable": (_tensor(0, variable=True), "variables", "tensors[0]"),
    "shape": (_tensor(2, shape=[2, 4]), "the result is [2, 3] FP32, declared as [2, 4] FP32", "operators[1]"),
    "order": (_operator(1, inputs=["z", "c"]), "the operand 'z' is not computed before", "operators[1]"),
    "attribute": (_operator(2, attribute=AddAttribute()), "an attribute AddAttribute", "operators[2]"),
    "missing": (_operator(2, attribute=None), "the attribute is missing", "operators[2]"),
    "axis": (_operator(2, attribute=ReduceSumAttribute(2)), "axis 2 of rank 2", "operators[2]"),
    "operands": (_operator(1, inputs=["x"]), "1 operands, expected 2", "operators[1]"),
    "unknown": (_operator(1, op=Op.COND_IF), "the operator is not supported", "operators[1]"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    change, message, where = FAULTS[name]
    made = graph()
    change(made)
    with pytest.raises(InvalidFile) as caught:
        read_tosa(serialize_tosa(made))
    assert caught.value.code is Error.DelegateInvalidCompatibility
    assert message in str(caught.value)
    assert where in str(caught.value.where)


def test_damaged_bytes_are_refused_or_read() -> None:
    """Nothing but InvalidFile is raised, whatever the bytes are."""
    blob = serialize_tosa(graph())
    numbers = random.Random(0)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(blob)
        for _ in range(numbers.randint(1, 4)):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        try:
            read_tosa(bytes(damaged[: numbers.randint(8, len(damaged))]))
        except InvalidFile:
            refused += 1
    assert refused > 1000
